// Package truncate holds the samplers that remove tokens and leave the scores
// of the others as they are. Renormalising is implied: the sampling
// distribution is always the softmax of what is left.
//
// None of them sorts the vocabulary: a cut is a score and a number of ties, and
// both are found by counting. Start with [TopK].
package truncate

import (
	"math"

	"lab/core/dist"
)

// cut is where a row is cut: tokens above floor stay, and of those equal to it
// the ties of lowest id.
type cut struct {
	floor   float32
	ties, n int // n is how many tokens stay in all
}

// key maps a score to an integer of the same order. Zeros of either sign are
// equal, and a removed token comes last.
func key(v float32) uint32 {
	if v == 0 {
		return 1 << 31
	}
	b := math.Float32bits(v)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

func score(k uint32) float32 {
	if k>>31 != 0 {
		return math.Float32frombits(k &^ (1 << 31))
	}
	return math.Float32frombits(^k)
}

// supportOf counts the tokens with a finite score.
func supportOf(values []float32) int {
	n := 0
	for _, v := range values {
		if dist.Finite(v) {
			n++
		}
	}
	return n
}

// kLargest returns where to cut so that exactly the k largest scores stay, for
// 1 <= k <= support. It passes over the row once and keeps up to 2k candidates:
// what is not above the running k-th largest cannot matter.
func kLargest(values []float32, k int) cut {
	room := min(2*k, len(values))
	best := make([]uint32, 0, room)
	floor := float32(math.Inf(-1))
	for _, v := range values {
		if !(v > floor) {
			continue
		}
		if len(best) == room {
			floor = score(partition(best, k))
			best = best[:k]
			if !(v > floor) {
				continue
			}
		}
		best = append(best, key(v))
	}
	kth := partition(best, k)
	above := 0
	for _, x := range best[:k] {
		if x > kth {
			above++
		}
	}
	return cut{floor: score(kth), ties: k - above, n: k}
}

// partition moves the k largest keys to the front and returns the smallest of
// them, for 1 <= k <= len(keys). It narrows the range of the k-th largest byte
// by byte, so it is linear whatever the input.
func partition(keys []uint32, k int) uint32 {
	lo, hi := 0, len(keys) // the k-th largest lies in keys[lo:hi]; all before lo are larger
	for shift := 24; shift >= 0 && hi-lo > 1; shift -= 8 {
		var count [256]int
		for _, x := range keys[lo:hi] {
			count[byte(x>>shift)]++
		}
		b, larger := 255, 0
		for lo+larger+count[b] < k {
			larger += count[b]
			b--
		}
		// Three-way: larger ones first, the k-th's byte next, smaller ones last.
		i, j, end := lo, lo, hi
		for j < end {
			switch x := int(byte(keys[j] >> shift)); {
			case x > b:
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j++
			case x < b:
				end--
				keys[j], keys[end] = keys[end], keys[j]
			default:
				j++
			}
		}
		lo, hi = i, end
	}
	return keys[lo]
}
