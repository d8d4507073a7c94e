package plots

import (
	"fmt"
	"math"

	"lab/core/fault"
)

const (
	mostCostSeries   = 30 // names in a figure
	mostCostTogether = 12 // of them in one panel of several
	mostCostPoints   = 1 << 20
)

// checkCount refuses more parts of a figure than can be told apart.
func checkCount(figure, what string, n, most int) error {
	if n > most {
		return fault.New(fault.Usage, "figure "+figure, what, "%d are more than %d", n, most).Fix("draw a part of them, or several figures")
	}
	return nil
}

// checkNames refuses a name given twice.
func checkNames(figure, what string, names []string) error {
	seen := map[string]int{}
	for i, n := range names {
		if j, ok := seen[n]; ok {
			return badNumber(figure, what+" "+fault.Quote(n, 40), "is given twice, at %d and %d", j+1, i+1).Fix("give each its own name")
		}
		seen[n] = i
	}
	return nil
}

// costColumn is one slice of a series, checked as a whole.
type costColumn struct {
	name string
	v    []float64
	may  bool // be left out
	log  bool // negative values have no place
}

// checkColumns refuses columns of unequal length, and negative values where the
// axis is logarithmic. NaN and infinite values pass and are counted later.
func checkColumns(figure, where string, n int, columns ...costColumn) error {
	if n > mostCostPoints {
		return fault.New(fault.Usage, "figure "+figure, where, "%d points are more than %d", n, mostCostPoints)
	}
	for _, c := range columns {
		if len(c.v) != n && !(c.may && len(c.v) == 0) {
			return badNumber(figure, where, "%d values of %s for %d points", len(c.v), c.name, n)
		}
		for k, v := range c.v {
			if c.log && v < 0 && defined(v) {
				return badNumber(figure, where, "%s of point %d is negative (%v), which has no place on a logarithmic axis", c.name, k, v)
			}
		}
	}
	return nil
}

// checkInterval refuses an interval upside down or with one end only.
func checkInterval(figure, where, of string, lo, hi []float64) error {
	if len(lo) != len(hi) {
		return badNumber(figure, where, "%d lower ends of %s and %d upper ends", len(lo), of, len(hi))
	}
	for k := range lo {
		if lo[k] > hi[k] {
			return badNumber(figure, where, "the interval of %s at point %d runs from %v down to %v", of, k, lo[k], hi[k])
		}
	}
	return nil
}

// checkRising refuses values of an axis that do not rise: their curve would run
// back.
func checkRising(figure, where, of string, v []float64) error {
	last := math.Inf(-1)
	for k, x := range v {
		if !defined(x) {
			continue
		}
		if x <= last {
			return badNumber(figure, where, "%s of point %d is %v after %v", of, k, x, last).Fix("sort the points by %s, one value at each", of)
		}
		last = x
	}
	return nil
}

// checkAmounts refuses numbers that must be finite and above zero where given.
func checkAmounts(figure string, amounts ...amount) error {
	for _, a := range amounts {
		if a.may && a.v == 0 {
			continue
		}
		if !defined(a.v) || a.v <= 0 {
			return fault.New(fault.Usage, "figure "+figure, a.name, "%v is not a number above zero", a.v)
		}
	}
	return nil
}

type amount struct {
	name string
	v    float64
	may  bool // be 0: not given
}

// where names a series in an error.
func whereSeries(name string, i int) string {
	if name == "" {
		return fmt.Sprintf("series %d", i+1)
	}
	return "series " + fault.Quote(name, 40)
}

// fault40 quotes words in an error.
func fault40(s string) string { return fault.Quote(s, 40) }
