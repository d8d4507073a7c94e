package samplers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// rounds is how many questions a law asks every sampler.
const rounds = 160

func TestDeclarationsAreComplete(t *testing.T) {
	l := newLaboratory(t)
	if len(l.decls) < 20 {
		t.Errorf("only %d samplers", len(l.decls))
	}
	known := map[string]bool{}
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		known[d.Name] = true
		if d.Formula == "" || strings.Contains(d.Formula, "\n") || len(d.Formula) > 300 {
			t.Errorf("its formula is no line: %q", d.Formula)
		}
		if d.Summary == "" || !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("its summary is no sentence: %q", d.Summary)
		}
		for _, s := range d.Params {
			if s.Name == "min_keep" && param.Format(s.Default) != "1" {
				t.Errorf("min_keep is %v by default", s.Default)
			}
		}
		f, ok := facts[d.Name]
		if !ok || f.off == nil && f.noOff == "" {
			t.Fatalf("facts_test.go does not say how it is switched off")
		}
	})
	for name := range facts {
		if !known[name] {
			t.Errorf("facts_test.go knows %q, which is no sampler", name)
		}
	}
}

// valid fails when a row that a stage left is no distribution, or has a token
// that was removed before.
func valid(t testing.TB, q *question, a answer) {
	t.Helper()
	p, err := dist.NewSampling(&a.row)
	if err != nil {
		t.Fatalf("%v leaves %v", q, err)
	}
	sum := 0.0
	p.Each(func(id int32, x float64) bool {
		sum += x
		if !q.item.Scores.Has(id) {
			t.Fatalf("%v revives token %d", q, id)
		}
		return true
	})
	// One rounding a term of a sum of numbers of one sign.
	if want := 1 - a.row.Unlisted; !(math.Abs(sum-want) <= 1e-10) {
		t.Fatalf("%v leaves a mass of %.12g", q, sum)
	}
	if err := a.change.Check(); err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	if q.decl.Kind == sampler.Select != (a.chosen >= 0) {
		t.Fatalf("%v chose %d", q, a.chosen)
	}
	if a.chosen >= 0 && !(p.P(a.chosen) > 0) && !(p.LogP(a.chosen) > math.Inf(-1)) {
		t.Fatalf("%v chose token %d, which is removed", q, a.chosen)
	}
}

// survey asks questions and counts refusals, so that a sampler that refuses
// nearly everything does not pass unseen.
func (l *laboratory) survey(t *testing.T, law string, d sampler.Declaration, ask func(g *rand.Rand, i int) *question, hold func(g *rand.Rand, q *question, a answer)) {
	t.Helper()
	answered := 0
	var last error
	for i := range rounds {
		g := random(law, d.Name, i)
		q := ask(g, i)
		a := l.run(q)[0]
		if refused(t, q, a) {
			last = a.err
			continue
		}
		answered++
		hold(g, q, a)
		if t.Failed() {
			return
		}
	}
	if answered < rounds/3 {
		t.Errorf("only %d of %d questions are answered; a refusal: %v", answered, rounds, last)
	}
}

// What a stage leaves is a distribution over tokens that were there before, and
// the ledger's identities hold.
func TestEveryRowLeftIsADistribution(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		l.survey(t, "valid", d, func(g *rand.Rand, i int) *question { return l.ask(t, g, d, i) },
			func(_ *rand.Rand, q *question, a answer) { valid(t, q, a) })
	})
}

// The same for scores of all magnitudes, where differences overflow and weights
// vanish; the dense row and the sparse one agree there too.
func TestRowsOfAllMagnitudes(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		for i := range 2 * rounds {
			g := random("magnitudes", d.Name, i)
			q := l.about(t, g, d, wild(g), "wild")
			a := l.run(q)[0]
			if refused(t, q, a) {
				continue
			}
			valid(t, q, a)
			sparse := *q
			sparse.item = copyItem(q.item)
			sparse.item.Scores = twin(&q.item.Scores)
			if b := l.run(&sparse)[0]; b.err != nil || !sameSupport(&a.row, &b.row) || a.chosen != b.chosen {
				t.Fatalf("%v: leaves %v and chooses %d; the sparse twin %v, %d (%v)", q, a.row, a.chosen, b.row, b.chosen, b.err)
			}
		}
	})
}

// The same at the size of a large vocabulary, where it is also the same as for
// the sparse twin.
func TestLargeVocabulary(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		answered := 0
		for i := range 3 {
			g := random("large", d.Name, i)
			v := make([]float32, 262144)
			each(v, func() float64 {
				if i == 1 && g.IntN(2) == 0 {
					return math.Inf(-1)
				}
				return g.NormFloat64() * 3
			})
			if i == 2 {
				v[g.IntN(len(v))] = 30
			}
			q := l.about(t, g, d, dist.NewDense(v), "large")
			if i == 0 { // at the defaults
				q.values = values(t, d)
			}
			a := l.run(q)[0]
			if refused(t, q, a) {
				continue
			}
			answered++
			valid(t, q, a)
			sparse := *q
			sparse.item = copyItem(q.item)
			sparse.item.Scores = twin(&q.item.Scores)
			if b := l.run(&sparse)[0]; b.err != nil || !sameSupport(&a.row, &b.row) || a.chosen != b.chosen {
				t.Errorf("%v: its sparse twin gives another answer (%v)", q, b.err)
			}
		}
		if answered == 0 {
			t.Error("no question is answered")
		}
	})
}

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

// Of tokens with equal scores, those of lowest id stay: none is removed while
// one of a higher id stays. XTC cuts the head, so its order is the other way
// round.
func TestTiesAreBrokenByLowestID(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		if facts[d.Name].byID != "" {
			return
		}
		l.survey(t, "ties", d, func(g *rand.Rand, i int) *question {
			v := make([]float32, 2+g.IntN(50))
			few := 1 + g.IntN(4)
			each(v, func() float64 { return float64(g.IntN(few)) })
			return l.about(t, g, d, dist.NewDense(v), "ties")
		}, func(_ *rand.Rand, q *question, a answer) {
			gone := map[float32]int32{} // a removed token of each score
			for k := range q.item.Scores.Values {
				if d.Name == "xtc" {
					k = len(q.item.Scores.Values) - 1 - k
				}
				v, id := q.item.Scores.Values[k], int32(k)
				other, any := gone[v]
				switch stays := a.row.Has(id); {
				case !stays:
					gone[v] = id
				case any:
					t.Fatalf("%v keeps token %d and removes its equal %d", q, id, other)
				}
			}
		})
	})
}

// min_keep tokens stay, or as many as there are.
func TestMinKeep(t *testing.T) {
	l := newLaboratory(t)
	seen := 0
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		if _, ok := d.Params.Find("min_keep"); !ok {
			return
		}
		seen++
		l.survey(t, "min_keep", d, func(g *rand.Rand, i int) *question { return l.ask(t, g, d, i) },
			func(g *rand.Rand, q *question, _ answer) {
				q.values = slices.Clone(q.values)
				for k, v := range q.values {
					if v.Name == "min_keep" {
						q.values[k].Value = int64(g.IntN(12))
					}
				}
				a := l.run(q)[0]
				if refused(t, q, a) {
					return
				}
				before, _ := support(&q.item.Scores)
				after, _ := support(&a.row)
				if least := min(len(before), max(1, int(q.values.Int("min_keep")))); len(after) < least {
					t.Fatalf("%v leaves %d tokens, not %d", q, len(after), least)
				}
			})
	})
	if seen < 2 {
		t.Errorf("%d samplers have the setting", seen)
	}
}

// With the mass of an unlisted tail a stage is exact or refuses.
func TestUnlistedTail(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		for i := range rounds {
			g := random("tail", d.Name, i)
			n := 2 + g.IntN(20)
			tail := []float64{0.01, 0.3, 0.9}[i%3]
			row := dist.Scores{Vocab: n + 5, Unlisted: tail}
			w, total := make([]float64, n), 0.0
			for k := range w {
				w[k] = g.ExpFloat64() + 0.01
				total += w[k]
			}
			for k, x := range w {
				row.IDs = append(row.IDs, int32(k+k/4))
				row.Values = append(row.Values, float32(math.Log(x/total*(1-tail))))
			}
			row.Vocab = int(row.IDs[n-1]) + 4
			q := l.about(t, g, d, row, "listed")
			a := l.run(q)[0]
			if refused(t, q, a) {
				continue
			}
			valid(t, q, a)
		}
	})
}

// NaN, +Inf and rows of which nothing is left are data errors that name the
// token, whatever the sampler. The repair step takes the first two.
func TestBrokenRowsAreDataErrors(t *testing.T) {
	l := newLaboratory(t)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := []struct {
		name   string
		values []float32
		says   string
		repair bool
	}{
		{"NaN", []float32{1, nan, 0}, "token 1 has score NaN", true},
		{"+Inf", []float32{1, 0, inf}, "token 2 has score +Inf", true},
		{"nothing left", []float32{negInf, negInf, negInf}, "no token is left", false},
		{"no token", nil, "no token is left", false},
	}
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		for _, r := range rows {
			q := l.about(t, random("broken", d.Name), d, dist.NewDense([]float32{1, 2, 3}), r.name)
			q.item.Scores = dist.NewDense(slices.Clone(r.values))
			a := l.run(q)[0]
			if d.Needs.Raw && r.repair {
				if a.err != nil {
					t.Errorf("%s: %v", r.name, a.err)
				}
				continue
			}
			if a.err == nil || fault.KindOf(a.err) != fault.Data || !strings.Contains(a.err.Error(), r.says) {
				t.Errorf("%s: %v, want a data error with %q", r.name, a.err, r.says)
			}
		}
	})
}

// Unknown settings, and values outside the range, are usage errors that name
// stage, setting and value.
func TestSettingsOutsideTheirRangeAreUsageErrors(t *testing.T) {
	l := newLaboratory(t)
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		refuse := func(name string, value any, says ...string) {
			t.Helper()
			it := surroundings(random("usage", d.Name), d, dist.NewDense([]float32{1, 2, 3}))
			call := &sampler.Call{Stages: []sampler.Stage{{Sampler: d.Name, Values: param.Values{{Name: name, Value: value}}}},
				Items: []*sampler.Item{it}, Vocabulary: "laws"}
			err := l.set.Run(t.Context(), call)
			if err == nil || fault.KindOf(err) != fault.Usage {
				t.Errorf("%s = %v: %v, want a usage error", name, value, err)
				return
			}
			for _, s := range append(says, "stage 1", d.Name, name) {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%s = %v: %q does not name %q", name, value, err, s)
				}
			}
		}
		refuse("nonesuch", 1.0)
		for _, s := range d.Params {
			switch s.Type {
			case param.Float:
				refuse(s.Name, math.NaN(), "NaN")
				refuse(s.Name, math.Inf(1), "+Inf")
				if !math.IsInf(s.Min, -1) {
					refuse(s.Name, s.Min-1-math.Abs(s.Min)/8, param.Format(s.Min-1-math.Abs(s.Min)/8))
				}
				if !math.IsInf(s.Max, 1) {
					refuse(s.Name, s.Max+1+math.Abs(s.Max)/8, param.Format(s.Max+1+math.Abs(s.Max)/8))
				}
				if s.MinOpen && !math.IsInf(s.Min, -1) {
					refuse(s.Name, s.Min, param.Format(s.Min))
				}
			case param.Int:
				refuse(s.Name, 1.5, "1.5")
				if s.Min > math.MinInt64 {
					refuse(s.Name, int64(s.Min)-1, fmt.Sprint(int64(s.Min)-1))
				}
				if s.Max < math.MaxInt64 {
					refuse(s.Name, int64(s.Max)+1, fmt.Sprint(int64(s.Max)+1))
				}
			case param.Bool:
				refuse(s.Name, int64(1), "1")
			case param.Text:
				if refuse(s.Name, 1.5, "1.5"); len(s.Choices) > 0 {
					refuse(s.Name, "nonesuch", "nonesuch")
				}
			case param.Tokens:
				refuse(s.Name, "4+", `"4+"`)
			}
		}
	})
}

// A stage that follows another system's rule answers with a sound row or refuses
// as the user's or the data's fault; whatever the settings, none panics or leaves
// a row that the host must reject. Its answers do not depend on chance either.
func TestRulesOfOtherSystemsAnswerOrRefuse(t *testing.T) {
	l := newLaboratory(t)
	rules := 0
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		for _, s := range d.Systems {
			rules++
			specs, err := d.ParamsFor(s.Name)
			if err != nil {
				t.Fatal(err)
			}
			theirs := d
			theirs.Params = specs
			t.Run(s.Name, func(t *testing.T) {
				for i := range rounds / 2 {
					g := random("systems", d.Name, s.Name, i)
					q := l.ask(t, g, theirs, i)
					if i%5 == 4 {
						q = l.about(t, g, theirs, wild(g), "wild")
					}
					q.system = s.Name
					a := l.run(q)[0]
					if refused(t, q, a) {
						continue
					}
					if _, err := dist.NewSampling(&a.row); err != nil {
						t.Fatalf("%v leaves %v", q, err)
					}
					if b := l.run(q)[0]; b.err != nil || !sameAnswer(&a, &b) {
						t.Fatalf("%v: once %v, once %v (%v)", q, a, b, b.err)
					}
				}
			})
		}
	})
	if rules < 100 {
		t.Errorf("only %d rules", rules)
	}
}
