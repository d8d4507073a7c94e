package canvas

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// Symbol is the shape of a marker. The order is the order of use: neighbours
// differ most.
type Symbol uint8

// The shapes of markers, each about as heavy as a disc of the same radius.
const (
	Disc Symbol = iota
	Square
	Triangle
	Diamond
	Cross
	Nabla // a triangle on its tip
	symbols
)

// SymbolAt returns the shape of the i-th series; they repeat after six.
func SymbolAt(i int) Symbol { return Symbol(i % int(symbols)) }

// Mark fills a marker with a ring of the background around it, so that it
// stands out from lines below it; hollow leaves its middle in the background
// colour.
func (p *Page) Mark(at vg.Point, s Symbol, radius vg.Length, c color.RGBA, hollow bool) {
	const ring = vg.Length(1.2)
	p.fill(s.path(at, radius+ring), p.theme.Background)
	p.Blot(at, s, radius, c, hollow)
}

// Blot fills a marker as Mark does, without the ring: for markers so many that
// rings would hide their neighbours.
func (p *Page) Blot(at vg.Point, s Symbol, radius vg.Length, c color.RGBA, hollow bool) {
	const wall = vg.Length(1.0)
	p.fill(s.path(at, radius), c)
	if hollow {
		p.fill(s.path(at, radius-wall*s.steep()), p.theme.Background)
	}
}

func (p *Page) fill(path vg.Path, c color.RGBA) {
	p.scene.SetColor(c)
	p.scene.Fill(path)
}

// Shape fills a polygon.
func (p *Page) Shape(c color.RGBA, points ...vg.Point) {
	if len(points) == 0 {
		return
	}
	p.fill(polygon(points), c)
}

func polygon(points []vg.Point) vg.Path {
	var path vg.Path
	path.Move(points[0])
	for _, pt := range points[1:] {
		path.Line(pt)
	}
	path.Close()
	return path
}

// steep is how much the corners of a shape move for a wall of one point.
func (s Symbol) steep() vg.Length {
	switch s {
	case Triangle, Nabla:
		return 1.6
	case Diamond:
		return 1.35
	case Cross:
		return 0.6
	}
	return 1.1
}

// path returns the outline. Sizes make the areas of the shapes about that of a
// disc.
func (s Symbol) path(at vg.Point, r vg.Length) vg.Path {
	var corners [][2]float64
	switch s {
	case Square:
		const h = 0.886 // √π/2
		corners = [][2]float64{{-h, -h}, {h, -h}, {h, h}, {-h, h}}
	case Triangle, Nabla:
		up := 1.0
		if s == Nabla {
			up = -1
		}
		corners = [][2]float64{{0, 1.4 * up}, {1.24, -0.75 * up}, {-1.24, -0.75 * up}}
	case Diamond:
		corners = [][2]float64{{0, 1.3}, {1.3, 0}, {0, -1.3}, {-1.3, 0}}
	case Cross:
		const a, b = 1.2, 0.46
		corners = [][2]float64{{-b, a}, {b, a}, {b, b}, {a, b}, {a, -b}, {b, -b}, {b, -a}, {-b, -a}, {-b, -b}, {-a, -b}, {-a, b}, {-b, b}}
	default:
		var path vg.Path
		path.Move(vg.Point{X: at.X + r, Y: at.Y})
		path.Arc(at, r, 0, 2*math.Pi)
		path.Close()
		return path
	}
	points := make([]vg.Point, len(corners))
	for i, c := range corners {
		points[i] = vg.Point{X: at.X + r*vg.Length(c[0]), Y: at.Y + r*vg.Length(c[1])}
	}
	return polygon(points)
}
