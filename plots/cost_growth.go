package plots

import (
	"fmt"
	"math"
	"time"

	"lab/plots/canvas"
)

// The question: how soon does inference pass training when demand grows or
// shrinks?

const costGrowthName = "cost_growth"

// CostGrowthData is the days until summed inference has cost as much as
// training, over the growth of demand. Slices are not kept.
type CostGrowthData struct {
	Levels   []CostGrowthLevel
	Products []CostProduct // known ones, for reference
	Start    string        // date of the first day, as 2026-12-31; "": not known
	CostBasis
}

// CostGrowthLevel is a demand on the first day. Growth and Days are equally long.
type CostGrowthLevel struct {
	Name   string    // "2M requests/day"
	Growth []float64 // share by which demand grows in a month, rising, above −1
	Days   []float64 // until the crossover; +Inf: never
}

// CostProduct is a known product at its growth.
type CostProduct struct {
	Name         string
	Growth, Days float64
}

// CostGrowth draws the days until the crossover over the growth of demand, a
// curve per demand on the first day. Where demand shrinks so fast that no level
// ever gets there the picture is hatched; a curve that begins at a hollow dot is
// never reached to the left of it.
//
// Errors: fault.Usage for more than 12 levels, a date that is none and options;
// fault.Data for slices of unequal length, growth that does not rise or is −1 or
// less, negative days and names given twice.
func CostGrowth(d CostGrowthData, o Options) (fig *Figure, err error) {
	defer guard(costGrowthName, &err)
	start, err := d.check()
	if err != nil {
		return nil, err
	}
	pl := &plane{x: Quantity{Name: "growth", Title: "growth of demand", Unit: "% a month"}, y: Quantity{Name: "days", Title: "days until the crossover", Log: true}}
	c := &chart{figure: costGrowthName, planes: []*plane{pl}, basis: d.CostBasis, begin: "Days until inference has cost as much as training", title: d.finding(start)}
	never := 0
	edge := math.Inf(1) // growth up to which no level gets there
	for i, l := range d.Levels {
		s := lookOf(i, len(d.Levels), true)
		s.symbol = canvas.Disc
		if len(d.Levels) == 1 {
			s.hue = hueInference
		}
		var x, y []float64
		last := math.Inf(-1)
		for k, g := range l.Growth {
			if math.IsInf(l.Days[k], 1) {
				last = max(last, g)
				never++
				continue
			}
			x, y = append(x, 100*g), append(y, l.Days[k])
		}
		edge = min(edge, last)
		pl.curves = append(pl.curves, curve{name: l.Name, kind: "model", look: s, X: x, Y: y})
		if !math.IsInf(last, -1) {
			if len(x) > 0 {
				pl.dots = append(pl.dots, dots{name: l.Name, kind: "begins", look: s, X: x[:1], Y: y[:1], Hollow: []bool{true}, derived: true})
			}
			c.notes = append(c.notes, fmt.Sprintf("%s: never at growth of %s %% a month or less.", shortened(l.Name, nameLimit), canvas.Significant(100*last, 3)))
		}
	}
	if len(d.Levels) > 0 && !math.IsInf(edge, 0) {
		pl.shades = []shade{{X0: math.Inf(-1), X1: 100 * edge, Y0: math.Inf(-1), Y1: math.Inf(1), Words: "never"}}
		// A quarter of the width at most goes to where nothing happens.
		low, width := lowestGrowth(d.Levels), largestGrowth(d.Levels)-edge
		pl.reach = []float64{100 * max(low, edge-0.25*width)}
	}
	for _, p := range d.Products {
		pl.dots = append(pl.dots, dots{kind: "reference", look: look{hue: hueInk, symbol: canvas.Diamond}, X: []float64{100 * p.Growth}, Y: []float64{p.Days}, Labels: []string{p.Name}})
	}
	if len(d.Products) > 0 {
		c.keys = append(c.keys, dotKey(look{hue: hueInk, symbol: canvas.Diamond}, false, "known products"))
	}
	c.subtitle = plural(len(d.Levels), "level") + " of demand on the first day."
	if never > 0 {
		c.subtitle += " Hollow: left of it never."
	}
	if d.Start != "" {
		c.subtitle += " Day 0 is " + d.Start + "."
	}
	if never > 0 && allNever(pl) {
		c.emptyWhy = "never, at every growth"
	}
	c.says = []string{c.title + "."}
	if len(d.Levels) == 0 {
		c.emptyWhy = "no levels of demand"
	}
	return c.draw(o)
}

// allNever reports whether no curve has a point.
func allNever(pl *plane) bool {
	for _, k := range pl.curves {
		if len(k.X) > 0 {
			return false
		}
	}
	return true
}

func lowestGrowth(levels []CostGrowthLevel) float64 {
	out := math.Inf(1)
	for _, l := range levels {
		for _, g := range l.Growth {
			if defined(g) {
				out = min(out, g)
			}
		}
	}
	return out
}

func largestGrowth(levels []CostGrowthLevel) float64 {
	out := math.Inf(-1)
	for _, l := range levels {
		out = max(out, largestOf(l.Growth))
	}
	return out
}

func (d CostGrowthData) check() (start time.Time, err error) {
	if err := checkCount(costGrowthName, "levels", len(d.Levels), mostCostTogether); err != nil {
		return start, err
	}
	if err := checkCount(costGrowthName, "products", len(d.Products), mostCostSeries); err != nil {
		return start, err
	}
	var names []string
	for i, l := range d.Levels {
		where := whereSeries(l.Name, i)
		names = append(names, l.Name)
		if err := checkColumns(costGrowthName, where, len(l.Growth), costColumn{name: "growth", v: l.Growth}, costColumn{name: "days", v: l.Days, log: true}); err != nil {
			return start, err
		}
		if err := checkRising(costGrowthName, where, "growth", l.Growth); err != nil {
			return start, err
		}
		for k, g := range l.Growth {
			if g <= -1 {
				return start, badNumber(costGrowthName, where, "growth of point %d is %v, which leaves nothing", k, g).Fix("give shares above -1: -0.05 is a decline of 5 %%")
			}
		}
	}
	for i, p := range d.Products {
		if p.Growth <= -1 || p.Days < 0 {
			return start, badNumber(costGrowthName, fmt.Sprintf("product %d (%s)", i+1, fault40(p.Name)), "growth %v and %v days are impossible", p.Growth, p.Days)
		}
	}
	if err := checkNames(costGrowthName, "level", names); err != nil {
		return start, err
	}
	return day(costGrowthName, "start", d.Start)
}

// finding says how growth moves the crossover of the first level.
func (d CostGrowthData) finding(start time.Time) string {
	text := "Days until inference has cost as much as training"
	if len(d.Levels) == 0 {
		return text
	}
	l := d.Levels[0]
	first, last, never := -1, -1, false
	for k := range l.Growth {
		never = never || math.IsInf(l.Days[k], 1)
		if defined(l.Growth[k]) && defined(l.Days[k]) && l.Days[k] > 0 {
			if first < 0 {
				first = k
			}
			last = k
		}
	}
	at := func(k int) string {
		out := daysWords(l.Days[k]) + " at " + canvas.Significant(100*l.Growth[k], 3) + "\u00a0% a month"
		if date := dateAfter(start, l.Days[k]); date != "" {
			out += " (" + date + ")"
		}
		return out
	}
	switch {
	case first < 0 && never:
		return shortened(l.Name, 24) + ": inference never passes training"
	case first < 0:
		return text
	case first == last:
		return shortened(l.Name, 24) + ": inference passes training after " + at(first)
	}
	return shortened(l.Name, 24) + ": from " + at(first) + " to " + at(last)
}
