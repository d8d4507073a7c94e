package mark

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// Beside says what a note belongs to, and so where it is tried first.
type Beside uint8

// The things that notes stand beside.
const (
	Point     Beside = iota // right of it, then left, above, below and further away
	RuleDown                // a vertical line at At.X: near the top, then lower
	RuleAlong               // a horizontal line at At.Y: at its right end, then its left
	Region                  // at its middle At, then around it
)

// Note is words in a panel, in coordinates of the panel.
type Note struct {
	At     XY
	Words  string
	Beside Beside
	Strong bool // in bold: the finding
	Colour color.RGBA
}

// Notes writes words where they cover neither other words nor a point, inside
// the panel, in at most three lines; the earlier one has the choice. The words of
// a rule, and those that find no place clear of lines, stand on a patch of the
// background. Words without a place are left out
// and counted in Missed.
type Notes struct {
	Page   *canvas.Page
	Notes  []Note
	Avoid  []XY // points, and samples of lines, that words should not cover
	Dodge  []XY // points avoided only as long as there is room
	Radius vg.Length
	Missed *int
}

const (
	noteWidth = vg.Length(122) // of a line of words
	noteLines = 3
)

// Plot implements plot.Plotter.
func (n Notes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	boxes := func(points []XY, r vg.Length) []vg.Rectangle {
		var out []vg.Rectangle
		for _, pt := range points {
			if !undefined(pt.X) && !undefined(pt.Y) {
				out = append(out, around(vg.Point{X: x(pt.X), Y: y(pt.Y)}, r))
			}
		}
		return out
	}
	hard, soft := boxes(n.Avoid, n.Radius), boxes(n.Dodge, 1)
	var taken []vg.Rectangle
	for _, note := range n.Notes {
		if note.Words == "" || undefined(note.At.X) || undefined(note.At.Y) {
			continue
		}
		at := vg.Point{X: x(note.At.X), Y: y(note.At.Y)}
		if at.X < c.Min.X-hair || at.X > c.Max.X+hair || at.Y < c.Min.Y-hair || at.Y > c.Max.Y+hair {
			continue
		}
		lines := n.lines(note, c.Size().X)
		size := vg.Point{Y: vg.Length(len(lines)) * noteLeading}
		for _, l := range lines {
			size.X = max(size.X, l.Width())
		}
		box, over, ok := n.place(note, at, size, c, [][]vg.Rectangle{taken, hard, soft})
		if !ok {
			if n.Missed != nil {
				*n.Missed++
			}
			continue
		}
		taken = append(taken, box)
		if note.Beside == Point {
			n.lead(at, box)
		}
		n.write(lines, box, over || note.Beside != Point)
	}
}

// lead joins words that stand apart from their point to it.
func (n Notes) lead(at vg.Point, box vg.Rectangle) {
	near := vg.Point{X: min(max(at.X, box.Min.X), box.Max.X), Y: min(max(at.Y, box.Min.Y), box.Max.Y)}
	dx, dy := near.X-at.X, near.Y-at.Y
	apart := vg.Length(math.Hypot(float64(dx), float64(dy)))
	if apart < n.Radius+6 {
		return
	}
	from := vg.Point{X: at.X + dx*(n.Radius+1)/apart, Y: at.Y + dy*(n.Radius+1)/apart}
	const clear = 2 // before the words
	to := vg.Point{X: near.X - dx*clear/apart, Y: near.Y - dy*clear/apart}
	n.Page.Line(n.Page.Theme().Muted, canvas.GridLine, nil, from, to)
}

const noteLeading = vg.Length(canvas.ValueSize * 1.2)

func (n Notes) lines(note Note, width vg.Length) []canvas.Label {
	family := canvas.Sans
	if note.Strong {
		family = canvas.Bold
	}
	st := n.Page.Ink(family, canvas.ValueSize)
	if note.Beside == RuleDown || note.Beside == RuleAlong {
		st = n.Page.Muted(family, canvas.ValueSize)
	}
	if note.Colour != (color.RGBA{}) {
		st.Colour = note.Colour
	}
	return n.Page.Words(note.Words, st).Wrap(min(noteWidth, 0.8*width), noteLines)
}

// place returns the first place inside the panel that is free of words, points
// and lines; then of words and points; then of words. over says that lines lie
// below it.
func (n Notes) place(note Note, at, size vg.Point, c draw.Canvas, taken [][]vg.Rectangle) (box vg.Rectangle, over, ok bool) {
	var spots []vg.Point // lower left corners
	gap := n.Radius + 2
	switch note.Beside {
	case RuleDown:
		for down := c.Max.Y - size.Y - 1; down >= c.Min.Y+1; down -= noteLeading {
			spots = append(spots, vg.Point{X: at.X + 3, Y: down}, vg.Point{X: at.X - 3 - size.X, Y: down})
		}
	case RuleAlong:
		for _, left := range []vg.Length{c.Max.X - size.X - 1, c.Min.X + 2, (c.Min.X + c.Max.X - size.X) / 2} {
			spots = append(spots, vg.Point{X: left, Y: at.Y + 2}, vg.Point{X: left, Y: at.Y - 2 - size.Y})
		}
	default:
		if note.Beside == Region {
			spots = append(spots, vg.Point{X: at.X - size.X/2, Y: at.Y - size.Y/2})
		}
		for _, far := range []vg.Length{gap, gap + 8, gap + 18, gap + 32} {
			for _, to := range []vg.Point{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {X: 0.8, Y: 0.8}, {X: 0.8, Y: -0.8}, {X: -0.8, Y: 0.8}, {X: -0.8, Y: -0.8}} {
				spots = append(spots, vg.Point{X: at.X + to.X*(far+size.X/2) - size.X/2, Y: at.Y + to.Y*(far+size.Y/2) - size.Y/2})
			}
		}
	}
	least := 1
	if note.Beside == Point {
		least = 2 // rather none than over a point
	}
	for strict := len(taken); strict >= least; strict-- {
		for _, s := range spots {
			box := vg.Rectangle{Min: s, Max: vg.Point{X: s.X + size.X, Y: s.Y + size.Y}}
			if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || box.Max.Y > c.Max.Y {
				continue
			}
			free := true
			for _, list := range taken[:strict] {
				free = free && !touches(box, list)
			}
			if free {
				return box, strict < len(taken), true
			}
		}
	}
	return vg.Rectangle{}, false, false
}

func (n Notes) write(lines []canvas.Label, box vg.Rectangle, patch bool) {
	if patch {
		n.Page.Fill(vg.Rectangle{Min: vg.Point{X: box.Min.X - 1, Y: box.Min.Y}, Max: vg.Point{X: box.Max.X + 1, Y: box.Max.Y}}, n.Page.Theme().Background)
	}
	for i, l := range lines {
		n.Page.Put(l, vg.Point{X: box.Min.X, Y: box.Max.Y - (vg.Length(i)+0.5)*noteLeading}, canvas.Start, canvas.Centre)
	}
}
