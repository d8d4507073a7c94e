package compat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// anyFloat32 returns float32 numbers of every magnitude and sign, finite.
func anyFloat32(r *rand.Rand) float32 {
	for {
		if v := math.Float32frombits(r.Uint32()); v-v == 0 {
			return v
		}
	}
}

func TestFMA32RoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(a, b, c float32) {
		t.Helper()
		exact := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		exact.Add(exact, big.NewFloat(float64(c)))
		want, _ := exact.Float32()
		if got := fma32(a, b, c); got != want {
			t.Fatalf("fma32(%g, %g, %g) = %g, want %g", a, b, c, got, want)
		}
	}
	for range 100_000 {
		check(anyFloat32(r), anyFloat32(r), anyFloat32(r))
		// Sums that nearly cancel, and ones whose tail decides a tie.
		a, b := float32(1+r.Float64()), float32(1+r.Float64())
		check(a, b, -a*b)
		check(a, b, float32(math.Ldexp(r.Float64(), 24+r.IntN(30))))
	}
	check(1+1.0/(1<<23), 1+1.0/(1<<23), float32(math.Ldexp(1, -60)))
}

func TestExp32IsWithinOneULP(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		x := float32(-87 + 170*r.Float64())
		got, want := float64(exp32(x)), math.Exp(float64(x))
		ulp := float64(math.Nextafter32(float32(want), math.MaxFloat32) - float32(want))
		if !(math.Abs(got-want) <= ulp) {
			t.Fatalf("exp32(%g) = %g, want %g within %g", x, got, want, ulp)
		}
	}
	inf := math.Inf(1)
	rows := []struct{ x, want float64 }{{0, 1}, {-inf, 0}, {-105, 0}, {101, inf}, {inf, inf}}
	for _, c := range rows {
		if got := float64(exp32(float32(c.x))); got != c.want {
			t.Errorf("exp32(%g) = %g, want %g", c.x, got, c.want)
		}
	}
	if got := exp32(-103); !(got > 0 && got < 1e-44) {
		t.Errorf("exp32(-103) = %g, want a subnormal", got)
	}
	if got := exp32(float32(math.NaN())); got == got {
		t.Errorf("exp32(NaN) = %g", got)
	}
}

// Every way of summing is one of float32 sums in some order: exact where no sum
// needs more than 24 bits, close elsewhere.
func TestSumsAreSums(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000, 4096, 70_001} {
		whole, real := make([]float32, n), make([]float32, n)
		sum, magnitude := 0.0, 0.0
		count := float32(0)
		for i := range whole {
			whole[i] = float32(r.IntN(100))
			count += whole[i]
			real[i] = float32(r.NormFloat64())
			sum += float64(real[i])
			magnitude += math.Abs(float64(real[i]))
		}
		if got := torchSum(whole); got != count {
			t.Errorf("n = %d: torchSum of whole numbers = %g, want %g", n, got, count)
		}
		if got := laneFold(whole, add32); got != count {
			t.Errorf("n = %d: laneFold of whole numbers = %g, want %g", n, got, count)
		}
		// Four levels of blocks: the error of a sum of n^(1/4) terms, four times.
		if got := float64(torchSum(real)); !(math.Abs(got-sum) <= 1e-6*magnitude+1e-6) {
			t.Errorf("n = %d: torchSum = %g, want %g", n, got, sum)
		}
		real[0] = float32(math.NaN())
		if got := torchNanSum(real); got != got {
			t.Errorf("n = %d: torchNanSum = %g", n, got)
		}
	}
}

func TestOrdersAreStableSorts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 3, 100, 5000} {
		x := make([]float32, n)
		for i := range x {
			switch r.IntN(5) {
			case 0:
				x[i] = float32(math.Inf(-1))
			case 1:
				x[i] = float32(math.Copysign(0, r.Float64()-0.5))
			default:
				x[i] = float32(r.IntN(40) - 20)
			}
		}
		up, down := ascending(x), descending(x)
		if !slices.IsSortedFunc(up, func(a, b int32) int { return compareThen(x[a], x[b], a, b) }) {
			t.Errorf("n = %d: ascending is no stable sort: %v", n, up)
		}
		if !slices.IsSortedFunc(down, func(a, b int32) int { return compareThen(x[b], x[a], a, b) }) {
			t.Errorf("n = %d: descending is no stable sort: %v", n, down)
		}
		for _, k := range []int{1, n/70 + 1, (n + 1) / 2, n} {
			first := torchTopK(x, k)
			got, want := gather(x, first), gather(x, down[:k])
			if !slices.Equal(got, want) {
				t.Errorf("n = %d: the %d largest are %v, want %v", n, k, got, want)
			}
			if kth(x, k) != want[k-1] {
				t.Errorf("n = %d: the %d-th largest is %g, want %g", n, k, kth(x, k), want[k-1])
			}
			slices.Sort(first)
			if len(slices.Compact(first)) != k {
				t.Errorf("n = %d: the %d largest hold a place twice", n, k)
			}
		}
	}
}

func compareThen(a, b float32, i, j int32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return int(i - j)
}

func TestSoftmaxOfTorchIsASoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 5, 8, 33, 20_000} {
		x := make([]float32, n)
		total := 0.0
		for i := range x {
			x[i] = float32(3 * r.NormFloat64())
			total += math.Exp(float64(x[i]))
		}
		p, logp := torchSoftmax(x), torchLogSoftmax(x)
		for i, v := range x {
			want := math.Exp(float64(v)) / total
			// Each lane sums n/8 float32 terms.
			if got := float64(p[i]); !(math.Abs(got-want) <= 1e-4*want) {
				t.Fatalf("n = %d: p = %g, want %g", n, got, want)
			}
			if got := float64(logp[i]); !(math.Abs(got-math.Log(want)) <= 1e-4) {
				t.Fatalf("n = %d: log p = %g, want %g", n, got, math.Log(want))
			}
		}
	}
}

func TestStdIsThatOfASample(t *testing.T) {
	// By hand: mean 2.5, squares 2.25+0.25+0.25+2.25 = 5, 5/3.
	if got, want := torchStd([]float32{1, 2, 3, 4}), float32(math.Sqrt(5.0/3)); got != want {
		t.Errorf("got %g, want %g", got, want)
	}
	for _, x := range [][]float32{{7}, {1, float32(math.Inf(-1))}} {
		if got := torchStd(x); got == got {
			t.Errorf("the deviation of %v is %g, want NaN", x, got)
		}
	}
}
