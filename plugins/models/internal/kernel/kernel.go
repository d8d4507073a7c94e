// Package kernel holds the arithmetic of a transformer's forward pass in
// float32, written so that every result has one value: whichever machine, batch
// or thread computes it, the same bits come out.
//
// The order of every sum and the place of every rounding are fixed here. A dot
// product keeps 16 partial sums: element i is multiplied and added to lane
// i mod 16 with one rounding, a fused multiply-add; then lane i+8 is added to
// lane i, i+4 to i, i+2 to i and 1 to 0. Everything else rounds after each
// operation. The portable code says so in plain Go (explicit conversions keep
// compilers from fusing what is not to be fused), and the amd64 code, for AVX2
// with FMA and for AVX-512, does the same with vectors; a test compares them
// bit by bit. Stored weights become the float32 that ggml makes of them, bit for
// bit too (widen.go). NaN is only promised to stay a NaN, not to keep its bits.
//
// Rounding the products before adding them was tried first. It is a little
// simpler in plain Go, but takes twice the instructions in vectors, and those
// are what a batch waits for: 32 sequences together then yield 3 times the
// tokens of one on one core, instead of more than 4.
//
// Not here: tensors, files, models and threads. No function keeps state, and
// all are safe for concurrent use on memory that does not overlap. Slices that
// are too short are a defect of the caller and panic. Start with [Best].
package kernel

//go:generate go -C asm run . -out ../asm_amd64.s -stubs ../asm_amd64.go -pkg kernel

import "math"

// lanes is the number of partial sums of a dot product.
const lanes = 16

// Kernels is one implementation of the arithmetic.
type Kernels struct {
	name string

	dots        func(y []float32, ys int, w []float32, ws, n int, x []float32, xs, b, k int) // n a multiple of 4
	dot         func(w, x []float32) float32
	add         func(dst, x []float32)
	scaleBy     func(dst, weight []float32, factor float32)
	rotate      func(x, cos, sin []float32)
	addWeighted func(out []float32, os, b int, v []float32, vs, n int, a []float32, as, length int)
	scaleMax    func(s []float32, factor float32) float32
	expSum      func(s []float32, shift float32) float32
	siluMul     func(gate, up []float32)
	gelu        func(x []float32)
	geluMul     func(gate, up []float32)
	widen       [formats]widener
	round       [roundings]rounder
	products    [forms]multiplier // of the forms that exist
}

// Best returns the fastest implementation that this machine runs.
func Best() *Kernels { return All()[0] }

// All returns every implementation that this machine runs, the fastest first
// and the portable one last.
func All() []*Kernels { return append(machineKernels(), portableKernels()) }

// Name returns "avx512-vnni", "avx512", which multiplies packed weights with AVX2,
// "avx2" or "portable".
func (k *Kernels) Name() string { return k.name }

// Dots sets y[j*ys+i] to the dot product of w[i*ws:][:length] and
// x[j*xs:][:length] for i < n and j < b: n weight rows against b activation
// rows. A weight row is loaded once for several activation rows, and each
// product is the same as [Kernels.Dot] would give.
func (k *Kernels) Dots(y []float32, ys int, w []float32, ws, n int, x []float32, xs, b, length int) {
	if n <= 0 || b <= 0 {
		return
	}
	w = w[: (n-1)*ws+length : (n-1)*ws+length]
	x = x[: (b-1)*xs+length : (b-1)*xs+length]
	y = y[: (b-1)*ys+n : (b-1)*ys+n]
	whole := n &^ 3
	if length == 0 {
		whole = 0
	}
	if whole > 0 {
		k.dots(y, ys, w, ws, whole, x, xs, b, length)
	}
	for i := whole; i < n; i++ {
		for j := range b {
			y[j*ys+i] = k.dot(w[i*ws:][:length], x[j*xs:][:length])
		}
	}
}

// Dot returns the dot product of two rows of equal length; 0 for empty ones.
func (k *Kernels) Dot(w, x []float32) float32 { return k.dot(w, x[:len(w)]) }

// AddWeighted adds a[j*as+p]*v[p*vs+i] to out[j*os+i], with one rounding, for
// p = 0, 1, … in this order, i < length and j < b: b weighted sums of n rows. A
// row is loaded once for several sums.
func (k *Kernels) AddWeighted(out []float32, os, b int, v []float32, vs, n int, a []float32, as, length int) {
	if b <= 0 || n <= 0 || length <= 0 {
		return
	}
	out = out[: (b-1)*os+length : (b-1)*os+length]
	v = v[: (n-1)*vs+length : (n-1)*vs+length]
	a = a[: (b-1)*as+n : (b-1)*as+n]
	k.addWeighted(out, os, b, v, vs, n, a, as, length)
}

// Softmax replaces s[i] by exp(factor*s[i] - m), where m is the largest
// factor*s[j], and returns their sum: dividing by it gives the probabilities.
// The sum runs over lanes as that of a dot product does. factor is positive.
// An exponential below e^-87.34 is taken to be that.
func (k *Kernels) Softmax(s []float32, factor float32) float32 {
	return k.expSum(s, k.scaleMax(s, factor))
}

// SiLUMul replaces gate[i] by silu(gate[i])*up[i], silu(g) = g/(1+e^-g)
// (Elfwing, Uchibe and Doya 2018; gated by up: Shazeer 2020).
func (k *Kernels) SiLUMul(gate, up []float32) { k.siluMul(gate, up[:len(gate)]) }

// GELU replaces x[i] by gelu(x[i]), with the approximation of gelu by tanh:
// gelu(g) = g/2*(1+tanh(sqrt(2/π)*(g+0.044715*g³))) (Hendrycks and Gimpel 2016),
// written as g/(1+e^(-2u)) with u the argument of tanh.
func (k *Kernels) GELU(x []float32) { k.gelu(x) }

// GELUMul replaces gate[i] by gelu(gate[i])*up[i], with gelu as [Kernels.GELU] has
// it.
func (k *Kernels) GELUMul(gate, up []float32) { k.geluMul(gate, up[:len(gate)]) }

// RMSNorm replaces x[i] by x[i]/sqrt(mean(x²)+epsilon)*weight[i] (Zhang and
// Sennrich 2019).
func (k *Kernels) RMSNorm(x, weight []float32, epsilon float32) {
	mean := float64(k.dot(x, x)) / float64(len(x))
	k.scaleBy(x, weight[:len(x)], float32(1/math.Sqrt(mean+float64(epsilon))))
}

// Add adds x[i] to dst[i].
func (k *Kernels) Add(dst, x []float32) { k.add(dst, x[:len(dst)]) }

// Rotate turns the pairs (x[2i], x[2i+1]) by an angle each. cos and sin, as
// long as x, hold every cosine twice and every sine twice, first negative:
// x[i] becomes x[i]*cos[i] + x[i^1]*sin[i].
func (k *Kernels) Rotate(x, cos, sin []float32) {
	if len(x)%2 != 0 {
		panic("kernel: rotation of an odd number of elements")
	}
	k.rotate(x, cos[:len(x)], sin[:len(x)])
}
