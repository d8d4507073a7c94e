package compat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// Whatever the row, a rule gives a row that keeps the contract, or a data error;
// a panic or a broken contract would be a plugin error. The same question has the
// same answer.
func TestNativeRulesKeepTheContract(t *testing.T) {
	subject := native(t)
	for system, list := range nativeRules() {
		for _, rule := range list {
			if rule.Apply == nil {
				continue
			}
			t.Run(system+" "+rule.Sampler, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 8))
				set := working(t, rule, system)
				d, err := subject.Lookup(rule.Sampler)
				if err != nil {
					t.Fatal(err)
				}
				stage := sampler.Stage{Sampler: d.Name, System: system, Values: set}
				ask := func(row dist.Scores, history []int32) *sampler.Item {
					it := &sampler.Item{Scores: row, History: history, Uniforms: [][]float64{make([]float64, d.Needs.Uniforms)}}
					err := subject.Subject.Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage}, Items: []*sampler.Item{it}, Ledger: true})
					if err != nil {
						if fault.KindOf(err) != fault.Data {
							t.Fatalf("%v: %v", row, err)
						}
						return nil
					}
					return it
				}
				answers := 0
				for range 200 {
					row, history := randomRow(r)
					a, b := ask(row.Clone(), history), ask(row.Clone(), history)
					if (a == nil) != (b == nil) || a != nil && (!slices.Equal(a.Scores.Values, b.Scores.Values) ||
						!slices.Equal(a.Scores.IDs, b.Scores.IDs) || a.Chosen != b.Chosen) {
						t.Fatalf("%v: two answers, %+v and %+v", row, a, b)
					}
					if a != nil {
						answers++
					}
				}
				if answers < 100 {
					t.Errorf("%d answers to 200 rows", answers)
				}
			})
		}
	}
}

// randomRow returns a row of 1 to 60 tokens, dense or sparse, with ties, masked
// tokens and now and then scores at the ends of float32.
func randomRow(r *rand.Rand) (dist.Scores, []int32) {
	vocab := r.IntN(60) + 1
	values := make([]float32, vocab)
	for i := range values {
		switch r.IntN(20) {
		case 0, 1:
			values[i] = negInf
		case 2:
			values[i] = []float32{math.MaxFloat32, -math.MaxFloat32, 1e-44, 1e9, -1e9}[r.IntN(5)]
		default:
			values[i] = float32(r.IntN(17)-8) / 2
		}
	}
	values[r.IntN(vocab)] = 1
	row := dist.NewDense(values)
	if r.IntN(2) == 0 {
		row.Keep(func(i int) bool { return i%3 != 0 || values[i] == 1 }, nil)
	}
	if err := row.Check(); err != nil {
		panic(err)
	}
	history := make([]int32, r.IntN(30))
	for i := range history {
		history[i] = int32(r.IntN(min(vocab, 6)))
	}
	return row, history
}
