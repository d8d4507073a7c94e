package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/conform"
	"lab/core/plugin/conform/conformtest"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// The laws that every sampler must keep.
func TestConformance(t *testing.T) {
	conformtest.Samplers(t, []sampler.Sampler{entmax{}}, conform.Options{})
}

// shaped returns what entmax makes of a row of scores: the probability of every
// token.
func shaped(t *testing.T, alpha float64, scores []float32) []float64 {
	t.Helper()
	set, err := sampler.NewSet(entmax{})
	if err != nil {
		t.Fatal(err)
	}
	item := &sampler.Item{Scores: dist.NewDense(append([]float32(nil), scores...))}
	call := &sampler.Call{Items: []*sampler.Item{item}, Ledger: true,
		Stages: []sampler.Stage{{Sampler: "entmax", Values: param.Values{{Name: "alpha", Value: alpha}}}}}
	if err := set.Run(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	d, err := dist.NewSampling(&item.Scores)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(scores))
	for i := range out {
		out[i] = d.P(int32(i))
	}
	return out
}

// tolerance is what scores rounded to float32 leave of a probability. A power of
// a probability has as many times more.
const tolerance = 1e-6

func TestByHand(t *testing.T) {
	u := (0.6 + math.Sqrt(2-0.36)) / 2
	rows := []struct {
		name   string
		alpha  float64
		scores []float32
		want   []float64
	}{
		// Sparsemax subtracts one number from all scores: (1 + 0.5 - 1)/2 = 0.25.
		{"sparsemax of two", 2, []float32{1, 0.5}, []float64{0.75, 0.25}},
		{"sparsemax removes what lies 1 below", 2, []float32{1, 0, -3}, []float64{1, 0, 0}},
		{"equal scores stay equal", 1.5, []float32{2, 2, 2, 2}, []float64{0.25, 0.25, 0.25, 0.25}},
		// With u = 0.5 · 1.2 - tau, u² + (u - 0.6)² = 1.
		{"1.5 of two", 1.5, []float32{1.2, 0}, []float64{u * u, (u - 0.6) * (u - 0.6)}},
		{"1 is the softmax", 1, []float32{0, float32(math.Log(3))}, []float64{0.25, 0.75}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := shaped(t, r.alpha, r.scores)
			for i := range got {
				if !(math.Abs(got[i]-r.want[i]) <= tolerance) {
					t.Errorf("got %v, want %v", got, r.want)
					break
				}
			}
		})
	}
}

// For every alpha the order of tokens stays, p^(alpha-1) of the tokens that stay
// differs by (alpha-1) times what their scores differ, those that go lie below,
// and a larger alpha keeps no more tokens.
func TestTheOptimum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		scores := make([]float32, 2+random.IntN(60))
		for i := range scores {
			scores[i] = float32(random.NormFloat64() * 2)
		}
		best := 0
		for i := range scores {
			if scores[i] > scores[best] {
				best = i
			}
		}
		before := len(scores) + 1
		for _, alpha := range []float64{1.05, 1.25, 1.5, 2, 3, 8} {
			p := shaped(t, alpha, scores)
			n, power := 0, alpha-1
			tolerance := tolerance * max(1, power)
			for i := range scores {
				below := power * float64(scores[best]-scores[i])
				gap := math.Pow(p[best], power) - math.Pow(p[i], power)
				switch {
				case p[i] > 0 && !(math.Abs(gap-below) <= tolerance):
					t.Fatalf("alpha %g: tokens %d and %d differ by %g, want %g", alpha, best, i, gap, below)
				case p[i] == 0 && !(math.Pow(p[best], power) <= below+tolerance):
					t.Fatalf("alpha %g: token %d should have stayed", alpha, i)
				}
				if p[i] > 0 {
					n++
				}
			}
			if n > before {
				t.Fatalf("alpha %g keeps %d tokens, a smaller one %d", alpha, n, before)
			}
			before = n
		}
	}
}

// With an unlisted tail the result is exact or refused.
func TestUnlistedTail(t *testing.T) {
	set, err := sampler.NewSet(entmax{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name  string
		alpha float64
		fails bool
	}{{"one is removed", 4, false}, {"all stay", 1.05, true}} {
		t.Run(r.name, func(t *testing.T) {
			row := dist.Scores{Vocab: 10, IDs: []int32{2, 7, 9}, Unlisted: 0.2,
				Values: []float32{float32(math.Log(0.5)), float32(math.Log(0.2)), float32(math.Log(0.1))}}
			item := &sampler.Item{Scores: row}
			err := set.Run(t.Context(), &sampler.Call{Items: []*sampler.Item{item},
				Stages: []sampler.Stage{{Sampler: "entmax", Values: param.Values{{Name: "alpha", Value: r.alpha}}}}})
			if (err != nil) != r.fails || err == nil && item.Scores.Unlisted != 0 {
				t.Errorf("unlisted %g, error %v", item.Scores.Unlisted, err)
			}
		})
	}
}
