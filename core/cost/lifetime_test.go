package cost

import (
	"fmt"
	"math"
	"testing"
)

func TestDaysInvertTheSumOfDemand(t *testing.T) {
	for _, d := range []Demand{{FirstDay: 100}, {FirstDay: 100, Growth: 0.01}, {FirstDay: 100, Growth: 1e-13}, {FirstDay: 100, Growth: -0.01},
		{FirstDay: 100, Growth: 0.02, Limit: 5000}, {FirstDay: 100, Growth: 0.02, Limit: 101}} {
		for _, days := range []float64{0.1, 1, 30, 900} {
			sum := got(t)(d.Sum(days))
			near(t, fmt.Sprintf("%+v after %g days", d, days), got(t)(d.Days(sum)), days, 1e-9) // declining demand flattens: e^-9 of the rate is left
		}
	}
}

// The sum is the integral of the rate.
func TestTheSumOfDemandIsTheIntegralOfItsRate(t *testing.T) {
	for _, d := range []Demand{{FirstDay: 100, Growth: 0.03}, {FirstDay: 100, Growth: -0.03}, {FirstDay: 100, Growth: 0.03, Limit: 900}} {
		rate := func(x float64) float64 {
			if d.Limit > 0 {
				a := d.Limit/d.FirstDay - 1
				return d.Limit / (1 + a*math.Exp(-d.Growth*x))
			}
			return d.FirstDay * math.Exp(d.Growth*x)
		}
		const n, to = 2000, 100.0
		sum := 0.0
		for i := range n { // midpoints; their error falls with n²
			sum += rate((float64(i)+0.5)*to/n) * to / n
		}
		near(t, fmt.Sprintf("%+v", d), got(t)(d.Sum(to)), sum, 1e-6)
	}
}

func TestDecliningDemandMayNeverReach(t *testing.T) {
	d := Demand{FirstDay: 100, Growth: -0.01}
	reach := got(t)(d.Reach())
	near(t, "reach", reach, 1e4, rounding)
	if v := got(t)(d.Days(reach * 0.999)); math.IsInf(v, 1) {
		t.Error("just below the reach is never")
	}
	for _, x := range []float64{reach, reach * 2} {
		if v, err := d.Days(x); err != nil || !math.IsInf(v, 1) {
			t.Errorf("%g after %g days, %v; want never", x, v, err)
		}
	}
	if _, err := (Demand{FirstDay: 10, Growth: 0.1, Limit: 10}).Days(1); err == nil {
		t.Error("demand starts at its limit")
	}
}

func TestCrossoverIsThreeTimesTheTrainingTokens(t *testing.T) {
	near(t, "the same model", got(t)(CrossoverFLOP(8e9, 15e12, 8e9)), 45e12, rounding)
	same := Side{MFU: 0.4, USDPerFLOP: 1e-18}
	near(t, "the same money", got(t)(CrossoverMoney(8e9, 15e12, 8e9, same, same)), 45e12, rounding)
	near(t, "half the bill", got(t)(Amortised(100, got(t)(Crossover(100, 0.5)), 0.5)), 1, rounding)
}

var fits = []Loss{
	{Name: "hoffmann", E: 1.69, A: 406.4, B: 410.7, Alpha: 0.336, Beta: 0.283},
	{Name: "besiroglu", E: 1.8172, A: 482.01, B: 2085.43, Alpha: 0.3478, Beta: 0.3658},
}

func TestWithoutInferenceTheOptimumIsThatOfTraining(t *testing.T) {
	for _, l := range fits {
		p, err := l.Optimum(1e23)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "compute is spent", 6*p.Params*p.Tokens, 1e23, rounding)
		near(t, "tokens of the size", got(t)(l.TokensFor(p.Params)), p.Tokens, 1e-9)
		q, err := l.WithInference(l.at(p.Params, p.Tokens), 0)
		if err != nil {
			t.Fatal(err)
		}
		// The minimum is flat: a root of the slope still finds it to many digits.
		near(t, "size", q.Params, p.Params, 1e-8)
		near(t, "tokens", q.Tokens, p.Tokens, 1e-8)
	}
}

func TestTheOptimumCostsLessThanItsNeighbours(t *testing.T) {
	for _, l := range fits {
		base, _ := l.Optimum(1e22)
		loss := l.at(base.Params, base.Tokens)
		last := math.Inf(1)
		for _, served := range []float64{0, 1e10, 1e12, 1e14} {
			p, err := l.WithInference(loss, served)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "the loss is kept", l.at(p.Params, p.Tokens), loss, 1e-9)
			for _, by := range []float64{0.99, 1.01} {
				n := p.Params * by
				other := Point{n, l.tokensAt(loss, n)}
				if Lifetime(other, served) < Lifetime(p, served) {
					t.Errorf("%s Q=%g: %g parameters cost less than %g", l.Name, served, n, p.Params)
				}
			}
			if !(p.Params < last) {
				t.Errorf("%s: more inference asks for %g parameters after %g", l.Name, p.Params, last)
			}
			last = p.Params
		}
		if _, err := l.WithInference(l.E, 1); err == nil {
			t.Error("the limit of the fit was reached")
		}
		if d, err := l.TokensAt(l.E+1e-6, 1e6); err != nil || !math.IsInf(d, 1) {
			t.Errorf("a small model reaches a loss it cannot: %g, %v", d, err)
		}
	}
}
