package cost

import (
	"math"
	"reflect"
	"testing"
)

func made(t testing.TB) func(Uncertain, error) Uncertain {
	return func(u Uncertain, err error) Uncertain {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
}

func TestQuantilesAreWhatTheyAreNamed(t *testing.T) {
	u := made(t)(LogNormal(10, 5, 40))
	near(t, "median", u.Quantile(0.5), 10, rounding)
	near(t, "5%", u.Quantile(0.05), 5, rounding)
	near(t, "95%", u.Quantile(0.95), 40, rounding)
	r := made(t)(Range(4, 9))
	near(t, "the middle of an interval", r.Quantile(0.5), 6, rounding)
	near(t, "its median", r.Median, 6, rounding)
	if k := Known(3); k.Quantile(0.01) != 3 || !k.IsKnown() {
		t.Errorf("%+v is not known", k)
	}
	for _, u := range []Uncertain{u, r} {
		last := 0.0
		for p := 0.001; p < 1; p += 0.001 {
			if q := u.Quantile(p); !(q >= last) {
				t.Fatalf("the quantile falls to %g after %g", q, last)
			} else {
				last = q
			}
		}
	}
	for name, err := range map[string]error{"an empty interval": third(Range(2, 1)), "from 0": third(Range(0, 1)), "a median outside": third(LogNormal(5, 6, 7))} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func third(_ Uncertain, err error) error { return err }

// Monte Carlo and the closed form agree within four of its own errors; the seed
// is fixed, so this cannot fail by chance.
func TestMonteCarloAgreesWithTheProduct(t *testing.T) {
	z := normal(0.95)
	inputs := []Uncertain{made(t)(LogNormal(2, 2/math.Pow(1.5, z), 2*math.Pow(1.5, z))), made(t)(LogNormal(3, 3/math.Pow(1.3, z), 3*math.Pow(1.3, z))), Known(5)}
	p, err := LogNormalProduct([]float64{2, 3, 5}, []float64{1.5, 1.3, 1})
	if err != nil {
		t.Fatal(err)
	}
	product := func(x []float64) (float64, error) { return x[0] * x[1] * x[2], nil }
	s, err := MonteCarlo(inputs, 20000, 1, product)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name              string
		found, se, wanted float64
	}{{"median", s.Median, s.MedianSE, p.Median}, {"5%", s.P05, s.P05SE, p.P05}, {"95%", s.P95, s.P95SE, p.P95}} {
		if !(math.Abs(r.found-r.wanted) <= 4*r.se && r.se > 0 && r.se < 0.05*r.wanted) {
			t.Errorf("%s: %g ± %g, want %g", r.name, r.found, r.se, r.wanted)
		}
	}
	// The error it states is the textbook one, within the noise of a density
	// estimated from 2√n draws (about 8% here, four of which are allowed).
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / (p.P95 * math.Log(p.GSD))
	near(t, "error of the 95% point", s.P95SE, got(t)(QuantileSE(0.95, s.N, density)), 0.35)

	again, err := MonteCarlo(inputs, 20000, 1, product)
	if err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("the same seed gives %+v and %+v, %v", s, again, err)
	}
	if other, _ := MonteCarlo(inputs, 20000, 2, product); other == s {
		t.Error("another seed gives the same bits")
	}
	more, err := MonteCarlo(append(append([]Uncertain(nil), inputs...), inputs[0]), 20000, 1, product)
	if err != nil || more != s {
		t.Errorf("an input that is not used changes the draws of the others: %+v, %v", more, err)
	}
}

func TestNeverIsCountedAndNotAveraged(t *testing.T) {
	u := made(t)(Range(1, 2))
	s, err := MonteCarlo([]Uncertain{u}, 1000, 7, func(x []float64) (float64, error) {
		if x[0] > 1.9 {
			return math.Inf(1), nil
		}
		return x[0], nil
	})
	want := 1 - math.Log(1.9)/math.Log(2)
	if err != nil || !(math.Abs(s.Never-want) <= 4*math.Sqrt(want*(1-want)/1000)) || !math.IsInf(s.P95, 1) || !math.IsNaN(s.P95SE) || math.IsInf(s.Median, 1) {
		t.Errorf("%+v, %v; want a share of %g that is never", s, err, want)
	}
	if _, err := MonteCarlo(nil, 1000, 0, func([]float64) (float64, error) { return math.NaN(), nil }); err == nil {
		t.Error("NaN was counted")
	}
}
