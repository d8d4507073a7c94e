package plots

import (
	"fmt"
	"math"
	"slices"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: how much uncertainty does a temperature add, and how far does it
// move the distribution?

const entropyName = "entropy"

// EntropyData is the sampling distributions of many prompts at several
// temperatures. The slices are not kept.
type EntropyData struct {
	Rows []EntropyRow // in any order, temperatures different
}

// EntropyRow is one temperature: a value for each prompt, in the order of the
// prompts. NaN is a prompt without one.
type EntropyRow struct {
	Temperature float64
	EntropyBits []float64 // of the sampling distribution
	KLBits      []float64 // KL(sampling‖model); nil leaves the panel out
}

const entropyPanel, klPanel = "entropy of the sampling distribution", "KL(sampling‖model)"

// Entropy draws entropy and KL(sampling‖model) in bits against the temperature:
// the median over prompts with a band from their 5 to their 95 % quantile
// (definition 7 of Hyndman and Fan 1996), and a rule at T = 1, where the two
// distributions are equal. One prompt has a line and no band.
//
// Errors: fault.Usage for more than 512 temperatures and options; fault.Data for
// a temperature that is negative, not finite or given twice, for a negative
// entropy or divergence, and for rows with different numbers of prompts. NaN and
// infinite values are left out and counted; without a value the picture says so.
func Entropy(d EntropyData, o Options) (fig *Figure, err error) {
	defer guard(entropyName, &err)
	rows := slices.Clone(d.Rows)
	slices.SortStableFunc(rows, func(a, b EntropyRow) int { return compareFloats(a.Temperature, b.Temperature) })
	prompts, undefined, kl := 0, 0, false
	for i, r := range rows {
		if err := r.check(); err != nil {
			return nil, err
		}
		if i > 0 && r.Temperature == rows[i-1].Temperature {
			return nil, badNumber(entropyName, "rows", "temperature %v is given twice", r.Temperature)
		}
		if i > 0 && len(r.EntropyBits) != prompts {
			return nil, badNumber(entropyName, r.where(), "%d prompts, another temperature has %d", len(r.EntropyBits), prompts).
				Fix("give NaN for a prompt without a value")
		}
		prompts = len(r.EntropyBits)
		kl = kl || len(r.KLBits) > 0
	}
	if len(rows) > mostSeries {
		return nil, fault.New(fault.Usage, "figure "+entropyName, "rows", "%d temperatures are more than %d", len(rows), mostSeries)
	}
	c := curves{name: entropyName, title: "Entropy and divergence against the temperature"}
	c.chart = XYData{X: Quantity{Name: "temperature", Title: "temperature T"}, Y: Quantity{Name: "bits"}, Facet: "quantity", Points: len(rows) <= 20}
	medians := Series{Panel: entropyPanel}
	moved := Series{Panel: klPanel}
	for _, r := range rows {
		undefined += medians.spread(r.Temperature, r.EntropyBits)
		if kl {
			undefined += moved.spread(r.Temperature, r.KLBits)
		}
	}
	medians.settle()
	moved.settle()
	if len(rows) > 0 {
		c.chart.Series = []Series{medians}
		if kl {
			c.chart.Series = append(c.chart.Series, moved)
		}
		if rows[0].Temperature <= 1 && rows[len(rows)-1].Temperature >= 1 {
			c.chart.Rules = []Rule{{Vertical: true, At: 1, Label: "T = 1"}}
		}
		c.words(rows, prompts, undefined)
	}
	return c.draw(o)
}

// spread appends the spread of the values at x and returns how many of them have
// no place.
func (s *Series) spread(x float64, values []float64) (undefined int) {
	median, lo, hi, n := spreadOf(values)
	s.X, s.Y = append(s.X, x), append(s.Y, median)
	s.Lo, s.Hi = append(s.Lo, lo), append(s.Hi, hi)
	return len(values) - n
}

func (r EntropyRow) where() string { return "temperature " + canvas.Number(r.Temperature) }

// check refuses a row that cannot be.
func (r EntropyRow) check() error {
	if !(r.Temperature >= 0) || math.IsInf(r.Temperature, 0) {
		return badNumber(entropyName, "rows", "temperature %v is not a finite number from 0 up", r.Temperature)
	}
	if len(r.KLBits) > 0 && len(r.KLBits) != len(r.EntropyBits) {
		return badNumber(entropyName, r.where(), "%d entropies and %d divergences", len(r.EntropyBits), len(r.KLBits))
	}
	for k, list := range [][]float64{r.EntropyBits, r.KLBits} {
		for i, v := range list {
			if v < -tokenSlack {
				return badNumber(entropyName, r.where(), "%s of prompt %d is negative (%v bits)", [2]string{"the entropy", "KL"}[k], i, v)
			}
		}
	}
	return nil
}

// words makes the title from the medians and states n.
func (c *curves) words(rows []EntropyRow, prompts, undefined int) {
	m := c.chart.Series[0]
	first, last := 0, len(m.X)-1
	of := ""
	if prompts > 1 {
		of = fmt.Sprintf(" (median of %s)", plural(prompts, "prompt"))
	}
	from, to := m.Y[first], m.Y[last]
	switch {
	case !defined(from) || !defined(to):
	case first == last:
		c.title = fmt.Sprintf("At T = %s the entropy is %s bits%s", canvas.Number(m.X[0]), canvas.Digits(from, 3), of)
	case canvas.Digits(from, 2) == canvas.Digits(to, 2):
		c.title = fmt.Sprintf("From T = %s to %s the entropy stays at %s bits%s", canvas.Number(m.X[first]), canvas.Number(m.X[last]), canvas.Digits(from, 2), of)
	default:
		turn := "rises"
		if to < from {
			turn = "falls"
		}
		c.title = fmt.Sprintf("From T = %s to %s the entropy %s from %s to %s bits%s", canvas.Number(m.X[first]), canvas.Number(m.X[last]), turn,
			canvas.Digits(from, 2), canvas.Digits(to, 2), of)
	}
	c.subtitle = plural(len(rows), "temperature") + ", " + plural(prompts, "prompt")
	if prompts > 1 {
		c.subtitle += "; line: median, band: 5 to 95 % of the prompts"
	}
	if undefined > 0 {
		c.subtitle += fmt.Sprintf("; %s %s undefined and left out", plural(undefined, "value"), verb(undefined, "is", "are"))
	}
	c.subtitle += "."
	c.chart.Interval = "5 to 95 % of the prompts"
}
