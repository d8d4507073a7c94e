package rescale

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var negInf = float32(math.Inf(-1))

func apply(t testing.TB, temperature float64, values ...float32) dist.Scores {
	t.Helper()
	row := dist.NewDense(slices.Clone(values))
	if err := (Temperature{}).Apply(&sampler.Row{Scores: &row}, resolve(t, temperature)); err != nil {
		t.Fatal(err)
	}
	if err := row.Check(); err != nil {
		t.Fatal(err)
	}
	return row
}

func resolve(t testing.TB, temperature any) param.Values {
	t.Helper()
	set, err := (Temperature{}).Declare().Params.Resolve("sampler", "temperature", []param.Setting{{Value: temperature}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestExtremes(t *testing.T) {
	lowest := float32(-math.MaxFloat32)
	rows := []struct {
		name        string
		temperature float64
		in, want    []float32
	}{
		{"1 is identity to the bit", 1, []float32{1.1, negInf, -3e38}, []float32{1.1, negInf, -3e38}},
		{"2 halves", 2, []float32{3, -1, negInf}, []float32{1.5, -0.5, negInf}},
		{"scores keep their zero up to 65,536", 0.5, []float32{32768, -32768}, []float32{65536, -65536}},
		{"beyond it the maximum becomes 0", 0.5, []float32{32769, 32768}, []float32{0, -2}},
		{"also when the largest magnitude is negative", 0.5, []float32{-40000, 2}, []float32{-80004, 0}},
		{"tiny temperatures keep their ratios", 1e-9, []float32{4, 4, 3}, []float32{0, 0, -1e9}},
		{"the smallest temperature overflows nothing", 5e-324, []float32{4, 3, negInf}, []float32{0, lowest, negInf}},
		{"the largest temperature flattens", math.MaxFloat64, []float32{4, -3, negInf}, []float32{0, 0, negInf}},
		{"the largest scores stay finite", 0.8, []float32{3e38, -3e38, 1}, []float32{0, lowest, lowest}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := apply(t, r.temperature, r.in...)
			for i, v := range got.Values {
				if v != r.want[i] {
					t.Errorf("token %d: got %v, want %v", i, v, r.want[i])
				}
			}
		})
	}
}

func TestZeroKeepsTheFirstMaximum(t *testing.T) {
	got := apply(t, 0, 1, 3, negInf, 3)
	if !slices.Equal(got.IDs, []int32{1}) || !slices.Equal(got.Values, []float32{3}) {
		t.Errorf("kept %v with %v, want token 1 with score 3", got.IDs, got.Values)
	}
}

func TestRefusedSettings(t *testing.T) {
	specs := (Temperature{}).Declare().Params
	for _, v := range []any{-1.0, math.Inf(1), math.Inf(-1), math.NaN(), "hot", "nan", "inf", -5e-324, true} {
		if _, err := specs.Resolve("sampler", "temperature", []param.Setting{{Value: v}}); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: got %v, want a usage error", v, err)
		}
	}
}

// Order, ties and the support survive any temperature; two stages equal one at
// the product (ID-03). float32 rounding of two stages moves a score of
// magnitude 12 by at most 2e-6.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := range 300 {
		values := make([]float32, 2+r.IntN(60))
		for i := range values {
			values[i] = float32(r.NormFloat64() * 3)
			if r.IntN(6) == 0 {
				values[i] = values[r.IntN(i+1)]
			}
		}
		temperature := math.Exp(r.NormFloat64() * float64(1+n%12))
		got := apply(t, temperature, values...)
		for i := range values {
			for j := range values {
				if values[i] < values[j] && got.Values[i] > got.Values[j] || values[i] == values[j] && got.Values[i] != got.Values[j] {
					t.Fatalf("T = %g: scores %v, %v became %v, %v", temperature, values[i], values[j], got.Values[i], got.Values[j])
				}
			}
		}
		a, b := 0.5+r.Float64(), 0.5+r.Float64()
		two := apply(t, b, apply(t, a, values...).Values...)
		one := apply(t, a*b, values...)
		for i := range values {
			if !(math.Abs(float64(two.Values[i]-one.Values[i])) <= 4e-6*(1+math.Abs(float64(one.Values[i])))) {
				t.Fatalf("T = %g then %g: %v, at once %v", a, b, two.Values[i], one.Values[i])
			}
		}
	}
}

func TestUnlistedTailIsRefusedUnlessGreedy(t *testing.T) {
	row := dist.Scores{Vocab: 9, IDs: []int32{4, 5}, Values: []float32{float32(math.Log(0.5)), float32(math.Log(0.3))}, Unlisted: 0.2}
	err := (Temperature{}).Apply(&sampler.Row{Scores: &row}, resolve(t, 2.0))
	if err == nil || fault.KindOf(err) != fault.Data {
		t.Errorf("got %v, want a data error", err)
	}
	if err := (Temperature{}).Apply(&sampler.Row{Scores: &row}, resolve(t, 0.0)); err != nil || row.Unlisted != 0 || !slices.Equal(row.IDs, []int32{4}) {
		t.Errorf("T = 0 leaves %+v, %v", row, err)
	}
}

func BenchmarkTemperature(b *testing.B) {
	for _, n := range []int{1024, 32768, 262144} {
		values := make([]float32, n)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range values {
			values[i] = float32(r.NormFloat64() * 3)
		}
		scratch := make([]float32, n)
		set := resolve(b, 0.8)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				copy(scratch, values)
				row := dist.NewDense(scratch)
				if err := (Temperature{}).Apply(&sampler.Row{Scores: &row}, set); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
