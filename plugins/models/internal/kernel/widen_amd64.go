package kernel

// The stored formats that have assembly; the others are widened by the portable
// code on every machine.

func widenAVX2() [formats]widener {
	w := portableWiden()
	w[F16] = wrapFloats(widenF16AVX2, widenF16)
	w[BF16] = wrapFloats(widenBF16AVX2, widenBF16)
	w[Q8_0] = wrapBlocks(widenQ8_0AVX2, Q8_0)
	w[Q4_0] = wrapBlocks(widenQ4_0AVX2, Q4_0)
	w[Q5_0] = wrapBlocks(widenQ5_0AVX2, Q5_0)
	w[Q4_K] = wrapBlocks(widenQ4_KAVX2, Q4_K)
	w[Q5_K] = wrapBlocks(widenQ5_KAVX2, Q5_K)
	w[Q6_K] = wrapBlocks(widenQ6_KAVX2, Q6_K)
	return w
}

func widenAVX512() [formats]widener {
	w := portableWiden()
	w[F16] = wrapFloats(widenF16AVX512, widenF16)
	w[BF16] = wrapFloats(widenBF16AVX512, widenBF16)
	w[Q8_0] = wrapBlocks(widenQ8_0AVX512, Q8_0)
	w[Q4_0] = wrapBlocks(widenQ4_0AVX512, Q4_0)
	w[Q5_0] = wrapBlocks(widenQ5_0AVX512, Q5_0)
	w[Q4_K] = wrapBlocks(widenQ4_KAVX512, Q4_K)
	w[Q5_K] = wrapBlocks(widenQ5_KAVX512, Q5_K)
	w[Q6_K] = wrapBlocks(widenQ6_KAVX512, Q6_K)
	return w
}

// wrapFloats leaves what does not fill a run of 16 to the portable code.
func wrapFloats(f func(dst *float32, src *byte, runs int), rest widener) widener {
	return func(dst []float32, src []byte) {
		whole := len(dst) &^ 15
		if whole > 0 {
			f(&dst[0], &src[0], whole/16)
		}
		rest(dst[whole:], src[2*whole:])
	}
}

func wrapBlocks(f func(dst *float32, src *byte, blocks int), format Format) widener {
	values := format.Block()
	return func(dst []float32, src []byte) { f(&dst[0], &src[0], len(dst)/values) }
}
