package plots

import (
	"math"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
	"lab/plots/canvas"
)

// Quantity is what an axis shows.
type Quantity struct {
	Name  string // of the column or the measure, as in the data table
	Title string // on the axis; "": the name
	Unit  string // "bits", "tokens", "ms"; "" has none
	Log   bool   // logarithmic axis
}

// words returns the quantity in a sentence.
func (q Quantity) words() string {
	if q.Title != "" {
		return q.Title
	}
	return q.Name
}

// axisName returns the quantity with its unit and scale.
func (q Quantity) axisName() string {
	name := q.words()
	if q.Unit != "" {
		name += ", " + q.Unit
	}
	if q.Log {
		name += " (log scale)"
	}
	return name
}

// axis returns the axis of the quantity without a range.
func (q Quantity) axis() canvas.Axis { return canvas.Axis{Name: q.axisName(), Log: q.Log, Grid: true} }

// Rule is a reference line with words: a budget, a chance level, a break-even.
type Rule struct {
	Vertical bool    // at a value of x; false: of y
	At       float64 // finite; above zero on a logarithmic axis
	Label    string
}

// checkRules refuses rules that cannot be drawn.
func checkRules(figure string, rules []Rule, x, y Quantity) error {
	for _, r := range rules {
		q := y
		if r.Vertical {
			q = x
		}
		switch {
		case !defined(r.At):
			return fault.New(fault.Usage, "figure "+figure, "rule "+fault.Quote(r.Label, 40), "%v is not a finite number", r.At)
		case q.Log && r.At <= 0:
			return fault.New(fault.Usage, "figure "+figure, "rule "+fault.Quote(r.Label, 40), "%v has no place on a logarithmic axis", r.At).
				Fix("leave out log, or give a value above zero")
		}
	}
	return nil
}

// scale is an axis with the place of values it cannot show: on a logarithmic
// axis zero is drawn at a floor below the smallest value, with the tick 0.
type scale struct {
	canvas.Axis
	floor  float64 // coordinate of zero; NaN: none is drawn
	values bool    // some value has a place
}

// newScale fits an axis to values in axis coordinates, NaN and infinite ones
// not counted, widened by a share on both sides. With zeros a floor is added to
// a logarithmic axis.
func newScale(q Quantity, coords func(yield func(float64)), pad float64, zeros, fromZero bool) scale {
	s := scale{Axis: q.axis(), floor: math.NaN()}
	lo, hi := math.Inf(1), math.Inf(-1)
	coords(func(c float64) {
		if defined(c) {
			lo, hi = min(lo, c), max(hi, c)
		}
	})
	if s.values = lo <= hi; !s.values {
		return s
	}
	least := lo
	one := lo == hi
	linear := s.Axis
	linear.Log = false // coordinates are given
	linear.Fit(lo, hi)
	lo, hi = linear.Min, linear.Max
	if q.Log && one {
		lo, hi = least-0.5, least+0.5
	}
	width := hi - lo
	s.Min, s.Max = lo-pad*width, hi+pad*width
	if !q.Log && least >= 0 && !one {
		s.Min = max(s.Min, 0)
		if fromZero && least < 0.35*hi { // zero is near enough to be shown
			s.Min = 0
		}
	}
	if q.Log && zeros {
		s.floor = lo - max(0.14*width, 0.2)
		s.Min = s.floor - 0.03*width
	}
	return s
}

// ticked adds the tick of the floor, for a length of the axis in points.
func (s scale) ticked(length, spacing float64) canvas.Axis {
	a := s.Axis
	if math.IsNaN(s.floor) {
		return a
	}
	want := int(min(max(length/spacing, 3), 6))
	a.Ticks = []canvas.Tick{{At: s.floor, Label: "0"}}
	above := s.floor + 0.06*(s.Max-s.Min)
	a.Ticks = append(a.Ticks, canvas.LogTicks(above, s.Max, want)...)
	return a
}

// largestDrawn bounds what is drawn: beyond it the width of an axis overflows.
const largestDrawn = 1e300

// tooLarge reports whether a value is finite and beyond what an axis can hold.
func tooLarge(v float64) bool { return defined(v) && math.Abs(v) > largestDrawn }

// outsized returns the error for such a value.
func outsized(figure, where string, v float64) error {
	return badNumber(figure, where, "%v is beyond ±%g", v, largestDrawn).Fix("scale the values, or draw their logarithms")
}

// ruleStrip is the height that words of vertical rules take above rows, 0
// without any.
func ruleStrip(rules []Rule) vg.Length {
	for _, r := range rules {
		if r.Label != "" {
			return 11
		}
	}
	return 0
}

// shownName returns a name as words: one of blanks alone, and none at all, can
// be seen.
func shownName(name string) string {
	switch {
	case name == "":
		return "(no name)"
	case strings.TrimSpace(canvas.Clean(name)) == "":
		return canvas.Visible(name)
	}
	return name
}

// wholeTicks are ticks for numbers of things, none between whole numbers.
func wholeTicks(hi float64, want int) []canvas.Tick {
	ticks := []canvas.Tick{}
	for _, t := range canvas.LinearTicks(0, hi, want) {
		if t.At == math.Trunc(t.At) {
			ticks = append(ticks, canvas.Tick{At: t.At, Label: canvas.Number(t.At)})
		}
	}
	return ticks
}
