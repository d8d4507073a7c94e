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

// EndLabel is the words at the end of a line.
type EndLabel struct {
	At     XY // where the line ends
	Words  string
	Colour color.RGBA // of the line
}

// EndLabels writes words right of the panel at the height where their lines end,
// spread apart so that none covers another, with a leader to the line. They take
// the place of a legend. Ends that are NaN are not labelled.
type EndLabels struct {
	Page   *canvas.Page
	Labels []EndLabel
	Room   vg.Length // right of the panel, as EndRoom returns it
}

const (
	endLead  = vg.Length(9)   // from the panel to the words
	endPitch = vg.Length(9.2) // between lines of words
)

// EndRoom returns the room that end labels need right of a panel, at most a
// given width.
func EndRoom(p *canvas.Page, labels []EndLabel, most vg.Length) vg.Length {
	width := vg.Length(0)
	for _, l := range labels {
		width = max(width, p.Words(l.Words, p.Ink(canvas.Sans, canvas.PanelSize)).Width())
	}
	if width == 0 {
		return 0
	}
	return min(width+endLead+1, most)
}

// EndsThatFit returns how many end labels a panel of the given height holds.
func EndsThatFit(height vg.Length) int { return int(height / endPitch) }

// Plot implements plot.Plotter.
func (e EndLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var labels []EndLabel
	var want []float64
	for _, l := range e.Labels {
		if l.Words != "" && !undefined(l.At.X) && !undefined(l.At.Y) {
			labels = append(labels, l)
			want = append(want, float64(min(max(y(l.At.Y), c.Min.Y), c.Max.Y)))
		}
	}
	for i, at := range Spread(want, float64(endPitch), float64(c.Min.Y), float64(c.Max.Y)) {
		l := labels[i]
		from := vg.Point{X: min(x(l.At.X), c.Max.X) + 2, Y: vg.Length(want[i])}
		elbow := vg.Point{X: max(c.Max.X+1, from.X), Y: from.Y}
		to := vg.Point{X: c.Max.X + endLead - 2, Y: vg.Length(at)}
		e.Page.Line(l.Colour, canvas.GridLine, nil, from, elbow, to)
		words := e.Page.Words(l.Words, e.Page.Ink(canvas.Sans, canvas.PanelSize)).Elide(e.Room - endLead)
		e.Page.Put(words, vg.Point{X: c.Max.X + endLead, Y: vg.Length(at)}, canvas.Start, canvas.Centre)
	}
}

// Spread returns places as near as possible to the wanted ones (least squares)
// that keep their order and are at least gap apart, inside [lo, hi] when they
// fit there. It is isotonic regression by pooling neighbours (Barlow et al.,
// Statistical Inference under Order Restrictions, 1972) on want minus i·gap.
// Equal places keep the order given, the first one highest.
func Spread(want []float64, gap, lo, hi float64) []float64 {
	n := len(want)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // the lowest first, ties: the later given below
		switch {
		case want[a] < want[b]:
			return -1
		case want[a] > want[b]:
			return 1
		}
		return b - a
	})
	type block struct {
		sum float64
		n   int
	}
	var blocks []block
	for k, i := range order {
		blocks = append(blocks, block{want[i] - float64(k)*gap, 1})
		for len(blocks) > 1 {
			a, b := blocks[len(blocks)-2], blocks[len(blocks)-1]
			if a.sum/float64(a.n) <= b.sum/float64(b.n) {
				break
			}
			blocks = append(blocks[:len(blocks)-2], block{a.sum + b.sum, a.n + b.n})
		}
	}
	out := make([]float64, n)
	top := hi - float64(n-1)*gap // of the regression's own coordinate
	k := 0
	for _, b := range blocks {
		at := min(max(b.sum/float64(b.n), lo), max(top, lo))
		for range b.n {
			out[order[k]] = at + float64(k)*gap
			k++
		}
	}
	return out
}

// PointLabels writes words beside points: right, left, above or below, at the
// first place where they cover neither other words nor a point, inside the
// panel. Words without a place are left out and counted in Missed.
type PointLabels struct {
	Page   *canvas.Page
	Points []XY
	Words  []string // "" has no label
	Avoid  []XY     // other points that words should not cover
	Radius vg.Length
	Missed *int
}

// longestLabel bounds words beside a point.
const longestLabel = vg.Length(90)

// Plot implements plot.Plotter.
func (l PointLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	size := vg.Length(canvas.ValueSize)
	var taken []vg.Rectangle
	for _, list := range []struct {
		points []XY
		radius vg.Length
	}{{l.Points, l.Radius}, {l.Avoid, 1}} {
		for _, pt := range list.points {
			if !undefined(pt.X) && !undefined(pt.Y) {
				taken = append(taken, around(vg.Point{X: x(pt.X), Y: y(pt.Y)}, list.radius))
			}
		}
	}
	for i, pt := range l.Points {
		if i >= len(l.Words) || l.Words[i] == "" || undefined(pt.X) || undefined(pt.Y) {
			continue
		}
		at := vg.Point{X: x(pt.X), Y: y(pt.Y)}
		words := l.Page.Words(l.Words[i], l.Page.Ink(canvas.Sans, canvas.ValueSize)).Elide(longestLabel)
		if at.X < c.Min.X-hair || at.X > c.Max.X+hair || at.Y < c.Min.Y-hair || at.Y > c.Max.Y+hair {
			continue
		}
		w, gap := words.Width(), l.Radius+2
		placed := false
		for _, to := range []vg.Point{
			{X: at.X + gap, Y: at.Y}, {X: at.X - gap - w, Y: at.Y}, {X: at.X - w/2, Y: at.Y + gap + size/2}, {X: at.X - w/2, Y: at.Y - gap - size/2},
			{X: at.X + gap/2, Y: at.Y + gap + size/3}, {X: at.X + gap/2, Y: at.Y - gap - size/3},
			{X: at.X - gap/2 - w, Y: at.Y + gap + size/3}, {X: at.X - gap/2 - w, Y: at.Y - gap - size/3},
		} {
			box := vg.Rectangle{Min: vg.Point{X: to.X, Y: to.Y - size*0.55}, Max: vg.Point{X: to.X + w, Y: to.Y + size*0.55}}
			if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || box.Max.Y > c.Max.Y || touches(box, taken) {
				continue
			}
			l.Page.Put(words, to, canvas.Start, canvas.Centre)
			taken = append(taken, box)
			placed = true
			break
		}
		if !placed && l.Missed != nil {
			*l.Missed++
		}
	}
}

func around(at vg.Point, r vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: at.X - r, Y: at.Y - r}, Max: vg.Point{X: at.X + r, Y: at.Y + r}}
}

func touches(box vg.Rectangle, taken []vg.Rectangle) bool {
	for _, t := range taken {
		if box.Min.X < t.Max.X && t.Min.X < box.Max.X && box.Min.Y < t.Max.Y && t.Min.Y < box.Max.Y {
			return true
		}
	}
	return false
}

// Rule is a reference line across the panel with words at its end: dashed, in
// the muted colour. Outside the panel nothing is drawn.
type Rule struct {
	Page     *canvas.Page
	At       float64
	Vertical bool
	Words    string
}

// Plot implements plot.Plotter.
func (r Rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	dash, colour := []vg.Length{5, 2}, r.Page.Theme().Muted
	words := r.Page.Words(r.Words, r.Page.Muted(canvas.Sans, canvas.NoteSize)).Elide(0.8 * c.Size().X)
	if r.Vertical {
		at := x(r.At)
		if math.IsNaN(r.At) || at < c.Min.X-hair || at > c.Max.X+hair {
			return
		}
		r.Page.Line(colour, canvas.RefLine*0.7, dash, vg.Point{X: at, Y: c.Min.Y}, vg.Point{X: at, Y: c.Max.Y})
		place, side := vg.Point{X: at + 3, Y: c.Max.Y - 4}, canvas.Start
		if place.X+words.Width() > c.Max.X { // on the side with more room
			if right := c.Max.X - at; right < at-c.Min.X {
				place.X, side = at-3, canvas.End
			}
			words = words.Elide(max(c.Max.X-at, at-c.Min.X) - 4)
		}
		r.Page.PutClear(words, place, side)
		return
	}
	at := y(r.At)
	if math.IsNaN(r.At) || at < c.Min.Y-hair || at > c.Max.Y+hair {
		return
	}
	r.Page.Line(colour, canvas.RefLine*0.7, dash, vg.Point{X: c.Min.X, Y: at}, vg.Point{X: c.Max.X, Y: at})
	up := at + 6
	if up > c.Max.Y-2 {
		up = at - 6
	}
	r.Page.PutClear(words, vg.Point{X: c.Max.X - 2, Y: up}, canvas.End)
}
