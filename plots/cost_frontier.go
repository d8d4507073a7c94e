package plots

import (
	"fmt"
	"math"
	"slices"

	"lab/plots/canvas"
)

// The question: how fast for one user, how cheap for all, and which settings
// are never worth it?

const costFrontierName = "cost_frontier"

// CostFrontierData is the trade between the speed one user sees and the rate or
// price of a chip, over the batch. Slices are not kept.
type CostFrontierData struct {
	Unit   string // of Y: "tokens/s per chip", or with Price "USD per million tokens"
	Price  bool   // Y is a price: less is better; otherwise a rate: more is better
	Series []CostFrontierSeries
	Budget float64 // tokens/s per user that are needed; 0: none
	CostBasis
}

// CostFrontierSeries is one way of serving: a format, a number of chips, with or
// without a draft. All slices are equally long, in the order of the batch.
type CostFrontierSeries struct {
	Name     string
	Batch    []float64
	PerUser  []float64 // tokens/s of one user
	Y        []float64
	Fits     []bool // into memory; nil: all do
	Measured bool   // observed, not modelled
}

// CostFrontier draws each way of serving as points joined in the order of the
// batch, the batch beside them; hollow are points that another one beats in both
// directions, crosses those that do not fit into memory. Which points are beaten
// is computed here, over all series, among those that fit.
//
// Errors: fault.Usage for more than 30 series and options; fault.Data for slices
// of unequal length, negative values and names given twice.
func CostFrontier(d CostFrontierData, o Options) (fig *Figure, err error) {
	defer guard(costFrontierName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	name, title := "tokens_per_chip", "throughput"
	if d.Price {
		name, title = "price", "price"
	}
	pl := &plane{x: Quantity{Name: "tokens_per_user", Title: "speed of one user", Unit: "tokens/s", Log: true}, y: Quantity{Name: name, Title: title, Unit: d.Unit, Log: true}}
	c := &chart{figure: costFrontierName, planes: []*plane{pl}, noEnds: true, basis: d.CostBasis, begin: "Points joined in the order of the batch"}
	best, fits, full := d.front()
	for i, s := range d.Series {
		l := lookOf(i, len(d.Series), false)
		kind := "model"
		if s.Measured {
			kind = "measured"
		}
		s.draw(pl, l, kind, best[i])
		if len(d.Series) <= directLines {
			c.keys = append(c.keys, joinedKey(l, shortened(s.Name, nameLimit)+", "+kind))
		}
	}
	if d.Budget > 0 {
		pl.rules = []Rule{{Vertical: true, At: d.Budget, Label: "needed: " + canvas.Significant(d.Budget, 3)}}
	}
	beaten := fits - count(best)
	if beaten > 0 {
		c.keys = append(c.keys, dotKey(look{hue: hueInk}, true, "beaten by another point"))
	}
	if full > 0 {
		c.keys = append(c.keys, dotKey(look{hue: hueMuted, symbol: canvas.Cross}, false, "does not fit"))
	}
	c.title = d.finding(best)
	c.subtitle = "Beside points: the batch. "
	c.subtitle += fmt.Sprintf("%s of %s on the front.", canvas.Count(count(best)), plural(fits, "point"))
	c.says = []string{c.title + ".", c.subtitle}
	if len(d.Series) == 0 {
		c.emptyWhy = "no series"
	}
	return c.draw(o)
}

func count(list [][]bool) int {
	n := 0
	for _, l := range list {
		for _, b := range l {
			if b {
				n++
			}
		}
	}
	return n
}

func (d CostFrontierData) check() error {
	if err := checkCount(costFrontierName, "series", len(d.Series), mostCostSeries); err != nil {
		return err
	}
	var names []string
	for i, s := range d.Series {
		where := whereSeries(s.Name, i)
		names = append(names, s.Name)
		n := len(s.Batch)
		if len(s.Fits) != n && len(s.Fits) > 0 {
			return badNumber(costFrontierName, where, "%d values of Fits for %d points", len(s.Fits), n)
		}
		if err := checkColumns(costFrontierName, where, n, costColumn{name: "batch", v: s.Batch, log: true}, costColumn{name: "speed", v: s.PerUser, log: true},
			costColumn{name: "rate or price", v: s.Y, log: true}); err != nil {
			return err
		}
	}
	if err := checkAmounts(costFrontierName, amount{"speed needed", d.Budget, true}); err != nil {
		return err
	}
	return checkNames(costFrontierName, "series", names)
}

// front says which points no other one beats, over all series; fits and full
// count the defined points that fit and do not.
func (d CostFrontierData) front() (best [][]bool, fits, full int) {
	var all []tradeOff
	for i, s := range d.Series {
		best = append(best, make([]bool, len(s.Batch)))
		for k := range s.Batch {
			switch {
			case !defined(s.PerUser[k]) || !defined(s.Y[k]) || s.PerUser[k] == 0 || s.Y[k] == 0:
				continue
			case k < len(s.Fits) && !s.Fits[k]:
				full++
				continue
			}
			fits++
			cost := s.Y[k]
			if !d.Price {
				cost = -cost
			}
			all = append(all, tradeOff{Cost: cost, Gain: s.PerUser[k], series: i, point: k})
		}
	}
	for j, on := range front(all) {
		best[all[j].series][all[j].point] = on
	}
	return best, fits, full
}

// draw adds the marks of a series: the line joins what fits.
func (s CostFrontierSeries) draw(pl *plane, l look, kind string, best []bool) {
	line := l
	line.width = canvas.RefLine
	var x, y, outX, outY []float64
	var labels, outLabels []string
	var hollow []bool
	for k := range s.Batch {
		words := canvas.Significant(s.Batch[k], 4)
		if k < len(s.Fits) && !s.Fits[k] {
			outX, outY, outLabels = append(outX, s.PerUser[k]), append(outY, s.Y[k]), append(outLabels, words)
			continue
		}
		x, y, labels, hollow = append(x, s.PerUser[k]), append(y, s.Y[k]), append(labels, words), append(hollow, !best[k])
	}
	pl.curves = append(pl.curves, curve{name: s.Name, kind: kind, look: line, X: x, Y: y, derived: true, keyless: true})
	pl.dots = append(pl.dots, dots{name: s.Name, kind: kind, look: l, X: x, Y: y, Labels: labels, Hollow: hollow})
	if len(outX) > 0 {
		pl.dots = append(pl.dots, dots{name: s.Name, kind: "does not fit", look: look{hue: hueMuted, symbol: canvas.Cross}, X: outX, Y: outY, Labels: outLabels})
	}
}

// finding names the best point for the speed needed, or the ends of the front.
func (d CostFrontierData) finding(best [][]bool) string {
	type end struct{ series, point int }
	var points []end
	for i, s := range d.Series {
		for k := range s.Batch {
			if best[i][k] && (d.Budget == 0 || s.PerUser[k] >= d.Budget) {
				points = append(points, end{i, k})
			}
		}
	}
	user := func(e end) float64 { return d.Series[e.series].PerUser[e.point] }
	if len(points) == 0 {
		if d.Budget > 0 && count(best) > 0 {
			return "No point reaches the " + canvas.Significant(d.Budget, 3) + " tokens/s per user that are needed"
		}
		return "Speed of one user against the rate of all"
	}
	slices.SortStableFunc(points, func(a, b end) int { return compareFloats(user(a), user(b)) })
	say := func(e end) string {
		s := d.Series[e.series]
		return fmt.Sprintf("%s at batch %s", shortened(s.Name, 24), canvas.Significant(s.Batch[e.point], 4))
	}
	y := func(e end) float64 { return d.Series[e.series].Y[e.point] }
	slow, fast := points[0], points[len(points)-1]
	switch {
	case d.Budget > 0:
		what := "most throughput comes from"
		if d.Price {
			what = "the cheapest is"
		}
		return fmt.Sprintf("At %s tokens/s per user %s %s", canvas.Significant(d.Budget, 3), what, say(slow))
	case slow == fast:
		return say(slow) + " beats every other point"
	}
	ratio := y(slow) / y(fast)
	return fmt.Sprintf("×%s the speed of one user costs ×%s the %s", canvas.Significant(user(fast)/user(slow), 3),
		canvas.Significant(math.Max(ratio, 1/ratio), 3), map[bool]string{true: "price", false: "throughput"}[d.Price])
}
