package measure

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Plan is a comparison to be made: how large a difference is to be found, and how
// surely.
type Plan struct {
	Difference float64 // of the means; not 0
	SD         float64 // of single values in each setting, above 0
	// Paired says that the same random numbers are used and pairs are compared;
	// Correlation, in [-1, 1), is that of a pair's values.
	Paired      bool
	Correlation float64
	Alpha       float64 // of the two-sided t test, in (0, 1); 0 is 0.05
	Power       float64 // chance to find the difference, in (0, 1); 0 is 0.8
}

// settle checks the plan, fills in the defaults and returns the standardised
// difference: of pairs over the deviation of differences, SD sqrt(2(1 - ρ)),
// otherwise over SD.
func (p Plan) settle(op string) (Plan, float64, error) {
	if p.Alpha == 0 {
		p.Alpha = 0.05
	}
	if p.Power == 0 {
		p.Power = 0.8
	}
	finite := !math.IsNaN(p.Difference) && !math.IsInf(p.Difference, 0)
	switch {
	case p.Difference == 0 || !finite:
		return p, 0, misuse(op, "difference = %v", p.Difference).Fix("say the smallest difference that would matter")
	case !(p.SD > 0) || math.IsInf(p.SD, 0):
		return p, 0, misuse(op, "sd = %v is no positive number", p.SD).Fix("estimate it from a few samples")
	case !(p.Alpha > 0 && p.Alpha < 1):
		return p, 0, misuse(op, "alpha = %v is outside (0, 1)", p.Alpha)
	case !(p.Power > 0 && p.Power < 1):
		return p, 0, misuse(op, "power = %v is outside (0, 1)", p.Power)
	case !p.Paired && p.Correlation != 0:
		return p, 0, misuse(op, "correlation = %v without pairs", p.Correlation).Fix("set paired, or leave the correlation out")
	case !(p.Correlation >= -1 && p.Correlation < 1):
		return p, 0, misuse(op, "correlation = %v is outside [-1, 1)", p.Correlation)
	}
	d := math.Abs(p.Difference) / p.SD
	if p.Paired {
		d /= math.Sqrt(2 * (1 - p.Correlation))
	}
	return p, d, nil
}

// PowerOf returns the chance that the two-sided t test with n pairs, or n values
// in each group, finds the planned difference (Cohen 1988, "Statistical power
// analysis for the behavioral sciences", chapter 2; from the noncentral t
// distribution, no approximation). n is at least 2. The plan's own power is not
// read.
func PowerOf(p Plan, n int) (float64, error) {
	const op = "power"
	p, d, err := p.settle(op)
	if err != nil {
		return 0, err
	}
	if n < 2 {
		return 0, misuse(op, "n = %d is below 2", n)
	}
	return p.power(d, n), nil
}

func (p Plan) power(d float64, n int) float64 {
	if p.Paired {
		return noncentral(d*math.Sqrt(float64(n)), float64(n-1), p.Alpha)
	}
	return noncentral(d*math.Sqrt(float64(n)/2), float64(2*n-2), p.Alpha)
}

// mostNeeded ends the search for a sample size.
const mostNeeded = 1 << 30

// NeededN returns the smallest n, at least 2, with at least the planned power: n
// pairs, or n values in each of the two groups. More than 2^30 is a usage error.
// A plan made from the difference just seen is no proof that it is real.
func NeededN(p Plan) (int, error) {
	const op = "needed n"
	p, d, err := p.settle(op)
	if err != nil {
		return 0, err
	}
	lo, hi := 1, 2
	for p.power(d, hi) < p.Power {
		if lo, hi = hi, 2*hi; hi > mostNeeded/2 {
			return 0, misuse(op, "a difference of %.3g standard deviations needs more than %d values", d, mostNeeded/2).
				Fix("ask for a larger difference")
		}
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; p.power(d, mid) < p.Power {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, nil
}

// noncentral returns P(|T| > t) for the noncentral t with df degrees of freedom and
// the critical value t of the two-sided test at alpha: the mean of the normal
// tails given the sample's deviation s, whose density is that of sqrt(χ²/df)
// (Johnson, Kotz and Balakrishnan 1995, "Continuous univariate distributions",
// volume 2, section 31.3).
func noncentral(delta, df, alpha float64) float64 {
	t := tQuantile(1-alpha/2, df)
	g, _ := math.Lgamma(df / 2)
	norm := math.Ln2 + df/2*math.Log(df/2) - g
	f := func(s float64) float64 {
		if s == 0 {
			return 0
		}
		density := math.Exp(norm + (df-1)*math.Log(s) - df*s*s/2)
		return density * (distuv.UnitNormal.Survival(t*s-delta) + distuv.UnitNormal.CDF(-t*s-delta))
	}
	width := 12 / math.Sqrt(2*df) // twelve standard deviations of s, which is near 1
	return math.Min(1, quad.Fixed(f, math.Max(0, 1-width), 1+width, 300, nil, 0))
}

// Looks is what repeated tests of a growing sample saw.
type Looks struct {
	N         []int     // pairs, or values of each group, at each look
	P         []float64 // of the t test there; NaN where nothing varied
	Alpha     float64
	Threshold float64 // Alpha / looks
	Naive     int     // first n with P <= Alpha; 0 if none
	Corrected int     // first n with P <= Threshold; 0 if none
	Note      string
}

// UntilSignificant looks at the first n values of a and b for n = first, 2 first,
// 4 first and so on to all of them, and says at which look the two-sided t test
// (paired or Welch) first found a difference. Who stops at the first p below alpha
// finds a difference where there is none more often than alpha, with many looks far
// more (Armitage, McPherson and Rowe 1969, "Repeated significance tests on
// accumulating data"); Naive is therefore no evidence. Corrected tests at
// alpha / looks, which bounds that chance by alpha (Bonferroni) for looks planned
// in advance. first is at least 2 and at most the number of values; alpha 0 is
// 0.05.
func UntilSignificant(p Pairs, paired bool, first int, alpha float64) (Looks, error) {
	const op = "until significant"
	if alpha == 0 {
		alpha = 0.05
	}
	if !(alpha > 0 && alpha < 1) {
		return Looks{}, misuse(op, "alpha = %v is outside (0, 1)", alpha)
	}
	if _, err := p.differences(op, 2); err != nil {
		return Looks{}, err
	}
	n := len(p.A)
	if first < 2 || first > n {
		return Looks{}, misuse(op, "first = %d is outside [2, %d]", first, n)
	}
	out := Looks{Alpha: alpha}
	for k := first; k < n; k *= 2 {
		out.N = append(out.N, k)
		if k > n/2 {
			break
		}
	}
	if out.N == nil || out.N[len(out.N)-1] != n {
		out.N = append(out.N, n)
	}
	out.Threshold = alpha / float64(len(out.N))
	for _, k := range out.N {
		part := Pairs{A: p.A[:k], B: p.B[:k]}
		t, err := PairedT(part)
		if !paired {
			t, err = Welch(part.A, part.B)
		}
		if err != nil {
			return Looks{}, err
		}
		out.P = append(out.P, t.P)
		if t.P <= alpha && out.Naive == 0 {
			out.Naive = k
		}
		if t.P <= out.Threshold && out.Corrected == 0 {
			out.Corrected = k
		}
	}
	out.Note = "stopping at the first p <= alpha is peeking: over " + itoa(len(out.N)) +
		" looks it finds a difference where there is none up to that many times as often as alpha says; corrected tests each look at alpha / looks"
	return out, nil
}
