package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// The question: what does a larger batch cost in latency and win in throughput?

const costBatchName = "cost_batch"

// CostBatchData is the time of a decode step over the batch, modelled and
// measured, at some contexts. Slices are not kept.
type CostBatchData struct {
	Series   []CostBatchSeries
	Critical float64 // batch from which weights are compute-bound; 0: not known, +Inf: never
	Interval string  // what the whiskers of measurements are
	CostBasis
}

// CostBatchSeries is one context. Modelled and measured points are each equally
// long in all their slices; Lo and Hi may be nil.
type CostBatchSeries struct {
	Name       string    // "context 2,048"
	Batch      []float64 // rising
	StepMS     []float64 // floor or fitted time of a step, in ms
	Limit      float64   // largest batch that fits into memory; 0: not known
	Measured   []float64 // batches measured
	MeasuredMS []float64 // median time of a step there
	Lo, Hi     []float64
}

// CostBatch draws the time of a decode step and the tokens per second it gives
// over the batch, in two panels that share the batches: the model as lines,
// dotted beyond what fits into memory, measurements as dots. Tokens per second
// are computed here, as batch over time.
//
// Errors: fault.Usage for more than 12 series and options; fault.Data for slices
// of unequal length, batches that do not rise, negative values, names given twice
// and an interval upside down.
func CostBatch(d CostBatchData, o Options) (fig *Figure, err error) {
	defer guard(costBatchName, &err)
	if err := d.check(); err != nil {
		return nil, err
	}
	batch := Quantity{Name: "batch", Title: "batch, sequences", Log: true}
	c := &chart{figure: costBatchName, across: 2, width: costWide, height: 150, basis: d.CostBasis, begin: "Time of a decode step and throughput over the batch",
		planes: []*plane{{x: batch, y: Quantity{Name: "step_ms", Title: "time of a step", Unit: "ms", Log: true}},
			{x: batch, y: Quantity{Name: "tokens_per_second", Title: "throughput", Unit: "token/s", Log: true}}}}
	measured, points := false, 0
	for i, s := range d.Series {
		l := lookOf(i, len(d.Series), true)
		l.symbol = canvas.Disc
		if len(d.Series) == 1 {
			l.hue = hueTraining
		}
		s.draw(c, l)
		measured = measured || len(s.Measured) > 0
		points += len(s.Measured)
	}
	if defined(d.Critical) && d.Critical > 0 {
		for _, pl := range c.planes {
			pl.rules = []Rule{{Vertical: true, At: d.Critical, Label: "critical batch " + canvas.Significant(d.Critical, 3)}}
		}
	}
	if measured {
		c.keys = append(c.keys, measuredKey())
	}
	if slices.ContainsFunc(d.Series, func(s CostBatchSeries) bool { return s.Limit > 0 }) {
		c.keys = append(c.keys, dotKey(look{hue: hueInk, symbol: canvas.Cross}, false, "memory is full"),
			lineKey(look{hue: hueInk, dash: []vg.Length{1.5, 1.5}, width: canvas.RefLine}, "does not fit"))
	}
	c.title = d.finding()
	c.subtitle = "Lines: model. "
	if measured {
		c.subtitle += "Dots: " + plural(points, "measurement")
		if d.Interval != "" {
			c.subtitle += ", whiskers " + d.Interval
		}
		c.subtitle += "."
	} else {
		c.subtitle += "Nothing was measured."
	}
	switch {
	case math.IsInf(d.Critical, 1):
		c.notes = append(c.notes, "No batch makes a step compute-bound.")
	case d.Critical > 0:
		c.says = append(c.says, "From a batch of "+canvas.Significant(d.Critical, 3)+" on, weights are compute-bound.")
	}
	for _, s := range d.Series {
		if s.Limit > 0 {
			c.says = append(c.says, s.Name+": memory is full at a batch of "+canvas.Significant(s.Limit, 3)+".")
		}
	}
	c.says = append([]string{c.title + "."}, c.says...)
	if len(d.Series) == 0 {
		c.emptyWhy = "no series"
	}
	return c.draw(o)
}

func (d CostBatchData) check() error {
	if err := checkCount(costBatchName, "series", len(d.Series), mostCostTogether); err != nil {
		return err
	}
	if math.IsNaN(d.Critical) || d.Critical < 0 {
		return checkAmounts(costBatchName, amount{"critical batch", d.Critical, true})
	}
	var names []string
	for i, s := range d.Series {
		where := whereSeries(s.Name, i)
		names = append(names, s.Name)
		for _, err := range []error{
			checkColumns(costBatchName, where, len(s.Batch), costColumn{name: "batch", v: s.Batch, log: true}, costColumn{name: "step time", v: s.StepMS, log: true}),
			checkColumns(costBatchName, where+", measured", len(s.Measured), costColumn{name: "batch", v: s.Measured, log: true},
				costColumn{name: "step time", v: s.MeasuredMS, log: true}, costColumn{name: "lower ends", v: s.Lo, may: true}),
			checkInterval(costBatchName, where, "step time", s.Lo, s.Hi),
			checkRising(costBatchName, where, "batch", s.Batch),
			checkAmounts(costBatchName, amount{where + ", memory limit", s.Limit, true}),
		} {
			if err != nil {
				return err
			}
		}
	}
	return checkNames(costBatchName, "series", names)
}

// draw adds the marks of a series to both planes.
func (s CostBatchSeries) draw(c *chart, l look) {
	within, beyond := s.split()
	full := []float64{s.Limit, valueAt(s.Batch, s.StepMS, s.Limit)}
	for i, pl := range c.planes {
		derived := i == 1
		y := func(batch, ms float64) float64 {
			if i == 1 {
				return throughput(batch, ms)
			}
			return ms
		}
		each := func(x, ms []float64) []float64 {
			out := make([]float64, len(x))
			for k := range x {
				out[k] = y(x[k], ms[k])
			}
			return out
		}
		pl.curves = append(pl.curves, curve{name: s.Name, kind: "model", look: l, X: within[0], Y: each(within[0], within[1]), derived: derived})
		if len(beyond[0]) > 0 {
			far := l
			far.dash, far.width = []vg.Length{1.5, 1.5}, canvas.RefLine
			pl.curves = append(pl.curves, curve{name: s.Name, kind: "does not fit", look: far, X: beyond[0], Y: each(beyond[0], beyond[1]), silent: true})
		}
		if s.Limit > 0 && defined(full[1]) {
			cross := l
			cross.symbol = canvas.Cross
			pl.dots = append(pl.dots, dots{name: s.Name, kind: "memory limit", derived: true, look: cross, X: full[:1], Y: []float64{y(full[0], full[1])}})
		}
		if len(s.Measured) > 0 {
			m := dots{name: s.Name, kind: "measured", derived: derived, look: l, X: s.Measured, Y: each(s.Measured, s.MeasuredMS)}
			switch {
			case len(s.Lo) > 0 && i == 0:
				m.Lo, m.Hi = s.Lo, s.Hi
			case len(s.Lo) > 0: // the slowest step is the smallest rate
				m.Lo, m.Hi = each(s.Measured, s.Hi), each(s.Measured, s.Lo)
			}
			pl.dots = append(pl.dots, m)
		}
	}
}

// split parts the model's points at the memory limit, which belongs to both.
func (s CostBatchSeries) split() (within, beyond [2][]float64) {
	if s.Limit == 0 || s.Limit >= largestOf(s.Batch) {
		return [2][]float64{s.Batch, s.StepMS}, beyond
	}
	add := func(to *[2][]float64, x, y float64) { to[0], to[1] = append(to[0], x), append(to[1], y) }
	for k := range s.Batch {
		if s.Batch[k] <= s.Limit {
			add(&within, s.Batch[k], s.StepMS[k])
		}
	}
	if at := valueAt(s.Batch, s.StepMS, s.Limit); defined(at) {
		if !slices.Contains(within[0], s.Limit) {
			add(&within, s.Limit, at)
		}
		add(&beyond, s.Limit, at)
	}
	for k := range s.Batch {
		if s.Batch[k] > s.Limit {
			add(&beyond, s.Batch[k], s.StepMS[k])
		}
	}
	return within, beyond
}

// throughput returns tokens per second of a step that takes ms.
func throughput(batch, ms float64) float64 {
	if !(ms > 0) || math.IsInf(ms, 1) {
		return math.NaN()
	}
	return 1000 * batch / ms
}

// finding compares the ends of the first series within its memory.
func (d CostBatchData) finding() string {
	if len(d.Series) == 0 {
		return "Latency and throughput over the batch"
	}
	s := d.Series[0]
	within, _ := s.split()
	first, last := -1, -1
	for k := range within[0] {
		if within[0][k] > 0 && within[1][k] > 0 && defined(within[1][k]) {
			if first < 0 {
				first = k
			}
			last = k
		}
	}
	if first < 0 || first == last {
		return "Latency and throughput over the batch"
	}
	b0, b1, t0, t1 := within[0][first], within[0][last], within[1][first], within[1][last]
	text := fmt.Sprintf("From batch %s to %s throughput grows ×%s while a step takes ×%s the time", canvas.Significant(b0, 3), canvas.Significant(b1, 3),
		canvas.Significant(throughput(b1, t1)/throughput(b0, t0), 3), canvas.Significant(t1/t0, 3))
	if len(d.Series) > 1 {
		text += " (" + shortened(s.Name, 24) + ")"
	}
	return text
}
