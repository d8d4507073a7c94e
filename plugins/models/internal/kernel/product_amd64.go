package kernel

// The packed products and the rounding that they need, wrapped; packings without
// assembly do not exist.

func productsAVX2() [formats]multiplier {
	return [formats]multiplier{
		F16: wrapProducts(productsF16AVX2), BF16: wrapProducts(productsBF16AVX2),
		Q8_0: wrapProducts(productsQ8_0AVX2), Q4_0: wrapProducts(productsQ4_0AVX2), Q4_1: wrapProducts(productsQ4_1AVX2),
		Q5_0: wrapProducts(productsQ5_0AVX2), Q5_1: wrapProducts(productsQ5_1AVX2), IQ4_NL: wrapProducts(productsIQ4_NLAVX2),
		Q2_K: wrapProducts(productsQ2_KAVX2), Q3_K: wrapProducts(productsQ3_KAVX2), Q4_K: wrapProducts(productsQ4_KAVX2),
		Q5_K: wrapProducts(productsQ5_KAVX2), Q6_K: wrapProducts(productsQ6_KAVX2),
	}
}

func productsAVX512() [formats]multiplier {
	return [formats]multiplier{
		F16: wrapProducts(productsF16AVX512), BF16: wrapProducts(productsBF16AVX512),
		Q8_0: wrapProducts(productsQ8_0AVX512), Q4_0: wrapProducts(productsQ4_0AVX512), Q4_1: wrapProducts(productsQ4_1AVX512),
		Q5_0: wrapProducts(productsQ5_0AVX512), Q5_1: wrapProducts(productsQ5_1AVX512), IQ4_NL: wrapProducts(productsIQ4_NLAVX512),
		Q2_K: wrapProducts(productsQ2_KAVX512), Q3_K: wrapProducts(productsQ3_KAVX512), Q4_K: wrapProducts(productsQ4_KAVX512),
		Q5_K: wrapProducts(productsQ5_KAVX512), Q6_K: wrapProducts(productsQ6_KAVX512),
	}
}

func wrapProducts(f func(y *float32, ys, n int, w *byte, blocks int, x *byte, b int)) multiplier {
	return func(y []float32, ys, n int, w []byte, blocks int, x []byte, b int) {
		f(&y[0], ys, n, &w[0], blocks, &x[0], b)
	}
}

func roundAVX2() [roundings]rounder {
	return [roundings]rounder{ByBlock: wrapRound(roundByBlockAVX2, 32), BySuperBlock: wrapRound(roundBySuperBlockAVX2, 256)}
}

func wrapRound(f func(dst *byte, stride int, x *float32, runs int), values int) rounder {
	return func(dst []byte, stride int, x []float32) { f(&dst[0], stride, &x[0], len(x)/values) }
}
