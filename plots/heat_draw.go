package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of the heat map, in points.
const (
	heatRowMost  = vg.Length(26)
	heatRowLeast = vg.Length(2)
	heatTallest  = vg.Length(300)
	scaleWidth   = vg.Length(110)
	scaleSteps   = 44
)

func (h *heat) draw(o Options) (*Figure, error) {
	title := h.data.Value.words() + " over " + h.data.X.words() + " and " + h.data.Y.words()
	p, o, err := o.sheet(heatName, panelWidth(len(h.data.Panels)), title, h.subtitle())
	if err != nil {
		return nil, err
	}
	if h.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: h.data.X.axisName(), Max: 1}, canvas.Axis{Name: h.data.Y.axisName(), Max: 1}, h.emptyWhy)
	} else {
		h.drawBody(p)
	}
	return o.finish(p, content{name: heatName, describe: h.describe(), notes: h.notes(), table: h.table, text: h.textColumns(), vega: h.vega, sketch: h.sketch}), nil
}

// amount returns the place of a value on the colour scale, 0 to 1, or with a
// centre -1 to 1.
func (h *heat) amount(v float64) float64 {
	c := canvas.Axis{Log: h.data.Value.Log}
	lo, hi := c.Coord(h.lo), c.Coord(h.hi)
	if h.data.Centre != nil {
		far := max(math.Abs(h.hi-*h.data.Centre), math.Abs(h.lo-*h.data.Centre))
		if far == 0 {
			return 0
		}
		return (v - *h.data.Centre) / far
	}
	if hi == lo {
		return 0.5
	}
	return min(max((c.Coord(v)-lo)/(hi-lo), 0), 1)
}

// amountColour returns the colour at a place of the scale of amounts, 0 to 1. It
// starts a little above the background, so that the lowest cell is still a cell.
func amountColour(th Theme, at float64) color.RGBA { return th.Sequential(0.08 + 0.92*at) }

// colour returns the colour of a value.
func (h *heat) colour(th canvas.Theme, v float64) color.RGBA {
	if !defined(v) {
		if th.Grey { // a grey would be a value
			return th.Background
		}
		return canvas.Blend(th.Muted, th.Background, 0.28)
	}
	a := h.amount(v)
	switch {
	case h.data.Centre == nil:
		return amountColour(th, a)
	case th.Grey: // two greys would be one
		return th.Sequential(0.04 + 0.96*(a+1)/2)
	case a < 0:
		return canvas.Blend(th.Series[0], th.Background, -a)
	}
	return canvas.Blend(th.Series[1], th.Background, a)
}

// drawScale draws the colours with their ends, and the centre; nothing when no
// cell has a value.
func (h *heat) drawScale(p *canvas.Page) {
	if h.lo > h.hi {
		return
	}
	const height = vg.Length(8)
	st := p.Ink(canvas.Sans, canvas.NoteSize)
	name := p.Words(h.data.Value.axisName(), p.Ink(canvas.Sans, canvas.PanelSize)).Elide(0.4 * (p.Right() - p.Left()))
	lo, hi := h.lo, h.hi
	if h.data.Centre != nil {
		far := max(math.Abs(h.hi-*h.data.Centre), math.Abs(h.lo-*h.data.Centre))
		lo, hi = *h.data.Centre-far, *h.data.Centre+far
	}
	first, last := p.Words(canvas.Significant(lo, 3), st), p.Words(canvas.Significant(hi, 3), st)
	x, y := p.Left(), p.Y()-height/2-1
	p.Put(name, vg.Point{X: x, Y: y}, canvas.Start, canvas.Centre)
	x += name.Width() + 8
	p.Put(first, vg.Point{X: x, Y: y}, canvas.Start, canvas.Centre)
	x += first.Width() + 3
	width := min(scaleWidth, p.Right()-x-last.Width()-3)
	if h.lo == h.hi && h.data.Centre == nil {
		width = 10
	}
	axis := canvas.Axis{Log: h.data.Value.Log}
	from, to := axis.Coord(lo), axis.Coord(hi)
	for i := range scaleSteps {
		t := (float64(i) + 0.5) / scaleSteps
		v := (1-t)*from + t*to
		if axis.Log {
			v = math.Pow(10, v)
		}
		left := x + width*vg.Length(i)/scaleSteps
		p.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: y - height/2}, Max: vg.Point{X: left + width/scaleSteps + 0.2, Y: y + height/2}}, h.colour(p.Theme(), v))
	}
	p.Box(vg.Rectangle{Min: vg.Point{X: x, Y: y - height/2}, Max: vg.Point{X: x + width + 0.2, Y: y + height/2}}, p.Theme().Muted, canvas.GridLine, nil)
	p.Put(last, vg.Point{X: x + width + 4, Y: y}, canvas.Start, canvas.Centre)
	p.Down(height + 8)
}

func (h *heat) drawBody(p *canvas.Page) {
	h.drawScale(p)
	h.drawPanels(p)
}

func (h *heat) drawPanels(p *canvas.Page) {
	rows, columns := len(h.rows), len(h.columns)
	pitch := max(min(heatTallest/vg.Length(rows), heatRowMost), heatRowLeast)
	g := canvas.Grid{Height: pitch * vg.Length(rows), Least: 110}
	for _, panel := range h.panels {
		title := panel.Title
		if title != "" && h.data.Facet != "" && isNumber(title) {
			title = h.data.Facet + " = " + title
		}
		g.Titles = append(g.Titles, title)
	}
	g.Y = canvas.Axis{Name: h.data.Y.axisName(), Min: -float64(rows) + 0.5, Max: 0.5, Ticks: h.rowTicks(p, pitch)}
	g.X = canvas.Axis{Name: h.data.X.axisName(), Min: -0.5, Max: float64(columns) - 0.5}
	width := (p.Right() - p.Left() - p.YAxisWidth(g.Y, g.Height)) / vg.Length(g.Columns(p, len(g.Titles)))
	each := width / vg.Length(columns)
	for j, name := range h.columns {
		if j%tickEvery(columns) != 0 {
			continue
		}
		l := p.Words(name, p.Ink(canvas.Sans, canvas.TickSize)).Elide(max(each*1.6, 40))
		g.X.Ticks = append(g.X.Ticks, canvas.Tick{At: float64(j), Label: l.Text()})
	}
	for k, panel := range p.Grid(g) {
		tiles := mark.Tiles{Page: p, Size: canvas.ValueSize}
		words := h.words(p, k, panel.Rect.Size().X/vg.Length(columns), pitch)
		for i, cells := range h.panels[k].Cells {
			for j, v := range cells {
				t := h.tile(p.Theme(), k, i, j, v)
				if words != nil {
					t.Words, t.Crossed = words[i][j], false
				}
				tiles.Tiles = append(tiles.Tiles, t)
			}
		}
		panel.Draw(tiles)
	}
}

// tile returns a cell without its words.
func (h *heat) tile(th Theme, panel, row, column int, v float64) mark.Tile {
	t := mark.Tile{X: float64(column), Y: h.rowAt(row), Width: 1, Height: 1, Fill: h.colour(th, v), Framed: h.frames[panel] == [2]int{row, column}}
	switch m := h.mark(panel, row, column); {
	case m.failed:
		t.Fill, t.Hatch, t.Edge = th.Background, th.Muted, th.Grid
	case m.blank:
		t.Fill, t.Edge = th.Background, th.Grid
	default:
		t.Crossed, t.Below = !defined(v), m.below
	}
	return t
}

// mark returns what a cell is beside its value.
func (h *heat) mark(panel, row, column int) heatMark {
	if panel > 0 {
		return heatMark{}
	}
	return h.marks[[2]int{row, column}]
}

// rowAt returns the coordinate of a row.
func (h *heat) rowAt(i int) float64 {
	if h.data.RowsUp {
		i = len(h.rows) - 1 - i
	}
	return -float64(i)
}

// rowTicks are the names of the rows from the lowest.
func (h *heat) rowTicks(p *canvas.Page, pitch vg.Length) []canvas.Tick {
	names := make([]string, len(h.rows))
	for i, n := range h.rows {
		names[int(-h.rowAt(i))] = n
	}
	var ticks []canvas.Tick
	for _, t := range rowTicks(p, names, pitch) {
		if int(-t.At)%tickEvery(len(names)) == 0 {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// tickEvery returns which of n names have a tick: every one of few, about
// sixteen of many.
func tickEvery(n int) int {
	if n <= 32 {
		return 1
	}
	return (n + 15) / 16
}

// words returns the texts of all cells when each value fits into its own, else
// nil.
func (h *heat) words(p *canvas.Page, panel int, width, height vg.Length) [][]string {
	if height < canvas.ValueSize+2 || width < 9 {
		return nil
	}
	fit := func(text string) bool {
		return p.Words(text, p.Ink(canvas.Sans, canvas.ValueSize)).Width() <= width-3
	}
	cells := h.panels[panel].Cells
	out := make([][]string, len(cells))
	for digits := 3; digits >= 2; digits-- {
		fits := true
		for i, row := range cells {
			out[i] = make([]string, len(row))
			for j, v := range row {
				text, value := h.cellWords(panel, i, j, v, digits)
				if fit(text) {
					out[i][j] = text
				} else {
					fits = fits && !value
				}
			}
		}
		if fits {
			return out
		}
	}
	return nil
}

// cellWords returns the text of a cell, and whether it tells a value or that
// there is none, which has to be read.
func (h *heat) cellWords(panel, row, column int, v float64, digits int) (text string, value bool) {
	switch m := h.mark(panel, row, column); {
	case m.failed:
		return "failed", false
	case m.blank:
		return "", false
	case defined(v):
		return canvas.Significant(v, digits), true
	}
	return "n/a", true
}
