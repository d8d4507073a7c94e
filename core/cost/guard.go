package cost

import (
	"math"

	"lab/core/fault"
)

// guard keeps the first thing that is wrong with the arguments of a formula.
type guard struct {
	op  string
	err *fault.Error
}

func guarded(op string) *guard { return &guard{op: "cost: " + op} }

// result returns the error as an interface that is nil when nothing is wrong.
func (g *guard) result() error {
	if g.err == nil {
		return nil
	}
	return g.err
}

// of returns v, or 0 and the error. A result beyond what a float64 holds is an
// error too.
func (g *guard) of(v float64) (float64, error) {
	if g.err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		g.refuse("check the units of the arguments", "the result is not a finite number")
	}
	if g.err != nil {
		return 0, g.err
	}
	return v, nil
}

// refuse keeps the first error; what to do about it is fix.
func (g *guard) refuse(fix, problem string, args ...any) {
	if g.err == nil {
		g.err = fault.New(fault.Usage, g.op, "", problem, args...)
		if fix != "" {
			g.err = g.err.Fix("%s", fix)
		}
	}
}

// positive refuses what is not a finite number above 0.
func (g *guard) positive(name string, v float64) {
	if !(v > 0) || math.IsInf(v, 1) {
		g.refuse("give a finite number above 0", "%s = %g is not above 0 and finite", name, v)
	}
}

// nonNegative refuses what is not a finite number of at least 0.
func (g *guard) nonNegative(name string, v float64) {
	if !(v >= 0) || math.IsInf(v, 1) {
		g.refuse("give a finite number of at least 0", "%s = %g is negative or not finite", name, v)
	}
}

// finite refuses NaN and infinities.
func (g *guard) finite(name string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		g.refuse("give a finite number", "%s = %g is not finite", name, v)
	}
}

// share refuses what is not in (0, 1].
func (g *guard) share(name string, v float64) {
	if !(v > 0 && v <= 1) {
		g.refuse("give a share above 0 and at most 1", "%s = %g is outside (0, 1]", name, v)
	}
}

// probability refuses what is not in [0, 1].
func (g *guard) probability(name string, v float64) {
	if !(v >= 0 && v <= 1) {
		g.refuse("give a number from 0 to 1", "%s = %g is outside [0, 1]", name, v)
	}
}

// atLeast refuses a whole number below least, and one too large to be counted
// exactly.
func (g *guard) atLeast(name string, v, least int64) {
	if v < least || v > largest {
		g.refuse("", "%s = %d is outside [%d, 2^53]", name, v, least)
	}
}

// largest is the largest whole number up to which a float64 counts exactly.
const largest = 1 << 53

// never is what a date or an amount that is not reached is: +Inf, which a
// [Quantity] writes as null with the word "never".
var never = math.Inf(1)
