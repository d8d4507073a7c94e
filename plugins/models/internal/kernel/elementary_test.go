package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestFMARoundsOnce(t *testing.T) {
	exact := func(a, b, c float32) float32 {
		sum := new(big.Float).SetPrec(2000)
		sum.Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		sum.Add(sum, big.NewFloat(float64(c)))
		v, _ := sum.Float32()
		return v
	}
	check := func(name string, a, b, c float32) {
		t.Helper()
		got, want := fma(a, b, c), exact(a, b, c)
		if got != want {
			t.Errorf("%s: fma(%g, %g, %g) = %g (%#x), exactly %g (%#x)", name, a, b, c,
				got, math.Float32bits(got), want, math.Float32bits(want))
		}
	}
	check("halfway but for a bit far below", 1+0x1p-12, 1-0x1p-12, 0x1p24) // 2^24 + 1 - 2^-24
	check("halfway from above", 1+0x1p-12, 1+0x1p-11, 0x1p24)
	check("below, negative", -(1 + 0x1p-12), 1-0x1p-12, -0x1p24)
	check("above, negative", -(1 + 0x1p-12), 1+0x1p-11, -0x1p24)
	check("a subnormal halfway but for a bit far below", 0x1p-75, 0x1p-75*(1-0x1p-23), 0x1p-126)
	check("a subnormal from two", 0x1p-100, 0x1.8p-49, 0x1p-149)
	check("overflow to infinity", math.MaxFloat32, 2, 0)
	check("just no overflow", math.MaxFloat32, 1, 0x1p102)
	check("cancellation", 1+0x1p-12, 1+0x1p-12, -(1 + 0x1p-11))
	r := rand.New(rand.NewPCG(19, 20))
	for range 200000 {
		a, b := float32(r.NormFloat64()), float32(r.NormFloat64())
		// A third operand near, far above or far below the product.
		c := float32(math.Ldexp(float64(a)*float64(b)*(1+r.Float64()), r.IntN(81)-40))
		check("random", a, b, c)
		tiny := float32(math.Ldexp(r.NormFloat64(), -120-r.IntN(30)))
		check("near the smallest", a, tiny, float32(math.Ldexp(r.NormFloat64(), -120-r.IntN(30))))
	}
}

func TestExpIsWithinItsStatedError(t *testing.T) {
	worst := 0.0
	for x := float32(-87.33); x < 88; x += 0.00071 {
		exact := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(expStep(x))-exact)/exact)
	}
	if !(worst <= 1.5e-7) {
		t.Errorf("largest relative error %g", worst)
	}
}

func TestExpAtTheEdges(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	rows := []struct {
		name    string
		x, want float32
	}{
		{"zero is one exactly", 0, 1},
		{"minus zero", float32(math.Copysign(0, -1)), 1},
		{"a mask of -1e30 is the smallest, not a wrapped exponent", -1e30, expStep(-87.33654)},
		{"-Inf", -inf, expStep(-87.33654)},
		{"beyond the largest", 1e30, expStep(88)},
		{"+Inf", inf, expStep(88)},
		{"NaN", nan, nan},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := expStep(r.x); !sameBits(got, r.want) {
				t.Errorf("got %g, want %g", got, r.want)
			}
		})
	}
	if v := expStep(-inf); !(v >= 0x1p-126 && v < 1.2e-38) {
		t.Errorf("the smallest exponential is %g", v)
	}
	if v := expStep(inf); !(v > 1e38 && v <= math.MaxFloat32) {
		t.Errorf("the largest exponential is %g", v)
	}
}

func TestSoftmaxLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, k := range All() {
		for _, n := range lengths {
			s := filled(r, n, fills[0].next)
			shifted := append([]float32(nil), s...)
			sum := k.Softmax(s, 2)
			total, largest := 0.0, float32(0)
			for _, e := range s {
				total += float64(e)
				largest = max(largest, e)
			}
			// n additions in float32.
			if !(math.Abs(total-float64(sum)) <= total*float64(n)/(1<<24)) {
				t.Errorf("%s: %d values sum to %g, not %g", k.Name(), n, total, sum)
			}
			if largest != 1 {
				t.Errorf("%s: the largest of %d is %g, want 1", k.Name(), n, largest)
			}
			for i := range shifted {
				shifted[i] += 64 // exact enough: the scores lose 2^-18 at most
			}
			k.Softmax(shifted, 2)
			for i := range s {
				if !(math.Abs(float64(shifted[i]-s[i])) <= 4e-5) {
					t.Errorf("%s: a shift of all scores changes value %d from %g to %g", k.Name(), i, s[i], shifted[i])
				}
			}
		}
	}
}

func TestSiLUAtTheEdges(t *testing.T) {
	rows := []struct {
		name          string
		gate, up, tol float64
	}{
		{"zero", 0, 3, 0},
		{"one", 1, 1, 1e-7},
		{"minus two", -2, 1, 1e-7},
		{"far right is the gate itself", 50, 2, 0},
		{"far left vanishes", -80, 1, 1e-30},
		{"beyond the clamp", -200, 1, 1e-30},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for _, k := range All() {
				gate := []float32{float32(r.gate)}
				k.SiLUMul(gate, []float32{float32(r.up)})
				want := r.gate / (1 + math.Exp(-r.gate)) * r.up
				if !(math.Abs(float64(gate[0])-want) <= r.tol) {
					t.Errorf("%s: got %g, want %g", k.Name(), gate[0], want)
				}
			}
		})
	}
}

func TestRMSNormGivesUnitMeanSquare(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, k := range All() {
		x := filled(r, 192, fills[0].next)
		ones := make([]float32, len(x))
		for i := range ones {
			ones[i] = 1
		}
		k.RMSNorm(x, ones, 0)
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		// 192 products and sums of relative error 2^-24 each, twice.
		if !(math.Abs(sum/192-1) <= 3e-5) {
			t.Errorf("%s: mean square %g", k.Name(), sum/192)
		}
		zeros := make([]float32, len(x))
		k.RMSNorm(zeros, ones, 1e-5)
		if zeros[0] != 0 {
			t.Errorf("%s: zeros become %g", k.Name(), zeros[0])
		}
	}
}

func TestFloat64FunctionsAgreeWithTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for range 20000 {
		x := math.Exp(r.Float64()*30 + 0.5)
		// 2 units of 1.1e-16 for the library, the rest for us.
		if got, want := Log(x), math.Log(x); !(math.Abs(got-want) <= 1e-15*want) {
			t.Fatalf("Log(%g) = %g, want %g", x, got, want)
		}
		y := (r.Float64() - 0.5) * 60
		if got, want := Exp(y), math.Exp(y); !(math.Abs(got-want) <= 1e-15*want) {
			t.Fatalf("Exp(%g) = %g, want %g", y, got, want)
		}
		z := r.Float64() * math.Ldexp(1, r.IntN(24))
		sin, cos := SinCos(z)
		wantSin, wantCos := math.Sincos(z)
		if !(math.Abs(sin-wantSin) <= 1e-15 && math.Abs(cos-wantCos) <= 1e-15) {
			t.Fatalf("SinCos(%g) = %g, %g, want %g, %g", z, sin, cos, wantSin, wantCos)
		}
	}
}

func TestSinCosReductionConstantsSumToHalfPi(t *testing.T) {
	halfPi, _ := new(big.Float).SetPrec(200).SetString("1.5707963267948966192313216916397514420985846996875529104874722961539082")
	sum := new(big.Float).SetPrec(200)
	for _, part := range []float64{421657428.0 / (1 << 28), 142975752.0 / (1 << 57), 5.7211887261098318e-18} {
		sum.Add(sum, big.NewFloat(part))
	}
	diff, _ := sum.Sub(sum, halfPi).Float64()
	if !(math.Abs(diff) <= 1e-33) {
		t.Errorf("the parts miss π/2 by %g", diff)
	}
}
