package plots

import (
	"fmt"

	"lab/plots/canvas"
)

// The question: how large should a model of a given quality be when it will be
// used a lot?

const costOptimumName = "cost_optimum"

// CostOptimumData is the total cost of training and using models of one quality
// (fixed loss) over their size, for some demands, under some sets of loss
// coefficients. Slices are not kept.
type CostOptimumData struct {
	Quality string // what is held: "loss of a 13 B model trained to the optimum"
	Panels  []CostOptimumPanel
	CostBasis
}

// CostOptimumPanel is a named set of coefficients: every set is a scenario, and
// none is a default.
type CostOptimumPanel struct {
	Name   string
	Curves []CostOptimumCurve // by rising demand
	// Params and FLOP are the model that is cheapest to train, without any use;
	// both 0: not known.
	Params, FLOP float64
}

// CostOptimumCurve is one demand. Params and FLOP are equally long.
type CostOptimumCurve struct {
	Name   string    // "2T tokens served"
	Params []float64 // of the model, rising
	FLOP   []float64 // training and inference together
}

// CostOptimum draws the total cost over the size of the model, a curve per
// demand and a panel per set of coefficients, with the minimum of every curve as
// a dot, joined, and the model that is cheapest to train. Panels share their
// scales. The minima are those of the points given.
//
// Errors: fault.Usage for more than 12 panels or curves and options; fault.Data
// for slices of unequal length, sizes that do not rise, negative values and names
// given twice.
func CostOptimum(d CostOptimumData, o Options) (fig *Figure, err error) {
	defer guard(costOptimumName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	x, y := Quantity{Name: "params", Title: "parameters", Log: true}, Quantity{Name: "flop", Title: "training and inference", Unit: "FLOP", Log: true}
	c := &chart{figure: costOptimumName, shared: true, across: 3, basis: d.CostBasis, begin: "Total cost over the size of the model, a panel per set of coefficients", title: d.finding()}
	if len(d.Panels) > 1 {
		c.width = costWide
	}
	best, edges := false, 0
	var names []string
	for _, p := range d.Panels {
		for _, k := range p.Curves {
			if !contained(names, k.Name) {
				names = append(names, k.Name)
			}
		}
	}
	if err := checkCount(costOptimumName, "demands", len(names), mostCostTogether); err != nil {
		return nil, err
	}
	for _, p := range d.Panels {
		pl := &plane{title: p.Name, x: x, y: y}
		least := dots{name: "minimum", kind: "minimum", look: look{hue: hueInk}, derived: true}
		for _, k := range p.Curves {
			l := lookOf(indexOf(names, k.Name), len(names), true)
			if len(names) == 1 {
				l = look{hue: hueTraining}
			}
			pl.curves = append(pl.curves, curve{name: k.Name, kind: "scenario", look: l, X: k.Params, Y: k.FLOP})
			if at := lowest(k.FLOP); at >= 0 {
				least.X, least.Y = append(least.X, k.Params[at]), append(least.Y, k.FLOP[at])
				edge := k.atEdge(at)
				least.Hollow = append(least.Hollow, edge)
				how := "cheapest"
				if edge {
					edges++
					how = "cheapest of the sizes drawn, at their edge,"
				}
				c.says = append(c.says, fmt.Sprintf("%s, %s: %s at %s parameters.", shortened(p.Name, 32), shortened(k.Name, 32), how, canvas.Significant(k.Params[at], 3)))
			}
		}
		if len(least.X) > 1 {
			pl.curves = append(pl.curves, curve{kind: "minima", look: look{hue: hueInk, width: canvas.AxisLine}, X: least.X, Y: least.Y, derived: true, silent: true})
		}
		pl.dots = append(pl.dots, least)
		if p.Params > 0 {
			best = true
			pl.dots = append(pl.dots, dots{name: "cheapest to train", kind: "optimum", look: look{hue: hueTraining, symbol: canvas.Diamond}, derived: true, X: []float64{p.Params}, Y: []float64{p.FLOP}})
		}
		c.planes = append(c.planes, pl)
	}
	c.keys = append(c.keys, dotKey(look{hue: hueInk}, false, "minimum"))
	if best {
		c.keys = append(c.keys, dotKey(look{hue: hueTraining, symbol: canvas.Diamond}, false, "cheapest to train"))
	}
	if edges > 0 {
		c.keys = append(c.keys, dotKey(look{hue: hueInk}, true, "still falling at the edge"))
		c.notes = append(c.notes, fmt.Sprintf("%s %s at the edge of the sizes drawn: the best size lies beyond.", plural(edges, "hollow dot"), verb(edges, "is", "are")))
	}
	c.noEnds = true
	c.subtitle = "At fixed loss"
	if d.Quality != "" {
		c.subtitle = "At the " + d.Quality
	}
	c.subtitle += "; " + plural(len(d.Panels), "set") + " of coefficients, each a scenario."
	c.says = append([]string{c.title + "."}, c.says...)
	if len(d.Panels) == 0 {
		c.planes, c.emptyWhy = []*plane{{x: x, y: y}}, "no coefficients"
	}
	return c.draw(o)
}

// atEdge reports whether the lowest point is the first or the last one that has
// a value, so that the minimum may lie beyond.
func (k CostOptimumCurve) atEdge(at int) bool {
	first, last := -1, -1
	for i := range k.FLOP {
		if defined(k.FLOP[i]) && defined(k.Params[i]) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return at == first || at == last
}

func contained(list []string, s string) bool { return indexOf(list, s) >= 0 }

func indexOf(list []string, s string) int {
	for i, l := range list {
		if l == s {
			return i
		}
	}
	return -1
}

func (d CostOptimumData) check() error {
	if err := checkCount(costOptimumName, "panels", len(d.Panels), mostCostTogether); err != nil {
		return err
	}
	var panels []string
	for i, p := range d.Panels {
		panels = append(panels, p.Name)
		where := fmt.Sprintf("panel %d (%s)", i+1, fault40(p.Name))
		if (p.Params != 0 || p.FLOP != 0) && (!(p.Params > 0) || !(p.FLOP > 0) || !defined(p.Params) || !defined(p.FLOP)) {
			return badNumber(costOptimumName, where, "%v parameters at %v FLOP are not above zero", p.Params, p.FLOP)
		}
		var names []string
		for j, k := range p.Curves {
			at := where + ", " + whereSeries(k.Name, j)
			names = append(names, k.Name)
			if err := checkColumns(costOptimumName, at, len(k.Params), costColumn{name: "parameters", v: k.Params, log: true}, costColumn{name: "FLOP", v: k.FLOP, log: true}); err != nil {
				return err
			}
			if err := checkRising(costOptimumName, at, "parameters", k.Params); err != nil {
				return err
			}
		}
		if err := checkNames(costOptimumName, where+", demand", names); err != nil {
			return err
		}
	}
	return checkNames(costOptimumName, "coefficients", panels)
}

// finding says how demand moves the best size under the first set, and whether
// the others agree.
func (d CostOptimumData) finding() string {
	var ratios []float64
	text := ""
	for _, p := range d.Panels {
		var sizes []float64
		for _, k := range p.Curves {
			if at := lowest(k.FLOP); at >= 0 {
				sizes = append(sizes, k.Params[at])
			}
		}
		if len(sizes) < 2 {
			continue
		}
		from, to := sizes[0], sizes[len(sizes)-1]
		ratios = append(ratios, to/from)
		a, b := p.Curves[0], p.Curves[len(p.Curves)-1]
		if at := lowest(b.FLOP); text == "" && at >= 0 && b.atEdge(at) {
			text = fmt.Sprintf("At %s the best model is beyond the sizes drawn, at %s parameters or past it", shortened(b.Name, 24), canvas.Significant(to, 3))
		}
		if text == "" {
			text = fmt.Sprintf("From %s to %s the best model goes from %s to %s parameters", shortened(a.Name, 24), shortened(b.Name, 24),
				canvas.Significant(from, 3), canvas.Significant(to, 3))
		}
	}
	if text == "" {
		return "The best size of a model that is used"
	}
	if len(ratios) > 1 {
		low, high := ratios[0], ratios[0]
		for _, r := range ratios {
			low, high = min(low, r), max(high, r)
		}
		if from, to := canvas.Significant(low, 2), canvas.Significant(high, 2); from != to {
			text += fmt.Sprintf(" (×%s to ×%s over the coefficients)", from, to)
		}
	}
	return text
}
