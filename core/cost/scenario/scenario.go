// Package scenario puts the formulas of core/cost together into answers to whole
// questions: what a request costs on a device ([Estimate]), and after how many uses inference has
// cost as much as training ([BreakEven]).
//
// Inputs may be uncertain; then every number that depends on them comes with a
// band, found by Monte Carlo with a seed. Names of devices, models and runs are looked
// up in tables that the caller has loaded ([Setup], [Question]); no file is read here. What
// cannot be computed from what was given is absent, with the reason, and never zero.
package scenario

import (
	"fmt"
	"math"
	"strings"

	"lab/core/cost"
	"lab/core/fault"
)

// Line is a quantity with the name it has in reports and scripts.
type Line struct {
	Name string
	cost.Quantity
}

// Absent is a quantity that could not be computed, and why.
type Absent struct{ Name, Why string }

// Answer is the lines of a report, in their order.
type Answer struct {
	Lines   []Line
	Absent  []Absent
	Assumed []string // conventions and choices that belong beside the numbers
}

// Get returns the quantity with that name.
func (a *Answer) Get(name string) (cost.Quantity, bool) {
	for _, l := range a.Lines {
		if l.Name == name {
			return l.Quantity, true
		}
	}
	return cost.Quantity{}, false
}

func (a *Answer) add(name string, q cost.Quantity) { a.Lines = append(a.Lines, Line{name, q}) }

func (a *Answer) absent(why string, names ...string) {
	for _, n := range names {
		a.Absent = append(a.Absent, Absent{n, why})
	}
}

func (a *Answer) assume(format string, args ...any) {
	a.Assumed = append(a.Assumed, fmt.Sprintf(format, args...))
}

// Draws is how bands are found; the zero value is refused where one is needed.
type Draws struct {
	N    int    // draws, from 100 to 10^6
	Seed uint64 // equal seeds give equal bits
}

// inputs is the uncertain numbers of a question by place, so that a formula can be
// asked at their medians and at each draw.
type inputs struct {
	list []cost.Uncertain
}

// put adds a number and returns its place.
func (in *inputs) put(u cost.Uncertain) int {
	in.list = append(in.list, u)
	return len(in.list) - 1
}

func (in *inputs) medians() []float64 {
	x := make([]float64, len(in.list))
	for i, u := range in.list {
		x[i] = u.Median
	}
	return x
}

func (in *inputs) known() bool {
	for _, u := range in.list {
		if !u.IsKnown() {
			return false
		}
	}
	return true
}

// quantity evaluates f at the medians and, when an input is uncertain and f
// depends on one, over draws. never is the note where the value is not reached.
func (in *inputs) quantity(d Draws, f func([]float64) (float64, error), make func(float64) cost.Quantity) (cost.Quantity, error) {
	v, err := f(in.medians())
	if err != nil {
		return cost.Quantity{}, err
	}
	q := make(v)
	if in.known() {
		return q, nil
	}
	s, err := cost.MonteCarlo(in.list, d.N, d.Seed, f)
	if err != nil {
		return cost.Quantity{}, err
	}
	if s.P05 == s.P95 && s.Never == 0 { // no uncertain input is in it
		return q, nil
	}
	q.Value = s.Median
	q = q.Within(s.P05, s.P95)
	if s.Never > 0 {
		q.Note = join(q.Note, fmt.Sprintf("never in %.3g%% of %d draws", 100*s.Never, s.N))
	}
	if !math.IsNaN(s.MedianSE) {
		q.Note = join(q.Note, fmt.Sprintf("median of %d draws, its own error %.2g", s.N, s.MedianSE))
	}
	return q, nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func usage(op, problem string, args ...any) *fault.Error {
	return fault.New(fault.Usage, op, "", problem, args...)
}

// Number writes a number for a sentence: four digits, with a thousand's name from
// a thousand on.
func Number(v float64) string {
	if math.IsInf(v, 1) {
		return "never"
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if v >= u.size*0.99995 && v < 1e15 {
			return fmt.Sprintf("%.4g %s", v/u.size, u.name)
		}
	}
	if v >= 1e15 || v != 0 && v < 1e-3 {
		return fmt.Sprintf("%.3e", v)
	}
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.4g", v), ".0")
}
