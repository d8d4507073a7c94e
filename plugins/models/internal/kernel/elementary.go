package kernel

import "math"

// The elementary functions of this package are its own because those of
// package math are assembly with fused steps on some machines and plain Go on
// others, which may differ in the last bit.

// fma returns a*b+c rounded once to float32, as fused instructions do.
//
// The product of two float32 is exact in float64. Rounding the sum to 53 bits
// and then to 24 goes wrong only when the first rounding lands halfway between
// two float32, or where float32 has fewer bits near zero; there the sum is
// rounded to odd first (Boldo and Melquiond 2008), which makes the second
// rounding the only one that counts.
func fma(a, b, c float32) float32 {
	const (
		below    = 1<<29 - 1 // the bits that the second rounding drops
		halfway  = 1 << 28
		exponent = 0x7ff << 52
		normal   = (1023 - 126) << 52
	)
	product := float64(a) * float64(b)
	sum := product + float64(c)
	if bits := math.Float64bits(sum); bits&below == halfway || bits&exponent < normal {
		sum = oddSum(product, float64(c), sum)
	}
	return float32(sum)
}

// oddSum returns a+b rounded to odd, given the sum rounded to nearest.
func oddSum(a, b, sum float64) float64 {
	// Knuth's error-free sum: rest is what sum has lost.
	virtual := sum - a
	rest := (a - (sum - virtual)) + (b - virtual)
	bits := math.Float64bits(sum)
	if rest == 0 || rest != rest || bits&1 == 1 {
		return sum
	}
	if (rest > 0) == (sum > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// expStep returns e^x in float32 with a relative error below 1.5e-7. Its
// argument is first brought into [-87.33654, 88], where the result is a normal
// number; NaN gives NaN.
//
// x = n ln 2 + r with n whole and |r| <= 0.35; e^r is its Taylor polynomial of
// degree 7, whose remainder is below 6e-9.
func expStep(x float32) float32 {
	const (
		low, high = -87.33654, 88
		// Adding magic leaves the nearest whole number in the low bits.
		magic     = 3 << 22
		ln2High   = 22713.0 / 32768 // 15 bits: n times it is exact
		ln2Low    = math.Ln2 - ln2High
		c2, c3    = 1.0 / 2, 1.0 / 6
		c4, c5    = 1.0 / 24, 1.0 / 120
		c6, c7    = 1.0 / 720, 1.0 / 5040
		exponent1 = 127 << 23 // bits of 1
	)
	if x < low {
		x = low
	}
	if x > high {
		x = high
	}
	shifted := float32(x*math.Log2E) + magic
	n := shifted - magic
	scale := math.Float32frombits(math.Float32bits(shifted)<<23 + exponent1)
	r := x - float32(n*ln2High)
	r -= float32(n * ln2Low)
	p := float32(r * c7)
	p = float32((p + c6) * r)
	p = float32((p + c5) * r)
	p = float32((p + c4) * r)
	p = float32((p + c3) * r)
	p = float32((p + c2) * r)
	p = float32((p + 1) * r)
	return float32((p + 1) * scale)
}

// Log returns the natural logarithm of a positive finite x, with a relative
// error below 1e-15 for x >= 1.5.
func Log(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// ln m = 2 artanh(s) = 2(s + s³/3 + s⁵/5 + …), |s| < 0.172.
	s := (m - 1) / (m + 1)
	square := s * s
	sum := 0.0
	for i := 25; i >= 1; i -= 2 {
		sum = 1/float64(i) + float64(square*sum)
	}
	return float64(2*s*sum) + float64(float64(e)*math.Ln2)
}

// Exp returns e^x for |x| < 700, with a relative error below 1e-15.
func Exp(x float64) float64 {
	const (
		ln2High = 2977044471.0 / (1 << 32) // 32 bits
		ln2Low  = math.Ln2 - ln2High
	)
	n := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(n*ln2High)
	r -= float64(n * ln2Low)
	p := 1.0
	for i := 16; i >= 1; i-- {
		p = 1 + float64(p*r)/float64(i)
	}
	return math.Ldexp(p, int(n))
}

// SinCos returns the sine and cosine of x, with an absolute error below 1e-15
// for |x| < 2^24.
func SinCos(x float64) (sin, cos float64) {
	// π/2 in three parts of which the first two times a 24-bit number are exact.
	const (
		part1 = 421657428.0 / (1 << 28)
		part2 = 142975752.0 / (1 << 57)
		part3 = 5.7211887261098318e-18
	)
	n := math.Floor(float64(x*(2/math.Pi)) + 0.5)
	r := x - float64(n*part1)
	r -= float64(n * part2)
	r -= float64(n * part3)
	square := float64(r * r)
	s, c := 1.0, 1.0
	for i := 18; i >= 2; i -= 2 {
		s = 1 - float64(square*s)/float64(i*(i+1))
		c = 1 - float64(square*c)/float64(i*(i-1))
	}
	s = float64(r * s)
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}
