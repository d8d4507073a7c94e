package feedback

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var negInf = float32(math.Inf(-1))

func newSet(t testing.TB) *sampler.Set {
	t.Helper()
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// with returns settings from pairs of name and value.
func with(pairs ...any) (out param.Values) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, param.Value{Name: pairs[i].(string), Value: pairs[i+1], Origin: "test"})
	}
	return out
}

// step applies a selector with its ledger and returns the item; state is nil at
// the first step.
func step(set *sampler.Set, name string, row dist.Scores, state []byte, u float64, values param.Values) (*sampler.Item, error) {
	it := &sampler.Item{Scores: row.Clone(), States: [][]byte{state}, Uniforms: [][]float64{{u}}}
	err := set.Run(context.Background(), &sampler.Call{
		Stages: []sampler.Stage{{Sampler: name, Values: values}}, Items: []*sampler.Item{it}, Ledger: true,
	})
	return it, err
}

func mustStep(t testing.TB, set *sampler.Set, name string, row dist.Scores, state []byte, u float64, values param.Values) *sampler.Item {
	t.Helper()
	it, err := step(set, name, row, state, u, values)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func number(state []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(state)) }

// rows are rows of every kind that may arrive.
func rows(r *rand.Rand) []dist.Scores {
	var out []dist.Scores
	for n := range 60 {
		v := make([]float32, 1+r.IntN(1+n*n))
		for i := range v {
			v[i] = float32(r.NormFloat64() * 3)
			switch n % 5 {
			case 1: // ties, zeros of both signs
				v[i] = float32(math.Round(float64(v[i])))
			case 2:
				v[i] = 1
			case 3:
				v[i] *= 1e30
			}
			if n%3 == 0 && r.IntN(3) == 0 {
				v[i] = negInf
			}
		}
		v[r.IntN(len(v))] = 1
		row := dist.NewDense(v)
		if n%2 == 0 {
			row.Keep(func(i int) bool { return i%4 != 1 || len(v) < 4 }, nil)
			if row.Check() != nil {
				continue
			}
		}
		out = append(out, row)
	}
	return out
}

// zipf is the vocabulary of ID-23: 2,000 words of probability 1/r^1.1.
func zipf() dist.Scores {
	v := make([]float32, 2000)
	for i := range v {
		v[i] = float32(-1.1 * math.Log(float64(i+1)))
	}
	return dist.NewDense(v)
}

func wantError(t *testing.T, err error, kind fault.Kind, says string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one of kind %v that says %q", err, kind, says)
	}
}

func gaussian(n int) dist.Scores {
	r := rand.New(rand.NewPCG(1, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * 3)
	}
	return dist.NewDense(v)
}
