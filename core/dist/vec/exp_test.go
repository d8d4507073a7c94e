package vec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const precision = 300 // bits of the exact values below

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// exactExp returns e^x as the square of a square of ... of a Taylor series near
// 0, with about 280 bits right.
func exactExp(x *big.Float) *big.Float {
	const halvings = 12
	r := new(big.Float).SetPrec(precision).SetMantExp(x, -halvings)
	sum, term := bigFloat(1), bigFloat(1)
	for i := 1; i < 40; i++ {
		term.Mul(term, r)
		term.Quo(term, bigFloat(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// ulps returns the error of got in units of its last place.
func ulps(got float64, exact *big.Float) float64 {
	_, exponent := math.Frexp(got)
	diff, _ := new(big.Float).Sub(bigFloat(got), exact).Float64()
	return math.Abs(diff) / math.Ldexp(1, exponent-53)
}

// In units of a result in [0.7, 1), which are 2^-53: the polynomial is off by up
// to 0.15, the last step rounds by half, the one before it by up to one times
// |r| <= 0.35, and r itself by up to an eighth: 1.1 in all. Three million
// arguments gave 1.000.
func TestExpIsWithinItsStatedError(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for i := range 60000 {
		x := -r.Float64() * 708
		switch i % 4 {
		case 1:
			x = -r.Float64() * 2
		case 2: // around the borders of the reduction
			x = (float64(r.IntN(1020)) + 0.5 + 1e-6*r.NormFloat64()) * -math.Ln2
		case 3:
			x = -math.Ldexp(r.Float64(), -r.IntN(60))
		}
		if x < vanish {
			continue
		}
		e := ulps(Exp(x), exactExp(bigFloat(x)))
		if worst = max(worst, e); !(e <= 1.1) {
			t.Fatalf("Exp(%v) = %v is off by %.3f units in the last place", x, Exp(x), e)
		}
	}
	if !(worst > 0.5) {
		t.Errorf("the largest error found is %.3f: nothing was measured", worst)
	}
}

func TestExpAtTheEdges(t *testing.T) {
	rows := []struct {
		name    string
		x, want float64
	}{
		{"zero is one exactly", 0, 1},
		{"minus zero", math.Copysign(0, -1), 1},
		{"a removed token", math.Inf(-1), 0},
		{"below where weights vanish", math.Nextafter(vanish, -1000), 0},
		{"far below", -math.MaxFloat64, 0},
		{"the least subnormal below 0", -math.SmallestNonzeroFloat64, 1},
		{"one unit below 0", -0x1p-53, 1 - 0x1p-53},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := Exp(r.x); got != r.want {
				t.Errorf("got %v, want %v", got, r.want)
			}
		})
	}
	if e := Exp(vanish); !(e >= 0x1p-1022 && e < 4e-308) {
		t.Errorf("the least weight is %v, want a normal number", e)
	}
}

// Within the error, larger arguments have larger weights: neighbours may differ
// by the rounding of two results, arguments 2^-50 apart never do.
func TestExpIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300000 {
		x := -r.Float64() * 60
		y := x + max(0x1p-50, -x*0x1p-50)
		if !(Exp(x) <= Exp(y)) {
			t.Fatalf("Exp(%v) = %v but Exp(%v) = %v", x, Exp(x), y, Exp(y))
		}
	}
	last := 0.0
	for x := -708.5; x <= 0; x += 0.001 {
		if e := Exp(x); e < last {
			t.Fatalf("Exp(%v) = %v is below %v", x, e, last)
		} else {
			last = e
		}
	}
}

// ln2 is the natural logarithm of 2 as a sum of 1/(n 2^n).
func ln2() *big.Float {
	sum, power := bigFloat(0), bigFloat(1)
	for n := 1; n < precision+10; n++ {
		power.Mul(power, bigFloat(0.5))
		sum.Add(sum, new(big.Float).Quo(power, bigFloat(float64(n))))
	}
	return sum
}

func TestLn2IsTheSumOfItsParts(t *testing.T) {
	high, _ := ln2().Float64()
	low, _ := new(big.Float).Sub(ln2(), bigFloat(high)).Float64()
	if high != ln2High || low != ln2Low {
		t.Errorf("%x and %x, want %x and %x", ln2High, ln2Low, high, low)
	}
}

// The coefficients are those of the interpolation of (e^r-1-r)/r² at the
// Chebyshev nodes, by divided differences.
func TestCoefficientsAreTheInterpolation(t *testing.T) {
	want := [...]float64{q0, q1, q2, q3, q4, q5, q6, q7, q8, q9}
	const n = len(want)
	half := new(big.Float).Quo(ln2(), bigFloat(2))
	var node, value [n]*big.Float
	for i := range n {
		// A node that is off by a unit of float64 moves no coefficient.
		c := bigFloat(math.Cos(math.Pi * float64(2*i+1) / (2 * float64(n))))
		node[i] = c.Mul(c, half)
		v := exactExp(node[i])
		v.Sub(v, bigFloat(1))
		v.Sub(v, node[i])
		v.Quo(v, node[i])
		value[i] = v.Quo(v, node[i])
	}
	for j := 1; j < n; j++ {
		for i := n - 1; i >= j; i-- {
			value[i].Sub(value[i], value[i-1])
			value[i].Quo(value[i], new(big.Float).Sub(node[i], node[i-j]))
		}
	}
	var poly [n]*big.Float
	for i := range poly {
		poly[i] = bigFloat(0)
	}
	for i := n - 1; i >= 0; i-- { // poly = poly * (r - node[i]) + value[i]
		for k := n - 1; k >= 0; k-- {
			poly[k].Neg(new(big.Float).Mul(poly[k], node[i]))
			if k > 0 {
				poly[k].Add(poly[k], poly[k-1])
			}
		}
		poly[0].Add(poly[0], value[i])
	}
	for i, c := range poly {
		if got, _ := c.Float64(); got != want[i] {
			t.Errorf("coefficient %d is %x, want %x", i, want[i], got)
		}
	}
}
