package vec

import "math"

// The functions below are the definition of every pass over groups of 8 scores.

func portableMax(values []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range values {
		if v > m {
			m = v
		}
	}
	return m
}

func portableLeast(values []float32) float32 {
	m := float32(math.Inf(1))
	for _, v := range values {
		if v < m && v >= -math.MaxFloat32 {
			m = v
		}
	}
	return m
}

// portableFinite adds one to the exponent field of a number without its sign,
// which carries into the sign's place exactly when the exponent is all ones.
func portableFinite(values []float32) bool {
	const unsigned, one, carry = 0x7fffffff, 0x00800000, 0x80000000
	wild := uint32(0)
	for _, v := range values {
		wild |= math.Float32bits(v)&unsigned + one
	}
	return wild&carry == 0
}

func portableLegal(values []float32) bool {
	for _, v := range values {
		if !(v <= math.MaxFloat32) {
			return false
		}
	}
	return true
}

func portableWithin(values, before []float32) bool {
	for i, v := range values {
		if v >= -math.MaxFloat32 && !(before[i] >= -math.MaxFloat32) {
			return false
		}
	}
	return true
}

func portableSame(values, other []float32) bool {
	for i, v := range values {
		if math.Float32bits(v) != math.Float32bits(other[i]) {
			return false
		}
	}
	return true
}

func portableAscending(ids []int32) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return false
		}
	}
	return true
}

func portableCount(values []float32, floor float32) (n int) {
	for _, v := range values {
		if v >= floor {
			n++
		}
	}
	return n
}

// portableSearch stops like vector code, which writes 16 places at a time.
func portableSearch(dst []int32, values []float32, base int, floor float32) (found []int32, seen int) {
	for i, v := range values {
		if cap(dst)-len(dst) < slack {
			return dst, i
		}
		if v >= floor {
			dst = append(dst, int32(base+i))
		}
	}
	return dst, len(values)
}

func portablePick(dst, values []float32, floor float32) (picked []float32, seen int) {
	for i, v := range values {
		if cap(dst)-len(dst) < slack {
			return dst, i
		}
		if v >= floor {
			dst = append(dst, v)
		}
	}
	return dst, len(values)
}

func portableSum(a *sums, values []float32, top float64) {
	for i, v := range values {
		a[i%lanes] += Exp(float64(v) - top)
	}
}

// portableLean adds the weights to a and the weights times their exponents to b.
func portableLean(a, b *sums, values []float32, top float64) {
	for i, v := range values {
		x := float64(v) - top
		if w := Exp(x); w > 0 {
			a[i%lanes] += w
			b[i%lanes] = math.FMA(w, x, b[i%lanes])
		}
	}
}

func portableWeigh(dst []float64, a, b *sums, values []float32, top float64) {
	for i, v := range values {
		x := float64(v) - top
		w := Exp(x)
		if dst[i] = w; w > 0 {
			a[i%lanes] += w
			b[i%lanes] = math.FMA(w, x, b[i%lanes])
		}
	}
}

func portableExps(dst []float64, values []float32, top float64) {
	for i, v := range values {
		dst[i] = Exp(float64(v) - top)
	}
}

func portableMoments(a, b *sums, values []float32, shift float64) {
	for i, v := range values {
		if v >= -math.MaxFloat32 {
			x := float64(v) - shift
			a[i%lanes] += x
			b[i%lanes] = math.FMA(x, x, b[i%lanes])
		}
	}
}
