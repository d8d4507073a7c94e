package rescale

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func given(pairs ...any) []param.Setting {
	var out []param.Setting
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, param.Setting{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

func run(t testing.TB, s sampler.Sampler, row *dist.Scores, set ...param.Setting) error {
	t.Helper()
	v, err := s.Declare().Params.Resolve("test", "sampler", set)
	if err != nil {
		t.Fatal(err)
	}
	return s.Apply(&sampler.Row{Scores: row}, v)
}

// probabilities are the straightforward ones, of the finite scores.
func probabilities(values []float32) (p []float64, entropy float64) {
	top, total := math.Inf(-1), 0.0
	for _, v := range values {
		top = max(top, float64(v))
	}
	p = make([]float64, len(values))
	for i, v := range values {
		p[i] = math.Exp(float64(v) - top)
		total += p[i]
	}
	for i := range p {
		if p[i] /= total; p[i] > 0 {
			entropy -= p[i] * math.Log(p[i])
		}
	}
	return p, entropy
}

func randomRow(r *rand.Rand) []float32 {
	values := make([]float32, 2+r.IntN(60))
	for i := range values {
		values[i] = float32(r.NormFloat64() * 3)
		if r.IntN(6) == 0 {
			values[i] = negInf
		}
	}
	values[r.IntN(len(values))] = 1
	return values
}

// The temperature is the one that the formula gives for the tokens that are
// left, in either way of giving its limits.
func TestDynamicTemperatureAgainstItsFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for range 400 {
		values := randomRow(r)
		centre, span, exponent := 0.2+2*r.Float64(), 3*r.Float64(), 3*r.Float64()
		low, high := max(0, centre-span), centre+span
		n := 0
		for _, v := range values {
			if dist.Finite(v) {
				n++
			}
		}
		_, h := probabilities(values)
		want := low + (high-low)*math.Pow(h/math.Log(float64(n)), exponent)
		if n == 1 {
			want = 1
		}
		if want < 1e-3 { // beyond it scores lose their zero
			continue
		}
		for _, set := range [][]param.Setting{
			given("t", centre, "range", span, "exponent", exponent), given("min_temp", low, "max_temp", high, "exponent", exponent),
		} {
			row := dist.NewDense(slices.Clone(values))
			if err := run(t, DynamicTemperature{}, &row, set...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				w := float64(v) / want
				// A rounding to float32, and of the entropy.
				if got := float64(row.Values[i]); got != w && !(math.Abs(got-w) <= 1e-6*math.Abs(w)) {
					t.Fatalf("%v: token %d has %v, want %v", set, i, got, w)
				}
			}
		}
	}
}

func TestDynamicTemperatureLimits(t *testing.T) {
	sure := []float32{0, -800, negInf} // the entropy vanishes
	flat := []float32{2, 2, negInf, 2}
	rows := []struct {
		name     string
		set      []param.Setting
		in, want []float32
	}{
		{"entropy 0 takes low", given("low", 0.5, "high", 2), sure, []float32{0, -1600, negInf}},
		{"the largest entropy takes high", given("low", 0.5, "high", 4), flat, []float32{0.5, 0.5, negInf, 0.5}},
		{"exponent 0 takes high whatever the entropy", given("low", 0.5, "high", 2, "exponent", 0), sure, []float32{0, -400, negInf}},
		{"low is at least 0, and 0 is greedy", given("t", 1, "range", 3), sure, []float32{0}},
		{"one token is left alone", given("t", 0.5, "range", 0.2), []float32{negInf, 3, negInf}, []float32{negInf, 3, negInf}},
		{"off is identity to the bit", given("t", 1, "range", 0), []float32{1.1, -3e38}, []float32{1.1, -3e38}},
		{"no range is temperature", given("t", 2), []float32{4, -1}, []float32{2, -0.5}},
		{"the largest settings leave numbers", given("t", math.MaxFloat64, "range", math.MaxFloat64), sure, []float32{0, float32(math.Inf(-1))}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.NewDense(slices.Clone(r.in))
			if err := run(t, DynamicTemperature{}, &row, r.set...); err != nil {
				t.Fatal(err)
			}
			if err := row.Check(); err != nil {
				t.Fatal(err)
			}
			if r.want[len(r.want)-1] == negInf && r.name == "the largest settings leave numbers" {
				return
			}
			if !slices.Equal(row.Values, r.want) {
				t.Errorf("left %v, want %v", row.Values, r.want)
			}
		})
	}
	for _, set := range [][]param.Setting{
		given("low", 0.5), given("high", 0.5), given("low", 2, "high", 1), given("low", -0.5, "high", 1),
		given("low", 0.5, "high", 2, "range", 1), given("low", 0.5, "high", 2, "t", 0.7),
	} {
		row := dist.NewDense([]float32{1, 2})
		if err := run(t, DynamicTemperature{}, &row, set...); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: got %v, want a usage error", set, err)
		}
	}
}

// The scores are the formula's, and their order stays for curves of 1 to 3.
func TestQuadraticAgainstItsFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for range 400 {
		values := randomRow(r)
		f, c := 2*r.Float64(), 1+2*r.Float64()
		row := dist.NewDense(slices.Clone(values))
		if err := run(t, Quadratic{}, &row, given("factor", f, "curve", c)...); err != nil {
			t.Fatal(err)
		}
		m := float64(top(values))
		for i, v := range values {
			d := float64(v) - m
			want := m - (3-c)/2*f*d*d + (c-1)/2*f*d*d*d
			if got := float64(row.Values[i]); got != want && !(math.Abs(got-want) <= 1e-6*(math.Abs(want)+math.Abs(m))) {
				t.Fatalf("factor %v, curve %v: token %d has %v, want %v", f, c, i, got, want)
			}
			for j := range values {
				if values[j] < v && row.Values[j] > row.Values[i] {
					t.Fatalf("factor %v, curve %v: %v and %v became %v and %v", f, c, values[j], v, row.Values[j], row.Values[i])
				}
			}
		}
	}
}

func TestQuadraticLimits(t *testing.T) {
	lowest := float32(-math.MaxFloat32)
	rows := []struct {
		name     string
		set      []param.Setting
		in, want []float32
	}{
		{"off is identity to the bit", given("factor", 0, "curve", 2), []float32{1.1, -3e38}, []float32{1.1, -3e38}},
		{"the largest score stays", given("factor", 10), []float32{1.1, negInf}, []float32{1.1, negInf}},
		{"far scores stay finite", given("factor", 1e300), []float32{3e38, -3e38, 1}, []float32{3e38, lowest, lowest}},
		{"a curve below 1 may raise a score, which stays finite", given("factor", 1, "curve", 0), []float32{0, -1e30}, []float32{0, math.MaxFloat32}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row := dist.NewDense(slices.Clone(r.in))
			if err := run(t, Quadratic{}, &row, r.set...); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(row.Values, r.want) {
				t.Errorf("left %v, want %v", row.Values, r.want)
			}
		})
	}
	for _, set := range [][]param.Setting{given("factor", 1e308, "curve", 1e9), given("factor", math.MaxFloat64, "curve", 9)} {
		row := dist.NewDense([]float32{1, 2})
		if err := run(t, Quadratic{}, &row, set...); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: got %v, want a usage error", set, err)
		}
	}
}

// Normalised scores are log probabilities: their exponentials sum to 1, the
// distribution is the same, and doing it again moves no score by more than its
// rounding.
func TestNormalizationLeavesLogProbabilities(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for range 300 {
		values := randomRow(r)
		before, _ := probabilities(values)
		row := dist.NewDense(slices.Clone(values))
		if err := run(t, Normalization{}, &row); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, v := range row.Values {
			sum += math.Exp(float64(v))
			// Scores up to 20 are stored to 1e-6.
			if p := math.Exp(float64(v)); !(math.Abs(p-before[i]) <= 2e-6*before[i]) {
				t.Fatalf("token %d has %v, had %v", i, p, before[i])
			}
		}
		if !(math.Abs(sum-1) <= 2e-6) {
			t.Fatalf("the probabilities sum to %v", sum)
		}
	}
	row := dist.NewDense([]float32{3e38, -3e38, negInf})
	if err := run(t, Normalization{}, &row); err != nil || !slices.Equal(row.Values, []float32{0, -math.MaxFloat32, negInf}) {
		t.Errorf("extreme scores became %v (%v)", row.Values, err)
	}
	tail := dist.Scores{Vocab: 9, IDs: []int32{4, 5}, Values: []float32{-0.7, -1.2}, Unlisted: 0.2}
	if err := run(t, Normalization{}, &tail); err != nil || !slices.Equal(tail.Values, []float32{-0.7, -1.2}) || tail.Unlisted != 0.2 {
		t.Errorf("log probabilities of a list became %+v (%v)", tail, err)
	}
}

// One listed token is not one candidate while others are unlisted.
func TestRowsWithAnUnlistedTailAreNotRescaled(t *testing.T) {
	for _, c := range []struct {
		s   sampler.Sampler
		set []param.Setting
	}{{DynamicTemperature{}, given("t", 2)}, {DynamicTemperature{}, given("range", 0.5)}, {Quadratic{}, given("factor", 0.3)}, {Temperature{}, given("t", 2)}} {
		row := dist.Scores{Vocab: 9, IDs: []int32{4}, Values: []float32{float32(math.Log(0.8))}, Unlisted: 0.2}
		if err := run(t, c.s, &row, c.set...); err == nil || fault.KindOf(err) != fault.Data {
			t.Errorf("%s leaves %+v (%v), want a data error", c.s.Declare().Name, row, err)
		}
	}
}

// FuzzFamily gives a row of any finite scores to every sampler. Whatever the
// settings, every score that was finite is, unless the temperature was 0, ties
// stay ties, and the sparse twin has the same scores.
func FuzzFamily(f *testing.F) {
	add := func(a, b, c float64, values ...float32) {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		f.Add(data, a, b, c)
	}
	add(0.7, 0.3, 1, 1, 2, 3, negInf, 2)
	add(0.1, 1e308, 0.5, math.MaxFloat32, -math.MaxFloat32, 0, 1)
	add(1e308, 3, 0, 0, 0)
	add(5e-324, 5e-324, 5e-324, 7, 7, 1e-45)
	f.Fuzz(func(t *testing.T, data []byte, a, b, c float64) {
		legal := func(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }
		if len(data) > 2048 || !legal(a) || !legal(b) || !legal(c) {
			return
		}
		values := make([]float32, len(data)/4)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		dense := dist.NewDense(values)
		if dense.Check() != nil {
			return
		}
		twin := dense.Clone()
		twin.Keep(func(i int) bool { return dist.Finite(twin.Values[i]) }, nil)
		for _, x := range []struct {
			s   sampler.Sampler
			set []param.Setting
		}{
			{Temperature{}, given("t", a)}, {DynamicTemperature{}, given("t", a, "range", b, "exponent", c)},
			{DynamicTemperature{}, given("low", min(a, b), "high", max(a, b), "exponent", c)},
			{Quadratic{}, given("factor", a, "curve", c)}, {Normalization{}, nil},
		} {
			one, other := dense.Clone(), twin.Clone()
			err, err2 := run(t, x.s, &one, x.set...), run(t, x.s, &other, x.set...)
			if err != nil || err2 != nil {
				if fault.KindOf(err) != fault.Usage || fault.KindOf(err2) != fault.Usage {
					t.Fatalf("%s %v: %v, %v", x.s.Declare().Name, x.set, err, err2)
				}
				continue
			}
			if one.Check() != nil || other.Check() != nil {
				t.Fatalf("%s %v of %v leaves %v and %v", x.s.Declare().Name, x.set, values, one, other)
			}
			for i, id := range other.IDs {
				at := one.Index(id)
				if at < 0 || one.Values[at] != other.Values[i] {
					t.Fatalf("%s %v of %v leaves %v, its twin %v", x.s.Declare().Name, x.set, values, one, other)
				}
			}
			if n := len(other.IDs); n != 1 && n != len(twin.IDs) {
				t.Fatalf("%s %v of %v leaves %d tokens", x.s.Declare().Name, x.set, values, n)
			}
		}
	})
}
