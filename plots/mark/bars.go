package mark

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Bar is one horizontal bar, which starts at zero, and the outline of what it is
// compared with.
type Bar struct {
	At    float64 // y coordinate of its middle
	Value float64 // length of the filled bar; 0 draws none
	Ghost float64 // length of the outline; 0 draws none
	Gone  bool    // the outline is dashed: what it stands for was removed
	End   string  // words at the end of the longer of the two
	Quiet bool    // the words are muted
}

// Bars draws horizontal bars. A bar longer than the axis is cut at its end with
// a zigzag; its End must then state the length. Coordinates are those of the
// panel; NaN lengths draw nothing.
type Bars struct {
	Page    *canvas.Page
	Bars    []Bar
	Fill    color.RGBA
	Outline color.RGBA
	Thick   float64   // of a filled bar, in y units
	Frame   float64   // thickness of the outline's box, in y units
	Room    vg.Length // kept free for words at the right end of the axis
}

// hair is below what can be seen, above what rounding does to a position.
const hair = vg.Length(0.01)

// Plot implements plot.Plotter.
func (b Bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	limit := c.Max.X - b.Room
	for _, bar := range b.Bars {
		end := x(0)
		if bar.Value > 0 {
			r := vg.Rectangle{
				Min: vg.Point{X: x(0), Y: y(bar.At - b.Thick/2)},
				Max: vg.Point{X: min(x(bar.Value), limit), Y: y(bar.At + b.Thick/2)},
			}
			b.Page.Fill(r, b.Fill)
			if x(bar.Value) > limit+hair {
				b.zigzag(r)
			}
			end = max(end, r.Max.X)
		}
		if bar.Ghost > 0 {
			end = max(end, b.ghost(bar, x, y, limit))
		}
		if bar.End != "" {
			st := b.Page.Ink(canvas.Sans, canvas.ValueSize)
			if bar.Quiet {
				st = b.Page.Muted(canvas.Sans, canvas.ValueSize)
			}
			b.Page.PutClear(b.Page.Words(bar.End, st), vg.Point{X: end + 2.5, Y: y(bar.At)}, canvas.Start)
		}
	}
}

// ghost draws the outline of a bar and returns its right end. It has no left
// side: the axis is there.
func (b Bars) ghost(bar Bar, x, y func(float64) vg.Length, limit vg.Length) vg.Length {
	var dash []vg.Length
	if bar.Gone {
		dash = []vg.Length{2, 1.5}
	}
	right := min(x(bar.Ghost), limit)
	lo, hi := y(bar.At-b.Frame/2), y(bar.At+b.Frame/2)
	points := []vg.Point{{X: x(0), Y: hi}, {X: right, Y: hi}, {X: right, Y: lo}, {X: x(0), Y: lo}}
	if x(bar.Ghost) > limit+hair { // open at the end: it goes on
		b.Page.Line(b.Outline, canvas.GhostLine, dash, points[:2]...)
		b.Page.Line(b.Outline, canvas.GhostLine, dash, points[2:]...)
		return right
	}
	b.Page.Line(b.Outline, canvas.GhostLine, dash, points...)
	return right
}

// zigzag cuts a gap in the background colour across a bar near its end.
func (b Bars) zigzag(r vg.Rectangle) {
	const width, back = vg.Length(2), vg.Length(7)
	h := r.Max.Y - r.Min.Y
	if r.Max.X-back < r.Min.X {
		return
	}
	x := r.Max.X - back
	for _, off := range []vg.Length{0, 4} {
		b.Page.Line(b.Page.Theme().Background, width, nil,
			vg.Point{X: x + off - 1.5, Y: r.Min.Y - 0.3*h}, vg.Point{X: x + off + 1.5, Y: r.Max.Y + 0.3*h})
	}
}

// Lollipops draws a stem from zero and a dot for each value, an open dot for
// zero, and only the words for NaN.
type Lollipops struct {
	Page   *canvas.Page
	Values []Bar // Value is drawn; Ghost and Gone are not
	Colour color.RGBA
}

// Plot implements plot.Plotter.
func (l Lollipops) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const radius = 2.8
	for _, v := range l.Values {
		to := vg.Point{X: x(0), Y: y(v.At)}
		if v.Value >= 0 {
			to.X = x(v.Value)
			l.Page.Line(l.Colour, canvas.SeriesLine, nil, vg.Point{X: x(0), Y: to.Y}, to)
			l.Page.Dot(to, radius, l.Colour, v.Value == 0)
		}
		if v.End != "" {
			l.Page.PutClear(l.Page.Words(v.End, l.Page.Ink(canvas.Sans, canvas.ValueSize)),
				vg.Point{X: to.X + radius + 3.5, Y: to.Y}, canvas.Start)
		}
	}
}
