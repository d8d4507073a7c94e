package mark

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Block is a filled rectangle in panel coordinates: a part of a stacked bar, a
// cell of a map, a region.
type Block struct {
	X0, X1, Y0, Y1 float64
	Fill           color.RGBA // the zero colour: only the hatching
	Hatch          color.RGBA // of lines across it; the zero colour draws none
	Words          string     // in its middle, left out where they do not fit
	Edge           bool       // an outline in ink
	Aside          bool       // words at its left end, where something stands in the middle
}

// Blocks draws rectangles, cut at the edge of the panel. Those with an undefined
// coordinate are not drawn.
type Blocks struct {
	Page   *canvas.Page
	Blocks []Block
	Gap    vg.Length // of background between neighbours, in points
}

// Plot implements plot.Plotter.
func (b Blocks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, k := range b.Blocks {
		if undefined(k.X0) || undefined(k.X1) || undefined(k.Y0) || undefined(k.Y1) {
			continue
		}
		x0, x1 := x(min(k.X0, k.X1)), x(max(k.X0, k.X1))
		y0, y1 := y(min(k.Y0, k.Y1)), y(max(k.Y0, k.Y1))
		r := vg.Rectangle{Min: vg.Point{X: max(x0, c.Min.X), Y: max(y0, c.Min.Y)}, Max: vg.Point{X: min(x1, c.Max.X), Y: min(y1, c.Max.Y)}}
		if r.Size().X > 4*b.Gap {
			r.Max.X -= b.Gap
		}
		if r.Size().Y > 4*b.Gap {
			r.Max.Y -= b.Gap
		}
		if !(r.Size().X > 0 && r.Size().Y > 0) {
			continue
		}
		if k.Fill != (color.RGBA{}) {
			b.Page.Fill(r, k.Fill)
		}
		if k.Hatch != (color.RGBA{}) {
			hatch(b.Page, r, k.Hatch)
		}
		if k.Edge {
			b.Page.Box(r, b.Page.Theme().Ink, canvas.AxisLine, nil)
		}
		b.words(k, r)
	}
}

// words writes the words of a block into it, on its own colour, which hatching
// would make unreadable.
func (b Blocks) words(k Block, r vg.Rectangle) {
	if k.Words == "" {
		return
	}
	fill, style := k.Fill, b.Page.Ink(canvas.Sans, canvas.ValueSize)
	if fill == (color.RGBA{}) {
		fill = b.Page.Theme().Background
	}
	style.Colour = b.Page.Theme().TextOn(fill)
	l := b.Page.Words(k.Words, style)
	half := vg.Length(canvas.ValueSize) * 0.55
	if l.Width()+3 > r.Size().X || 2*half > r.Size().Y {
		return
	}
	at := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	if k.Aside {
		at.X = r.Min.X + 3 + l.Width()/2
	}
	if k.Hatch != (color.RGBA{}) {
		b.Page.Fill(vg.Rectangle{Min: vg.Point{X: at.X - l.Width()/2 - 1, Y: at.Y - half}, Max: vg.Point{X: at.X + l.Width()/2 + 1, Y: at.Y + half}}, fill)
	}
	b.Page.Put(l, at, canvas.Middle, canvas.Centre)
}

// hatchPitch is the distance of hatching lines along x.
const hatchPitch = vg.Length(4.5)

// hatch draws lines rising to the right across a rectangle: x − y = k pitch, so
// that neighbours continue each other.
func hatch(p *canvas.Page, r vg.Rectangle, c color.RGBA) {
	first := int(math.Ceil(float64((r.Min.X - r.Max.Y) / hatchPitch)))
	last := int(math.Floor(float64((r.Max.X - r.Min.Y) / hatchPitch)))
	for k := first; k <= last; k++ {
		off := vg.Length(k) * hatchPitch // x − y of the line
		from, to := max(r.Min.X, r.Min.Y+off), min(r.Max.X, r.Max.Y+off)
		if to > from {
			p.Line(c, canvas.AxisLine, nil, vg.Point{X: from, Y: from - off}, vg.Point{X: to, Y: to - off})
		}
	}
}

// HatchKey draws the sample of a hatched region for a legend.
func HatchKey(p *canvas.Page, r vg.Rectangle, fill, line color.RGBA) {
	if fill != (color.RGBA{}) {
		p.Fill(r, fill)
	}
	hatch(p, r, line)
}
