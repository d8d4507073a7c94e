package samplers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// The same question has the same answer to the bit, row, choice, state and
// ledger.
func TestAnswersAreDeterministic(t *testing.T) {
	l, other := newLaboratory(t), newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		l.survey(t, "determinism", d, func(g *rand.Rand, i int) *question { return l.ask(t, g, d, i) },
			func(_ *rand.Rand, q *question, a answer) {
				for _, again := range []*laboratory{l, other} {
					if b := again.run(q)[0]; b.err != nil || !sameAnswer(&a, &b) {
						t.Fatalf("%v: once %v, once %v (%v)", q, a, b, b.err)
					}
				}
			})
	})
}

func sameAnswer(a, b *answer) bool {
	return sameBits(&a.row, &b.row) && a.chosen == b.chosen && slices.Equal(a.state, b.state) && a.change == b.change
}

// An answer does not depend on what else is in the batch, nor on the order of
// the batch (FR-14, FR-15); also at a second step, with the state of the first.
func TestAnswersDoNotDependOnTheBatch(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		batches := 0
		for i := range rounds / 8 {
			g := random("batch", d.Name, i)
			first := l.ask(t, g, d, i)
			n := first.item.Scores.Vocab
			var alone []answer
			var qs []*question
			for k := 0; len(qs) < 7 && k < 60; k++ {
				q := *first
				v := make([]float32, n)
				each(v, func() float64 { return g.NormFloat64() * 3 })
				row := dist.NewDense(v)
				if g.IntN(2) == 0 {
					v[g.IntN(n)] = negInf
					if row.Check() != nil {
						continue
					}
					row = twin(&row)
				}
				q.item = surroundings(g, d, row)
				q.shape = "gaussian"
				a := l.run(&q)[0]
				if refused(t, &q, a) {
					continue
				}
				if g.IntN(2) == 0 && len(a.state) > 0 { // one step on
					q.item.States = [][]byte{a.state}
					q.item.Step++
					q.item.History = append(slices.Clone(q.item.History), max(a.chosen, 0))
					if a = l.run(&q)[0]; refused(t, &q, a) {
						continue
					}
				}
				qs, alone = append(qs, &q), append(alone, a)
			}
			if len(qs) < 7 {
				continue
			}
			batches++
			for range 2 {
				order := g.Perm(7)
				shuffled := make([]*question, 7)
				for k, o := range order {
					shuffled[k] = qs[o]
				}
				for k, b := range l.run(shuffled...) {
					if a := alone[order[k]]; b.err != nil || !sameAnswer(&a, &b) {
						t.Fatalf("%v: alone %v, in a batch of 7 %v (%v)", shuffled[k], a, b, b.err)
					}
				}
			}
		}
		if batches < rounds/40 {
			t.Errorf("only %d batches could be made", batches)
		}
	})
}

// A row that lists only its support has the same answer as the dense one with
// -Inf for the rest.
func TestSparseRowsAndTheirDenseTwins(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		l.survey(t, "twins", d, func(g *rand.Rand, i int) *question {
			sh := shapes[i%len(shapes)]
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
			return l.about(t, g, d, row, sh.name)
		}, func(_ *rand.Rand, q *question, a answer) {
			sparse := *q
			sparse.item = copyItem(q.item)
			sparse.item.Scores = twin(&q.item.Scores)
			b := l.run(&sparse)[0]
			if b.err != nil || !sameSupport(&a.row, &b.row) || a.chosen != b.chosen || !slices.Equal(a.state, b.state) {
				t.Fatalf("%v: leaves %v and chooses %d; the sparse twin %v, %d (%v)", q, a.row, a.chosen, b.row, b.chosen, b.err)
			}
		})
	})
}

// Adding a constant to every score changes neither the support nor the
// probabilities nor the choice, but for the samplers whose catalogue row says
// why.
func TestShiftOfAllScoresChangesNothing(t *testing.T) {
	l := newLaboratory(t)
	moved := 0
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		why := facts[d.Name].moves
		differs := false
		l.survey(t, "shift", d, func(g *rand.Rand, i int) *question { return l.ask(t, g, d, i) },
			func(g *rand.Rand, q *question, a answer) {
				c := float32(1 + g.IntN(50))
				if g.IntN(2) == 0 {
					c = -c
				}
				shifted := *q
				shifted.item = copyItem(q.item)
				for i := range shifted.item.Scores.Values {
					shifted.item.Scores.Values[i] += c // exact: see shapes
				}
				b := l.run(&shifted)[0]
				if why := unequal(&a, &b, q, float64(c)); why != "" {
					differs = true
					if facts[d.Name].moves == "" {
						t.Fatalf("%v: shifted by %v, %s", q, c, why)
					}
				}
			})
		if why != "" && !differs {
			t.Errorf("it does not move although %s", why)
		}
		if why != "" {
			moved++
		}
	})
	if moved > 6 {
		t.Errorf("%d samplers are excused, more than the catalogue has reasons for", moved)
	}
}

// unequal says how two answers differ beyond what rounding of their scores to
// float32 does to the probabilities.
func unequal(a, b *answer, q *question, shift float64) string {
	if b.err != nil {
		return b.err.Error()
	}
	p, err1 := dist.NewSampling(&a.row)
	r, err2 := dist.NewSampling(&b.row)
	if err1 != nil || err2 != nil {
		return fmt.Sprint(err1, err2)
	}
	largest := math.Abs(shift) + 64
	for _, s := range []*dist.Scores{&a.row, &b.row} {
		for _, v := range s.Values {
			if dist.Finite(v) {
				largest = max(largest, math.Abs(float64(v)))
			}
		}
	}
	tol := largest*0x1p-22 + 1e-9
	ids, _ := support(&a.row)
	ids2, _ := support(&b.row)
	if !slices.Equal(ids, ids2) {
		return fmt.Sprintf("it leaves %v instead of %v", ids2, ids)
	}
	for _, id := range ids {
		if x, y := p.P(id), r.P(id); !(math.Abs(x-y) <= tol*max(x, y)) && !(math.Abs(x-y) <= 1e-12) {
			return fmt.Sprintf("token %d has %v instead of %v", id, y, x)
		}
	}
	if a.chosen != b.chosen {
		return fmt.Sprintf("it chooses %d instead of %d", b.chosen, a.chosen)
	}
	return ""
}

// Switched off, a stage leaves the row as it is, to the bit and in form.
func TestOffIsIdentityToTheBit(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		f := facts[d.Name]
		if f.off == nil {
			if f.noOff == "" {
				t.Errorf("how is it switched off?")
			}
			return
		}
		answered := 0
		for i := range rounds {
			g := random("off", d.Name, i)
			q := l.ask(t, g, d, i)
			own := values(t, d, f.off...)
			for k, v := range own {
				if v.Origin == param.DefaultOrigin { // the other settings do not matter
					own[k].Value = q.values[k].Value
				}
			}
			q.values = own
			a := l.run(q)[0]
			if refused(t, q, a) {
				continue
			}
			answered++
			if !sameBits(&q.item.Scores, &a.row) {
				t.Fatalf("%v leaves %v", q, a.row)
			}
			if c := a.change; c.KL != 0 || c.TV != 0 || !c.Truncation {
				t.Fatalf("%v: the ledger says %+v", q, c)
			}
		}
		if answered < rounds/2 {
			t.Errorf("only %d of %d questions are answered", answered, rounds)
		}
	})
}
