package conform

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// RowSource hands out rows that a plugin can reach as well, as an open model of
// a host does.
type RowSource interface {
	Info() model.Info
	Rows(n int) []dist.Scores // dense, of Info().VocabSize tokens
	Release(rows []dist.Scores)
}

// sharedRows asks about rows in shared memory, about the same rows as bytes, and
// about both in one batch.
func sharedRows(b *Bench, d sampler.Declaration) finding {
	if b.shared == nil {
		return skip("no rows in shared memory were to be had")
	}
	vocab := b.shared.Info().VocabSize
	rows := b.shared.Rows(2)
	defer b.shared.Release(rows)
	answered := 0
	for i := range max(4, b.rounds/6) {
		g := b.Random("transport", d.Name, i)
		q := b.About(g, d, rowOf(g, vocab), "gaussian")
		if i%2 == 1 {
			q.Item.Scores.Values[g.IntN(vocab)] = 40
		}
		want := b.Run(q)[0]
		refused, wrong := Refused(q, want)
		if wrong != "" {
			return fail(q.String(), wrong)
		}
		if refused {
			continue
		}
		answered++
		// One alone, then one beside a row that travels as bytes.
		for _, fellows := range [][]*Question{nil, {q}} {
			got := b.inPlace(q, &rows[0], fellows)
			for k := range got {
				if why := twoAnswers(&want, &got[k], "as bytes", fmt.Sprintf("in shared memory (row %d of %d)", k+1, len(got))); why != "" {
					return fail(q.String(), why)
				}
			}
		}
	}
	if answered == 0 {
		return skip("it refuses every question that can be made from its declaration")
	}
	return holds()
}

// inPlace asks a question about a row that lies in shared memory, with others in
// the same batch that do not.
func (b *Bench) inPlace(q *Question, memory *dist.Scores, fellows []*Question) []Answer {
	it := copyItem(q.Item)
	copy(memory.Values, q.Item.Scores.Values)
	it.Scores = *memory
	call := b.call([]*Question{q})
	call.Items = []*sampler.Item{it}
	for _, f := range fellows {
		call.Items = append(call.Items, copyItem(f.Item))
	}
	b.asked += len(call.Items)
	err := b.apply(b.runner, call)
	out := answers(call, append([]*Question{q}, fellows...), err)
	for i := range out {
		out[i].Row = out[i].Row.Clone() // the memory is used again
	}
	return out
}

// pluginLaw is a law asked once of all samplers of a plugin.
type pluginLaw struct {
	Law
	ask func(b *Bench) finding
}

func pluginLaws() []pluginLaw {
	return []pluginLaw{
		{Law{Name: "later", Of: "plugin", Says: "a question has the same answer as a second ago, and before all others"}, later},
		{Law{Name: "large_batch", Of: "plugin", Says: "64 MB of scores in one call are answered like the rows alone, well before a call's deadline"}, largeBatch},
	}
}

const (
	batchBytes = 64 << 20
	// batchPatience is how long the batch may be expected to take, half of what a
	// host waits for a call.
	batchPatience = 15 * time.Second
)

// largeBatch asks the quickest sampler about as many rows of the largest
// vocabulary as make 64 MB, of four kinds.
func largeBatch(b *Bench) finding {
	const kinds = 4
	var best []*Question
	var alone []Answer
	quickest := time.Duration(-1)
	for _, d := range b.asking() {
		g := b.Random("large_batch", d.Name)
		if d.Needs.Passes > 0 {
			continue
		}
		qs, answers := make([]*Question, kinds), make([]Answer, kinds)
		set, _ := Values(d)
		for i := range qs {
			qs[i] = b.About(g, d, large(g, i), "large")
			qs[i].Values = set
		}
		start := time.Now()
		answers[0] = b.Run(qs[0])[0]
		took := time.Since(start)
		if answers[0].Err != nil || quickest >= 0 && took >= quickest {
			continue
		}
		refused := false
		for i := 1; i < kinds && !refused; i++ {
			answers[i] = b.Run(qs[i])[0]
			refused = answers[i].Err != nil
		}
		if !refused {
			quickest, best, alone = took, qs, answers
		}
	}
	if best == nil {
		return skip("no sampler answers rows of %d tokens at its defaults", mostTokens)
	}
	count := batchBytes / (4 * mostTokens)
	if expected := quickest * time.Duration(count); expected > batchPatience {
		return skip("one row of %d tokens takes the quickest sampler, %s, %v, and %d of them %v: too long for one call",
			mostTokens, best[0].Decl.Name, quickest.Round(time.Millisecond), count, expected.Round(time.Second))
	}
	qs := make([]*Question, count)
	order := rand.New(rand.NewPCG(b.seed, 64)).Perm(count)
	for k := range qs {
		qs[k] = best[order[k]%kinds]
	}
	for k, a := range b.Run(qs...) {
		if why := twoAnswers(&alone[order[k]%kinds], &a, "alone", fmt.Sprintf("as number %d of %d rows", k+1, count)); why != "" {
			return fail(best[0].Decl.Name+": "+qs[k].String(), why)
		}
	}
	return holds()
}
