package vec

import (
	"math"
	"slices"
)

// level is an instruction set; higher ones include the lower.
type level uint8

const (
	portable level = iota
	avx2           // with FMA
	avx512         // F, DQ and VL
)

// best is the highest level that this machine runs.
var best = machineLevel()

// The functions below cut rows into blocks. Code for one block takes whole
// groups of 8 scores that start at lane 0; a rest is padded with removed tokens,
// which add an exact 0 to sums that are never -0.

func pickAll(l level, dst, values []float32, floor float32) []float32 {
	for at := 0; ; {
		picked, seen := pickIn(l, dst, values[at:], floor)
		dst, at = picked, at+seen
		if at == len(values) {
			return dst
		}
		dst = slices.Grow(dst, max(len(dst), 2*slack))
	}
}

// padded copies the rest of a dense block.
func padded(values []float32) (p [lanes]float32) {
	for i := copy(p[:], values); i < lanes; i++ {
		p[i] = float32(math.Inf(-1))
	}
	return p
}

func findAll(l level, dst []int32, values []float32, floor float32) []int32 {
	for at := 0; ; {
		found, seen := searchIn(l, dst, values[at:], at, floor)
		dst, at = found, at+seen
		if at == len(values) {
			return dst
		}
		dst = slices.Grow(dst, max(len(dst), 2*slack))
	}
}

func sumOf(l level, values []float32, ids []int32, top float64) (total float64) {
	var a sums
	if ids != nil {
		total, _, _ = sparseSum(l, values, ids, top, math.Inf(1))
		return total
	}
	for len(values) > 0 {
		n := min(block, len(values))
		sumBlock(l, &a, values[:n], top)
		total += a.fold()
		values = values[n:]
	}
	return total
}

// sumBlock adds the weights of one block of a dense row to a.
func sumBlock(l level, a *sums, values []float32, top float64) {
	n := len(values) &^ (lanes - 1)
	sumGroups(l, a, values[:n], top)
	if n < len(values) {
		p := padded(values[n:])
		sumGroups(l, a, p[:], top)
	}
}

// part is how many scores of a sparse row are weighed at a time.
const part = 256

// sparseSum returns the sum of a sparse row. It stops before the block in which
// the running sum exceeds target, and also returns the sum before that block
// and its places; with target +Inf it sums all.
func sparseSum(l level, values []float32, ids []int32, top, target float64) (total float64, from, to int) {
	var a sums
	var w [part]float64
	ids = ids[:len(values)]
	in := int32(0)
	if len(ids) > 0 {
		in = ids[0] >> blockBits
	}
	for at := 0; at < len(values); at += part {
		n := min(part, len(values)-at)
		expsInto(l, w[:n], values[at:at+n], top)
		for i, x := range w[:n] {
			id := ids[at+i]
			if b := id >> blockBits; b != in {
				next := total + a.fold()
				if next > target {
					return total, from, at + i
				}
				total, in, from = next, b, at+i
			}
			a[id%lanes] += x
		}
	}
	if target < math.Inf(1) {
		return total, from, len(values)
	}
	return total + a.fold(), from, len(values)
}

// leanOf weighs into dst unless it is nil.
func leanOf(l level, dst []float64, values []float32, ids []int32, top float64) (total, lean float64) {
	if ids != nil {
		return sparseLean(l, dst, values, ids, top)
	}
	var a, b sums
	for len(values) > 0 {
		n := min(block, len(values))
		whole := n &^ (lanes - 1)
		if dst == nil {
			leanGroups(l, &a, &b, values[:whole], top)
		} else {
			weighGroups(l, dst[:whole], &a, &b, values[:whole], top)
		}
		if whole < n {
			p := padded(values[whole:n])
			var w [lanes]float64
			weighGroups(l, w[:], &a, &b, p[:], top)
			if dst != nil {
				copy(dst[whole:n], w[:])
			}
		}
		total += a.fold()
		lean += b.fold()
		values = values[n:]
		if dst != nil {
			dst = dst[n:]
		}
	}
	return total, lean
}

func sparseLean(l level, dst []float64, values []float32, ids []int32, top float64) (total, lean float64) {
	var a, b sums
	var own [part]float64
	ids = ids[:len(values)]
	in := int32(0)
	for at := 0; at < len(values); at += part {
		n := min(part, len(values)-at)
		w := own[:n]
		if dst != nil {
			w = dst[at : at+n]
		}
		expsInto(l, w, values[at:at+n], top)
		for i, x := range w {
			id := ids[at+i]
			if id>>blockBits != in {
				total += a.fold()
				lean += b.fold()
				in = id >> blockBits
			}
			if x > 0 {
				a[id%lanes] += x
				b[id%lanes] = math.FMA(x, float64(values[at+i])-top, b[id%lanes])
			}
		}
	}
	return total + a.fold(), lean + b.fold()
}

func addOf(w []float64, ids []int32) (total float64) {
	var a sums
	if ids == nil {
		for len(w) > 0 {
			n := min(block, len(w))
			addBlock(&a, w[:n])
			total += a.fold()
			w = w[n:]
		}
		return total
	}
	ids = ids[:len(w)]
	in := int32(0)
	for i, x := range w {
		if ids[i]>>blockBits != in {
			total += a.fold()
			in = ids[i] >> blockBits
		}
		a[ids[i]%lanes] += x
	}
	return total + a.fold()
}

func addBlock(a *sums, w []float64) {
	for len(w) >= lanes {
		g := (*sums)(w)
		for i := range a {
			a[i] += g[i]
		}
		w = w[lanes:]
	}
	for i, x := range w {
		a[i] += x
	}
}

func momentsOf(l level, values []float32, ids []int32, shift float64) (n int, sum, squares float64) {
	var a, b sums
	n = countOf(l, values, -math.MaxFloat32)
	if ids == nil {
		for len(values) > 0 {
			n := min(block, len(values))
			whole := n &^ (lanes - 1)
			momentGroups(l, &a, &b, values[:whole], shift)
			if whole < n {
				p := padded(values[whole:n])
				momentGroups(l, &a, &b, p[:], shift)
			}
			sum += a.fold()
			squares += b.fold()
			values = values[n:]
		}
		return n, sum, squares
	}
	ids = ids[:len(values)]
	in := int32(0)
	for i, v := range values {
		if ids[i]>>blockBits != in {
			sum += a.fold()
			squares += b.fold()
			in = ids[i] >> blockBits
		}
		if v >= -math.MaxFloat32 {
			x := float64(v) - shift
			a[ids[i]%lanes] += x
			b[ids[i]%lanes] = math.FMA(x, x, b[ids[i]%lanes])
		}
	}
	return n, sum + a.fold(), squares + b.fold()
}

// drawFrom finds the block first and walks only there.
func drawFrom(l level, values []float32, ids []int32, top, u float64) int {
	var from, to int
	var run, target float64
	if ids == nil {
		run, target, from = denseBlock(l, values, top, u)
		to = min(from+block, len(values))
	} else {
		target = below(sumOf(l, values, ids, top), u)
		run, from, to = sparseSum(l, values, ids, top, target)
	}
	var w [block]float64
	weights := w[:to-from]
	expsInto(l, weights, values[from:to], top)
	last := from
	for i, x := range weights {
		if x == 0 {
			continue
		}
		last = from + i
		if run += x; run > target {
			break
		}
	}
	return last
}

// below returns u * total, or what is just below total: rounding may carry the
// product up to the total, which no running sum exceeds.
func below(total, u float64) float64 { return min(u*total, math.Nextafter(total, 0)) }

// denseBlock returns the target of a draw, the first place of the block in which
// the running sum exceeds it, and the sum before.
func denseBlock(l level, values []float32, top, u float64) (before, target float64, from int) {
	var few [512]float64 // the running sums of 524,288 tokens; more go to the heap
	ends := few[:0]
	if n := (len(values) + block - 1) / block; n > len(few) {
		ends = make([]float64, 0, n)
	}
	var a sums
	total := 0.0
	for at := 0; at < len(values); at += block {
		sumBlock(l, &a, values[at:min(at+block, len(values))], top)
		total += a.fold()
		ends = append(ends, total)
	}
	target = below(total, u)
	b := len(ends) - 1
	for b > 0 && ends[b-1] > target {
		b--
	}
	if b > 0 {
		before = ends[b-1]
	}
	return before, target, b * block
}
