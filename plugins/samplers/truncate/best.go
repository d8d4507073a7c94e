package truncate

import (
	"math"

	"lab/core/dist/vec"
)

// lowest is the least finite score.
const lowest = -math.MaxFloat32

// kLargest returns where to cut so that the k largest finite scores stay, ties
// by lowest place, or all finite ones when there are fewer. k is at least 1, and
// one score is finite. When few of the row come into question it also returns
// the places of those, ascending, which saves looking for them again; else nil.
func kLargest(values []float32, k int) (c cut, places []int32) {
	floor := floorFor(values, k)
	if floor == lowest && len(values) > blockSize {
		return kth(values, k), nil
	}
	places = vec.Find(make([]int32, 0, min(len(values), k+k/4)+2*slack), values, floor)
	found := make([]float32, len(places))
	for i, at := range places {
		found[i] = values[at]
	}
	return kth(found, k), places
}

// kth returns where to cut so that the k largest finite scores stay.
func kth(values []float32, k int) cut {
	if len(values) > blockSize {
		return cheapest(equals(values), float64(k)).byScore()
	}
	memory := make([]float64, 2*len(values))
	cost, weight := memory[:0:len(values)], memory[len(values):]
	for _, v := range values {
		if v >= lowest {
			weight[len(cost)] = 1
			cost = append(cost, -float64(v))
		}
	}
	return pick(cost, weight[:len(cost)], 0, 0, float64(k)).byScore()
}

// A score that k parts of a row reach is a lower bound of its k-th largest, and
// with four parts for each token wanted a close one: of the k largest, few
// share a part. Where that is few enough, the first part of a part will do.
const (
	parts      = 256
	partsEach  = 4
	usefulPart = 8             // of smaller ones the bound saves nothing
	candidates = blockSize / 2 // how many may come into question
)

// floorFor returns a finite score that at least k scores reach, if k are finite.
func floorFor(values []float32, k int) float32 {
	if k > len(values)/(partsEach*usefulPart) {
		return lowest
	}
	size := len(values) / max(parts, partsEach*k)
	if size < usefulPart {
		return lowest
	}
	look := min(size, max(size*k/candidates, size/usefulPart, usefulPart))
	largest := make([]float32, 0, len(values)/size+1)
	for ; len(values) > 0; values = values[min(size, len(values)):] {
		if v := vec.Max(values[:min(look, len(values))]); v >= lowest {
			largest = append(largest, v)
		}
	}
	if len(largest) < k {
		return lowest
	}
	return kth(largest, k).floor
}
