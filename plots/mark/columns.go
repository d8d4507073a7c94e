package mark

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Columns draws the upright bars of a histogram, which start at zero: one fewer
// than edges. Heights that are not above zero draw nothing.
type Columns struct {
	Page    *canvas.Page
	Edges   []float64
	Heights []float64
	Fill    color.RGBA
	Outline color.RGBA // the zero colour draws none
}

// Plot implements plot.Plotter.
func (b Columns) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, h := range b.Heights {
		if !(h > 0) {
			continue
		}
		r := vg.Rectangle{Min: vg.Point{X: max(x(b.Edges[i]), c.Min.X), Y: y(0)}, Max: vg.Point{X: min(x(b.Edges[i+1]), c.Max.X), Y: min(y(h), c.Max.Y)}}
		if r.Size().X > 3 { // a gap between neighbours
			r.Min.X, r.Max.X = r.Min.X+0.3, r.Max.X-0.3
		}
		b.Page.Fill(r, b.Fill)
		if b.Outline != (color.RGBA{}) {
			b.Page.Box(r, b.Outline, canvas.GridLine, nil)
		}
	}
}

// Row is one horizontal row of a chart of distributions.
type Row struct {
	At     float64   // y coordinate of its middle
	Shape  []XY      // outline of one half: X and the half-width at it, 0 to 1; nil: none
	Points []float64 // X of points drawn one by one
	Box    [2]float64
	Median float64 // NaN: no box and no median
}

// Violins draws rows of violins: the shape mirrored about the row, a box between
// the quartiles and a dot at the median; or points, shifted a little up and down
// in turn so that neighbours do not hide each other.
type Violins struct {
	Page   *canvas.Page
	Rows   []Row
	Half   float64 // largest half-width of a shape, in y units
	Fill   color.RGBA
	Line   color.RGBA
	Radius vg.Length
}

// Plot implements plot.Plotter.
func (v Violins) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, r := range v.Rows {
		if len(r.Shape) > 1 {
			var top, bottom []vg.Point
			for _, s := range r.Shape {
				top = append(top, vg.Point{X: x(s.X), Y: y(r.At + v.Half*s.Y)})
				bottom = append(bottom, vg.Point{X: x(s.X), Y: y(r.At - v.Half*s.Y)})
			}
			outline := top
			for i := len(bottom) - 1; i >= 0; i-- {
				outline = append(outline, bottom[i])
			}
			v.Page.Shape(v.Fill, outline...)
			v.Page.Line(v.Line, canvas.GridLine, nil, append(outline, outline[0])...)
		}
		for i, at := range r.Points {
			shift := []float64{0, 0.45, -0.45, 0.22, -0.22}[i%5]
			v.Page.Blot(vg.Point{X: x(at), Y: y(r.At + shift*v.Half)}, canvas.Disc, v.Radius, v.Line, false)
		}
		if undefined(r.Median) {
			continue
		}
		if len(r.Shape) > 1 {
			v.Page.Line(v.Line, 3, nil, vg.Point{X: x(r.Box[0]), Y: y(r.At)}, vg.Point{X: x(r.Box[1]), Y: y(r.At)})
			v.Page.Mark(vg.Point{X: x(r.Median), Y: y(r.At)}, canvas.Disc, v.Radius*1.2, v.Line, true)
			continue
		}
		at := x(r.Median)
		v.Page.Line(v.Page.Theme().Ink, canvas.SeriesLine, nil, vg.Point{X: at, Y: y(r.At - v.Half)}, vg.Point{X: at, Y: y(r.At + v.Half)})
	}
}
