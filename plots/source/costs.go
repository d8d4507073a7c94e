package source

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/results"
	"lab/plots"
)

// spent is what a sample of each cell took on average, NaN where no sample of it
// was measured.
type spent map[string][]float64

// costOf are the columns of costs.parquet that make up a unit, by the part of the
// bill they are. A unit of which only the whole is known has one part.
func costOf(unit string) (parts, columns []string) {
	switch unit {
	case "s":
		return []string{"prefill", "decode"}, []string{"prefill_seconds", "decode_seconds"}
	case "FLOP":
		return []string{"prefill and decode"}, []string{"flops"}
	}
	return []string{"prefill", "decode"}, []string{"prefill_tokens", "decode_tokens"}
}

// spent reads the mean of columns of costs.parquet over the samples of each cell,
// and how many samples there are.
func (q *request) spent(columns []string) (spent, int, error) {
	t, err := results.Costs(q.run)
	if err != nil {
		return nil, 0, err
	}
	if t.Rows() == 0 {
		return nil, 0, fault.New(fault.Usage, op+" "+q.Figure, q.run.Dir, "the run lacks the columns %s: nothing was counted while it ran", strings.Join(columns, ", ")).
			Fix("run the sweep anew with a model whose plugin counts what its calls take")
	}
	cells, err := column(t, "cell")
	if err != nil {
		return nil, 0, err
	}
	out := spent{}
	for _, name := range columns {
		values, err := column(t, name)
		if err != nil {
			return nil, 0, err
		}
		mean, n := nans(len(q.cells)), make([]float64, len(q.cells))
		for i, v := range values {
			c := int(cells[i])
			if c >= len(q.cells) {
				continue
			}
			if n[c]++; n[c] == 1 {
				mean[c] = v
			} else {
				mean[c] += (v - mean[c]) / n[c]
			}
		}
		out[name] = mean
	}
	return out, t.Rows(), nil
}

// basis says what measured costs are.
func (q *request) basis(samples int) plots.CostBasis {
	return plots.CostBasis{Measured: true, Conventions: fmt.Sprintf("means over %d samples, of calls shared with others the sample's share", samples)}
}

func drawCostBill(q *request) (*plots.Figure, error) {
	columns, unit := q.axes(), q.choice("unit", "tokens", "FLOP", "s")
	if !q.need(columns) {
		return nil, q.err
	}
	parts, names := costOf(unit)
	took, samples, err := q.spent(names)
	if err != nil {
		return nil, err
	}
	d := plots.CostBillData{Unit: unit, Parts: parts, CostBasis: q.basis(samples)}
	for _, g := range q.cellsBy(columns) {
		bar := plots.CostBar{Name: g.name}
		for _, name := range names {
			bar.Values = append(bar.Values, g.mean(took[name]))
		}
		d.Bars = append(d.Bars, bar)
	}
	return plots.CostBill(d, q.Options)
}

func drawCostQuality(q *request) (*plots.Figure, error) {
	unit := q.choice("unit", "tokens", "FLOP", "s")
	columns := q.axes()
	if !q.need(columns) {
		return nil, q.err
	}
	e, err := q.estimates()
	if err != nil {
		return nil, err
	}
	_, names := costOf(unit)
	took, samples, err := q.spent(names)
	if err != nil {
		return nil, err
	}
	var beside []string // the settings that tell the points of one series apart
	for _, a := range q.run.Manifest.Axes {
		if !slices.Contains(columns, a) {
			beside = append(beside, a)
		}
	}
	d := plots.CostQualityData{Quality: e.quantity(), Unit: unit, Interval: "95 % interval", CostBasis: q.basis(samples)}
	for _, g := range q.cellsBy(columns) {
		s := plots.CostQualitySeries{Name: g.name}
		for _, c := range g.cells {
			total := 0.0
			for _, name := range names {
				total += took[name][c]
			}
			s.Cost, s.Quality, s.Lo, s.Hi = append(s.Cost, total), append(s.Quality, e.value[c]), append(s.Lo, e.lo[c]), append(s.Hi, e.hi[c])
			s.N = append(s.N, q.cellName(c, beside))
		}
		d.Series = append(d.Series, s)
	}
	return plots.CostQuality(d, q.Options)
}

// cellGroup is the cells that share the values of some settings.
type cellGroup struct {
	name  string
	cells []int
}

// cellsBy groups cells by the values of columns, in the order of the cells.
func (q *request) cellsBy(columns []string) []cellGroup {
	var out []cellGroup
	at := map[string]int{}
	for c := range q.cells {
		name := q.cellName(c, columns)
		i, known := at[name]
		if !known {
			i = len(out)
			at[name] = i
			out = append(out, cellGroup{name: name})
		}
		out[i].cells = append(out[i].cells, c)
	}
	return out
}

// mean returns the mean of a value over the cells that have it; NaN for none.
func (g cellGroup) mean(values []float64) float64 {
	sum, n := 0.0, 0.0
	for _, c := range g.cells {
		if v := values[c]; !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / n
}

// estimates is a measure of every cell with its interval, NaN where a cell has no
// sample.
type estimates struct {
	measure       measure.Measure
	value, lo, hi []float64
	samples       []bool // whether the cell has any
}

func (e estimates) quantity() plots.Quantity {
	return plots.Quantity{Name: e.measure.Name, Unit: e.measure.Unit}
}

// estimates reads the measure of the setting value.
func (q *request) estimates() (estimates, error) {
	m, err := measure.Named(q.text("value"))
	if err != nil {
		return estimates{}, err
	}
	t, err := results.Cells(q.run, []string{m.Name}, measure.Interval{})
	if err != nil {
		return estimates{}, err
	}
	cells, err := column(t, "cell")
	if err != nil {
		return estimates{}, err
	}
	e := estimates{measure: m, samples: make([]bool, len(q.cells))}
	for _, c := range cells {
		e.samples[int(c)] = true
	}
	for _, of := range []struct {
		to  *[]float64
		end string
	}{{&e.value, ""}, {&e.lo, "_lo"}, {&e.hi, "_hi"}} {
		list, err := column(t, m.Name+of.end)
		if err != nil {
			return estimates{}, err
		}
		*of.to = nans(len(q.cells))
		for i, c := range cells {
			(*of.to)[int(c)] = list[i]
		}
	}
	return e, nil
}
