package plots

import (
	"fmt"
	"math"
	"strings"

	"lab/plots/canvas"
)

// The question: what does a step spend its time on?

const costStepName = "cost_step"

// CostStepData is the time of a step by its parts, at some contexts or batches.
// Slices are not kept.
type CostStepData struct {
	Over     string    // what the bars are values of: "context", "batch"
	Parts    []string  // in the order of the stack, from below: weights, cache, compute, …
	Bars     []CostBar // values in ms; Total is the measured time of a step
	Interval string    // what the whiskers of the measured time are
	Repeats  int       // steps measured at each bar; 0: not known
	CostBasis
}

// CostStep draws the time of a step as a stack of its parts, upright bars with
// the share of each part in it, and the measured time of the whole step as a
// line over them: what the stack does not explain lies between.
//
// Errors: fault.Usage for more than 40 bars or 12 parts and options; fault.Data
// for bars whose values are not as many as the parts, negative values and names
// given twice. NaN values are left out and counted.
func CostStep(d CostStepData, o Options) (fig *Figure, err error) {
	defer guard(costStepName, &err)
	over := d.Over
	if over == "" {
		over = "setting"
	}
	s := &stack{figure: costStepName, value: Quantity{Name: "ms", Title: "time of a step", Unit: "ms"}, groups: over, parts: d.Parts, bars: d.Bars,
		upright: true, total: "measured", basis: d.CostBasis, begin: "Stacked bars of the time of a step"}
	if err := newStack(s); err != nil {
		return nil, err
	}
	s.title = d.finding(over)
	s.subtitle = "Stack: model, with the share of each part."
	if low, high := d.unexplained(); !math.IsNaN(low) {
		s.subtitle += " Line: measured"
		if d.Repeats > 0 {
			s.subtitle += ", " + plural(d.Repeats, "step") + " each"
		}
		if d.Interval != "" {
			s.subtitle += ", whiskers " + d.Interval
		}
		s.subtitle += "."
		text := "The measured time is " + canvas.Significant(low, 3)
		if high != low {
			text += " to " + canvas.Significant(high, 3)
		}
		s.notes = append(s.notes, text+" times the stack.")
	}
	s.says = []string{s.title + "."}
	return s.draw(o)
}

// finding names the largest part of the first and of the last bar.
func (d CostStepData) finding(over string) string {
	text := "What a step spends its time on"
	if len(d.Bars) == 0 {
		return text
	}
	part := func(b CostBar) string {
		k := b.largestPart()
		if k < 0 {
			return ""
		}
		total, _ := b.sum()
		return canvas.Percent(b.Values[k]/total) + " of a step is " + shortened(d.Parts[k], 24)
	}
	first, last := d.Bars[0], d.Bars[len(d.Bars)-1]
	if part(first) == "" || part(last) == "" {
		return text
	}
	text = fmt.Sprintf("At %s %s, %s", shortened(over, 24), shortened(first.Name, 14), part(first))
	if len(d.Bars) > 1 {
		text += fmt.Sprintf("; at %s, %s", shortened(last.Name, 14), strings.Replace(part(last), " of a step", "", 1))
	}
	return text
}

// unexplained returns the smallest and largest ratio of measured time to the
// stack; NaN without a measurement.
func (d CostStepData) unexplained() (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for _, b := range d.Bars {
		sum, whole := b.sum()
		if !whole || !(sum > 0) || !(b.Total > 0) {
			continue
		}
		r := b.Total / sum
		if math.IsNaN(low) {
			low, high = r, r
		}
		low, high = min(low, r), max(high, r)
	}
	return low, high
}
