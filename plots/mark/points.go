package mark

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Markers draws a symbol at each point inside the panel.
type Markers struct {
	Page   *canvas.Page
	Points []XY
	Hollow []bool // nil: none
	Symbol canvas.Symbol
	Radius vg.Length
	Colour color.RGBA
	Bare   bool // without the ring of background around each
}

// Plot implements plot.Plotter.
func (m Markers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, pt := range m.Points {
		if undefined(pt.X) || undefined(pt.Y) {
			continue
		}
		at := vg.Point{X: x(pt.X), Y: y(pt.Y)}
		if at.X < c.Min.X-hair || at.X > c.Max.X+hair || at.Y < c.Min.Y-hair || at.Y > c.Max.Y+hair {
			continue
		}
		draw := m.Page.Mark
		if m.Bare {
			draw = m.Page.Blot
		}
		draw(at, m.Symbol, m.Radius, m.Colour, i < len(m.Hollow) && m.Hollow[i])
	}
}

// Cells draws points too many for markers: the panel is divided into squares of
// the given side, and each that holds points gets one small square, larger the
// more there are (its area grows with the logarithm of their number). Where
// several series share a place, the one with fewer points lies on top.
type Cells struct {
	Page   *canvas.Page
	Series []CellSeries
	Side   vg.Length
	Most   int // number of points that fills a square; see CountCells
}

// CellSeries is the points of one series.
type CellSeries struct {
	Points []XY
	Colour color.RGBA
}

// CountCells returns how many squares of a side hold points in a panel of the
// given size and axis ranges, and the most points in one.
func CountCells(points []XY, side, width, height vg.Length, x, y canvas.Axis) (cells, most int) {
	for _, n := range cellsOf(points, side, width, height, x.Min, x.Max, y.Min, y.Max).counts {
		if n > 0 {
			cells++
			most = max(most, int(n))
		}
	}
	return cells, most
}

// cellGrid is the number of points in each square, row after row.
type cellGrid struct {
	columns, rows int
	counts        []int32
}

func cellsOf(points []XY, side, width, height vg.Length, x0, x1, y0, y1 float64) cellGrid {
	g := cellGrid{columns: int(width/side) + 1, rows: int(height/side) + 1}
	g.counts = make([]int32, g.columns*g.rows)
	sx, sy := float64(width/side)/(x1-x0), float64(height/side)/(y1-y0)
	for _, pt := range points {
		if undefined(pt.X) || undefined(pt.Y) {
			continue
		}
		i, j := int(math.Floor((pt.X-x0)*sx)), int(math.Floor((pt.Y-y0)*sy))
		if i >= 0 && i < g.columns && j >= 0 && j < g.rows {
			g.counts[j*g.columns+i]++
		}
	}
	return g
}

// Plot implements plot.Plotter.
func (l Cells) Plot(c draw.Canvas, p *plot.Plot) {
	type layer struct {
		n      int32
		colour color.RGBA
	}
	size := c.Size()
	var grids []cellGrid
	for _, series := range l.Series {
		grids = append(grids, cellsOf(series.Points, l.Side, size.X, size.Y, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max))
	}
	if len(grids) == 0 {
		return
	}
	for at := range grids[0].counts {
		var layers []layer
		for k, g := range grids {
			if g.counts[at] > 0 {
				layers = append(layers, layer{g.counts[at], l.Series[k].Colour})
			}
		}
		slices.SortStableFunc(layers, func(a, b layer) int { return int(b.n) - int(a.n) })
		middle := vg.Point{X: c.Min.X + (vg.Length(at%grids[0].columns)+0.5)*l.Side, Y: c.Min.Y + (vg.Length(at/grids[0].columns)+0.5)*l.Side}
		over := l.Side
		for _, cell := range layers {
			share := 1.0
			if l.Most > 1 {
				share = math.Log1p(float64(cell.n)) / math.Log1p(float64(l.Most))
			}
			half := min(l.Side/2*vg.Length(math.Sqrt(share)), 0.72*over) // the one below stays visible
			over = half
			r := around(middle, half)
			r.Max.X, r.Max.Y = min(r.Max.X, c.Max.X), min(r.Max.Y, c.Max.Y)
			l.Page.Fill(r, cell.colour)
		}
	}
}

// Thin returns the points of a line, by rising X, with at most four for each of
// columns stretches of [lo, hi]: the first, the lowest, the highest and the last.
// Drawn with columns about as wide as the line, the picture is the same (M4,
// Jugel et al., VLDB 2014). Gaps (NaN or infinite coordinates) stay where a whole
// stretch has no point. Lines of up to four points a column are returned as they
// are.
func Thin(points []XY, lo, hi float64, columns int) []XY {
	if len(points) <= 4*columns || columns < 1 || !(hi > lo) {
		return points
	}
	column := func(v float64) int { return min(max(int((v-lo)/(hi-lo)*float64(columns)), 0), columns-1) }
	var out []XY
	gap := false
	for i := 0; i < len(points); {
		if undefined(points[i].X) || undefined(points[i].Y) {
			gap = true
			i++
			continue
		}
		k := column(points[i].X)
		first, least, most, last := i, i, i, i
		j := i
		for ; j < len(points); j++ {
			pt := points[j]
			if undefined(pt.X) || undefined(pt.Y) {
				continue
			}
			if column(pt.X) != k {
				break
			}
			if pt.Y < points[least].Y {
				least = j
			}
			if pt.Y > points[most].Y {
				most = j
			}
			last = j
		}
		if gap && len(out) > 0 && k > column(out[len(out)-1].X)+1 {
			out = append(out, XY{math.NaN(), math.NaN()})
		}
		gap = last+1 < j // the stretch ended in a gap
		for _, at := range ordered(first, least, most, last) {
			out = append(out, points[at])
		}
		i = j
	}
	return out
}

// Steps returns the corners of a step function with the value from before the
// first point, by rising X: its value at a point holds up to the next. Gaps stay.
func Steps(points []XY, from float64) []XY {
	var out []XY
	last := from
	for _, pt := range points {
		if !undefined(pt.X) && !undefined(pt.Y) {
			out = append(out, XY{pt.X, last})
			last = pt.Y
		}
		out = append(out, pt)
	}
	return out
}

// StepSpans returns the corners of a band around such a function. It ends at the
// last point, whose own interval would be a stroke straight up.
func StepSpans(spans []Span) []Span {
	if len(spans) == 1 {
		return spans
	}
	var out []Span
	for i := range len(spans) - 1 {
		s := spans[i]
		out = append(out, s, Span{spans[i+1].At, s.Lo, s.Hi})
	}
	return out
}

// ordered returns the different numbers of four, rising.
func ordered(a, b, c, d int) []int {
	if b > c {
		b, c = c, b
	}
	out := []int{a}
	for _, v := range []int{b, c, d} {
		if v != out[len(out)-1] {
			out = append(out, v)
		}
	}
	return out
}

// ThinSpans is [Thin] for a band: one span for each stretch, from the lowest end
// to the highest.
func ThinSpans(spans []Span, lo, hi float64, columns int) []Span {
	if len(spans) <= 4*columns || columns < 1 || !(hi > lo) {
		return spans
	}
	var out []Span
	last, gap := -1, false
	for _, s := range spans {
		if undefined(s.At) || undefined(s.Lo) || undefined(s.Hi) {
			gap = true
			continue
		}
		k := min(max(int((s.At-lo)/(hi-lo)*float64(columns)), 0), columns-1)
		if k == last {
			o := &out[len(out)-1]
			o.Lo, o.Hi = min(o.Lo, s.Lo), max(o.Hi, s.Hi)
			continue
		}
		if gap && last >= 0 && k > last+1 {
			out = append(out, Span{math.NaN(), math.NaN(), math.NaN()})
		}
		out = append(out, s)
		last, gap = k, false
	}
	return out
}
