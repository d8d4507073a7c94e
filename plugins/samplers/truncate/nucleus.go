package truncate

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
)

// nucleus returns where to cut a row so that the shortest list of likeliest
// tokens with a share >= p of the mass stays, and whether all of them together
// reach p; if not, the cut keeps all.
func nucleus(s *dist.Scores, p float64) (c cut, ok bool) {
	top := float64(vec.Max(s.Values))
	total := vec.Sum(s.Values, s.IDs, top)
	need := p * total * reached
	floor := spareFloor(len(s.Values), top, total, need)
	return cheapest(weights(s.Values, floor, top), need).byScore(), need <= total
}

// spareFloor returns a score so low that all of a row of n tokens could be below
// it and still the rest would reach need: what is below is usually most of the
// row and need not be looked at. It leaves half of what could be spared to
// rounding.
func spareFloor(n int, top, total, need float64) float32 {
	spare := (total - need) / float64(2*n)
	if !(spare > 0) {
		return lowest
	}
	return below(top + math.Log(spare))
}

// weights is the source of the scores that are at least floor, each with its
// weight and the cheaper the larger.
func weights(values []float32, floor float32, top float64) source {
	s := byScore(values, floor, func(found []float32, weight []float64) { vec.Exps(weight, found, top) })
	s.least, s.usual = -top, -max(float64(floor), top+math.Log(smallestUsual))
	return s
}

// equals is the source of the finite scores, each of weight 1 and the cheaper
// the larger.
func equals(values []float32) source {
	s := byScore(values, lowest, func(found []float32, weight []float64) {
		for i := range found {
			weight[i] = 1
		}
	})
	if s.blocks > 1 {
		s.least, s.usual = -float64(vec.Max(values)), -float64(vec.Least(values))
	}
	return s
}

func byScore(values []float32, floor float32, weigh func(found []float32, weight []float64)) source {
	n := min(blockSize, len(values)) + slack
	found := make([]float32, 0, n)
	fill := func(b int, most float64, cost, weight []float64) int {
		part := values[b*blockSize : min((b+1)*blockSize, len(values))]
		found = vec.Pick(found[:0], part, max(floor, below(-most)))
		cost = cost[:len(found)]
		for i, v := range found {
			cost[i] = -float64(v)
		}
		weigh(found, weight[:len(found)])
		return len(found)
	}
	return source{blocks: (len(values) + blockSize - 1) / blockSize, room: n, fill: fill}
}

// below returns a score that is at most v, or the lowest.
func below(v float64) float32 {
	return math.Nextafter32(float32(max(v, lowest)), lowest)
}

// slack is the room that a search for scores wants beyond what it finds.
const slack = 16

// smallestUsual is a weight below which tokens share the last bin of a first
// look; the loop after it tells them apart.
const smallestUsual = 1e-30
