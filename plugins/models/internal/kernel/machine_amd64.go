package kernel

import "golang.org/x/sys/cpu"

// machineKernels returns the vector implementations that this machine runs.
// AVX-512 serves the dot products, the weighted sums, the stored formats and, with its instructions
// for bytes, the packed products; the rest gains nothing from it.
func machineKernels() []*Kernels {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasF16C {
		return nil
	}
	avx2 := &Kernels{
		name: "avx2", dots: wrapDots(dotsAVX2), dot: wrapDot(dotAVX2), addWeighted: wrapWeighted(addWeightedAVX2),
		add: addVector, scaleBy: scaleByVector, rotate: rotateVector,
		scaleMax: scaleMaxVector, expSum: expSumVector, siluMul: siluMulVector,
		gelu: geluVector, geluMul: geluMulVector,
		widen: widenAVX2(), round: roundAVX2(),
		products: productsAVX2(),
	}
	if !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512DQ || !cpu.X86.HasAVX512VL {
		return []*Kernels{avx2}
	}
	wide := *avx2
	wide.name, wide.dots, wide.dot = "avx512", wrapDots(dotsAVX512), wrapDot(dotAVX512)
	wide.addWeighted = wrapWeighted(addWeightedAVX512)
	wide.widen = widenAVX512()
	all := productsAVX512()
	wide.products[Form(F16)], wide.products[Form(BF16)] = all[F16], all[BF16]
	if cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
		wide.name, wide.products = "avx512-vnni", all
	}
	return []*Kernels{&wide, avx2}
}

// The wrappers below turn slices, which the exported methods have measured,
// into the pointers that assembly takes. Empty ones never get that far.

func wrapDots(f func(k int, w *float32, ws, n int, x *float32, xs, b int, y *float32, ys int)) func([]float32, int, []float32, int, int, []float32, int, int, int) {
	return func(y []float32, ys int, w []float32, ws, n int, x []float32, xs, b, k int) {
		f(k, &w[0], ws, n, &x[0], xs, b, &y[0], ys)
	}
}

func wrapDot(f func(k int, w, x *float32) float32) func(w, x []float32) float32 {
	return func(w, x []float32) float32 {
		if len(w) == 0 {
			return 0
		}
		return f(len(w), &w[0], &x[0])
	}
}

func wrapWeighted(f func(out *float32, os, b int, v *float32, vs, n int, a *float32, as, e int)) func([]float32, int, int, []float32, int, int, []float32, int, int) {
	return func(out []float32, os, b int, v []float32, vs, n int, a []float32, as, length int) {
		f(&out[0], os, b, &v[0], vs, n, &a[0], as, length)
	}
}

func addVector(dst, x []float32) {
	if len(dst) > 0 {
		addAVX2(&dst[0], &x[0], len(dst))
	}
}

func scaleByVector(dst, weight []float32, factor float32) {
	if len(dst) > 0 {
		scaleByAVX2(&dst[0], &weight[0], len(dst), factor)
	}
}

func rotateVector(x, cos, sin []float32) {
	if len(x) > 0 {
		rotateAVX2(&x[0], &cos[0], &sin[0], len(x))
	}
}

func scaleMaxVector(s []float32, factor float32) float32 {
	if len(s) == 0 {
		return portableScaleMax(s, factor)
	}
	return scaleMaxAVX2(&s[0], len(s), factor)
}

func expSumVector(s []float32, shift float32) float32 {
	if len(s) == 0 {
		return 0
	}
	return expSumAVX2(&s[0], len(s), shift)
}

func siluMulVector(gate, up []float32) {
	if len(gate) > 0 {
		siluMulAVX2(&gate[0], &up[0], len(gate))
	}
}

func geluVector(x []float32) {
	if len(x) > 0 {
		geluAVX2(&x[0], len(x))
	}
}

func geluMulVector(gate, up []float32) {
	if len(gate) > 0 {
		geluMulAVX2(&gate[0], &up[0], len(gate))
	}
}
