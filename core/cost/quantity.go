package cost

import (
	"math"
	"sort"
)

// Kind says how far a number can be trusted. The zero value is no kind, so a
// quantity that was never labelled shows.
type Kind string

// Kinds of a quantity.
const (
	Exact    Kind = "exact"    // counted: follows from its inputs without an approximation
	Bound    Kind = "bound"    // a floor or a ceiling: efficiencies of 1, perfect overlap
	Measured Kind = "measured" // observed
	Fitted   Kind = "fitted"   // from constants that were fitted to measurements
	Scenario Kind = "scenario" // depends on a choice nobody can measure: coefficients, demand, price
)

// Quantity is a number on its way to people: value, unit, formula and how far
// to trust it. Lo and Hi are NaN when there is no band.
type Quantity struct {
	Value   float64 // +Inf: never
	Unit    string
	Formula string // such as "F3"
	Kind    Kind
	Lo, Hi  float64
	Note    string
}

// Of returns a quantity without a band.
func Of(value float64, unit, formula string, kind Kind, note string) Quantity {
	return Quantity{Value: value, Unit: unit, Formula: formula, Kind: kind, Lo: math.NaN(), Hi: math.NaN(), Note: note}
}

// Within returns q with a band.
func (q Quantity) Within(lo, hi float64) Quantity {
	q.Lo, q.Hi = lo, hi
	return q
}

// HasBand reports whether both ends of the band are known.
func (q Quantity) HasBand() bool { return !math.IsNaN(q.Lo) && !math.IsNaN(q.Hi) }

// sortBy sorts indices by less, ties in their order.
func sortBy(order []int, less func(i, j int) bool) {
	sort.SliceStable(order, func(x, y int) bool { return less(order[x], order[y]) })
}
