package samplers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
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
	for _, d := range l.decls {
		known[d.Name] = true
	}
	l.each(t, func(t *testing.T, d sampler.Declaration) {
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
	for _, d := range l.decls {
		if _, ok := d.Params.Find("min_keep"); ok {
			seen++
		}
	}
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		if _, ok := d.Params.Find("min_keep"); !ok {
			return
		}
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
	if seen < 15 {
		t.Errorf("%d samplers have the setting", seen)
	}
}
