package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
	"lab/plots/vega"
)

// The question: which pair of settings is best, and is it clearly so?

const gridName = "grid"

// GridData is one measure over two settings of a sweep. The slices are not kept.
type GridData struct {
	X, Y     Quantity // the settings; Log is not used, every value has its column
	Value    Quantity // the measure
	XNames   []string // the values of X, in their order
	YNames   []string // the values of Y, from the bottom
	Cells    []GridCell
	Smaller  bool   // the smallest value is best
	Interval string // what Lo to Hi is; "": "interval"
}

// GridCell is one pair of settings.
type GridCell struct {
	X, Y   int     // indices into the names
	Value  float64 // NaN: undefined
	Lo, Hi float64 // NaN: not known
	Failed string  // why there is no value; "" did not fail
}

const (
	gridWidth     = 5.2
	gridCellsMost = 2000 // larger files than 500 kB beyond
)

// settingsGrid is the figure's content, ready to be drawn.
type settingsGrid struct {
	data      GridData
	at        [][]int // cell of a column and row, -1 for none
	best      int     // -1 for none
	ties      int     // other cells with the best value
	within    int     // other cells whose value lies in the best one's interval
	lo, hi    float64 // of the values
	values    int
	undefined int
	failed    []int
	missing   int
}

// SweepGrid draws a measure over two settings as cells coloured by it, with the
// value in each cell while it fits. The best cell is framed and has its interval;
// ties take the first in the order of the cells. Cells that failed are hatched
// and named below, cells without a value are grey.
//
// The interval of the best cell is its own: choosing the best of many favours
// lucky cells, and the picture says of how many it was chosen.
//
// Errors: fault.Usage for more than 2,000 cells and options; fault.Data for
// indices outside the names, a cell given twice and an interval upside down. NaN
// and infinite values are grey and counted; without a value the picture says so.
func SweepGrid(d GridData, o Options) (fig *Figure, err error) {
	defer guard(gridName, &err)
	g, err := newSweepGrid(d)
	if err != nil {
		return nil, err
	}
	cells := g.cells()
	s := sheet{name: gridName, width: gridWidth, title: g.finding(), subtitle: g.subtitle(), x: d.X.words(), y: d.Y.words(),
		body: cells.drawBody, notes: g.notes, describe: g.describe, table: g.table,
		text: []string{g.table().Header[0], g.table().Header[1], "failed"}, vega: func(v *view) { cells.vega(v); g.failedElsewhere(v) }, sketch: cells.sketch}
	if g.values == 0 && len(g.failed) == 0 {
		s.emptyWhy = "no cells"
		if len(d.Cells) > 0 {
			s.emptyWhy = "all " + plural(len(d.Cells), "value") + " undefined"
		}
	}
	return s.draw(o)
}

func newSweepGrid(d GridData) (*settingsGrid, error) {
	const op = "figure " + gridName
	if len(d.XNames)*len(d.YNames) > gridCellsMost || len(d.XNames) > gridCellsMost || len(d.YNames) > gridCellsMost {
		return nil, fault.New(fault.Usage, op, "cells", "%d times %d values are more than %d cells", len(d.XNames), len(d.YNames), gridCellsMost).
			Fix("draw a part of the grid, or lines with line")
	}
	d.Cells, d.XNames, d.YNames = slices.Clone(d.Cells), slices.Clone(d.XNames), slices.Clone(d.YNames)
	g := &settingsGrid{data: d, best: -1, lo: math.Inf(1), hi: math.Inf(-1), missing: len(d.XNames) * len(d.YNames)}
	g.at = make([][]int, len(d.XNames))
	for i := range g.at {
		g.at[i] = slices.Repeat([]int{-1}, len(d.YNames))
	}
	for i, c := range d.Cells {
		where := fmt.Sprintf("cell %d", i)
		if c.X < 0 || c.X >= len(d.XNames) || c.Y < 0 || c.Y >= len(d.YNames) {
			return nil, badNumber(gridName, where, "column %d, row %d is outside a grid of %d times %d", c.X, c.Y, len(d.XNames), len(d.YNames))
		}
		if g.at[c.X][c.Y] >= 0 {
			return nil, badNumber(gridName, where, "%s has a cell already", g.place(c)).
				Fix("fix the other settings, or average over them")
		}
		if c.Lo > c.Hi {
			return nil, badNumber(gridName, where, "the interval runs from %v down to %v", c.Lo, c.Hi)
		}
		g.at[c.X][c.Y] = i
		g.missing--
		switch {
		case c.Failed != "":
			g.failed = append(g.failed, i)
			continue
		case !defined(c.Value):
			g.undefined++
			continue
		}
		g.values++
		g.lo, g.hi = min(g.lo, c.Value), max(g.hi, c.Value)
		if g.best < 0 || g.better(c.Value, d.Cells[g.best].Value) {
			g.best = i
		}
	}
	for i, c := range d.Cells {
		if i == g.best || c.Failed != "" || !defined(c.Value) {
			continue
		}
		b := d.Cells[g.best]
		if c.Value == b.Value {
			g.ties++
		}
		if c.Value >= b.Lo && c.Value <= b.Hi {
			g.within++
		}
	}
	return g, nil
}

// failedElsewhere writes into the cells that failed, which have no colour.
func (g *settingsGrid) failedElsewhere(v *view) {
	var reasons []string
	for _, i := range g.failed {
		reasons = append(reasons, canvas.Clean(g.data.Cells[i].Failed))
	}
	if reasons == nil {
		return
	}
	failed := v.fields[len(v.fields)-1]
	e := &vega.Encoding{X: v.spec.Layer[0].Encoding.X, Y: v.spec.Layer[0].Encoding.Y, Text: &vega.Channel{Value: "failed"}}
	v.spec.Layer = append(v.spec.Layer, vega.Spec{Transform: []vega.Transform{{Filter: &vega.Filter{Field: failed, OneOf: unique(reasons)}}},
		Mark: &vega.Mark{Type: "text", Color: css(v.theme.Muted), Tooltip: vega.AllFields()}, Encoding: e})
}

// cells returns the drawing: a heat map of one panel.
func (g *settingsGrid) cells() *heat {
	d := g.data
	d.Value.Log = false // colours are by the value itself
	h := &heat{spell: canvas.Clean, data: HeatData{Value: d.Value, X: d.X, Y: d.Y, Columns: d.XNames, Rows: d.YNames, RowsUp: true},
		columns: d.XNames, rows: d.YNames, block: [2]int{1, 1}, lo: g.lo, hi: g.hi, frames: [][2]int{{-1, -1}}, marks: map[[2]int]heatMark{}}
	panel := HeatPanel{Cells: make([][]float64, len(d.YNames))}
	for y := range d.YNames {
		panel.Cells[y] = make([]float64, len(d.XNames))
		for x := range d.XNames {
			i := g.at[x][y]
			if i < 0 {
				panel.Cells[y][x], h.marks[[2]int{y, x}] = math.NaN(), heatMark{blank: true}
				continue
			}
			c, m := d.Cells[i], heatMark{failed: d.Cells[i].Failed != ""}
			if panel.Cells[y][x] = c.Value; m.failed {
				panel.Cells[y][x] = math.NaN()
			}
			if i == g.best && g.lo < g.hi {
				h.frames[0] = [2]int{y, x}
				if defined(c.Lo) && defined(c.Hi) {
					m.below = intervalWords(c)
				}
			}
			h.marks[[2]int{y, x}] = m
		}
	}
	h.data.Panels, h.panels = []HeatPanel{panel}, []HeatPanel{panel}
	return h
}

func (g *settingsGrid) better(a, b float64) bool {
	return a > b && !g.data.Smaller || a < b && g.data.Smaller
}

// place names the settings of a cell.
func (g *settingsGrid) place(c GridCell) string {
	setting := func(q Quantity, name string) string {
		return shortened(q.Name, nameLimit) + " " + shortened(name, nameLimit)
	}
	return setting(g.data.X, g.data.XNames[c.X]) + ", " + setting(g.data.Y, g.data.YNames[c.Y])
}

// valueWords writes a value with its interval, when it has one.
func (g *settingsGrid) valueWords(c GridCell) string {
	text := canvas.Digits(c.Value, 3)
	if g.data.Value.Unit != "" {
		text += " " + g.data.Value.Unit
	}
	if defined(c.Lo) && defined(c.Hi) {
		text += " " + intervalWords(c)
	}
	return text
}

func intervalWords(c GridCell) string {
	return "[" + canvas.Digits(c.Lo, 3) + ", " + canvas.Digits(c.Hi, 3) + "]"
}

func (g *settingsGrid) finding() string {
	name := g.data.Value.words()
	switch {
	case g.best < 0:
		return fmt.Sprintf("%s over %s and %s", name, g.data.X.words(), g.data.Y.words())
	case g.lo == g.hi:
		return fmt.Sprintf("%s is %s in every cell", name, canvas.Significant(g.lo, 3))
	}
	way := "highest"
	if g.data.Smaller {
		way = "lowest"
	}
	b := g.data.Cells[g.best]
	return fmt.Sprintf("%s is %s at %s: %s", name, way, g.place(b), g.valueWords(b))
}

func (g *settingsGrid) subtitle() string {
	text := plural(len(g.data.Cells), "cell")
	if g.best < 0 || g.lo == g.hi {
		return text + "."
	}
	b := g.data.Cells[g.best]
	text = fmt.Sprintf("Framed: the best of %s", plural(g.values, "cell"))
	if defined(b.Lo) && defined(b.Hi) {
		interval := g.data.Interval
		if interval == "" {
			interval = "interval"
		}
		text += fmt.Sprintf(", with its %s, not corrected for the choice; %s %s in it", interval, plural(g.within, "other value"), verb(g.within, "lies", "lie"))
	}
	if g.ties > 0 {
		text += fmt.Sprintf("; %s %s equal", plural(g.ties, "other"), verb(g.ties, "is", "are"))
	}
	return text + "."
}

// mostFailures is how many failed cells the picture names.
const mostFailures = 4

func (g *settingsGrid) notes() []string {
	var notes []string
	for k, i := range g.failed {
		if k == mostFailures {
			notes = append(notes, fmt.Sprintf("And %s more failed, in the table.", canvas.Count(len(g.failed)-k)))
			break
		}
		c := g.data.Cells[i]
		notes = append(notes, fmt.Sprintf("Hatched: %s failed: %s", g.place(c), shortened(c.Failed, 120)))
	}
	if g.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s undefined (n/a).", canvas.Count(g.undefined), plural(len(g.data.Cells), "value")+" "+verb(g.undefined, "is", "are")))
	}
	if g.missing > 0 && len(g.data.Cells) > 0 {
		notes = append(notes, fmt.Sprintf("%s of settings %s not run: blank.", plural(g.missing, "pair"), verb(g.missing, "was", "were")))
	}
	return notes
}

func (g *settingsGrid) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cells of %s over %s and %s", g.data.Value.words(), g.data.X.words(), g.data.Y.words())
	if len(g.data.Cells) == 0 {
		return b.String() + ": no data (no cells)."
	}
	b.WriteString(". ")
	if g.values > 0 {
		fmt.Fprintf(&b, "Values from %s to %s. ", canvas.Significant(g.lo, 3), canvas.Significant(g.hi, 3))
	}
	if g.best >= 0 {
		fmt.Fprintf(&b, "Best: %s with %s. ", g.place(g.data.Cells[g.best]), g.valueWords(g.data.Cells[g.best]))
	}
	for i, c := range g.data.Cells {
		if i == 40 { // spelt out
			fmt.Fprintf(&b, "And %s more, in the table. ", plural(len(g.data.Cells)-i, "cell"))
			break
		}
		if c.Failed == "" {
			fmt.Fprintf(&b, "%s: %s. ", g.place(c), canvas.Significant(c.Value, 3))
		}
	}
	b.WriteString(strings.Join(g.notes(), " "))
	return strings.TrimSpace(b.String())
}

func (g *settingsGrid) table() Table {
	x := columnName(g.data.X.Name, "x", nil)
	y := columnName(g.data.Y.Name, "y", []string{x})
	v := columnName(g.data.Value.Name, "value", []string{x, y, "failed"})
	out := Table{Header: []string{x, y, v, v + "_lo", v + "_hi", "failed"}}
	for _, c := range g.data.Cells {
		out.Rows = append(out.Rows, []string{canvas.Clean(g.data.XNames[c.X]), canvas.Clean(g.data.YNames[c.Y]),
			number(c.Value), number(c.Lo), number(c.Hi), canvas.Clean(c.Failed)})
	}
	return out
}
