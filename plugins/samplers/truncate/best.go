package truncate

import (
	"math"
	"slices"

	"lab/core/dist/vec"
)

// lowest is the least finite score.
const lowest = -math.MaxFloat32

// kLargest returns where to cut so that the k largest finite scores stay, ties
// by lowest place, or all finite ones when there are fewer. k is at least 1, and
// one score is finite. When few of the row come into question it also returns
// the places of those, ascending, which saves looking for them again; else nil.
//
// A score that k parts of a row reach is a lower bound of its k-th largest, and
// with four parts for each token wanted a close one: of the k largest, few share
// a part. Only parts that reach it are looked at again.
func kLargest(values []float32, k int) (c cut, places []int32) {
	size := partSize(len(values), k)
	if size == 0 {
		if len(values) > blockSize {
			return kth(values, k), nil
		}
		size = len(values)
	}
	largest := make([]float32, 0, len(values)/size+1)
	for at := 0; at < len(values); at += size {
		largest = append(largest, vec.Max(values[at:min(at+size, len(values))]))
	}
	floor := float32(lowest)
	if c := kth(largest, k); c.n == k {
		floor = c.floor
	}
	places = make([]int32, 0, k+k/4+2*slack)
	for i, v := range largest {
		if v >= floor {
			places = find(places, values[i*size:min((i+1)*size, len(values))], i*size, floor)
		}
	}
	found := make([]float32, len(places))
	for i, at := range places {
		found[i] = values[at]
	}
	return kth(found, k), places
}

const (
	parts      = 256
	partsEach  = 4  // for each token wanted
	usefulPart = 16 // of smaller ones the bound saves nothing
)

// partSize returns how long the parts of a row of n scores are, or 0 when it is
// better looked at whole.
func partSize(n, k int) int {
	if k > n/(partsEach*usefulPart) {
		return 0
	}
	if size := n / max(parts, partsEach*k); size >= usefulPart {
		return size
	}
	return 0
}

// find appends the places of the scores of a part that are at least floor.
func find(places []int32, part []float32, base int, floor float32) []int32 {
	for {
		found, seen := vec.Search(places, part, base, floor)
		if seen == len(part) {
			return found
		}
		part, base = part[seen:], base+seen
		places = slices.Grow(found, len(found)+2*slack)
	}
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
