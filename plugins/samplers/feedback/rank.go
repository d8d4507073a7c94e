package feedback

import (
	"math"

	"lab/core/dist"
)

// key orders scores as unsigned numbers, zeros of either sign being equal.
func key(v float32) uint32 {
	b := math.Float32bits(v + 0) // -0 + 0 is +0
	if b>>31 == 1 {
		return ^b
	}
	return b | 1<<31
}

// A walk by rank sorts scores by digits of their keys, the highest first.
const digit = 11

// kth returns the score of the k-th largest of the finite scores, and how many
// of the scores equal to it are among the k largest; k is at least 1 and at most
// their number. It counts by the first digit of the keys and looks again only
// at the scores that share the digit in which k is reached.
func kth(values []float32, k int) (floor float32, ties int) {
	var count [1 << digit]int
	in := values
	for shift, more := 32-digit, true; more; shift -= digit {
		more = shift > 0
		low := max(shift, 0)
		mask := uint32(1)<<(shift+digit-low) - 1
		count = [1 << digit]int{}
		for _, v := range in {
			if dist.Finite(v) {
				count[key(v)>>low&mask]++
			}
		}
		at := mask
		for ; k > count[at]; at-- {
			k -= count[at]
		}
		part := make([]float32, 0, count[at])
		for _, v := range in {
			if dist.Finite(v) && key(v)>>low&mask == at {
				part = append(part, v)
			}
		}
		in = part
	}
	return in[0], k // all that are left are equal
}

// ranked is a place of a row with the key of its score.
type ranked struct {
	key   uint32
	place int32
}

// byRank returns the places of the finite scores by descending score, ties by
// ascending place: a radix sort, three passes over the row.
func byRank(values []float32) []ranked {
	list := make([]ranked, 0, len(values))
	for i, v := range values {
		if dist.Finite(v) {
			list = append(list, ranked{^key(v), int32(i)})
		}
	}
	if len(list) < 64 { // counting costs more than it saves
		for i, x := range list {
			j := i
			for ; j > 0 && list[j-1].key > x.key; j-- {
				list[j] = list[j-1]
			}
			list[j] = x
		}
		return list
	}
	other := make([]ranked, len(list))
	const mask = 1<<digit - 1
	for shift := 0; shift < 32; shift += digit {
		var start [1 << digit]int
		for _, x := range list {
			start[x.key>>shift&mask]++
		}
		sum := 0
		for i, n := range start {
			start[i] = sum
			sum += n
		}
		for _, x := range list {
			d := x.key >> shift & mask
			other[start[d]] = x
			start[d]++
		}
		list, other = other, list
	}
	return list
}
