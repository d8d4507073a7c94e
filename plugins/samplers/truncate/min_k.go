package truncate

import (
	"math"
	"slices"

	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// MinK cuts at the steepest drop of the sorted scores (Ding et al. 2026).
type MinK struct{}

// Declare returns the declaration.
func (MinK) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "min_k", Kind: sampler.Reshape,
		Summary: "Keeps the tokens before the largest drop of the sorted scores, drops counting less the later they come; which tokens stay does not depend on the temperature, but for nearly flat rows, of which more stay.",
		Formula: "k = argmax_j (l_j - l_(j+1)) / (j · (l_1 - l_n)), l sorted; keep max(k, ⌊tau / (l_1 - l_n)⌋), ties by id",
		Source:  "Ding, Li, Garces Arias, Aßenmacher, Heumann, Zhang 2026, Min-k sampling (arXiv 2604.11012); the formula as a published review of the paper and a processor for vLLM give it, which agree",
		Params: param.Specs{
			{
				Name: "tau", Aliases: []string{"min_k_tau"}, Type: param.Float, Default: 3.0, Min: 0, Max: math.Inf(1),
				Meaning: "how many tokens a row whose scores span 1 keeps at least; the wider the row the fewer, and 0 leaves it to the drop",
			},
			minKeep(),
		},
	}
}

// head is how many of the best scores are looked at first.
const head = 128

// Apply finds the drop among a growing number of the best scores: behind rank j
// no drop weighs more than what is left of the range, divided by j. The first of
// equal drops counts. Equal scores throughout are not cut.
func (MinK) Apply(row *sampler.Row, set param.Values) error {
	tau, least := set.Float("tau"), set.Int("min_keep")
	s := row.Scores
	if err := listedOnly(s, "min_k"); err != nil {
		return err
	}
	low := float64(vec.Least(s.Values))
	span := float64(vec.Max(s.Values)) - low
	support := vec.Support(s.Values)
	if span == 0 || support == 1 {
		return nil
	}
	k := 0
	for n := min(head, support); ; n = min(8*n, support) {
		best := best(s.Values, n)
		largest, at := 0.0, 0
		for j := range n - 1 {
			if drop := (float64(best[j]) - float64(best[j+1])) / float64(j+1); drop > largest {
				largest, at = drop, j
			}
		}
		k = at + 1
		if n == support || (float64(best[n-1])-low)/float64(n) < largest {
			break
		}
	}
	if flat := math.Floor(tau / span); flat >= float64(support) {
		return nil
	} else if k = max(k, int(flat), int(min(least, int64(support)))); k < support {
		cutTo(s, k, false)
	}
	return nil
}

// best returns the n largest finite scores in falling order, n of which exist.
func best(values []float32, n int) []float32 {
	c, _ := kLargest(values, n)
	found := vec.Pick(make([]float32, 0, n+slack), values, c.floor)
	slices.SortFunc(found, func(a, b float32) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return found[:n]
}
