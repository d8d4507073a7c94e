package truncate

import (
	"math"

	"lab/core/dist"
)

// buckets is how many counters a pass uses: 11 bits of the key, so that three
// passes, at bits 21, 10 and 0, tell any two scores apart.
const buckets = 1 << 11

// histogram is the mass and the number of tokens by some bits of their keys.
// Masses are sums in ascending order of id.
type histogram struct {
	mass  [buckets]float64
	count [buckets]int32
}

// fill counts the tokens of the support by bits of their keys, the lowest of
// them at shift. It returns their mass, relative to a token of score top.
func (h *histogram) fill(values []float32, top float64, shift uint) float64 {
	*h = histogram{}
	total := 0.0
	for _, v := range values {
		if !dist.Finite(v) {
			continue
		}
		w := math.Exp(float64(v) - top)
		b := key(v) >> shift % buckets
		h.mass[b] += w
		h.count[b]++
		total += w
	}
	return total
}

// only returns the n scores of one bucket, in their order.
func only(values []float32, shift uint, bucket, n int) []float32 {
	out := make([]float32, 0, n)
	for _, v := range values {
		if int(key(v)>>shift%buckets) == bucket && dist.Finite(v) {
			out = append(out, v)
		}
	}
	return out
}

// cross walks down from the largest scores and returns the bucket in which sum
// reaches need, with the mass and number of tokens before it. When rounding
// keeps the sum a hair below need it is the last bucket that has a token.
func (h *histogram) cross(sum, need float64) (bucket int, before float64, above int) {
	last := -1
	for b := buckets - 1; b >= 0; b-- {
		if h.count[b] == 0 {
			continue
		}
		if last >= 0 {
			sum += h.mass[last]
			above += int(h.count[last])
		}
		last = b
		if sum+h.mass[b] >= need {
			break
		}
	}
	return last, sum, above
}

// nucleus returns where to cut a row so that the shortest list of likeliest
// tokens with a share >= p of the mass stays, and whether all of them together
// reach p; if not, the cut keeps all.
//
// The mass is gathered by the leading bits of the score. The bucket in which
// the running sum crosses the threshold is split by the bits that follow, until
// its tokens are equal and their number follows by division: as exact as a full
// sort, in linear time.
func nucleus(values []float32, p float64) (c cut, ok bool) {
	best := values[0]
	for _, v := range values {
		if v > best {
			best = v
		}
	}
	top := float64(best)
	var h histogram
	shift := uint(21)
	total := h.fill(values, top, shift)
	need := p * total * reached
	b, sum, above := h.cross(0, need)
	for _, next := range [2]uint{10, 0} {
		values = only(values, shift, b, int(h.count[b]))
		shift = next
		h.fill(values, top, shift)
		var n int
		b, sum, n = h.cross(sum, need)
		above += n
	}
	values = only(values, shift, b, int(h.count[b]))
	floor, tied := values[0], len(values)
	ties := tied
	if each := math.Exp(float64(floor) - top); each > 0 {
		ties = int(min(float64(tied), max(1, math.Ceil((need-sum)/each))))
	}
	return cut{floor: floor, ties: ties, n: above + ties}, need <= total
}
