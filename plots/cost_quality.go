package plots

import (
	"fmt"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// The question: how much quality does a way of sampling buy for its cost?

const costQualityName = "cost_quality"

// CostQualityData is the quality of ways of sampling over what one item costs,
// both from the run that made the texts. Slices are not kept.
type CostQualityData struct {
	Quality  Quantity // "accuracy", "pass rate", "distinct bigrams": more is better
	Unit     string   // of the cost of an item: "FLOP", "USD", "s", "J"
	Series   []CostQualitySeries
	Interval string // what Lo to Hi is
	Seeds    int    // repetitions behind each point; 0: not known
	CostBasis
}

// CostQualitySeries is a way of sampling, at rising effort. All slices are
// equally long; the intervals may be nil.
type CostQualitySeries struct {
	Name     string
	Cost     []float64 // of an item, above zero
	Quality  []float64
	Lo, Hi   []float64 // interval of Quality
	XLo, XHi []float64 // interval of Cost
	N        []string  // beside the points: "8" samples, "beam 4"
}

// CostQuality draws the quality of each way of sampling over what an item costs,
// joined by rising effort, with the front of points that no other one beats and
// hollow points that are beaten. The front is computed here from the points
// themselves; points whose intervals overlap may change places.
//
// Errors: fault.Usage for more than 30 series and options; fault.Data for slices
// of unequal length, negative costs, an interval upside down and names given twice.
func CostQuality(d CostQualityData, o Options) (fig *Figure, err error) {
	defer guard(costQualityName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	if d.Quality.Name == "" {
		d.Quality.Name = "quality"
	}
	pl := &plane{x: Quantity{Name: "cost", Title: "cost of an item", Unit: d.Unit, Log: true}, y: d.Quality}
	c := &chart{figure: costQualityName, planes: []*plane{pl}, noEnds: true, basis: d.CostBasis, begin: "Points of quality over cost"}
	all := d.points()
	best := front(all)
	onFront := map[[2]int]bool{}
	var frontX, frontY []float64
	order := frontOrder(all, best)
	for i, j := range order {
		onFront[[2]int{all[j].series, all[j].point}] = true
		if i > 0 { // a step: more quality begins where its cost is paid
			frontX, frontY = append(frontX, all[j].Cost), append(frontY, frontY[len(frontY)-1])
		}
		frontX, frontY = append(frontX, all[j].Cost), append(frontY, all[j].Gain)
	}
	if len(order) > 1 {
		front := look{hue: hueMuted, width: canvas.RefLine, dash: []vg.Length{5, 2}}
		pl.curves = append(pl.curves, curve{kind: "front", look: front, X: frontX, Y: frontY, derived: true, silent: true})
		c.keys = append(c.keys, lineKey(front, "front"))
	}
	whiskers, joined := false, len(d.Series) <= directLines
	for i, s := range d.Series {
		l := lookOf(i, len(d.Series), false)
		hollow := make([]bool, len(s.Cost))
		for k := range hollow {
			hollow[k] = !onFront[[2]int{i, k}]
		}
		thin := l
		thin.width = canvas.AxisLine * 1.5
		pl.curves = append(pl.curves, curve{name: s.Name, kind: "joined", look: thin, X: s.Cost, Y: s.Quality, derived: true, keyless: true})
		pl.dots = append(pl.dots, dots{name: s.Name, kind: "measured", look: l, X: s.Cost, Y: s.Quality, Lo: s.Lo, Hi: s.Hi, XLo: s.XLo, XHi: s.XHi, Labels: s.N, Hollow: hollow})
		if joined {
			c.keys = append(c.keys, joinedKey(l, shortened(s.Name, nameLimit)))
		}
		whiskers = whiskers || len(s.Lo) > 0 || len(s.XLo) > 0
	}
	if len(order) < len(all) {
		c.keys = append(c.keys, dotKey(look{hue: hueInk}, true, "beaten by another point"))
	}
	c.title = d.finding(all, order)
	c.subtitle = fmt.Sprintf("%s, %s on the front.", plural(len(all), "point"), canvas.Count(len(order)))
	if d.Seeds > 0 {
		c.subtitle += " " + plural(d.Seeds, "seed") + " each."
	}
	if whiskers {
		what := d.Interval
		if what == "" {
			what = "interval"
		}
		c.subtitle += " Whiskers: " + what + "."
	}
	c.says = []string{c.title + ".", c.subtitle}
	if len(d.Series) == 0 {
		c.emptyWhy = "no series"
	}
	return c.draw(o)
}

func (d CostQualityData) check() error {
	if err := checkCount(costQualityName, "series", len(d.Series), mostCostSeries); err != nil {
		return err
	}
	var names []string
	for i, s := range d.Series {
		where := whereSeries(s.Name, i)
		names = append(names, s.Name)
		n := len(s.Cost)
		if len(s.N) != n && len(s.N) > 0 {
			return badNumber(costQualityName, where, "%d words for %d points", len(s.N), n)
		}
		for _, err := range []error{
			checkColumns(costQualityName, where, n, costColumn{name: "cost", v: s.Cost, log: true}, costColumn{name: "quality", v: s.Quality, log: d.Quality.Log},
				costColumn{name: "lower ends of quality", v: s.Lo, may: true}, costColumn{name: "lower ends of cost", v: s.XLo, may: true}),
			checkInterval(costQualityName, where, "quality", s.Lo, s.Hi),
			checkInterval(costQualityName, where, "cost", s.XLo, s.XHi),
		} {
			if err != nil {
				return err
			}
		}
	}
	return checkNames(costQualityName, "series", names)
}

// points returns the points that have a place.
func (d CostQualityData) points() []tradeOff {
	var out []tradeOff
	for i, s := range d.Series {
		for k := range s.Cost {
			if defined(s.Cost[k]) && s.Cost[k] > 0 && defined(s.Quality[k]) && !(d.Quality.Log && s.Quality[k] <= 0) {
				out = append(out, tradeOff{Cost: s.Cost[k], Gain: s.Quality[k], series: i, point: k})
			}
		}
	}
	return out
}

// finding says what the last step on the front costs.
func (d CostQualityData) finding(all []tradeOff, order []int) string {
	say := func(t tradeOff) string {
		s := d.Series[t.series]
		text := shortened(s.Name, 24)
		if len(s.N) > 0 && s.N[t.point] != "" {
			text += " (" + shortened(s.N[t.point], 12) + ")"
		}
		return text
	}
	quality := sentence(shortened(d.Quality.words(), 32))
	switch len(order) {
	case 0:
		return quality + " against the cost of an item"
	case 1:
		return say(all[order[0]]) + " beats every other point"
	}
	low, high := all[order[0]], all[order[len(order)-1]]
	times := canvas.Significant(high.Cost/low.Cost, 3)
	if low.series == high.series && len(d.Series[low.series].N) > 0 {
		s := d.Series[low.series]
		return fmt.Sprintf("%s rises from %s to %s for ×%s the cost, with %s (%s to %s)", quality, canvas.Significant(low.Gain, 3), canvas.Significant(high.Gain, 3), times,
			shortened(s.Name, 24), shortened(s.N[low.point], 12), shortened(s.N[high.point], 12))
	}
	return fmt.Sprintf("%s rises from %s to %s for ×%s the cost, from %s to %s", quality, canvas.Significant(low.Gain, 3), canvas.Significant(high.Gain, 3), times, say(low), say(high))
}

// frontOrder returns the points of the front by rising cost.
func frontOrder(all []tradeOff, on []bool) []int {
	var out []int
	for i := range all {
		if on[i] {
			out = append(out, i)
		}
	}
	sortBy(out, func(i int) float64 { return all[i].Cost })
	return out
}
