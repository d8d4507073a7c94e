package canvas

import (
	"image/color"
	"math"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
)

// Sizes of text in points, and the lengths shared by all figures.
const (
	TitleSize    = 10.5
	SubtitleSize = 8.5
	PanelSize    = 8.0
	AxisSize     = 8.5
	TickSize     = 8.0
	ValueSize    = 7.0
	NoteSize     = 7.0
	FooterSize   = 6.5

	Margin     = vg.Length(6)   // around the page
	SeriesLine = vg.Length(1.5) // line of a series
	RefLine    = vg.Length(1.1) // reference line
	AxisLine   = vg.Length(0.6)
	GridLine   = vg.Length(0.5)
	GhostLine  = vg.Length(0.6) // outline of the distribution compared with
	TickLength = vg.Length(3)   // outward

	leading   = 1.25  // line distance, in sizes
	ascent    = 0.80  // from the top of a line to its baseline, in sizes
	capHeight = 0.688 // of Liberation Sans, in sizes; words centred by their capitals look centred
)

// HAlign says which part of a label stands at a point.
type HAlign uint8

// Start, Middle and End are the left end, the middle and the right end of a
// label.
const (
	Start HAlign = iota
	Middle
	End
)

// VAlign says which height of a label stands at a point.
type VAlign uint8

// Baseline is where letters stand, Centre half the height of a capital, Top the
// upper edge of a line.
const (
	Baseline VAlign = iota
	Centre
	Top
)

// Page is a page being drawn, from the top (y = 0) down. Not safe for
// concurrent use.
type Page struct {
	theme Theme
	fonts *fonts
	scene *scene
	width vg.Length
	y     vg.Length
}

// NewPage returns an empty page. dirs are folders searched for fonts when the
// built-in ones lack a character; nil searches none. Errors: fault.Usage for a
// theme that cannot be read.
func NewPage(width vg.Length, theme Theme, dirs []string) (*Page, error) {
	if err := theme.Check(); err != nil {
		return nil, err
	}
	f, err := newFonts(dirs)
	if err != nil {
		return nil, err
	}
	return &Page{theme: theme, fonts: f, scene: newScene(f), width: width, y: -Margin}, nil
}

// Theme returns the theme of the page.
func (p *Page) Theme() Theme { return p.theme }

// Left and Right are the edges between which content belongs.
func (p *Page) Left() vg.Length { return Margin }

// Right is the right edge of content.
func (p *Page) Right() vg.Length { return p.width - Margin }

// Y returns the height down to which the page is used.
func (p *Page) Y() vg.Length { return p.y }

// Down moves the used height down by h.
func (p *Page) Down(h vg.Length) { p.y -= h }

// Ink returns a style in the ink of the theme.
func (p *Page) Ink(f Family, size float64) TextStyle { return TextStyle{f, size, p.theme.Ink} }

// Muted returns a style in the muted colour of the theme.
func (p *Page) Muted(f Family, size float64) TextStyle { return TextStyle{f, size, p.theme.Muted} }

// longest is how many bytes of one label are looked at: what is longer is cut in
// the middle before it is measured, so that a hostile string costs little.
const longest = 4096

// bounded cuts the middle out of an overlong string, at rune boundaries as far
// as it has any.
func bounded(s string) string {
	if len(s) <= longest {
		return s
	}
	head, tail := s[:longest/2], s[len(s)-longest/2:]
	for i := 0; i < utf8.UTFMax-1 && len(head) > 0 && !utf8.ValidString(head[len(head)-1:]); i++ {
		if r, n := utf8.DecodeLastRuneInString(head); r != utf8.RuneError || n != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return head + "…" + tail
}

// Words lays out text for titles, names and notes (see [Clean]).
func (p *Page) Words(s string, st TextStyle) Label {
	return p.fonts.newLabel(split(bounded(s), false), st)
}

// Token lays out the bytes of a token (see [Visible]).
func (p *Page) Token(s string, st TextStyle) Label {
	return p.fonts.newLabel(split(bounded(s), true), st)
}

// Put draws a label at a point.
func (p *Page) Put(l Label, at vg.Point, h HAlign, v VAlign) {
	switch h {
	case Middle:
		at.X -= l.Width() / 2
	case End:
		at.X -= l.Width()
	}
	size := vg.Length(l.style.Size)
	switch v {
	case Centre:
		at.Y -= size * capHeight / 2
	case Top:
		at.Y -= size * ascent
	}
	p.scene.text(l, at)
}

// PutClear draws a label as Put does, centred on the height of at, on a patch of
// the background, so that a grid line does not run through the words.
func (p *Page) PutClear(l Label, at vg.Point, h HAlign) {
	left := at.X
	switch h {
	case Middle:
		left -= l.Width() / 2
	case End:
		left -= l.Width()
	}
	if l.Width() > 0 {
		half := vg.Length(l.style.Size) * 0.55
		p.Fill(vg.Rectangle{Min: vg.Point{X: left - 1, Y: at.Y - half}, Max: vg.Point{X: left + l.Width() + 1, Y: at.Y + half}}, p.theme.Background)
	}
	p.Put(l, at, h, Centre)
}

// Lines draws lines of text below each other from the top at, aligned to the
// left, and returns the height they take.
func (p *Page) Lines(lines []Label, at vg.Point) vg.Length {
	height := vg.Length(0)
	for _, l := range lines {
		p.Put(l, vg.Point{X: at.X, Y: at.Y - height}, Start, Top)
		height += vg.Length(l.style.Size * leading)
	}
	return height
}

// Fill fills a rectangle.
func (p *Page) Fill(r vg.Rectangle, c color.RGBA) {
	p.scene.SetColor(c)
	p.scene.Fill(r.Path())
}

// Line strokes a line through points.
func (p *Page) Line(c color.RGBA, width vg.Length, dash []vg.Length, points ...vg.Point) {
	var path vg.Path
	for i, pt := range points {
		if i == 0 {
			path.Move(pt)
		} else {
			path.Line(pt)
		}
	}
	p.scene.SetColor(c)
	p.scene.SetLineWidth(width)
	p.scene.SetLineDash(dash, 0)
	p.scene.Stroke(path)
}

// Box strokes the outline of a rectangle.
func (p *Page) Box(r vg.Rectangle, c color.RGBA, width vg.Length, dash []vg.Length) {
	p.scene.SetColor(c)
	p.scene.SetLineWidth(width)
	p.scene.SetLineDash(dash, 0)
	p.scene.Stroke(r.Path())
}

// Dot fills a disc with a ring of the background around it, so that it stands
// out from lines below it; hollow leaves its middle in the background colour.
func (p *Page) Dot(at vg.Point, radius vg.Length, c color.RGBA, hollow bool) {
	const ring = vg.Length(1.4)
	disc := func(r vg.Length, c color.RGBA) {
		var path vg.Path
		path.Move(vg.Point{X: at.X + r, Y: at.Y})
		path.Arc(at, r, 0, 2*math.Pi)
		path.Close()
		p.scene.SetColor(c)
		p.scene.Fill(path)
	}
	disc(radius+ring, p.theme.Background)
	disc(radius, c)
	if hollow {
		disc(radius-1, p.theme.Background)
	}
}

// Header draws the title, bold, and the subtitle, muted, both from the left
// edge and wrapped; what exceeds two and three lines is cut with ….
func (p *Page) Header(title, subtitle string) {
	width := p.Right() - p.Left()
	at := func() vg.Point { return vg.Point{X: p.Left(), Y: p.y} }
	if title != "" {
		p.Down(p.Lines(p.Words(title, p.Ink(Bold, TitleSize)).Wrap(width, 2), at()))
	}
	if subtitle != "" {
		p.Down(p.Lines(p.Words(subtitle, p.Muted(Sans, SubtitleSize)).Wrap(width, 3), at()))
	}
	p.Down(4)
}

// Footer draws notes in ink, then the source of the data, muted, at the bottom.
func (p *Page) Footer(notes []string, source string) {
	width := p.Right() - p.Left()
	for _, n := range notes {
		p.Down(p.Lines(p.Words(n, p.Ink(Sans, NoteSize)).Wrap(width, 3), vg.Point{X: p.Left(), Y: p.y}))
	}
	if source != "" {
		p.Down(p.Lines(p.Words(source, p.Muted(Sans, FooterSize)).Wrap(width, 3), vg.Point{X: p.Left(), Y: p.y}))
	}
}

// Key is one entry of a legend: draw paints the sample into the given
// rectangle.
type Key struct {
	Words string
	Draw  func(p *Page, r vg.Rectangle)
}

// Legend draws keys side by side from the left edge, on as many lines as they
// need.
func (p *Page) Legend(keys []Key) {
	const (
		sample = vg.Length(14)
		gap    = vg.Length(3)
		apart  = vg.Length(12)
		height = vg.Length(11)
	)
	if len(keys) == 0 {
		return
	}
	x := p.Left()
	for _, k := range keys {
		room := p.Right() - p.Left() - sample - gap
		l := p.Words(k.Words, p.Ink(Sans, PanelSize)).Elide(room)
		if x > p.Left() && x+sample+gap+l.Width() > p.Right() {
			x = p.Left()
			p.Down(height)
		}
		middle := p.y - height/2
		k.Draw(p, vg.Rectangle{Min: vg.Point{X: x, Y: middle - 3}, Max: vg.Point{X: x + sample, Y: middle + 3}})
		p.Put(l, vg.Point{X: x + sample + gap, Y: middle}, Start, Centre)
		x += sample + gap + l.Width() + apart
	}
	p.Down(height + 4)
}

// Finish cuts the page below its content and returns the picture. title and
// desc become the words of the file.
func (p *Page) Finish(title, desc string) *Picture {
	const pixel = 72.0 / DPI // whole pixels, so that every renderer agrees on the last row
	height := vg.Length(math.Ceil(float64(Margin-p.y)/pixel) * pixel)
	shapes := make([]shape, len(p.scene.shapes))
	for i, s := range p.scene.shapes {
		s.at.Y += height
		path := make(vg.Path, len(s.path))
		for j, c := range s.path {
			c.Pos.Y += height
			controls := make([]vg.Point, len(c.Control))
			for k, pt := range c.Control {
				controls[k] = vg.Point{X: pt.X, Y: pt.Y + height}
			}
			c.Control = controls
			path[j] = c
		}
		s.path = path
		shapes[i] = s
	}
	pic := &Picture{shapes: shapes, background: p.theme.Background, width: p.width, height: height, title: Clean(title), desc: Clean(desc)}
	for _, f := range facesOf(shapes) {
		pic.faces = append(pic.faces, f.name)
	}
	return pic
}
