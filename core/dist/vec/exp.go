package vec

import "math"

// vanish is where an exponential is taken to be 0: just before it leaves the
// normal numbers, at 2^-1022. Beside the weight 1 of the largest score nothing
// that small has an effect.
const vanish = -708

const (
	// Adding magic leaves the nearest whole number in the low bits.
	magic = 3 << 51
	// ln 2 in two parts. n times the first minus x is exact in a fused step:
	// both are multiples of 2^-54, and the difference is below 1/2.
	ln2High = 0x1.62e42fefa39efp-1
	ln2Low  = 0x1.abc9e3b39803fp-56
)

// The coefficients of q in e^r = 1 + r + r²q(r): the interpolation of
// (e^r-1-r)/r² at the ten Chebyshev nodes of |r| <= ln(2)/2, which a test
// repeats. With them the formula is within 0.15 * 2^-53 of e^r, relative.
const (
	q0 = 0x1.0000000000001p-1
	q1 = 0x1.5555555555556p-3
	q2 = 0x1.5555555553d68p-5
	q3 = 0x1.11111111109b5p-7
	q4 = 0x1.6c16c17889ef1p-10
	q5 = 0x1.a01a01a7c2efep-13
	q6 = 0x1.a019b9149a41cp-16
	q7 = 0x1.71de0db2f6b19p-19
	q8 = 0x1.28917c89a43a7p-22
	q9 = 0x1.af389ecfc4b9cp-26
)

// Exp returns e^x for x up to 700, with an error of at most 1.1 units in the
// last place: exactly 1 for 0, and exactly 0 below -708 and for -Inf.
//
// x = n ln 2 + r with n whole and |r| <= ln(2)/2; e^r is a polynomial of degree
// 11 in fused steps (Horner), and n is added to its exponent. Package math has
// assembly on some machines and plain Go on others, which differ in the last
// bit.
func Exp(x float64) float64 {
	if !(x >= vanish) {
		return 0
	}
	shifted := math.FMA(x, math.Log2E, magic)
	n := shifted - magic
	r := math.FMA(-n, ln2High, x)
	r = math.FMA(-n, ln2Low, r)
	p := math.FMA(q9, r, q8)
	p = math.FMA(p, r, q7)
	p = math.FMA(p, r, q6)
	p = math.FMA(p, r, q5)
	p = math.FMA(p, r, q4)
	p = math.FMA(p, r, q3)
	p = math.FMA(p, r, q2)
	p = math.FMA(p, r, q1)
	p = math.FMA(p, r, q0)
	p = math.FMA(p, r, 1)
	p = math.FMA(p, r, 1)
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(shifted)<<52)
}
