package truncate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cheapest against the sorted list, for costs that are no scores, sources that
// leave out what costs too much, and needs that are never met.
func TestCheapestEqualsTheSortedList(t *testing.T) {
	costs := []struct {
		name string
		draw func(r *rand.Rand) float64
	}{
		{"gaussian", func(r *rand.Rand) float64 { return math.Abs(r.NormFloat64()) }},
		{"ties", func(r *rand.Rand) float64 { return float64(r.IntN(4)) }},
		{"equal", func(*rand.Rand) float64 { return 0.1 }},
		{"all magnitudes", func(r *rand.Rand) float64 { return math.Ldexp(r.Float64(), r.IntN(2000)-1000) }},
		{"below the normal numbers", func(r *rand.Rand) float64 { return float64(r.IntN(50)) * math.SmallestNonzeroFloat64 }},
		{"far beyond the usual", func(r *rand.Rand) float64 { return 1e6 * r.Float64() }},
	}
	for _, c := range costs {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(15, 16))
			for range 60 {
				n := 1 + r.IntN(5000)
				cost, weight := make([]float64, n), make([]float64, n)
				order := make([]int, n)
				for i := range cost {
					cost[i], weight[i], order[i] = c.draw(r), float64(1+r.IntN(8)), i // whole: sums are exact
				}
				leaveOut := r.IntN(2) == 0
				src := source{blocks: (n + blockSize - 1) / blockSize, room: blockSize, usual: 2}
				src.fill = func(b int, most float64, to, w []float64) (m int) {
					for i := b * blockSize; i < min(n, (b+1)*blockSize); i++ {
						if !leaveOut || cost[i] <= most {
							to[m], w[m] = cost[i], weight[i]
							m++
						}
					}
					return m
				}
				need := math.Ceil(r.Float64() * 5 * float64(n))
				got := cheapest(src, need)
				slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost[a], cost[b]) })
				sum, want := 0.0, border{}
				for _, i := range order {
					if sum >= need && want.n > 0 {
						break
					}
					if cost[i] != want.cost || want.n == 0 {
						want.cost, want.ties = cost[i], 0
					}
					sum += weight[i]
					want.ties++
					want.n++
				}
				if got != want {
					t.Fatalf("%d tokens, need %v: got %+v, want %+v", n, need, got, want)
				}
			}
		})
	}
}
