package plots

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// Lengths of the tokens figure, in points.
const (
	cellText    = 8.5 // size of a token
	cellNumbers = 6.0 // and of the number below it
	cellPad     = vg.Length(2)
	cellHeight  = vg.Length(13)
	cellLine    = vg.Length(25) // from line to line: cell, number, gap
	cellGap     = vg.Length(1.5)
	promptLines = 6
)

// cell is one piece of the text with its place.
type textCell struct {
	label, below canvas.Label
	fill         color.RGBA
	bare         bool // of the prompt
	breaks       bool // a new line begins after it
	width        vg.Length
}

// draw draws the colour bar and the text.
func (t *tokens) draw(p *canvas.Page) {
	colourBar(p, "surprisal, bits", 0, t.top, func(v float64) color.RGBA { return p.Theme().Sequential(v) })
	lines := t.layOut(p, t.promptCells(p), promptLines)
	body := t.layOut(p, t.cells(p), 0)
	if n := len(lines); n > 0 && len(body) > 0 { // the completion goes on in the prompt's last line
		all := append(lines[n-1], flatten(body)...)
		lines = append(lines[:n-1], t.layOut(p, all, 0)...)
	} else {
		lines = append(lines, body...)
	}
	for _, line := range lines {
		x := p.Left()
		for _, c := range line {
			t.drawCell(p, c, x)
			x += c.width + cellGap
		}
		p.Down(cellLine)
	}
}

func flatten(lines [][]textCell) []textCell {
	var out []textCell
	for _, l := range lines {
		out = append(out, l...)
	}
	return out
}

// promptCells cuts the prompt into words, each with its leading blanks.
func (t *tokens) promptCells(p *canvas.Page) []textCell {
	var cells []textCell
	for _, w := range words(t.data.Prompt) {
		l := p.Token(w, p.Muted(canvas.Mono, cellText)).Elide(p.Right() - p.Left() - 2*cellPad)
		cells = append(cells, textCell{label: l, bare: true, width: l.Width() + 2*cellPad, breaks: strings.HasSuffix(w, "\n")})
	}
	return cells
}

// words cuts a text before blanks, so that each word keeps those in front of it,
// and after newlines. Nothing is lost.
func words(s string) []string {
	var out []string
	start := 0
	for i := 1; i < len(s); i++ {
		blank := s[i] == ' ' && s[i-1] != ' '
		if blank || s[i-1] == '\n' || i-start >= 4096 {
			out = append(out, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// cells lays out the tokens that are shown.
func (t *tokens) cells(p *canvas.Page) []textCell {
	th := p.Theme()
	cells := make([]textCell, 0, len(t.shown))
	for _, tok := range t.shown {
		c := textCell{fill: unmeasured(th), breaks: strings.Contains(tok.Text, "\n")}
		if b := t.bits(tok); defined(b) {
			c.fill = th.Sequential(b / t.top)
		}
		text := tok.Text
		st := canvas.TextStyle{Family: canvas.Mono, Size: cellText, Colour: th.TextOn(c.fill)}
		c.label = p.Token(text, st)
		if text == "" {
			c.label = p.Words("(empty)", canvas.TextStyle{Family: canvas.Sans, Size: cellNumbers, Colour: th.TextOn(c.fill)})
		}
		c.label = c.label.Elide(p.Right() - p.Left() - 2*cellPad)
		c.below = p.Words(t.cellNumber(tok), p.Muted(canvas.Sans, cellNumbers))
		c.width = max(c.label.Width()+2*cellPad, c.below.Width()+1)
		cells = append(cells, c)
	}
	return cells
}

// unmeasured is the fill of a cell without a value: grey, where grey is not one
// of the values.
func unmeasured(th Theme) color.RGBA {
	if th.Grey {
		return th.Background
	}
	return th.Grid
}

// layOut wraps cells into lines. With a limit only the last lines are kept.
func (t *tokens) layOut(p *canvas.Page, cells []textCell, limit int) [][]textCell {
	var lines [][]textCell
	var line []textCell
	x := p.Left()
	for _, c := range cells {
		if len(line) > 0 && (x+c.width > p.Right() || line[len(line)-1].breaks) {
			lines = append(lines, line)
			line, x = nil, p.Left()
		}
		line = append(line, c)
		x += c.width + cellGap
	}
	if len(line) > 0 {
		lines = append(lines, line)
	}
	if limit > 0 && len(lines) > limit {
		t.promptCut = true
		lines = lines[len(lines)-limit:]
	}
	return lines
}

func (t *tokens) drawCell(p *canvas.Page, c textCell, x vg.Length) {
	top := p.Y()
	middle := top - cellHeight/2
	at := vg.Point{X: x + c.width/2, Y: middle}
	if c.bare {
		p.Put(c.label, at, canvas.Middle, canvas.Centre)
		return
	}
	r := vg.Rectangle{Min: vg.Point{X: x, Y: top - cellHeight}, Max: vg.Point{X: x + c.width, Y: top}}
	p.Fill(r, c.fill)
	p.Box(r, p.Theme().Grid, canvas.GridLine, nil)
	p.Put(c.label, at, canvas.Middle, canvas.Centre)
	p.Put(c.below, vg.Point{X: at.X, Y: top - cellHeight - 5.5}, canvas.Middle, canvas.Centre)
}

// colourBar draws a scale of colours at the left, with its name and the values
// at both ends and in the middle, and moves the used height below it. colour maps 0..1.
func colourBar(p *canvas.Page, name string, lo, hi float64, colour func(float64) color.RGBA) {
	const (
		width  = vg.Length(110)
		height = vg.Length(7)
		steps  = 44
	)
	l := p.Words(name, p.Ink(canvas.Sans, canvas.PanelSize)).Elide(p.Right() - p.Left() - width - 20)
	p.Down(2)
	left := p.Left() + l.Width() + 6
	middle := p.Y() - height/2
	p.Put(l, vg.Point{X: p.Left(), Y: middle}, canvas.Start, canvas.Centre)
	for i := range steps {
		from, to := left+width*vg.Length(i)/steps, left+width*vg.Length(i+1)/steps
		p.Fill(vg.Rectangle{Min: vg.Point{X: from, Y: middle - height/2}, Max: vg.Point{X: to + 0.1, Y: middle + height/2}}, colour((float64(i)+0.5)/steps))
	}
	frame := vg.Rectangle{Min: vg.Point{X: left, Y: middle - height/2}, Max: vg.Point{X: left + width, Y: middle + height/2}}
	p.Box(frame, p.Theme().Muted, canvas.GridLine, nil)
	for _, share := range []float64{0, 0.5, 1} {
		at := left + width*vg.Length(share)
		p.Line(p.Theme().Muted, canvas.AxisLine, nil, vg.Point{X: at, Y: frame.Min.Y}, vg.Point{X: at, Y: frame.Min.Y - 2})
		words := p.Words(canvas.Significant(lo+share*(hi-lo), 3), p.Muted(canvas.Sans, canvas.NoteSize))
		p.Put(words, vg.Point{X: at, Y: frame.Min.Y - 2.5}, canvas.Middle, canvas.Top)
	}
	p.Down(height + 14)
}
