package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// reals are values of many sizes, with the ones that formulas fall over.
func reals(n int) []float32 {
	r := rand.New(rand.NewPCG(3, 9))
	out := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 1e-30, -1e-30, 20, -20, 1e20, -1e20, math.MaxFloat32, -math.MaxFloat32}
	for len(out) < n {
		out = append(out, float32(r.NormFloat64()*math.Exp(4*r.NormFloat64())))
	}
	return out
}

func TestGELUIsTheFormula(t *testing.T) {
	x := reals(4000)
	up := make([]float32, len(x))
	for i := range up {
		up[i] = 0.5
	}
	for _, k := range All() {
		plain, gated := append([]float32(nil), x...), append([]float32(nil), x...)
		k.GELU(plain)
		k.GELUMul(gated, up)
		for i, g := range x {
			v := float64(g)
			want := v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
			if v > 100 || v < -100 {
				want = max(v, 0)
			}
			// The exponential's 1.5e-7 and a few roundings, of an argument up to 10
			// where the result is not just the limit, relative to |g|.
			if !(math.Abs(float64(plain[i])-want) <= 1e-6*math.Abs(v)) {
				t.Errorf("%s: gelu(%g) = %g, want %g", k.Name(), g, plain[i], want)
			}
			if gated[i] != plain[i]*0.5 {
				t.Errorf("%s: gelu(%g)/2 = %g, want half of %g", k.Name(), g, gated[i], plain[i])
			}
		}
	}
}

func TestCapIsTheFormula(t *testing.T) {
	for _, limit := range []float32{0.5, 30, 50} {
		for _, factor := range []float32{1, 0.125} {
			x := reals(4000)
			y := append([]float32(nil), x...)
			Cap(y, factor, limit)
			for i, v := range x {
				want := float64(limit) * math.Tanh(float64(v)*float64(factor)/float64(limit))
				if !(math.Abs(float64(y[i])-want) <= 3e-7*float64(limit)) {
					t.Errorf("limit %g, factor %g: %g becomes %g, want %g", limit, factor, v, y[i], want)
				}
			}
		}
	}
}

func TestNaNStaysOne(t *testing.T) {
	nan := float32(math.NaN())
	for name, f := range map[string]func(x []float32){
		"gelu":  Best().GELU,
		"gated": func(x []float32) { Best().GELUMul(x, []float32{1, 1}) },
		"cap":   func(x []float32) { Cap(x, 1, 30) },
		"norm":  func(x []float32) { LayerNorm(x, []float32{1, 1}, nil, 1e-5) },
		"turn":  func(x []float32) { RotateHalves(x, []float32{1, 1}, []float32{0, 0}) },
		"scale": func(x []float32) { Scale(x, 2) },
	} {
		x := []float32{nan, 1}
		if f(x); x[0] == x[0] {
			t.Errorf("%s makes %g of NaN", name, x[0])
		}
	}
}

func TestLayerNormHasMeanZeroAndVarianceOne(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	x, gain, bias := make([]float32, 999), make([]float32, 999), make([]float32, 999)
	for i := range x {
		x[i] = float32(100 + 3*r.NormFloat64()) // a mean that float32 sums would drown in
		gain[i], bias[i] = 1, 0
	}
	plain := append([]float32(nil), x...)
	LayerNorm(plain, gain, nil, 0)
	sum, square := 0.0, 0.0
	for _, v := range plain {
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	// Each element is rounded once to 2^-24.
	if !(math.Abs(sum/999) <= 1e-6 && math.Abs(square/999-1) <= 1e-6) {
		t.Errorf("mean %g, variance %g", sum/999, square/999)
	}
	for i := range gain {
		gain[i], bias[i] = float32(i), 2
	}
	LayerNorm(x, gain, bias, 0)
	for i := range x {
		if x[i] != plain[i]*float32(i)+2 {
			t.Errorf("element %d is %g, want %g times %d plus 2", i, x[i], plain[i], i)
		}
	}
}

func TestRotateHalvesIsRotateOfPairsReordered(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	for _, n := range []int{2, 8, 10, 256} {
		halves, pairs := make([]float32, n), make([]float32, n)
		cos, sin := make([]float32, n), make([]float32, n)
		for i := range n / 2 {
			s, c := math.Sincos(r.Float64() * 7)
			cos[2*i], cos[2*i+1], sin[2*i], sin[2*i+1] = float32(c), float32(c), -float32(s), float32(s)
			pairs[2*i], pairs[2*i+1] = float32(r.NormFloat64()), float32(r.NormFloat64())
			halves[i], halves[i+n/2] = pairs[2*i], pairs[2*i+1]
		}
		RotateHalves(halves, cos, sin)
		portableKernels().Rotate(pairs, cos, sin)
		for i := range n / 2 {
			if halves[i] != pairs[2*i] || halves[i+n/2] != pairs[2*i+1] {
				t.Errorf("%d elements, pair %d: (%g, %g), want (%g, %g)", n, i, halves[i], halves[i+n/2], pairs[2*i], pairs[2*i+1])
			}
		}
	}
}
