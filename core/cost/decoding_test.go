package cost

import (
	"math"
	"testing"
)

func TestSpeculationNeverSavesOperations(t *testing.T) {
	for a := 0.0; a <= 1; a += 0.125 {
		for n := int64(0); n < 20; n++ {
			s, err := Draft{Accept: a, Length: n, Verify: 1}.Speculative()
			if err != nil {
				t.Fatal(err)
			}
			if !(s.Operations >= 1-rounding) || !(s.Tokens >= 1-rounding && s.Tokens <= float64(n+1)*(1+rounding)) {
				t.Errorf("α=%g γ=%d: %+v", a, n, s)
			}
			// Compute-bound: to verify γ+1 tokens takes γ+1 times one.
			bound, err := Draft{Accept: a, Length: n, Verify: float64(n + 1)}.Speculative()
			if err != nil || bound.Speedup > 1+rounding {
				t.Errorf("α=%g γ=%d compute-bound: speedup %g, %v", a, n, bound.Speedup, err)
			}
			// The expectation is the sum of the chances to reach each place.
			sum := 0.0
			for i := int64(0); i <= n; i++ {
				sum += math.Pow(a, float64(i))
			}
			near(t, "expected tokens", s.Tokens, sum, rounding)
			rates := make([]float64, n)
			for i := range rates {
				rates[i] = a
			}
			r, err := Draft{Verify: 1}.SpeculativeRates(rates)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "with the same rate at each place", r.Tokens, s.Tokens, rounding)
		}
	}
}

func TestAcceptanceNearOneIsNoCliff(t *testing.T) {
	s, err := Draft{Accept: 1 - 1e-12, Length: 7, Verify: 1}.Speculative()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "eight tokens", s.Tokens, 8, 1e-10)
}

func TestTheBestDraftBeatsItsNeighbours(t *testing.T) {
	for _, d := range []Draft{{Accept: 0.8, Cost: 0.05, Verify: 1}, {Accept: 0.8, Cost: 0.2, Verify: 1}, {Accept: 0.3, Cost: 0.5, Verify: 1}, {Accept: 0, Cost: 0, Verify: 1}} {
		n, best, err := d.BestDraft(64)
		if err != nil {
			t.Fatal(err)
		}
		for m := int64(1); m <= 64; m++ {
			d.Length = m
			s, _ := d.Speculative()
			if s.Speedup > best.Speedup || m < n && s.Speedup == best.Speedup {
				t.Errorf("%+v: γ=%d gives %g, the best γ=%d gives %g", d, m, s.Speedup, n, best.Speedup)
			}
		}
		if n == 0 && best.Speedup != 1 {
			t.Errorf("%+v: not to speculate speeds up by %g", d, best.Speedup)
		}
	}
}

func TestPassAtKIsTheShareOfDraws(t *testing.T) {
	near(t, "k = 1 is c/n", got(t)(PassAtK(20, 7, 1)), 7.0/20, rounding)
	near(t, "k = 2 by counting pairs", got(t)(PassAtK(6, 2, 2)), 1-6.0/15, rounding)
	near(t, "k beyond the wrong ones", got(t)(PassAtK(6, 2, 5)), 1, 0)
	near(t, "nothing right", got(t)(PassAtK(6, 0, 5)), 0, rounding)
	last := 0.0
	for k := int64(1); k <= 50; k++ {
		p := got(t)(PassAtK(50, 3, k))
		if !(p >= last && p <= 1) {
			t.Errorf("k=%d: %g after %g", k, p, last)
		}
		last = p
	}
	if c, err := CostPerSolved(3, 1, 0); err != nil || !math.IsInf(c, 1) {
		t.Errorf("nothing solved costs %g each, %v", c, err)
	}
}

func TestEarlyStopIsTheSumOverTries(t *testing.T) {
	for _, p := range []float64{1e-9, 0.1, 0.5, 1} {
		for _, most := range []int64{1, 3, 20} {
			tries, miss := 0.0, 1.0
			for i := int64(0); i < most; i++ {
				tries += miss
				miss *= 1 - p
			}
			e, err := EarlyStop(p, most)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "tries", e.Tries, tries, 1e-9) // the sum cancels at small p
			near(t, "solved", e.Solved, 1-miss, 1e-6)
		}
	}
	if e, err := EarlyStop(0, 5); err != nil || e.Tries != 5 || !math.IsInf(e.PerSolved, 1) {
		t.Errorf("nothing solved: %+v, %v", e, err)
	}
}

func TestManySamplesShareOnlyThePrompt(t *testing.T) {
	a := parse(t, dense)
	s, err := a.SampleOperations(50, 20, 8, true, Convention{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "what sharing saves", s.Apart-s.Shared, 7*s.Prefill, rounding)
	near(t, "beams", got(t)(a.BeamOperations(50, 20, 8, Convention{})), s.Shared, 0)
	near(t, "judge", s.Judge, 8*got(t)(a.Prefill(Prefill{New: 70, AllLogits: true}, Convention{})), rounding)
	one, err := a.SampleOperations(50, 1, 3, false, Convention{})
	if err != nil || one.Decode != 0 || one.Judge != 0 {
		t.Errorf("one token comes from the prefill: %+v, %v", one, err)
	}
}
