package compat

import (
	"math"
	"math/bits"
)

// sortKey maps a score to a number of the same order; zeros of either sign are
// equal. No score is NaN.
func sortKey(v float32) uint32 {
	b := math.Float32bits(v + 0) // -0 becomes +0
	if b&(1<<31) != 0 {
		return ^b
	}
	return b | 1<<31
}

// ascending returns the places of x from the smallest number to the largest,
// tied ones by place. It is a radix sort, three rounds of 11 bits.
func ascending(x []float32) []int32 { return radix(x, 0) }

// descending returns the places of x from the largest number to the smallest,
// tied ones by place.
func descending(x []float32) []int32 { return radix(x, math.MaxUint32) }

func radix(x []float32, flip uint32) []int32 {
	const digit = 11
	keys, at := make([]uint32, len(x)), make([]int32, len(x))
	for i, v := range x {
		keys[i], at[i] = sortKey(v)^flip, int32(i)
	}
	to := make([]int32, len(x))
	for shift := 0; shift < 32; shift += digit {
		var start [1 << digit]int32
		for _, k := range keys {
			start[k>>shift&(1<<digit-1)]++
		}
		sum := int32(0)
		for d, n := range start {
			start[d] = sum
			sum += n
		}
		for _, i := range at {
			d := keys[i] >> shift & (1<<digit - 1)
			to[start[d]] = i
			start[d]++
		}
		at, to = to, at
	}
	return at
}

// gather returns x in the order of places.
func gather(x []float32, places []int32) []float32 {
	out := make([]float32, len(places))
	for i, p := range places {
		out[i] = x[p]
	}
	return out
}

// kth returns the k-th largest number of x, for 1 <= k <= len(x).
func kth(x []float32, k int) float32 { return x[descending(x)[k-1]] }

// torchTopK returns the places of the k largest numbers of x, in PyTorch's
// order: which of tied numbers come first follows from the exchanges of its
// selection (see introsort).
func torchTopK(x []float32, k int) []int32 {
	places := make([]int32, len(x))
	for i := range places {
		places[i] = int32(i)
	}
	before := func(a, b int32) bool { return x[a] > x[b] }
	if k*64 <= len(x) {
		partialSort(places, k, before)
		return places[:k]
	}
	nthElement(places, k-1, before)
	introsort(places[:k-1], before)
	return places[:k]
}

// nthElement moves the element that a full sort would put at place n there, and
// those before it in order to before it, by introselect (Musser 1997). The usual
// remedy after too many uneven splits is a heap; here, where only ties could
// tell, a full sort of what is left.
func nthElement[T any](a []T, n int, less func(x, y T) bool) {
	depth := 2 * (bits.Len(uint(len(a))) - 1)
	for len(a) > 3 {
		if depth == 0 {
			introsort(a, less)
			return
		}
		depth--
		if cut := splitAtMedian(a, less); cut <= n {
			a, n = a[cut:], n-cut
		} else {
			a = a[:cut]
		}
	}
	insertGuarded(a, less)
}
