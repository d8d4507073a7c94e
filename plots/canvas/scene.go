package canvas

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// A shape is one thing drawn: a path that is filled or stroked, or a label.
// Coordinates are absolute page coordinates; every transform is already in
// them.
type shape struct {
	path   vg.Path // move, line, cubic and close only
	colour color.RGBA
	width  vg.Length // above zero: stroke, else fill
	dash   []vg.Length

	label *Label // nil for a path
	at    vg.Point
}

// scene is a list of shapes, and the vg.Canvas that gonum's plotters draw on.
type scene struct {
	fonts  *fonts
	shapes []shape
	state  state
	stack  []state
}

// state is what Push saves. The transform maps (x, y) to
// (a·x + c·y + e, b·x + d·y + f).
type state struct {
	a, b, c, d, e, f float64
	colour           color.RGBA
	width            vg.Length
	dash             []vg.Length
}

var _ vg.Canvas = (*scene)(nil)

func newScene(f *fonts) *scene {
	return &scene{fonts: f, state: state{a: 1, d: 1, width: 1, colour: color.RGBA{A: 0xff}}}
}

func (s *scene) SetLineWidth(w vg.Length) { s.state.width = w }

func (s *scene) SetLineDash(pattern []vg.Length, _ vg.Length) {
	s.state.dash = append([]vg.Length(nil), pattern...)
}

// SetColor takes a colour without its transparency; marks blend beforehand.
func (s *scene) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	s.state.colour = color.RGBA{R: n.R, G: n.G, B: n.B, A: 0xff}
}

func (s *scene) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	s.transform(cos, sin, -sin, cos, 0, 0)
}

func (s *scene) Translate(p vg.Point) { s.transform(1, 0, 0, 1, float64(p.X), float64(p.Y)) }

func (s *scene) Scale(x, y float64) { s.transform(x, 0, 0, y, 0, 0) }

func (s *scene) transform(a, b, c, d, e, f float64) {
	t := s.state
	s.state.a, s.state.b = t.a*a+t.c*b, t.b*a+t.d*b
	s.state.c, s.state.d = t.a*c+t.c*d, t.b*c+t.d*d
	s.state.e, s.state.f = t.a*e+t.c*f+t.e, t.b*e+t.d*f+t.f
}

func (s *scene) Push() { s.stack = append(s.stack, s.state) }

func (s *scene) Pop() {
	if n := len(s.stack); n > 0 {
		s.state, s.stack = s.stack[n-1], s.stack[:n-1]
	}
}

func (s *scene) Stroke(p vg.Path) {
	if !(s.state.width > 0) || len(p) == 0 {
		return
	}
	s.shapes = append(s.shapes, shape{path: s.flatten(p), colour: s.state.colour, width: s.state.width, dash: s.state.dash})
}

func (s *scene) Fill(p vg.Path) {
	if len(p) == 0 {
		return
	}
	s.shapes = append(s.shapes, shape{path: s.flatten(p), colour: s.state.colour})
}

// FillString draws the text of a library plotter with the page's own faces:
// bold and monospaced text keep their kind, everything else becomes sans.
func (s *scene) FillString(f font.Face, at vg.Point, text string) {
	family := Sans
	switch {
	case f.Font.Variant == "Mono":
		family = Mono
	case f.Font.Weight > 0:
		family = Bold
	}
	l := s.fonts.newLabel(split(text, false), TextStyle{Family: family, Size: float64(f.Font.Size), Colour: s.state.colour})
	s.text(l, s.point(at))
}

// DrawImage is part of vg.Canvas; no figure draws pixels yet, and a picture
// that silently lost them would be wrong.
func (s *scene) DrawImage(vg.Rectangle, image.Image) {
	panic("canvas: pictures inside a page are not supported")
}

// text adds a label whose baseline starts at the given point.
func (s *scene) text(l Label, at vg.Point) {
	if len(l.glyphs) == 0 {
		return
	}
	s.shapes = append(s.shapes, shape{label: &l, at: at, colour: l.style.Colour})
}

func (s *scene) point(p vg.Point) vg.Point {
	x, y := float64(p.X), float64(p.Y)
	return vg.Point{
		X: vg.Length(s.state.a*x + s.state.c*y + s.state.e),
		Y: vg.Length(s.state.b*x + s.state.d*y + s.state.f),
	}
}

// flatten returns p in page coordinates, with arcs and quadratic curves written
// as cubic ones: the library's PDF writer draws a quadratic as another curve.
func (s *scene) flatten(p vg.Path) vg.Path {
	out := make(vg.Path, 0, len(p))
	var last, start vg.Point
	for _, comp := range p {
		to := s.point(comp.Pos)
		switch comp.Type {
		case vg.MoveComp:
			out.Move(to)
			start = to
		case vg.LineComp:
			out.Line(to)
		case vg.CurveComp:
			switch len(comp.Control) {
			case 1:
				c1, c2 := raise(last, s.point(comp.Control[0]), to)
				out.CubeTo(c1, c2, to)
			case 2:
				out.CubeTo(s.point(comp.Control[0]), s.point(comp.Control[1]), to)
			}
		case vg.ArcComp:
			to = s.arc(&out, comp)
		case vg.CloseComp:
			out.Close()
			to = start
		}
		last = to
	}
	return out
}

// raise returns the control points of the cubic that equals the quadratic curve
// a, c, b.
func raise(a, c, b vg.Point) (vg.Point, vg.Point) {
	third := func(from vg.Point) vg.Point {
		return vg.Point{X: from.X + 2*(c.X-from.X)/3, Y: from.Y + 2*(c.Y-from.Y)/3}
	}
	return third(a), third(b)
}

// arc appends an arc as cubics of at most a quarter turn, each within 0.03 % of
// the radius (the usual 4/3·tan(θ/4) construction), and returns its end.
func (s *scene) arc(out *vg.Path, comp vg.PathComp) vg.Point {
	on := func(angle float64) (vg.Point, vg.Point) { // the point and the tangent at angle
		sin, cos := math.Sincos(angle)
		r := float64(comp.Radius)
		return vg.Point{X: comp.Pos.X + vg.Length(r*cos), Y: comp.Pos.Y + vg.Length(r*sin)},
			vg.Point{X: vg.Length(-r * sin), Y: vg.Length(r * cos)}
	}
	from, tangent := on(comp.Start)
	if len(*out) == 0 {
		out.Move(s.point(from))
	} else {
		out.Line(s.point(from))
	}
	pieces := max(1, int(math.Ceil(math.Abs(comp.Angle)/(math.Pi/2)-1e-9)))
	step := comp.Angle / float64(pieces)
	k := vg.Length(4.0 / 3 * math.Tan(step/4))
	for i := 1; i <= pieces; i++ {
		to, next := on(comp.Start + float64(i)*step)
		out.CubeTo(
			s.point(vg.Point{X: from.X + k*tangent.X, Y: from.Y + k*tangent.Y}),
			s.point(vg.Point{X: to.X - k*next.X, Y: to.Y - k*next.Y}), s.point(to))
		from, tangent = to, next
	}
	return s.point(from)
}

// outline returns the glyphs of a label as one path, in page coordinates, with
// the baseline starting at the given point.
func outline(l *Label, at vg.Point) vg.Path {
	var out vg.Path
	for _, p := range l.glyphs {
		scale := l.style.Size / p.glyph.face.upem
		x0 := float64(at.X) + p.x*l.style.Size
		pt := func(x, y int) vg.Point {
			return vg.Point{X: vg.Length(x0 + float64(x)*scale), Y: at.Y - vg.Length(float64(y)*scale)}
		}
		var last vg.Point
		open := false
		for _, seg := range p.glyph.segments {
			a := pt(int(seg.Args[0].X), int(seg.Args[0].Y))
			switch seg.Op {
			case sfnt.SegmentOpMoveTo:
				if open {
					out.Close()
				}
				out.Move(a)
				last, open = a, true
			case sfnt.SegmentOpLineTo:
				out.Line(a)
				last = a
			case sfnt.SegmentOpQuadTo:
				b := pt(int(seg.Args[1].X), int(seg.Args[1].Y))
				c1, c2 := raise(last, a, b)
				out.CubeTo(c1, c2, b)
				last = b
			case sfnt.SegmentOpCubeTo:
				b, c := pt(int(seg.Args[1].X), int(seg.Args[1].Y)), pt(int(seg.Args[2].X), int(seg.Args[2].Y))
				out.CubeTo(a, b, c)
				last = c
			}
		}
		if open {
			out.Close()
		}
	}
	return out
}
