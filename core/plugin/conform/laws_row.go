package conform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// samplerLaws are the laws of one sampler, in the order in which they are asked.
func samplerLaws() []samplerLaw {
	of := func(name, says string, ask func(b *Bench, d sampler.Declaration) finding) samplerLaw {
		return samplerLaw{Law{Name: name, Of: "sampler", Says: says}, ask}
	}
	reasoned := func(l samplerLaw) samplerLaw { l.Reasoned = true; return l }
	return []samplerLaw{
		of("declaration", "a sampler says what it does in one sentence and one formula, and every default lies in its own range", declaration),
		of("defaults", "with every setting at its default, an ordinary row is answered, or the refusal names the setting that is missing", atDefaults),
		of("distribution", "what a stage leaves is a distribution over tokens that were there before, as scores, and a selector chooses one of them", distribution),
		of("ledger", "the ledger and the rows between stages say what really happened to the row", ledger),
		of("magnitudes", "finite scores of all magnitudes are answered with a distribution, and a sparse row like the dense one", magnitudes),
		of("one_token", "the only token there is stays, and a selector chooses it", oneToken),
		of("large_vocabulary", "262,144 tokens are answered like few, and a sparse row like the dense one", largeVocabulary),
		reasoned(of("lowest_id", "of tokens with equal scores those of lowest id stay: none is removed while one of a higher id stays", lowestID)),
		of("min_keep", "min_keep tokens stay, or as many as there are", minKeep),
		of("deterministic", "the same question has the same answer to the bit: row, choice, state and ledger", deterministic),
		of("batch", "an answer does not depend on what else is in the batch, nor on its order", batches),
		of("state", "what a stage remembers of a sequence is in the state it returns: sequences that take turns, fork and go back are answered as if alone", stateful),
		of("chain", "stages applied in one call leave what they leave one after the other", chained),
		of("sparse", "a row that lists only its support is answered like the dense one with -Inf for the rest", sparseTwin),
		reasoned(of("shift", "adding a constant to every score changes neither support nor probabilities nor the choice", shifted)),
		reasoned(of("off", "switched off, a stage leaves the row as it is, to the bit and in form", switchedOff)),
		of("unlisted", "a row with an unlisted tail is answered exactly or refused", unlistedTail),
		of("broken_rows", "NaN, +Inf and a row with nothing left are data errors; a repair step takes the first two", brokenRows),
		of("settings", "unknown settings and values outside their range are usage errors that name the setting", badSettings),
		of("systems", "the rule of another system answers with a distribution or refuses, always in the same way", otherSystems),
		of("needs", "an answer depends on what was declared as needed and on nothing else", needs),
		of("draws", "what a selector draws follows the distribution that it leaves", draws),
		of("transport", "rows in shared memory and rows that travel as bytes have the same answers to the bit", sharedRows),
	}
}

func declaration(b *Bench, d sampler.Declaration) finding {
	text := func(name, got, want string) finding {
		return fail(name, fmt.Sprintf("%q, which is not %s", got, want))
	}
	if err := d.Validate(); err != nil {
		return fail("the declaration", err.Error())
	}
	switch {
	case b.strict(d) && !strings.HasSuffix(d.Summary, "."):
		return text("the summary", d.Summary, "a sentence with a full stop")
	case b.strict(d) && d.Formula == "":
		return text("the formula", d.Formula, "given")
	case strings.Contains(d.Summary, "\n"):
		return text("the summary", d.Summary, "one line")
	case strings.Contains(d.Formula, "\n") || len(d.Formula) > 300:
		return text("the formula", d.Formula, "one line of at most 300 bytes")
	}
	for _, s := range d.Params {
		// Over the wire a default is what it is; converted, it is what a stage gets.
		v, err := s.Convert(s.Default)
		if err == nil {
			err = s.Check(v)
		}
		if err != nil {
			return fail(fmt.Sprintf("the default of %s", s.Name), err.Error())
		}
	}
	return holds()
}

func atDefaults(b *Bench, d sampler.Declaration) finding {
	g := b.Random("defaults", d.Name)
	v := make([]float32, 50)
	fill(v, func() float64 { return g.NormFloat64() * 3 })
	q := b.About(g, d, dist.NewDense(v), "gaussian")
	q.Values, _ = Values(d)
	a := b.Run(q)[0]
	refused, wrong := Refused(q, a)
	switch {
	case wrong != "":
		return fail(q.String(), wrong)
	case !refused:
		if why := Valid(q, a); why != "" {
			return fail(q.String(), why)
		}
		return holds()
	}
	for _, s := range d.Params {
		if onlyKnownToAuthors(s) && strings.Contains(a.Err.Error(), s.Name) {
			return holds()
		}
	}
	return fail(q.String(), "a refusal that names no text or list of tokens which has to be given: "+a.Err.Error())
}

// Valid says how a row that a stage left is no distribution, has a token that
// was removed before, or breaks an identity of the ledger; "" when all is well.
func Valid(q *Question, a Answer) string {
	p, err := dist.NewSampling(&a.Row)
	if err != nil {
		return fmt.Sprintf("no distribution: %v", err)
	}
	sum, revived := 0.0, int32(-1)
	p.Each(func(id int32, x float64) bool {
		sum += x
		if !q.Item.Scores.Has(id) {
			revived = id
		}
		return revived < 0
	})
	if revived >= 0 {
		return fmt.Sprintf("token %d, which had been removed, has a score again", revived)
	}
	// One rounding a term of a sum of numbers of one sign.
	if want := 1 - a.Row.Unlisted; !(math.Abs(sum-want) <= 1e-10) {
		return fmt.Sprintf("a mass of %.12g", sum)
	}
	if err := a.Change.Check(); err != nil {
		return err.Error()
	}
	if q.Decl.Kind == sampler.Select != (a.Chosen >= 0) {
		return fmt.Sprintf("it declares to %s and chooses token %d (-1: none)", q.Decl.Kind, a.Chosen)
	}
	if a.Chosen >= 0 && !(p.LogP(a.Chosen) > math.Inf(-1)) {
		return fmt.Sprintf("token %d is chosen, which it removed", a.Chosen)
	}
	return ""
}

func (b *Bench) anyKind(d sampler.Declaration) func(g *rand.Rand, i int) *Question {
	return func(g *rand.Rand, i int) *Question { return b.ask(g, d, i) }
}

func distribution(b *Bench, d sampler.Declaration) finding {
	return b.survey("distribution", d, b.rounds, b.anyKind(d), func(_ *rand.Rand, q *Question, a Answer) string {
		if why := Valid(q, a); why != "" {
			return why
		}
		if probabilities(&a.Row) && !probabilities(&q.Item.Scores) {
			return a.String() + ": probabilities in place of scores, which are natural logarithms"
		}
		return ""
	})
}

// probabilities reports whether a row looks as if it held probabilities in place
// of scores: several tokens, not all alike, none below 0, together 1. Whole
// numbers may come to that by chance.
func probabilities(row *dist.Scores) bool {
	sum, n, fraction := 0.0, 0, false
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range row.Values {
		x := float64(v)
		switch {
		case math.IsInf(x, -1):
			continue
		case !(x >= 0 && x <= 1):
			return false
		}
		sum, n, fraction = sum+x, n+1, fraction || x != math.Trunc(x)
		least, most = min(least, x), max(most, x)
	}
	return n >= 4 && fraction && least < most && math.Abs(sum-1) <= 1e-4 // a rounding to float32 for each token
}

// SameAsTwin says how the answer to the sparse form of a question differs.
func (b *Bench) SameAsTwin(q *Question, a Answer) string {
	t := b.Run(q.sparse())[0]
	switch {
	case t.Err != nil:
		return fmt.Sprintf("for the dense row %v; for the sparse one an error: %v", &a, t.Err)
	case !sameSupport(&a.Row, &t.Row) || a.Chosen != t.Chosen || !slices.Equal(a.State, t.State):
		return fmt.Sprintf("for the dense row %v; for the sparse one %v", &a, &t)
	}
	return ""
}

func validAndTwin(b *Bench) judge {
	return func(_ *rand.Rand, q *Question, a Answer) string {
		if why := Valid(q, a); why != "" {
			return why
		}
		return b.SameAsTwin(q, a)
	}
}

func magnitudes(b *Bench, d sampler.Declaration) finding {
	f := b.survey("magnitudes", d, b.rounds, func(g *rand.Rand, _ int) *Question { return b.About(g, d, wild(g), "wild") }, validAndTwin(b))
	return loose(f)
}

// loose takes a survey whose rows are so odd that refusals mean nothing.
func loose(f finding) finding {
	if f.outcome == Fail && strings.HasPrefix(f.got, "it refuses all but") {
		return holds()
	}
	return f
}

func oneToken(b *Bench, d sampler.Declaration) finding {
	f := b.survey("one_token", d, max(4, b.rounds/4), func(g *rand.Rand, i int) *Question {
		row := dist.NewDense([]float32{float32(g.IntN(9) - 4)})
		if i%2 == 1 {
			row = Twin(&row)
		}
		return b.About(g, d, row, "one token")
	}, func(_ *rand.Rand, q *Question, a Answer) string {
		if why := Valid(q, a); why != "" {
			return why
		}
		if d.Kind == sampler.Select && a.Chosen != 0 {
			return fmt.Sprintf("it chooses token %d", a.Chosen)
		}
		return ""
	})
	return loose(f)
}

// slowRows is how many rows of the largest vocabulary should fit into one call.
const slowRows = 8

func largeVocabulary(b *Bench, d sampler.Declaration) finding {
	began := time.Now()
	f := largeRows(b, d)
	// Each of three rows was asked about twice.
	if took := time.Since(began) / 6; f.outcome == Pass && took > b.patience/slowRows {
		f = fail(fmt.Sprintf("rows of %d tokens", mostTokens), fmt.Sprintf("%v for each, and a call of %d of them must not take longer than %v",
			took.Round(10*time.Millisecond), slowRows, b.patience))
		f.outcome = Note
	}
	return f
}

func largeRows(b *Bench, d sampler.Declaration) finding {
	return b.survey("large_vocabulary", d, 3, func(g *rand.Rand, i int) *Question {
		q := b.About(g, d, large(g, i), "large")
		if i == 0 {
			q.Values, _ = Values(d)
		}
		return q
	}, validAndTwin(b))
}

// large draws a row of the largest vocabulary: full, half removed, or peaked
// near its end with some removed.
func large(g *rand.Rand, i int) dist.Scores {
	v := make([]float32, mostTokens)
	fill(v, func() float64 {
		if i == 1 && g.IntN(2) == 0 || i == 2 && g.IntN(16) == 0 {
			return math.Inf(-1)
		}
		return g.NormFloat64() * 3
	})
	if i == 2 {
		v[len(v)-1-g.IntN(1000)] = 30 // at a place that 16 bits do not hold
	}
	return dist.NewDense(v)
}

func minKeep(b *Bench, d sampler.Declaration) finding {
	spec, ok := d.Params.Find("min_keep")
	if !ok || spec.Type != param.Int {
		return skip("it has no setting min_keep")
	}
	return b.survey("min_keep", d, b.rounds, func(g *rand.Rand, i int) *Question {
		q := b.ask(g, d, i)
		for k, v := range q.Values {
			if n := int64(g.IntN(12)); v.Name == spec.Name && spec.Check(n) == nil {
				q.Values[k] = param.Value{Name: v.Name, Value: n, Origin: "conformance"}
			}
		}
		return q
	}, func(_ *rand.Rand, q *Question, a Answer) string {
		before, _ := support(&q.Item.Scores)
		after, _ := support(&a.Row)
		if least := min(len(before), max(1, int(q.Values.Int(spec.Name)))); len(after) < least {
			return fmt.Sprintf("%d tokens left, not %d", len(after), least)
		}
		return ""
	})
}
