package plots

import (
	"fmt"
	"math"

	"lab/plots/canvas"
)

// The question: how much more does a token cost when the context is long?

const costContextName = "cost_context"

// CostContextData is the cost of one output token over the context it is
// generated at. Slices are not kept.
type CostContextData struct {
	Unit     string // "FLOP", "ms", "USD": of every cost
	Series   []CostContextSeries
	Interval string // what the whiskers of measurements are
	CostBasis
}

// CostContextSeries is a model, or a kind of attention.
type CostContextSeries struct {
	Name     string
	Context  []float64  // tokens, rising
	Cost     []float64  // floor or fitted
	Marks    []CostMark // places on the curve with a meaning
	Measured []float64  // contexts measured
	Value    []float64  // median cost there
	Lo, Hi   []float64  // interval, or nil
}

// CostMark is a place on a curve: where attention costs as much as the weights.
type CostMark struct {
	At    float64 // on the horizontal axis, above zero; +Inf: never, and not drawn
	Label string
}

// CostContext draws what one output token costs over the context, a curve per
// model or kind of attention, with hollow dots at the places given, at the
// height of the curve there, and measurements as filled dots.
//
// Errors: fault.Usage for more than 30 series and options; fault.Data for slices
// of unequal length, contexts that do not rise, negative values, marks outside
// their curve, names given twice and an interval upside down.
func CostContext(d CostContextData, o Options) (fig *Figure, err error) {
	defer guard(costContextName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	pl := &plane{x: Quantity{Name: "context", Title: "context", Unit: "tokens", Log: true},
		y: Quantity{Name: "cost", Title: "cost of an output token", Unit: d.Unit, Log: true}}
	c := &chart{figure: costContextName, planes: []*plane{pl}, basis: d.CostBasis, begin: "Cost of an output token over the context", title: d.finding()}
	measured, marked := 0, false
	for i, s := range d.Series {
		l := lookOf(i, len(d.Series), false)
		l.symbol = canvas.Disc
		pl.curves = append(pl.curves, curve{name: s.Name, kind: "model", look: l, X: s.Context, Y: s.Cost})
		if len(s.Measured) > 0 {
			measured += len(s.Measured)
			l.symbol = canvas.SymbolAt(i)
			pl.dots = append(pl.dots, dots{name: s.Name, kind: "measured", look: l, X: s.Measured, Y: s.Value, Lo: s.Lo, Hi: s.Hi})
			l.symbol = canvas.Disc
		}
		for _, m := range s.Marks {
			if math.IsInf(m.At, 1) {
				c.notes = append(c.notes, fmt.Sprintf("%s: %s at no context.", shortened(s.Name, nameLimit), shortened(m.Label, nameLimit)))
				continue
			}
			marked = true
			words := m.Label + ": " + canvas.Significant(m.At, 3)
			pl.dots = append(pl.dots, dots{name: s.Name, kind: "mark", look: l, derived: true, X: []float64{m.At}, Y: []float64{valueAt(s.Context, s.Cost, m.At)},
				Labels: []string{words}, Hollow: []bool{true}})
			c.says = append(c.says, shortened(s.Name, nameLimit)+": "+shortened(words, nameLimit)+" tokens.")
		}
	}
	c.subtitle = "Lines: model."
	if measured > 0 {
		c.keys = append(c.keys, measuredKey())
		c.subtitle += " Dots: " + plural(measured, "measurement")
		if d.Interval != "" {
			c.subtitle += ", whiskers " + d.Interval
		}
		c.subtitle += "."
	}
	if marked {
		c.subtitle += " Hollow: where two parts of the cost are equal."
	}
	c.says = append([]string{c.title + "."}, c.says...)
	if len(d.Series) == 0 {
		c.emptyWhy = "no series"
	}
	return c.draw(o)
}

func (d CostContextData) check() error {
	if err := checkCount(costContextName, "series", len(d.Series), mostCostSeries); err != nil {
		return err
	}
	var names []string
	for i, s := range d.Series {
		where := whereSeries(s.Name, i)
		names = append(names, s.Name)
		for _, err := range []error{
			checkColumns(costContextName, where, len(s.Context), costColumn{name: "context", v: s.Context, log: true}, costColumn{name: "cost", v: s.Cost, log: true}),
			checkColumns(costContextName, where+", measured", len(s.Measured), costColumn{name: "context", v: s.Measured, log: true},
				costColumn{name: "cost", v: s.Value, log: true}, costColumn{name: "lower ends", v: s.Lo, may: true}),
			checkInterval(costContextName, where, "cost", s.Lo, s.Hi),
			checkRising(costContextName, where, "context", s.Context),
			checkCount(costContextName, where+", marks", len(s.Marks), mostCostTogether),
		} {
			if err != nil {
				return err
			}
		}
		for _, m := range s.Marks {
			if math.IsInf(m.At, 1) {
				continue
			}
			if !(m.At > 0) || math.IsNaN(valueAt(s.Context, s.Cost, m.At)) {
				return badNumber(costContextName, where, "the mark %s at %v is not on its curve", fault40(m.Label), m.At).
					Fix("give a context within the points of the series, or +Inf for never")
			}
		}
	}
	return checkNames(costContextName, "series", names)
}

// finding says which series grows most and which least from its shortest to its
// longest context.
func (d CostContextData) finding() string {
	most, least := -1, -1
	growth := make([]float64, len(d.Series))
	var ends [2]float64
	for i, s := range d.Series {
		first, last := -1, -1
		for k := range s.Context {
			if s.Context[k] > 0 && s.Cost[k] > 0 && defined(s.Context[k]) && defined(s.Cost[k]) {
				if first < 0 {
					first = k
				}
				last = k
			}
		}
		if first < 0 || first == last {
			continue
		}
		from, to := s.Context[first], s.Context[last]
		if most < 0 {
			ends = [2]float64{from, to}
		}
		if ends != [2]float64{from, to} { // not comparable
			continue
		}
		growth[i] = s.Cost[last] / s.Cost[first]
		if most < 0 || growth[i] > growth[most] {
			most = i
		}
		if least < 0 || growth[i] < growth[least] {
			least = i
		}
	}
	if most < 0 {
		return "Cost of an output token over the context"
	}
	text := fmt.Sprintf("From context %s to %s the cost of a token grows ×%s", canvas.Significant(ends[0], 3), canvas.Significant(ends[1], 3), canvas.Significant(growth[most], 3))
	if most == least {
		return text
	}
	return text + fmt.Sprintf(" with %s, ×%s with %s", shortened(d.Series[most].Name, 24), canvas.Significant(growth[least], 3), shortened(d.Series[least].Name, 24))
}
