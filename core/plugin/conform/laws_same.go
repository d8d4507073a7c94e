package conform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// sameAnswer reports whether two answers are equal to the bit.
func sameAnswer(a, b *Answer) bool {
	return b.Err == nil && sameBits(&a.Row, &b.Row) && a.Chosen == b.Chosen && slices.Equal(a.State, b.State) && a.Change == b.Change
}

// twoAnswers says how b, given under other circumstances, differs from a.
func twoAnswers(a, b *Answer, here, there string) string {
	if sameAnswer(a, b) {
		return ""
	}
	s := fmt.Sprintf("%s: %v; %s: %v", here, a, there, b)
	switch {
	case b.Err != nil:
	case !slices.Equal(a.State, b.State):
		s += fmt.Sprintf("; states of %d and %d bytes differ", len(a.State), len(b.State))
	case a.Change != b.Change && sameBits(&a.Row, &b.Row):
		s += fmt.Sprintf("; ledgers %+v and %+v", a.Change, b.Change)
	}
	return s
}

func deterministic(b *Bench, d sampler.Declaration) finding {
	return b.survey("deterministic", d, b.rounds, b.anyKind(d), func(g *rand.Rand, q *Question, a Answer) string {
		again := b.Run(q)[0]
		if why := twoAnswers(&a, &again, "once", "asked again"); why != "" {
			return why
		}
		b.remember(q, a)
		b.Run(b.ask(g, d, g.IntN(len(b.shapes)))) // something else in between
		again = b.Run(q)[0]
		if why := twoAnswers(&a, &again, "once", "after another question"); why != "" {
			return why
		}
		if b.again == nil {
			return ""
		}
		b.on(b.again, []*Question{nearTwin(q)})
		again = b.on(b.again, []*Question{q})[0]
		return twoAnswers(&a, &again, "here", "in another process, after a question much like it")
	})
}

// nearTwin returns a question that what is remembered of q may be taken for: the
// scores at both ends, how many there are and all around them are the same.
func nearTwin(q *Question) *Question {
	c := q.clone()
	v := c.Item.Scores.Values
	if len(v) < 4 {
		for i := range v {
			v[i]--
		}
		return c
	}
	inner := slices.Clone(v[1 : len(v)-1])
	for i, x := range inner {
		v[1+(i+1)%len(inner)] = x - 3
	}
	return c
}

// fellows draws questions with the settings of first, about rows of its size,
// that are answered, and what they are answered alone; some are one step on.
func (b *Bench) fellows(g *rand.Rand, first *Question, count int) (qs []*Question, alone []Answer, wrong string) {
	n := first.Item.Scores.Vocab
	for k := 0; len(qs) < count && k < 8*count; k++ {
		q := first.clone()
		v := make([]float32, n)
		fill(v, func() float64 { return g.NormFloat64() * 3 })
		row := dist.NewDense(v)
		if g.IntN(2) == 0 {
			v[g.IntN(n)] = negInf
			if row.Check() != nil {
				continue
			}
			row = Twin(&row)
		}
		q.Item, q.Shape = b.Surroundings(g, q.Decl, row), "gaussian"
		a := b.Run(q)[0]
		refused, wrong := Refused(q, a)
		if wrong != "" {
			return nil, nil, wrong
		}
		if refused {
			continue
		}
		if g.IntN(2) == 0 && len(a.State) > 0 {
			q.Item.States = [][]byte{a.State}
			q.Item.Step++
			q.Item.History = append(slices.Clone(q.Item.History), max(a.Chosen, 0))
			a = b.Run(q)[0]
			if refused, wrong = Refused(q, a); wrong != "" {
				return nil, nil, wrong
			} else if refused {
				continue
			}
		}
		qs, alone = append(qs, q), append(alone, a)
	}
	return qs, alone, ""
}

const (
	batchOf = 7 // questions in a batch
	// batchTokens is the size of the rows of one batch, so large that a plugin
	// which works on several rows at once does so.
	batchTokens = 1 << 14
)

func batches(b *Bench, d sampler.Declaration) finding {
	made, tries := 0, max(4, b.rounds/8)
	for i := range tries {
		g := b.Random("batch", d.Name, i)
		first := b.ask(g, d, i)
		if i == 0 {
			first = b.About(g, d, rowOf(g, batchTokens), "gaussian")
		}
		qs, alone, wrong := b.fellows(g, first, batchOf)
		if wrong != "" {
			return fail("a question asked alone", wrong)
		}
		if len(qs) < batchOf {
			continue
		}
		made++
		for range 2 {
			order := g.Perm(batchOf)
			shuffled := make([]*Question, batchOf)
			for k, o := range order {
				shuffled[k] = qs[o]
			}
			for k, a := range b.Run(shuffled...) {
				if why := twoAnswers(&alone[order[k]], &a, "alone", fmt.Sprintf("as number %d of a batch of %d", k+1, batchOf)); why != "" {
					return fail(shuffled[k].String(), why)
				}
			}
		}
	}
	switch {
	case made > 0 && (made >= tries/5 || !b.strict(d)):
		return holds()
	case b.strict(d):
		return fail(fmt.Sprintf("%d attempts to make a batch", tries), fmt.Sprintf("only %d batches could be made of what it answers", made))
	}
	return skip("it refuses too many of the questions that can be made from its declaration to fill a batch")
}

func sparseTwin(b *Bench, d sampler.Declaration) finding {
	return b.survey("sparse", d, b.rounds, func(g *rand.Rand, i int) *Question {
		sh := b.shapes[i%len(b.shapes)]
		v := make([]float32, sh.n(g))
		sh.fill(g, v)
		for k := range v {
			if k > 0 && g.IntN(4) == 0 {
				v[k] = negInf
			}
		}
		row := dist.NewDense(v)
		if row.Check() != nil {
			v[0] = 0
		}
		return b.About(g, d, row, sh.name)
	}, func(_ *rand.Rand, q *Question, a Answer) string { return b.SameAsTwin(q, a) })
}

func shifted(b *Bench, d sampler.Declaration) finding {
	reason := b.facts[d.Name].Moves
	f := b.survey("shift", d, b.rounds, b.anyKind(d), func(g *rand.Rand, q *Question, a Answer) string {
		c := float32(1 + g.IntN(50))
		if g.IntN(2) == 0 {
			c = -c
		}
		s := q.clone()
		for i := range s.Item.Scores.Values {
			s.Item.Scores.Values[i] += c // exact: see shapes
		}
		m := b.Run(s)[0]
		if why := apart(&a, &m, float64(c)); why != "" {
			return fmt.Sprintf("with %v added to every score, %s", c, why)
		}
		return ""
	})
	switch {
	case reason == "":
		return f
	case f.outcome == Pass:
		return fail("scores with a constant added", "nothing moves, although "+reason)
	}
	return skip("%s", reason)
}

// apart says how two answers differ beyond what rounding of their scores to
// float32 does to the probabilities.
func apart(a, b *Answer, shift float64) string {
	if b.Err != nil {
		return b.Err.Error()
	}
	largest := math.Abs(shift) + 64
	for _, s := range []*dist.Scores{&a.Row, &b.Row} {
		for _, v := range s.Values {
			if dist.Finite(v) {
				largest = max(largest, math.Abs(float64(v)))
			}
		}
	}
	if why := otherOdds(&a.Row, &b.Row, largest*0x1p-22+1e-9); why != "" {
		return why
	}
	if a.Chosen != b.Chosen {
		return fmt.Sprintf("it chooses %d instead of %d", b.Chosen, a.Chosen)
	}
	return ""
}

// otherOdds says how the probabilities of row b differ from those of a by more
// than tol, as a share of the larger one.
func otherOdds(a, b *dist.Scores, tol float64) string {
	p, err1 := dist.NewSampling(a)
	r, err2 := dist.NewSampling(b)
	if err1 != nil || err2 != nil {
		return fmt.Sprint(err1, err2)
	}
	ids, _ := support(a)
	ids2, _ := support(b)
	if !slices.Equal(ids, ids2) {
		return fmt.Sprintf("it leaves tokens %v instead of %v", brief(ids2), brief(ids))
	}
	for _, id := range ids {
		if x, y := p.P(id), r.P(id); !(math.Abs(x-y) <= tol*max(x, y)) && !(math.Abs(x-y) <= 1e-12) {
			return fmt.Sprintf("token %d has %v instead of %v", id, y, x)
		}
	}
	return ""
}

func switchedOff(b *Bench, d sampler.Declaration) finding {
	f := b.facts[d.Name]
	if f.Off == nil {
		if f.NoOff == "" {
			return b.seemsOff(d)
		}
		return skip("%s", f.NoOff)
	}
	off, err := Values(d, f.Off...)
	if err != nil {
		return fail(fmt.Sprint(f.Off...), err.Error())
	}
	return b.survey("off", d, b.rounds, func(g *rand.Rand, i int) *Question {
		q := b.ask(g, d, i)
		for k, v := range off {
			if v.Origin != param.DefaultOrigin { // the other settings do not matter
				q.Values[k] = v
				q.Values[k].Origin = param.DefaultOrigin // a smaller question must keep it
			}
		}
		return q
	}, func(_ *rand.Rand, q *Question, a Answer) string {
		if !sameBits(&q.Item.Scores, &a.Row) {
			return a.String()
		}
		if c := a.Change; c.KL != 0 || c.TV != 0 || !c.Truncation {
			return fmt.Sprintf("the ledger says %+v", c)
		}
		return ""
	})
}
