package samplers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

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
	for _, d := range l.decls {
		rules += len(d.Systems)
	}
	l.each(t, func(t *testing.T, d sampler.Declaration) {
		for _, s := range d.Systems {
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
