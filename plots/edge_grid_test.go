package plots

import (
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

func gridEdges() []edge {
	nan, inf := math.NaN(), math.Inf(1)
	of := func(change func(*GridData)) func(Options) (*Figure, error) {
		d := exampleGrid(4, 3)
		change(&d)
		return func(o Options) (*Figure, error) { return SweepGrid(d, o) }
	}
	plain := func(d GridData) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return SweepGrid(d, o) }
	}
	return []edge{
		{name: "empty", draw: plain(GridData{X: Quantity{Name: "a"}, Y: Quantity{Name: "b"}, Value: Quantity{Name: "v"}}), says: []string{"no data (no cells)", "a", "b"}},
		{name: "one cell", draw: plain(exampleGrid(1, 1)), says: []string{"distinct bigrams is 0.3 in every cell"}, not: []string{"Framed"}},
		{name: "one row", draw: plain(exampleGrid(6, 1)), says: []string{"distinct bigrams is highest at temperature"}},
		{name: "all equal", draw: of(func(d *GridData) {
			for i := range d.Cells {
				d.Cells[i].Value, d.Cells[i].Lo, d.Cells[i].Hi, d.Cells[i].Failed = 2, nan, nan, ""
			}
		}), says: []string{"distinct bigrams is 2 in every cell"}},
		{name: "ties", draw: of(func(d *GridData) { d.Cells[0].Value, d.Cells[1].Value = 9, 9 }), says: []string{"1 other is equal"}},
		{name: "smallest best", draw: of(func(d *GridData) { d.Smaller = true }), says: []string{"distinct bigrams is lowest at temperature 0.2, top_p 0.9: 0.300 [0.270, 0.330]"}},
		{name: "undefined and infinite", draw: of(func(d *GridData) { d.Cells[0].Value, d.Cells[1].Value = nan, inf }), says: []string{"2 of 11 values are undefined (n/a).", "n/a"}},
		{name: "everything undefined", draw: plain(GridData{XNames: []string{"1"}, YNames: []string{"2"}, Cells: []GridCell{{Value: nan}}}), says: []string{"no data (all 1 value undefined)"}},
		{name: "all failed", draw: of(func(d *GridData) {
			for i := range d.Cells {
				d.Cells[i].Failed, d.Cells[i].Value = "no\nmemory", nan
			}
		}), says: []string{"failed: no memory", "And 7 more failed, in the table."}},
		{name: "without intervals", draw: of(func(d *GridData) {
			for i := range d.Cells {
				d.Cells[i].Lo, d.Cells[i].Hi = nan, nan
			}
		}), says: []string{"Framed: the best of 10 cells."}},
		{name: "50 times 40", draw: plain(exampleGrid(50, 40)), says: []string{"distinct bigrams"}},
		{name: "200 categories", draw: plain(exampleGrid(200, 3)), says: []string{"temperature"}},
		{name: "200 rows", draw: plain(exampleGrid(3, 200)), says: []string{"temperature"}},
		{name: "long and odd names", draw: of(func(d *GridData) {
			d.XNames[0], d.YNames[1], d.Value.Title = strings.Repeat("long ", 80), "\u202e<b>\xff", strings.Repeat("measure ", 80)
		}), says: []string{"‹202E›"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return SweepGrid(exampleGrid(8, 4), o) }, says: []string{"failed: the plugin"}},
		{name: "too many cells", draw: plain(exampleGrid(51, 40)), kind: fault.Usage, err: "51 times 40 values are more than 2000 cells"},
		{name: "given twice", draw: of(func(d *GridData) { d.Cells[1] = d.Cells[0] }), kind: fault.Data, err: "temperature 0.2, top_p 0.9 has a cell already; fix the other settings"},
		{name: "outside", draw: of(func(d *GridData) { d.Cells[0].X = 4 }), kind: fault.Data, err: "column 4, row 0 is outside a grid of 4 times 3"},
		{name: "upside down", draw: of(func(d *GridData) { d.Cells[0].Lo = 9 }), kind: fault.Data, err: "the interval runs from 9 down to"},
	}
}

func TestTheBestCellIsTheBest(t *testing.T) {
	for _, smaller := range []bool{false, true} {
		d := exampleGrid(7, 5)
		d.Smaller = smaller
		g, err := newSweepGrid(d)
		if err != nil {
			t.Fatal(err)
		}
		within := 0
		b := d.Cells[g.best]
		for i, c := range d.Cells {
			if c.Failed != "" {
				continue
			}
			if smaller && c.Value < b.Value || !smaller && c.Value > b.Value {
				t.Errorf("smaller %v: cell %d has %v, the best %v", smaller, i, c.Value, b.Value)
			}
			if i != g.best && c.Value >= b.Lo && c.Value <= b.Hi {
				within++
			}
		}
		if within != g.within || within == 0 {
			t.Errorf("%d values in the interval of the best, counted %d", within, g.within)
		}
		h := g.cells() // the drawing frames that cell, and has each value and failure in its place
		if h.frames[0] != [2]int{b.Y, b.X} {
			t.Errorf("framed %v, the best is column %d, row %d", h.frames[0], b.X, b.Y)
		}
		blank := len(d.XNames) * len(d.YNames)
		for _, c := range d.Cells {
			m, v := h.mark(0, c.Y, c.X), h.panels[0].Cells[c.Y][c.X]
			if m.failed != (c.Failed != "") || m.blank || !m.failed && v != c.Value {
				t.Errorf("column %d, row %d: drawn %v as %+v, want %v (%q)", c.X, c.Y, v, m, c.Value, c.Failed)
			}
			blank--
		}
		for _, m := range h.marks {
			if m.blank {
				blank--
			}
		}
		if blank != 0 {
			t.Errorf("%d cells too few are blank", blank)
		}
	}
}

// outcomesEdges are the rows of the violin, whose picture it is, and what the
// title says of them.
func outcomesEdges() []edge {
	of := func(samples ...Sample) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) {
			return Outcomes(SampleData{Value: Quantity{Name: "m"}, Samples: samples}, o)
		}
	}
	a, b := Sample{Name: "a", Values: []float64{1, 2, 3}}, Sample{Name: "b", Values: []float64{4, 4, 4}}
	return append(sampleEdges(Outcomes),
		edge{name: "the title of one", draw: of(a), says: []string{"m: median 2.00 of 3 samples"}},
		edge{name: "the title of two", draw: of(a, b), says: []string{"m: highest median 4.00 for b, lowest 2.00 for a; the seed changes nothing for b"}},
		edge{name: "equal medians", draw: of(a, Sample{Name: "c", Values: []float64{2}}), says: []string{"m: all medians are 2.00"}},
		edge{name: "one without values", draw: of(a, Sample{Name: "c"}), says: []string{"m: all medians are 2.00"}},
		edge{name: "no samples at all", draw: of(), says: []string{"m over seeds"}})
}
