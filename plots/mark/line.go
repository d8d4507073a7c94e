package mark

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// XY is a point in panel coordinates.
type XY struct{ X, Y float64 }

// Curve is a line through points. It is broken where a coordinate is NaN or
// infinite; a point alone between two breaks is drawn as a dot, so nothing
// vanishes.
type Curve struct {
	Page   *canvas.Page
	Points []XY
	Colour color.RGBA
	Width  vg.Length
	Dash   []vg.Length
}

// Plot implements plot.Plotter.
func (l Curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var run []vg.Point
	flush := func() {
		switch len(run) {
		case 0:
		case 1:
			l.Page.Dot(run[0], 1.8, l.Colour, false)
		default:
			for _, piece := range c.ClipLinesXY(run) {
				l.Page.Line(l.Colour, l.Width, l.Dash, piece...)
			}
		}
		run = nil
	}
	for _, pt := range l.Points {
		if undefined(pt.X) || undefined(pt.Y) {
			flush()
			continue
		}
		run = append(run, vg.Point{X: x(pt.X), Y: y(pt.Y)})
	}
	flush()
}

func undefined(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// Dots draws a dot at each point.
type Dots struct {
	Page   *canvas.Page
	Points []XY
	Colour color.RGBA
	Radius vg.Length
}

// Plot implements plot.Plotter.
func (d Dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, pt := range d.Points {
		if !undefined(pt.X) && !undefined(pt.Y) {
			d.Page.Dot(vg.Point{X: x(pt.X), Y: y(pt.Y)}, d.Radius, d.Colour, false)
		}
	}
}

// Level is a dashed horizontal reference line across the panel.
type Level struct {
	Page   *canvas.Page
	Y      float64
	Colour color.RGBA
}

// Plot implements plot.Plotter.
func (l Level) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	at := y(l.Y)
	l.Page.Line(l.Colour, canvas.RefLine, []vg.Length{5, 2}, vg.Point{X: c.Min.X, Y: at}, vg.Point{X: c.Max.X, Y: at})
}

// LogGrid returns indices 0..n-1 spread evenly over the logarithm of the rank
// (index + 1), at most most of them, first and last included, each once and in
// order. A curve over ranks drawn at these looks the same as with every rank.
func LogGrid(n, most int) []int {
	if n <= 0 {
		return nil
	}
	if n <= most || most < 2 {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	var out []int
	top := math.Log(float64(n))
	for i := range most {
		at := int(math.Round(math.Exp(top*float64(i)/float64(most-1)))) - 1
		at = min(max(at, 0), n-1)
		if len(out) == 0 || at > out[len(out)-1] {
			out = append(out, at)
		}
	}
	return out
}
