package mark

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Span is an interval of y, or of x, at a point in panel coordinates.
type Span struct{ At, Lo, Hi float64 }

// Band fills the area between Lo and Hi along x with an opaque colour, blended
// beforehand. It is broken where an end is NaN or infinite; a span alone between
// two breaks becomes a narrow bar, so nothing vanishes. Parts outside the panel
// are cut at its edge. An edge line keeps a band visible below another one.
type Band struct {
	Page  *canvas.Page
	Spans []Span // by rising At
	Fill  color.RGBA
	Edge  color.RGBA // of the outline; the zero colour draws none
}

// Plot implements plot.Plotter.
func (b Band) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	within := func(v float64) vg.Length { return min(max(y(v), c.Min.Y), c.Max.Y) }
	var top, bottom []vg.Point
	flush := func() {
		switch {
		case len(top) == 1:
			const half = vg.Length(2)
			b.Page.Fill(vg.Rectangle{Min: vg.Point{X: top[0].X - half, Y: bottom[0].Y}, Max: vg.Point{X: top[0].X + half, Y: top[0].Y}}, b.Fill)
		case len(top) > 1 && b.Edge == (color.RGBA{}):
			outline := append([]vg.Point(nil), top...)
			for i := len(bottom) - 1; i >= 0; i-- {
				outline = append(outline, bottom[i])
			}
			b.Page.Shape(b.Fill, outline...)
		case len(top) > 1:
			b.Page.Line(b.Edge, canvas.GridLine, nil, top...)
			b.Page.Line(b.Edge, canvas.GridLine, nil, bottom...)
		}
		top, bottom = nil, nil
	}
	for _, s := range b.Spans {
		if undefined(s.At) || undefined(s.Lo) || undefined(s.Hi) {
			flush()
			continue
		}
		at := min(max(x(s.At), c.Min.X), c.Max.X)
		top = append(top, vg.Point{X: at, Y: within(s.Hi)})
		bottom = append(bottom, vg.Point{X: at, Y: within(s.Lo)})
	}
	flush()
}

// Whiskers draws intervals as lines with caps: of y at x, or with Across of x at
// y. Ends outside the panel are cut at its edge, without a cap there. NaN ends
// draw nothing.
type Whiskers struct {
	Page   *canvas.Page
	Points []XY
	Spans  []Span // Lo and Hi for each point; At is not used
	Across bool
	Colour color.RGBA
}

// Plot implements plot.Plotter.
func (w Whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	const cap = vg.Length(2)
	x, y := p.Transforms(&c)
	for i, pt := range w.Points {
		s := w.Spans[i]
		if undefined(pt.X) || undefined(pt.Y) || undefined(s.Lo) || undefined(s.Hi) {
			continue
		}
		at, from, to, lo, hi := x(pt.X), y(s.Lo), y(s.Hi), c.Min.Y, c.Max.Y
		if w.Across {
			at, from, to, lo, hi = y(pt.Y), x(s.Lo), x(s.Hi), c.Min.X, c.Max.X
		}
		turn := func(along, across vg.Length) vg.Point {
			if w.Across {
				return vg.Point{X: along, Y: across}
			}
			return vg.Point{X: across, Y: along}
		}
		from, to = max(from, lo), min(to, hi)
		w.Page.Line(w.Colour, canvas.AxisLine*1.5, nil, turn(from, at), turn(to, at))
		for _, end := range []vg.Length{from, to} {
			if end > lo+hair && end < hi-hair {
				w.Page.Line(w.Colour, canvas.AxisLine*1.5, nil, turn(end, at-cap), turn(end, at+cap))
			}
		}
	}
}
