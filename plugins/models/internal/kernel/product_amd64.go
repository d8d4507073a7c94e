package kernel

// The packed products and the rounding that they need, wrapped; packings without
// assembly do not exist.

func productsAVX2() [forms]multiplier {
	words := wrapProducts(productsWordsAVX2)
	return [forms]multiplier{
		wordsF16: words, wordsBF16: words,
		Form(F16): wrapPlain(productsF16AVX2), Form(BF16): wrapPlain(productsBF16AVX2),
		Form(Q8_0): wrapProducts(productsQ8_0AVX2), Form(Q4_0): wrapProducts(productsQ4_0AVX2), Form(Q4_1): wrapProducts(productsQ4_1AVX2),
		Form(Q5_0): wrapProducts(productsQ5_0AVX2), Form(Q5_1): wrapProducts(productsQ5_1AVX2), Form(IQ4_NL): wrapProducts(productsIQ4_NLAVX2),
		Form(Q2_K): wrapProducts(productsQ2_KAVX2), Form(Q3_K): wrapProducts(productsQ3_KAVX2), Form(Q4_K): wrapProducts(productsQ4_KAVX2),
		Form(Q5_K): wrapProducts(productsQ5_KAVX2), Form(Q6_K): wrapProducts(productsQ6_KAVX2),
	}
}

func productsAVX512() [forms]multiplier {
	words := wrapProducts(productsWordsAVX512)
	return [forms]multiplier{
		wordsF16: words, wordsBF16: words,
		Form(F16): wrapPlain(productsF16AVX512), Form(BF16): wrapPlain(productsBF16AVX512),
		Form(Q8_0): wrapProducts(productsQ8_0AVX512), Form(Q4_0): wrapProducts(productsQ4_0AVX512), Form(Q4_1): wrapProducts(productsQ4_1AVX512),
		Form(Q5_0): wrapProducts(productsQ5_0AVX512), Form(Q5_1): wrapProducts(productsQ5_1AVX512), Form(IQ4_NL): wrapProducts(productsIQ4_NLAVX512),
		Form(Q2_K): wrapProducts(productsQ2_KAVX512), Form(Q3_K): wrapProducts(productsQ3_KAVX512), Form(Q4_K): wrapProducts(productsQ4_KAVX512),
		Form(Q5_K): wrapProducts(productsQ5_KAVX512), Form(Q6_K): wrapProducts(productsQ6_KAVX512),
	}
}

func wrapProducts(f func(y *float32, ys, n int, w *byte, blocks int, x *byte, b int, next *byte)) multiplier {
	return func(y []float32, ys, n int, w []byte, blocks int, x []byte, b int, next []byte) {
		f(&y[0], ys, n, &w[0], blocks, &x[0], b, &next[0])
	}
}

func wrapPlain(f func(y *float32, ys, n int, w *byte, cols int, x *byte, b int)) multiplier {
	return func(y []float32, ys, n int, w []byte, cols int, x []byte, b int, _ []byte) {
		f(&y[0], ys, n, &w[0], cols, &x[0], b)
	}
}

func roundAVX2() [roundings]rounder {
	return [roundings]rounder{ByBlock: wrapRound(roundByBlockAVX2, 32), BySuperBlock: wrapRound(roundBySuperBlockAVX2, 256),
		ByWords: wrapRound(roundByWordsAVX2, wordsUnit)}
}

func wrapRound(f func(dst *byte, stride int, x *float32, runs int), values int) rounder {
	return func(dst []byte, stride int, x []float32) { f(&dst[0], stride, &x[0], len(x)/values) }
}
