package canvas

import (
	"bytes"
	"image/color"
	"io"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
)

// Picture is a finished page. It never changes; any number of goroutines may
// write it at once.
type Picture struct {
	shapes        []shape
	background    color.RGBA
	width, height vg.Length
	title, desc   string
	faces         []string
}

// Size returns width and height in points.
func (p *Picture) Size() (width, height vg.Length) { return p.width, p.height }

// Faces returns the names of the font faces drawn with, in order of first use.
func (p *Picture) Faces() []string { return append([]string(nil), p.faces...) }

// Title and Description return the words that go into the files.
func (p *Picture) Title() string { return p.title }

// Description returns the alternative text of the picture.
func (p *Picture) Description() string { return p.desc }

// PlacedWords is a label of a picture and the rectangle of its line: as wide as
// its letters advance, from the descenders to the capitals.
type PlacedWords struct {
	Text string
	Rect vg.Rectangle
}

// Words returns every label with its place, in the order of drawing; the lower
// left corner of the page is the origin.
func (p *Picture) Words() []PlacedWords {
	const descent = 0.212 // of Liberation Sans, in sizes
	var out []PlacedWords
	for _, s := range p.shapes {
		if s.label == nil {
			continue
		}
		size := vg.Length(s.label.style.Size)
		out = append(out, PlacedWords{s.label.Text(), vg.Rectangle{
			Min: vg.Point{X: s.at.X, Y: s.at.Y - descent*size},
			Max: vg.Point{X: s.at.X + s.label.Width(), Y: s.at.Y + capHeight*size},
		}})
	}
	return out
}

// Draw draws the picture on any canvas of the plotting library, text as
// outlines. The lower left corner of the page is the canvas's origin.
func (p *Picture) Draw(c vg.Canvas) { p.draw(c, func(path vg.Path) vg.Path { return path }) }

// draw draws the picture with the outlines of its text passed through trim.
func (p *Picture) draw(c vg.Canvas, trim func(vg.Path) vg.Path) {
	c.SetColor(p.background)
	c.Fill(vg.Rectangle{Max: vg.Point{X: p.width, Y: p.height}}.Path())
	for _, s := range p.shapes {
		c.SetColor(s.colour)
		switch {
		case s.label != nil:
			c.Fill(trim(outline(s.label, s.at)))
		case s.width > 0:
			c.SetLineWidth(s.width)
			c.SetLineDash(s.dash, 0)
			c.Stroke(s.path)
		default:
			c.Fill(s.path)
		}
	}
}

// render runs write against a buffer, so that a writer sees a whole file or
// nothing, and turns a panic of the library into an error.
func (p *Picture) render(w io.Writer, format string, write func(*bytes.Buffer) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, "write picture", format, "%v", r)
		}
	}()
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return fault.Wrap(err, fault.Internal, "write picture", format)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fault.Wrap(err, fault.Data, "write picture", format)
	}
	return nil
}
