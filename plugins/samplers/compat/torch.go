package compat

import (
	"math"
	"math/bits"
	"slices"
)

// transformers, vLLM, text-generation-webui and aphrodite compute on PyTorch's
// tensors in float32. Where a cut falls depends on the last bits of its sums,
// so this file computes as PyTorch's kernels for x86-64 with AVX2 do: which
// exponential, how many lanes, in which order partial sums meet. The float64
// functions of package dist/vec are better and are not what those systems have.

// torchLanes is how many float32 a vector of the kernels holds.
const torchLanes = 8

// fma32 returns a*b + c of finite numbers, rounded once to float32.
func fma32(a, b, c float32) float32 {
	// The product of two float32 is exact in float64. The sum is rounded to odd,
	// so that the second rounding sees that something was cut off (Boldo and
	// Melquiond 2008, Emulation of FMA and correctly rounded sums).
	p, z := float64(a)*float64(b), float64(c)
	sum := p + z
	back := sum - p
	rest := (p - (sum - back)) + (z - back)
	if bits := math.Float64bits(sum); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}

// exp32 is the exponential of SLEEF for float32, of at most 1.0 ulp error
// (Shibata and Petrogalli 2020): the argument less the nearest multiple of ln 2,
// a polynomial of degree 7, and the power of two.
func exp32(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < -104:
		return 0
	case x > 100:
		return float32(math.Inf(1))
	}
	q := float32(math.RoundToEven(float64(x * 1.44269504088896340736)))
	r := fma32(q, -0.693145751953125, x)
	r = fma32(q, -1.428606765330187045e-06, r)
	u := float32(0.000198527617612853646278381)
	for _, c := range [...]float32{0.00139304355252534151077271, 0.00833336077630519866943359, 0.0416664853692054748535156,
		0.166666671633720397949219, 0.5} {
		u = fma32(u, r, c)
	}
	u = 1 + fma32(r*r, u, r)
	n := int(q)
	return u * power2(n>>1) * power2(n-n>>1)
}

// power2 returns 2^n for |n| <= 126.
func power2(n int) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// log32 is the logarithm rounded to float32; SLEEF's differs from it in hardly
// any argument.
func log32(x float32) float32 { return float32(math.Log(float64(x))) }

// laneFold combines numbers as a reduction over one row does: lane i takes the
// numbers at i, i+8, i+16, ...; the lanes then meet at distance 4, 2 and 1. Less
// than one vector is combined in order.
func laneFold(x []float32, op func(a, b float32) float32) float32 {
	if len(x) < torchLanes {
		acc := x[0]
		for _, v := range x[1:] {
			acc = op(acc, v)
		}
		return acc
	}
	var lane [torchLanes]float32
	copy(lane[:], x)
	for i := torchLanes; i < len(x); i++ {
		lane[i%torchLanes] = op(lane[i%torchLanes], x[i])
	}
	for d := torchLanes / 2; d > 0; d /= 2 {
		for i := range d {
			lane[i] = op(lane[i], lane[i+d])
		}
	}
	return lane[0]
}

func add32(a, b float32) float32 { return a + b }

// torchSoftmax returns the softmax of a row that has a finite score.
func torchSoftmax(x []float32) []float32 {
	top := slices.Max(x)
	p := make([]float32, len(x))
	for i, v := range x {
		p[i] = exp32(v - top)
	}
	scale := 1 / laneFold(p, add32)
	for i := range p {
		p[i] *= scale
	}
	return p
}

// torchLogSoftmax returns the logarithm of the softmax of a row that has a
// finite score.
func torchLogSoftmax(x []float32) []float32 {
	top := slices.Max(x)
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = exp32(v - top)
	}
	norm := log32(laneFold(out, add32))
	for i, v := range x {
		out[i] = v - top - norm
	}
	return out
}

// torchSum is the sum of a row. From one vector on, each lane keeps four partial
// sums of its own (numbers 32 apart), and each of those is a cascade.
func torchSum(x []float32) float32 {
	if len(x) < torchLanes {
		return interleaved(len(x), func(i int) float32 { return x[i] })
	}
	n := len(x) / torchLanes
	total := float32(0)
	for _, v := range x[n*torchLanes:] {
		total += v
	}
	for lane := range torchLanes {
		total += interleaved(n, func(i int) float32 { return x[i*torchLanes+lane] })
	}
	return total
}

// interleaved sums n numbers as four cascades of every fourth one; up to three
// left over join the first.
func interleaved(n int, at func(i int) float32) float32 {
	var part [4]float32
	for k := range part {
		part[k] = cascade(n/4, func(i int) float32 { return at(4*i + k) })
	}
	for i := n / 4 * 4; i < n; i++ {
		part[0] += at(i)
	}
	return part[0] + part[1] + part[2] + part[3]
}

// cascade sums n numbers in blocks, blocks in blocks of blocks and so on, four
// levels deep, so that numbers of like size are added.
func cascade(n int, at func(i int) float32) float32 {
	const levels = 4
	power := max(4, bits.Len(uint(max(n-1, 0)))/levels)
	step := 1 << power
	var acc [levels]float32
	i := 0
	for i+step <= n {
		for end := i + step; i < end; i++ {
			acc[0] += at(i)
		}
		for j := 1; j < levels; j++ {
			acc[j] += acc[j-1]
			acc[j-1] = 0
			if i&((step-1)<<(j*power)) != 0 {
				break
			}
		}
	}
	for ; i < n; i++ {
		acc[0] += at(i)
	}
	return acc[0] + acc[1] + acc[2] + acc[3]
}

// torchNanSum is torchSum with every NaN counted as 0.
func torchNanSum(x []float32) float32 {
	y := slices.Clone(x)
	for i, v := range y {
		if v != v {
			y[i] = 0
		}
	}
	return torchSum(y)
}

// torchCumsum turns numbers into their running sums, which are kept in float64
// and rounded as they are stored.
func torchCumsum(x []float32) {
	sum := 0.0
	for i, v := range x {
		sum += float64(v)
		x[i] = float32(sum)
	}
}

// torchStd is the sample standard deviation (n-1); NaN for one number, or when a
// number is infinite.
func torchStd(x []float32) float32 {
	mean, squares := 0.0, 0.0
	for i, v := range x {
		d := float64(v) - mean
		mean += d / float64(i+1)
		squares += float64(d * (float64(v) - mean))
	}
	return float32(math.Sqrt(squares / float64(len(x)-1)))
}
