package feedback

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
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
// their number.
//
// With four parts of the row for each of the k, the k-th largest of the parts'
// maxima is a close lower bound, below which nothing needs a look. What is left
// is counted by the first digit of its keys, and only scores that share the digit
// in which k is reached are looked at again.
func kth(values []float32, k int) (floor float32, ties int) {
	const each, useful = 4, 8 // parts for one of the k; scores of a part
	in := values
	if size := len(values) / (each * k); size >= useful {
		largest := make([]float32, 0, len(values)/size+1)
		for part := values; len(part) > 0; part = part[min(size, len(part)):] {
			largest = append(largest, vec.Max(part[:min(size, len(part))]))
		}
		if vec.Support(largest) >= k {
			bound, _ := kth(largest, k)
			in = vec.Pick(make([]float32, 0, 2*k+64), values, bound)
		}
	}
	for shift, more := 32-digit, true; more; shift -= digit {
		more = shift > 0
		low := max(shift, 0)
		mask := uint32(1)<<(shift+digit-low) - 1
		var count [1 << digit]int
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
