package source

import (
	"math"
	"strings"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/results"
	"lab/plots"
)

// General charts of one measure of a stored run: of its samples (hist, ecdf,
// violin, outcomes) or of its cells with their intervals (bar, line).

// samples reads a measure of single samples by the setting by.
func (q *request) samples() (plots.SampleData, error) {
	columns := q.axes()
	if !q.need(columns) {
		return plots.SampleData{}, q.err
	}
	m, err := measure.Named(q.text("value"))
	if err != nil {
		return plots.SampleData{}, err
	}
	t, err := results.Samples(q.run, []string{m.Name})
	if err != nil {
		return plots.SampleData{}, err
	}
	cells, err := column(t, "cell")
	if err != nil {
		return plots.SampleData{}, err
	}
	values, err := column(t, m.Name)
	if err != nil {
		return plots.SampleData{}, err
	}
	d := plots.SampleData{Value: plots.Quantity{Name: m.Name, Unit: m.Unit}}
	at := map[string]int{}
	for i, c := range cells {
		name := q.cellName(int(c), columns)
		k, known := at[name]
		if !known {
			k = len(d.Samples)
			at[name] = k
			d.Samples = append(d.Samples, plots.Sample{Name: name})
		}
		d.Samples[k].Values = append(d.Samples[k].Values, values[i])
	}
	return d, nil
}

// sampleChart returns how a chart of samples is drawn from a run.
func sampleChart(draw func(plots.SampleData, plots.Options) (*plots.Figure, error)) func(*request) (*plots.Figure, error) {
	return func(q *request) (*plots.Figure, error) {
		d, err := q.samples()
		if err != nil {
			return nil, err
		}
		return draw(d, q.Options)
	}
}

// single refuses cells that no column tells apart: the mean of their estimates
// would have no interval.
func (q *request) single(groups []cellGroup) error {
	for _, g := range groups {
		if len(g.cells) > 1 {
			return fault.New(fault.Usage, op+" "+q.Figure, "setting by", "cells %d and %d are both %s", g.cells[0], g.cells[1], fault.Quote(g.name, 60)).
				Fix("the grid varies %s: name one that tells them apart, or draw violin, which takes their samples together", strings.Join(q.run.Manifest.Axes, ", "))
		}
	}
	return nil
}

func drawBar(q *request) (*plots.Figure, error) {
	columns := q.axes()
	if !q.need(columns) {
		return nil, q.err
	}
	groups := q.cellsBy(columns)
	if err := q.single(groups); err != nil {
		return nil, err
	}
	e, err := q.estimates()
	if err != nil {
		return nil, err
	}
	d := plots.BarData{Value: e.quantity(), Category: strings.Join(columns, ", "), Interval: "95 % interval"}
	for _, g := range groups {
		c := g.cells[0]
		d.Bars = append(d.Bars, plots.CategoryBar{Name: g.name, Value: e.value[c], Lo: e.lo[c], Hi: e.hi[c]})
	}
	return plots.Bar(d, q.Options)
}

func drawLine(q *request) (*plots.Figure, error) {
	x := q.text("x")
	for _, axis := range q.run.Manifest.Axes {
		if x == "" && q.numeric(axis) {
			x = axis
		}
	}
	if x == "" {
		return nil, fault.New(fault.Usage, op+" line", q.run.Dir, "none of the settings that its grid varies is a number").Fix("draw bar, or name a column with --set x=…")
	}
	columns := []string{}
	if by := q.text("by"); by != "" {
		columns = []string{by}
	} else {
		for _, axis := range q.run.Manifest.Axes {
			if axis != x {
				columns = append(columns, axis)
			}
		}
	}
	if !q.need(append([]string{x}, columns...)) {
		return nil, q.err
	}
	if err := q.single(q.cellsBy(append([]string{x}, columns...))); err != nil {
		return nil, err
	}
	e, err := q.estimates()
	if err != nil {
		return nil, err
	}
	d := plots.XYData{X: plots.Quantity{Name: x}, Y: e.quantity(), By: strings.Join(columns, ", "), Interval: "95 % interval", Points: true}
	for _, g := range q.cellsBy(columns) {
		s := plots.Series{Name: g.name}
		for _, c := range g.cells {
			at := numberOf(q.cells[c][x])
			if math.IsInf(at, 1) { // the cell has no such stage
				continue
			}
			s.X, s.Y, s.Lo, s.Hi = append(s.X, at), append(s.Y, e.value[c]), append(s.Lo, e.lo[c]), append(s.Hi, e.hi[c])
		}
		d.Series = append(d.Series, s)
	}
	return plots.Line(d, q.Options)
}

// numeric reports whether some cell has a number in a column, and none a word.
func (q *request) numeric(column string) bool {
	numbers := false
	for _, cell := range q.cells {
		switch cell[column].(type) {
		case float64, int64:
			numbers = true
		case nil:
		default:
			return false
		}
	}
	return numbers
}
