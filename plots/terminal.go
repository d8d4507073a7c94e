package plots

import (
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"lab/core/fault"
	"lab/plots/canvas"
)

const (
	narrowestTerminal = 40
	widestTerminal    = 400
)

// Terminal draws the figure with characters, at most width cells wide (40 to
// 400), for a quick look: title, subtitle, the picture, notes and footer. With
// colour it uses the theme's colours as 24-bit escape sequences; without, it
// holds no escape sequence, and series differ by their signs. Errors: fault.Usage
// for the width, fault.Data when w fails.
func (f *Figure) Terminal(w io.Writer, width int, colour bool) (err error) {
	defer guard(f.name, &err)
	if width < narrowestTerminal || width > widestTerminal {
		return fault.New(fault.Usage, "figure "+f.name, "width", "%d cells are outside %d to %d", width, narrowestTerminal, widestTerminal)
	}
	s := &sketchpad{width: width, colour: colour, theme: f.options.Theme}
	s.words(f.Title(), s.theme.Ink)
	s.words(f.options.Subtitle, s.theme.Muted)
	s.line("")
	if f.sketch != nil {
		f.sketch(s)
	} else {
		s.words(f.Description(), s.theme.Ink)
	}
	s.line("")
	for _, n := range f.notes {
		s.words(n, s.theme.Ink)
	}
	s.words(f.options.Footer, s.theme.Muted)
	return writeAll(w, s.b.String())
}

// writeAll writes a text.
func writeAll(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fault.Wrap(err, fault.Data, "write", "")
	}
	return nil
}

// cells measures characters in cells, the same whatever the environment says.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// sketchpad is lines of characters being written.
type sketchpad struct {
	b      strings.Builder
	width  int
	colour bool
	theme  Theme
}

// line writes one line as it is; blanks at its end are left out.
func (s *sketchpad) line(text string) {
	s.b.WriteString(strings.TrimRight(text, " "))
	s.b.WriteByte('\n')
}

// tint returns text in a colour.
func (s *sketchpad) tint(text string, c color.RGBA) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[38;2;" + decimal(c.R) + ";" + decimal(c.G) + ";" + decimal(c.B) + "m" + text + "\x1b[0m"
}

// fill returns blanks on a colour.
func (s *sketchpad) fill(text string, back, ink color.RGBA) string {
	return "\x1b[48;2;" + decimal(back.R) + ";" + decimal(back.G) + ";" + decimal(back.B) + ";38;2;" +
		decimal(ink.R) + ";" + decimal(ink.G) + ";" + decimal(ink.B) + "m" + text + "\x1b[0m"
}

func decimal(v uint8) string { return strconv.Itoa(int(v)) }

// words writes a sentence, its controls made visible, wrapped at blanks.
func (s *sketchpad) words(text string, c color.RGBA) {
	line := ""
	for _, word := range strings.Fields(canvas.Clean(text)) {
		word = s.cut(word, s.width)
		if line != "" && cells().StringWidth(line)+1+cells().StringWidth(word) > s.width {
			s.line(s.tint(line, c))
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		s.line(s.tint(line, c))
	}
}

// cut shortens words to a width in cells.
func (s *sketchpad) cut(text string, width int) string { return cells().Truncate(text, width, "…") }

// label returns a name made visible in exactly width cells, blanks first.
func (s *sketchpad) label(name string, width int) string {
	return cells().FillLeft(s.cut(canvas.Clean(name), width), width)
}

// widest returns the width in cells that names need, at most a share of the
// terminal.
func (s *sketchpad) widest(names []string) int {
	width := 0
	for _, n := range names {
		width = max(width, cells().StringWidth(canvas.Clean(n)))
	}
	return min(width, s.width*3/10)
}

// empty says why there is nothing.
func (s *sketchpad) empty(reason string) { s.words("no data ("+reason+")", s.theme.Muted) }

// charBar is a bar of characters from 0 to Share of the width.
type charBar struct {
	name   string
	share  float64 // 0 to 1; NaN draws none
	words  string
	colour color.RGBA
}

// bars writes bars below each other with their names and words, in eighths of a
// cell.
func (s *sketchpad) bars(list []charBar) {
	var names, words []string
	for _, b := range list {
		names, words = append(names, b.name), append(words, b.words)
	}
	label, end := s.widest(names), s.widest(words)
	room := max(s.width-label-end-4, 8)
	for _, b := range list {
		bar := ""
		if b.share > 0 {
			bar = eighths(b.share * float64(room))
		}
		s.line(s.label(b.name, label) + " ▏" + s.tint(bar, b.colour) + " " + s.cut(canvas.Clean(b.words), end))
	}
}

// eighths returns a bar of a length in cells.
func eighths(length float64) string {
	parts := []rune(" ▏▎▍▌▋▊▉")
	n := int(math.Round(length * 8))
	out := strings.Repeat("█", n/8)
	if n%8 > 0 {
		out += string(parts[n%8])
	}
	return out
}

// charKey is a series in the key of a plot.
type charKey struct {
	series int
	words  string
	colour color.RGBA
}

// keys writes the signs and the names of series, as many on a line as fit.
func (s *sketchpad) keys(list []charKey) {
	line, used := "", 0
	for _, k := range list {
		glyph := sign(k.series)
		if s.colour {
			glyph = "⣿"
		}
		words := s.cut(canvas.Clean(k.words), s.width-2)
		size := 2 + cells().StringWidth(words)
		if used > 0 && used+3+size > s.width {
			s.line(line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+"   ", used+3
		}
		line, used = line+s.tint(glyph, k.colour)+" "+words, used+size
	}
	s.line(line)
}

// charPlot is a plot of dots, two across and four down in each cell (Braille),
// with axes.
type charPlot struct {
	s             *sketchpad
	columns, rows int
	dots          []uint8
	series        []int // that drew last in the cell; -1: none
	x0, x1        float64
	y0, y1        float64
}

// plot returns an empty plot over a range of axis coordinates.
func (s *sketchpad) plot(columns, rows int, x, y canvas.Axis) *charPlot {
	p := &charPlot{s: s, columns: columns, rows: rows, dots: make([]uint8, columns*rows), series: make([]int, columns*rows),
		x0: x.Min, x1: x.Max, y0: y.Min, y1: y.Max}
	for i := range p.series {
		p.series[i] = -1
	}
	return p
}

// at returns the place of a coordinate in dots.
func (p *charPlot) at(x, y float64) (float64, float64) {
	return (x - p.x0) / (p.x1 - p.x0) * float64(2*p.columns-1), (1 - (y-p.y0)/(p.y1-p.y0)) * float64(4*p.rows-1)
}

// dot sets the dot at a place in dots; places outside are left out.
func (p *charPlot) dot(fx, fy float64, series int) {
	if !(fx >= -0.5 && fy >= -0.5) {
		return
	}
	i, j := int(math.Round(fx)), int(math.Round(fy))
	if i >= 2*p.columns || j >= 4*p.rows || i < 0 || j < 0 {
		return
	}
	bits := [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}} // of the block U+2800
	cell := j/4*p.columns + i/2
	p.dots[cell] |= bits[j%4][i%2]
	p.series[cell] = series
}

// point sets the dot of a point.
func (p *charPlot) point(x, y float64, series int) {
	if defined(x) && defined(y) {
		fx, fy := p.at(x, y)
		p.dot(fx, fy, series)
	}
}

// join draws a straight line.
func (p *charPlot) join(xa, ya, xb, yb float64, series int) {
	if !defined(xa) || !defined(ya) || !defined(xb) || !defined(yb) {
		return
	}
	ax, ay := p.at(xa, ya)
	bx, by := p.at(xb, yb)
	n := int(min(max(math.Abs(bx-ax), math.Abs(by-ay)), 4096)) + 1
	for k := range n + 1 {
		t := float64(k) / float64(n)
		p.dot(ax+t*(bx-ax), ay+t*(by-ay), series)
	}
}

// signs tell series apart without colour.
const signs = "ox+*#@%&"

// sign returns the sign of a series.
func sign(i int) string { return signs[i%len(signs) : i%len(signs)+1] }

// draw writes the plot with its ticks; colour gives the colour of a series, and
// with one series or with colours the dots are Braille, else signs.
func (p *charPlot) draw(x, y canvas.Axis, series int, colour func(int) color.RGBA) {
	yTicks := ticksIn(y, max(p.rows/4, 2))
	width := 0
	at := map[int]string{}
	for _, t := range yTicks {
		_, fy := p.at(p.x0, t.At)
		at[int(math.Round(fy))/4] = t.Label
		width = max(width, cells().StringWidth(t.Label))
	}
	braille := series <= 1 || p.s.colour
	for r := range p.rows {
		line := strings.Repeat(" ", width) + " │"
		if l, ok := at[r]; ok {
			line = cells().FillLeft(l, width) + " ┤"
		}
		for c := range p.columns {
			cell := r*p.columns + c
			switch {
			case p.series[cell] < 0:
				line += " "
			case braille:
				line += p.s.tint(string(rune(0x2800)+rune(p.dots[cell])), colour(p.series[cell]))
			default:
				line += sign(p.series[cell])
			}
		}
		p.s.line(line)
	}
	axis, labels := []rune(strings.Repeat("─", p.columns)), strings.Repeat(" ", p.columns+8)
	last := -1
	for _, t := range ticksIn(x, max(p.columns/12, 2)) {
		fx, _ := p.at(t.At, p.y0)
		i := int(math.Round(fx)) / 2
		if i < 0 || i >= p.columns {
			continue
		}
		axis[i] = '┬'
		start := max(i-cells().StringWidth(t.Label)/2, 0)
		if start <= last || start+len([]rune(t.Label)) > len([]rune(labels)) {
			continue
		}
		r := []rune(labels)
		copy(r[start:], []rune(t.Label))
		labels, last = string(r), start+len([]rune(t.Label))
	}
	p.s.line(strings.Repeat(" ", width) + " └" + string(axis))
	p.s.line(strings.Repeat(" ", width) + "  " + labels)
}

// ticksIn returns the labelled ticks of an axis.
func ticksIn(a canvas.Axis, want int) []canvas.Tick {
	ticks := a.Ticks
	switch {
	case ticks != nil:
	case a.Log:
		ticks = canvas.LogTicks(a.Min, a.Max, want)
	default:
		ticks = canvas.LinearTicks(a.Min, a.Max, want)
	}
	var out []canvas.Tick
	for _, t := range ticks {
		if t.Label != "" && t.At >= a.Min && t.At <= a.Max {
			out = append(out, t)
		}
	}
	return out
}
