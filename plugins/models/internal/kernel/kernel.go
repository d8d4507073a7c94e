// Package kernel holds the arithmetic of a transformer's forward pass in
// float32, written so that every result has one value: whichever machine, batch
// or thread computes it, the same bits come out.
//
// The order of every sum and the place of every rounding are fixed here. A dot
// product keeps [Lanes] partial sums: element i is multiplied and added to lane
// i mod 16 with one rounding, a fused multiply-add; then lane i+8 is added to
// lane i, i+4 to i, i+2 to i and 1 to 0. Everything else rounds after each
// operation. The portable code says so in plain Go (explicit conversions keep
// compilers from fusing what is not to be fused), and the amd64 code, for AVX2
// with FMA and for AVX-512, does the same with vectors; a test compares them
// bit by bit. NaN is only promised to stay a NaN, not to keep its bits.
//
// Products that are rounded before they are added would suit the portable code
// better, but halve the speed of a batch on machines with fused instructions,
// which are all that are fast; the other way round, the exact fused sum costs
// the portable code a factor of about two.
//
// Not here: tensors, files, models and threads. No function keeps state, and
// all are safe for concurrent use on memory that does not overlap. Slices that
// are too short are a defect of the caller and panic. Start with [Best].
package kernel

//go:generate go -C asm run . -out ../asm_amd64.s -stubs ../asm_amd64.go -pkg kernel

import "math"

// Lanes is the number of partial sums of a dot product.
const Lanes = 16

// Kernels is one implementation of the arithmetic.
type Kernels struct {
	name string

	dots4       func(y []float32, ys int, w []float32, ws int, x []float32, xs, b, k int)
	dot         func(w, x []float32) float32
	addWeighted func(out, v []float32, vs int, a []float32)
	scaleMax    func(s []float32, factor float32) float32
	expSum      func(s []float32, shift float32) float32
	siluMul     func(gate, up []float32)
	widenF16    func(dst []float32, src []byte)
	widenQ8     func(dst []float32, src []byte)
}

// Best returns the fastest implementation that this machine runs.
func Best() *Kernels { return All()[0] }

// All returns every implementation that this machine runs, the fastest first
// and the portable one last.
func All() []*Kernels { return append(machineKernels(), portableKernels()) }

// Name returns "avx512", "avx2" or "portable".
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
	i := 0
	if length > 0 {
		for ; i+4 <= n; i += 4 {
			k.dots4(y[i:], ys, w[i*ws:], ws, x, xs, b, length)
		}
	}
	for ; i < n; i++ {
		for j := range b {
			y[j*ys+i] = k.dot(w[i*ws:][:length], x[j*xs:][:length])
		}
	}
}

// Dot returns the dot product of two rows of equal length; 0 for empty ones.
func (k *Kernels) Dot(w, x []float32) float32 { return k.dot(w, x[:len(w)]) }

// AddWeighted adds a[p]*v[p*vs+i] to out[i], for p = 0, 1, … in this order and
// every i: a weighted sum of the rows of v, each of the length of out.
func (k *Kernels) AddWeighted(out, v []float32, vs int, a []float32) {
	if len(a) == 0 || len(out) == 0 {
		return
	}
	_ = v[(len(a)-1)*vs+len(out)-1]
	k.addWeighted(out, v, vs, a)
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

// RMSNorm sets dst[i] to x[i]/sqrt(mean(x²)+epsilon)*weight[i] (Zhang and
// Sennrich 2019). dst may be x.
func (k *Kernels) RMSNorm(dst, x, weight []float32, epsilon float32) {
	mean := float64(k.dot(x, x)) / float64(len(x))
	inverse := float32(1 / math.Sqrt(mean+float64(epsilon)))
	dst, weight = dst[:len(x)], weight[:len(x)]
	for i, v := range x {
		dst[i] = float32(v*inverse) * weight[i]
	}
}
