package measure

import (
	"cmp"
	"math"
	"slices"

	"lab/core/fault"
)

// bad returns a data error about a list of numbers or tokens.
func bad(op, problem string, args ...any) *fault.Error {
	return fault.New(fault.Data, op, "", problem, args...)
}

// misuse returns a usage error about a setting.
func misuse(op, problem string, args ...any) *fault.Error {
	return fault.New(fault.Usage, op, "", problem, args...)
}

// finite returns an error that names the first value that is NaN or infinite,
// and one when there are fewer than least values.
func finite(op string, values []float64, least int) error {
	if len(values) < least {
		return bad(op, "%d values were given", len(values)).Fix("give at least %d", least)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return bad(op, "value %d is %v", i, v).Fix("leave it out and say how many were left out, or find out where it comes from")
		}
	}
	return nil
}

// probabilities returns an error unless every value is a probability.
func probabilities(op string, values []float64) error {
	for i, v := range values {
		if !(v >= 0 && v <= 1) {
			return bad(op, "value %d is %v, no probability", i, v)
		}
	}
	return nil
}

// equal reports whether all values are the same number.
func equal(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// ascending returns the places of values from the least up, ties in order.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}
