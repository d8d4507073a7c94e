package conform

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/sampler"
)

// turn is one step of a sequence: the row that the model gave, the uniform
// numbers, and the token that was accepted before it.
type turn struct {
	row      dist.Scores
	uniforms []float64
	passes   []dist.Scores
	accepted int32
}

// sequence is a sampler at work on one text.
type sequence struct {
	q     *Question // the first step
	turns []turn    // those after it
}

// sequence draws a sequence of some steps with the settings of first.
func (b *Bench) sequence(g *rand.Rand, first *Question, steps int) *sequence {
	n := first.Item.Scores.Vocab
	s := &sequence{q: first.clone()}
	s.q.Item = b.Surroundings(g, first.Decl, rowOf(g, n))
	s.q.Shape = "gaussian"
	for range steps {
		t := turn{row: rowOf(g, n), uniforms: uniforms(g, first.Decl), accepted: int32(g.IntN(n))}
		for range first.Decl.Needs.Passes {
			t.passes = append(t.passes, pass(g, n))
		}
		s.turns = append(s.turns, t)
	}
	return s
}

func rowOf(g *rand.Rand, n int) dist.Scores {
	v := make([]float32, n)
	fill(v, func() float64 { return g.NormFloat64() * 3 })
	return dist.NewDense(v)
}

// at returns the question of step k, given the state that the step before left.
func (s *sequence) at(k int, state []byte) *Question {
	if k == 0 {
		return s.q
	}
	q, t := s.q.clone(), s.turns[k-1]
	q.Item.Scores, q.Item.Uniforms, q.Item.Passes = t.row, [][]float64{t.uniforms}, t.passes
	q.Item.States = [][]byte{state}
	q.Item.Step += k
	q.Item.History = slices.Clone(q.Item.History)
	for _, earlier := range s.turns[:k] {
		q.Item.History = append(q.Item.History, earlier.accepted)
	}
	return q
}

// forked returns the sequence that goes another way from step k on.
func (s *sequence) forked(g *rand.Rand, k int) *sequence {
	c := &sequence{q: s.q, turns: slices.Clone(s.turns)}
	t := &c.turns[k-1]
	t.row = rowOf(g, t.row.Vocab)
	t.accepted = (t.accepted + 1) % int32(t.row.Vocab)
	t.uniforms = uniforms(g, s.q.Decl)
	return c
}

// alone answers every step of a sequence without anything in between. It
// returns nothing when a step is refused, or how one is wrong.
func (b *Bench) alone(s *sequence) (answers []Answer, f finding) {
	var state []byte
	for k := range len(s.turns) + 1 {
		q := s.at(k, state)
		a := b.Run(q)[0]
		refused, wrong := Refused(q, a)
		switch {
		case wrong != "":
			return nil, fail(fmt.Sprintf("step %d of a sequence: %v", k, q), wrong)
		case refused:
			return nil, holds()
		}
		answers, state = append(answers, a), a.State
	}
	return answers, holds()
}

const (
	stateSteps = 3
	longSteps  = 100 // of a sequence that is followed to see what a state grows to
)

func stateful(b *Bench, d sampler.Declaration) finding {
	told, tries := 0, max(4, b.rounds/6)
	for i := range tries {
		g := b.Random("state", d.Name, i)
		first := b.ask(g, d, 0)
		one, two := b.sequence(g, first, stateSteps), b.sequence(g, first, stateSteps)
		a, f := b.alone(one)
		if f.outcome == Fail {
			return f
		}
		other, f := b.alone(two)
		if f.outcome == Fail {
			return f
		}
		if a == nil || other == nil {
			continue
		}
		told++
		if f := b.turns(one, two, a, other); f.outcome == Fail {
			return f
		}
		if f := b.fork(g, one, a); f.outcome == Fail {
			return f
		}
	}
	if told == 0 {
		return skip("it refuses a step of every sequence that can be made from its declaration")
	}
	g := b.Random("state", d.Name, "long")
	_, f := b.alone(b.sequence(g, b.ask(g, d, 0), longSteps))
	return f
}

// turns answers two sequences step by step in turns, in one batch each time.
func (b *Bench) turns(one, two *sequence, a, other []Answer) finding {
	var states [2][]byte
	for k := range a {
		qs := []*Question{one.at(k, states[0]), two.at(k, states[1])}
		got := b.Run(qs...)
		for j, want := range []*Answer{&a[k], &other[k]} {
			if why := twoAnswers(want, &got[j], "alone", fmt.Sprintf("at step %d in turns with another sequence", k)); why != "" {
				return fail(qs[j].String(), why)
			}
			states[j] = got[j].State
		}
	}
	return holds()
}

// fork goes another way from the second step on, and then the first way again.
func (b *Bench) fork(g *rand.Rand, s *sequence, a []Answer) finding {
	fork := s.forked(g, 2)
	q := fork.at(2, a[1].State)
	alone := b.Run(q)[0]
	refused, wrong := Refused(q, alone)
	if wrong != "" {
		return fail(q.String(), wrong)
	}
	back := s.at(2, a[1].State)
	again := b.Run(back)[0]
	if why := twoAnswers(&a[2], &again, "at first", "after a fork of the sequence had gone another way"); why != "" {
		return fail(back.String(), why)
	}
	if refused {
		return holds()
	}
	both := b.Run(back, q)
	if why := twoAnswers(&alone, &both[1], "the fork alone", "the fork beside the sequence that it left"); why != "" {
		return fail(q.String(), why)
	}
	if why := twoAnswers(&a[2], &both[0], "at first", "beside its fork"); why != "" {
		return fail(back.String(), why)
	}
	return holds()
}

// chained applies another sampler and then this one in one call, and one after
// the other.
func chained(b *Bench, d sampler.Declaration) finding {
	var before []sampler.Declaration
	for _, o := range b.Declarations {
		if o.Kind == sampler.Reshape && o.Needs.Passes <= d.Needs.Passes { // as many rows as there are in the question
			before = append(before, o)
		}
	}
	if len(before) == 0 {
		return skip("the plugin has no sampler that could stand before it")
	}
	// Those that see the whole context first: what is sent for them must not
	// reach a stage that asked for less.
	slices.SortStableFunc(before, func(x, y sampler.Declaration) int { return seen(y) - seen(x) })
	made := 0
	for i := range max(9, b.rounds/3) {
		o := before[0]
		switch i % 3 {
		case 1:
			o = before[i/3%len(before)]
		case 2:
			if d.Kind == sampler.Reshape {
				o = d // which reads what it read before
			}
		}
		g := b.Random("chain", o.Name, d.Name, i)
		q := b.ask(g, d, i)
		lead := &Question{Decl: o, Shape: q.Shape, End: q.End, Item: q.Item}
		var err error
		if lead.Values, err = legal(g, o, b.facts[o.Name], q.Item.Scores.Vocab); err != nil {
			continue
		}
		lead.Item = copyItem(q.Item)
		lead.Item.Uniforms = [][]float64{uniforms(g, o)}
		first := b.Run(lead)[0]
		if first.Err != nil {
			continue
		}
		then := q.clone()
		then.Item.Scores = first.Row
		second := b.Run(then)[0]
		if second.Err != nil {
			continue
		}
		made++
		if why := b.together(lead, then, first, second); why != "" {
			return fail(fmt.Sprintf("%s %v and then %v", o.Name, lead.Values, q), why)
		}
	}
	if made == 0 {
		return skip("no two stages with settings from their declarations answer the same row")
	}
	return holds()
}

func seen(d sampler.Declaration) int {
	if d.Needs.History < 0 {
		return 1 << 30
	}
	return d.Needs.History
}

// together says how two stages in one call differ from the stages alone.
func (b *Bench) together(lead, then *Question, first, second Answer) string {
	it := copyItem(lead.Item)
	it.Uniforms = [][]float64{lead.Item.Uniforms[0], then.Item.Uniforms[0]}
	it.Passes = then.Item.Passes
	call := &sampler.Call{Ledger: true, Rows: true, Vocabulary: vocabularyKey, EndOfText: then.End, Items: []*sampler.Item{it}}
	for _, q := range []*Question{lead, then} {
		call.Stages = append(call.Stages, sampler.Stage{Sampler: q.Decl.Name, Values: q.Values})
	}
	b.asked++
	if err := b.apply(b.runner, call); err != nil {
		return "in one call an error: " + err.Error()
	}
	if len(it.Rows) != 2 || len(it.States) != 2 || len(it.Changes) != 2 {
		return fmt.Sprintf("in one call %d rows, %d states and %d lines of the ledger for two stages", len(it.Rows), len(it.States), len(it.Changes))
	}
	for k, want := range []*Answer{&first, &second} {
		got := Answer{Row: it.Rows[k], State: it.States[k], Chosen: -1, Change: want.Change}
		if k == 1 {
			got.Chosen = it.Chosen
		}
		if why := twoAnswers(want, &got, fmt.Sprintf("stage %d alone", k+1), "in one call"); why != "" {
			return why
		}
	}
	if !sameBits(&it.Rows[1], &it.Scores) {
		return fmt.Sprintf("the row after the last stage is %v, the row left %v", it.Rows[1], it.Scores)
	}
	return ""
}
