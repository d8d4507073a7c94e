package measure

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Median is [Quantile] of 0.5.
func Median(values []float64, iv Interval) (Estimate, error) { return Quantile(values, 0.5, iv) }

// Quantile returns the quantile q, in (0, 1), linear between order statistics
// (definition 7 of Hyndman and Fan 1996, "Sample quantiles in statistical
// packages"). Methods: "exact" (default), "bootstrap", "cluster_bootstrap".
// "exact" takes the order statistics whose binomial probability covers the level,
// at most (1-level)/2 beyond each end (David and Nagaraja 2003, "Order
// statistics", section 7.1); an end for which there are too few values is NaN and
// noted. One value, or equal values, have no interval. Values as for [Mean].
func Quantile(values []float64, q float64, iv Interval) (Estimate, error) {
	const op = "quantile"
	if !(q > 0 && q < 1) {
		return Estimate{}, misuse(op, "q = %v is outside (0, 1)", q).Fix("0.5 is the median; take the least and greatest value by themselves")
	}
	if err := finite(op, values, 1); err != nil {
		return Estimate{}, err
	}
	n := len(values)
	iv, err := iv.settle(op, n, MethodExact, MethodBootstrap, MethodClusterBootstrap)
	if err != nil {
		return Estimate{}, err
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	e := unknown(quantile(sorted, q), n, iv.Level, iv.Method)
	switch {
	case n == 1:
		return e.noted(noteOne), nil
	case sorted[0] == sorted[n-1]:
		return e.noted(noteEqual), nil
	case iv.Method == MethodExact:
		return e.orderStatistics(sorted, q), nil
	}
	scratch := make([]float64, 0, n)
	value := func(index []int32) float64 {
		scratch = scratch[:0]
		for _, i := range index {
			scratch = append(scratch, values[i])
		}
		slices.Sort(scratch)
		return quantile(scratch, q)
	}
	if iv.Method == MethodClusterBootstrap {
		return clusterBootstrap(e, value, iv), nil
	}
	return bootstrap(e, value, nil, iv), nil
}

// quantile returns definition 7 of a sorted list.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// orderStatistics sets the interval [x(l), x(u)]: l is the greatest with
// P(B < l) <= a and u the least with P(B >= u) <= a, where B, the number of values
// below the quantile, is binomial.
func (e Estimate) orderStatistics(sorted []float64, q float64) Estimate {
	n, a := len(sorted), (1-e.Level)/2
	l := sort.Search(n, func(i int) bool { return !(binomialCDF(i, n, q) <= a) })    // P(B < l) <= a < P(B < l+1)
	u := 1 + sort.Search(n, func(i int) bool { return binomialCDF(i, n, q) >= 1-a }) // P(B >= u) <= a < P(B >= u-1)
	if l >= 1 {
		e.Lo = sorted[l-1]
	}
	if u <= n {
		e.Hi = sorted[u-1]
	}
	switch {
	case math.IsNaN(e.Lo) || math.IsNaN(e.Hi):
		e.Note = "too few values for the level: an end of the interval lies beyond them"
	case e.Lo == e.Hi:
		e.Note = "the interval is one value because values are tied"
	}
	return e
}

// binomialCDF returns P(B <= k) of n trials with probability p in (0, 1).
func binomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
