package measure

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Proportion returns the share of hits with its interval. Methods: "wilson"
// (default), "exact", and those of [Mean] on values 0 and 1. These two have an
// interval also for one value and for no or only hits. No value is a data error.
func Proportion(hits []bool, iv Interval) (Estimate, error) {
	const op = "proportion"
	if len(hits) == 0 {
		return Estimate{}, bad(op, "no values were given")
	}
	k := 0
	values := make([]float64, len(hits))
	for i, h := range hits {
		if h {
			k++
			values[i] = 1
		}
	}
	direct := iv.Method == "" && iv.Clusters == nil || iv.Method == MethodWilson || iv.Method == MethodExact
	if direct {
		iv, err := iv.settle(op, len(hits), MethodWilson, MethodExact)
		if err != nil {
			return Estimate{}, err
		}
		return proportion(k, len(hits), iv), nil
	}
	if _, err := iv.settle(op, len(hits), append([]string{MethodWilson, MethodExact}, meanMethods...)...); err != nil {
		return Estimate{}, err
	}
	return Mean(values, iv)
}

// ProportionOf is [Proportion] of k hits among n values, with the methods
// "wilson" and "exact".
func ProportionOf(k, n int, iv Interval) (Estimate, error) {
	const op = "proportion"
	if n < 1 || k < 0 || k > n {
		return Estimate{}, misuse(op, "%d hits among %d values", k, n)
	}
	iv, err := iv.settle(op, n, MethodWilson, MethodExact)
	if err != nil {
		return Estimate{}, err
	}
	return proportion(k, n, iv), nil
}

func proportion(k, n int, iv Interval) Estimate {
	e := unknown(float64(k)/float64(n), n, iv.Level, iv.Method)
	if iv.Method == MethodExact {
		e.Lo, e.Hi = clopperPearson(k, n, iv.Level)
	} else {
		e.Lo, e.Hi = wilson(k, n, iv.Level)
	}
	return e
}

// wilson returns the score interval of Wilson 1927, "Probable inference, the law
// of succession, and statistical inference". Its ends are exactly 0 and 1 for no
// and only hits, where the formula rounds.
func wilson(k, n int, level float64) (lo, hi float64) {
	z, m := normal(level), float64(n)
	p := float64(k) / m
	center := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	lo, hi = (center-half)/(1+z*z/m), (center+half)/(1+z*z/m)
	if k == 0 {
		lo = 0
	}
	if k == n {
		hi = 1
	}
	return lo, hi
}

// clopperPearson returns the exact interval of Clopper and Pearson 1934, "The use
// of confidence or fiducial limits illustrated in the case of the binomial",
// from quantiles of the beta distribution. It covers at least level, often more.
func clopperPearson(k, n int, level float64) (lo, hi float64) {
	a := (1 - level) / 2
	lo, hi = 0, 1
	if k > 0 {
		lo = mathext.InvRegIncBeta(float64(k), float64(n-k+1), a)
	}
	if k < n {
		hi = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-a)
	}
	return lo, hi
}
