package canvas

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// TextStyle says how words look. Size is in points.
type TextStyle struct {
	Family Family
	Size   float64
	Colour color.RGBA
}

// placed is a glyph at a distance from the start of its label, in em.
type placed struct {
	glyph *glyph
	x     float64
	r     rune // the character it stands for
}

// segment is a piece of a label in one face and one direction, for formats that
// keep text as text. Distances are in em.
type segment struct {
	text     string // in reading order
	face     *face
	rtl      bool
	x, width float64
}

// cell is a laid-out unit: it is never cut in two.
type cell struct {
	unit
	glyphs []placed
	width  float64 // em
}

// Label is one line of text, measured with the faces that will draw it. It is a
// value and belongs to the page that made it.
type Label struct {
	style    TextStyle
	fonts    *fonts
	cells    []cell
	glyphs   []placed
	segments []segment
	width    float64 // em
}

// Text returns the text of the label as shown.
func (l Label) Text() string {
	units := make([]unit, len(l.cells))
	for i, c := range l.cells {
		units[i] = c.unit
	}
	return shown(units)
}

// Width returns the advance width of the label.
func (l Label) Width() vg.Length { return vg.Length(l.width * l.style.Size) }

// newLabel lays out units in one line.
func (f *fonts) newLabel(units []unit, st TextStyle) Label {
	cells := make([]cell, 0, len(units))
	for _, u := range units {
		cells = append(cells, f.cell(u, st.Family))
	}
	return f.join(cells, st)
}

// cell lays out one unit. Marks after the first character are centred on it.
// A character that no face draws is replaced by its code point.
func (f *fonts) cell(u unit, family Family) cell {
	c := cell{unit: u}
	marks := false
	for i, r := range u.text {
		g := f.glyph(family, r)
		if g == nil {
			if u.code == "" {
				u.code = hexOf(u.text)
			}
			return f.cell(unit{text: u.code}, family)
		}
		em := g.face.upem
		if i > 0 && !u.hexForm() {
			base := c.glyphs[0].glyph
			middle := (base.minX + base.maxX) / 2 / base.face.upem
			c.glyphs = append(c.glyphs, placed{g, middle - (g.minX+g.maxX)/2/em, r})
			marks = true
			continue
		}
		c.glyphs = append(c.glyphs, placed{g, c.width, r})
		c.width += g.advance / em
	}
	if marks {
		c.fit()
	}
	return c
}

// fit widens a letter whose marks are broader than itself.
func (c *cell) fit() {
	left, right := 0.0, c.width
	for _, p := range c.glyphs {
		left = min(left, p.x+p.glyph.minX/p.glyph.face.upem)
		right = max(right, p.x+p.glyph.maxX/p.glyph.face.upem)
	}
	for i := range c.glyphs {
		c.glyphs[i].x -= left
	}
	c.width = right - left
}

// hexForm reports whether the unit is a code point or bytes written out.
func (u unit) hexForm() bool { return len(u.text) > len("‹") && u.text[:len("‹")] == "‹" }

// hexOf returns the code points of s in visible form.
func hexOf(s string) string {
	out := ""
	for _, r := range s {
		out += hexRune(r)
	}
	return out
}

// join puts cells into one line: runs of right-to-left letters are reversed, and
// neighbours are kerned.
func (f *fonts) join(cells []cell, st TextStyle) Label {
	l := Label{style: st, fonts: f, cells: cells}
	for i := 0; i < len(cells); {
		j := i + 1
		for j < len(cells) && cells[j].rtl == cells[i].rtl {
			j++
		}
		if cells[i].rtl {
			for k := j - 1; k >= i; k-- {
				l.append(cells[k])
			}
			l.segmentRTL(cells[i:j])
		} else {
			for k := i; k < j; k++ {
				l.append(cells[k])
				l.segmentLTR(cells[k])
			}
		}
		i = j
	}
	return l
}

// append adds the glyphs of c at the end of the line.
func (l *Label) append(c cell) {
	if n := len(l.glyphs); n > 0 && len(c.glyphs) > 0 && l.style.Family != Mono {
		l.width += l.fonts.kern(l.glyphs[n-1].glyph, c.glyphs[0].glyph)
	}
	for _, p := range c.glyphs {
		l.glyphs = append(l.glyphs, placed{p.glyph, l.width + p.x, p.r})
	}
	l.width += c.width
}

// segmentLTR notes that c was just appended.
func (l *Label) segmentLTR(c cell) {
	if len(c.glyphs) == 0 {
		return
	}
	fc := c.glyphs[0].glyph.face
	if n := len(l.segments); n > 0 && l.segments[n-1].face == fc && !l.segments[n-1].rtl {
		s := &l.segments[n-1]
		s.text += c.text
		s.width = l.width - s.x
		return
	}
	l.segments = append(l.segments, segment{text: c.text, face: fc, x: l.width - c.width, width: c.width})
}

// segmentRTL notes that cells were just appended in reverse.
func (l *Label) segmentRTL(cells []cell) {
	s := segment{rtl: true}
	for _, c := range cells {
		s.text += c.text
		s.width += c.width
		if s.face == nil && len(c.glyphs) > 0 {
			s.face = c.glyphs[0].glyph.face
		}
	}
	s.x = l.width - s.width
	if s.face != nil {
		l.segments = append(l.segments, s)
	}
}

// Elide returns the label shortened in the middle with … so that it is at most
// width wide. When not even … fits, the label is empty.
func (l Label) Elide(width vg.Length) Label {
	if l.Width() <= width {
		return l
	}
	dots := l.fonts.ellipsis(l.style.Family)
	room := float64(width)/l.style.Size - dots.width
	if room < 0 {
		return l.fonts.join(nil, l.style)
	}
	head, tail := 0, len(l.cells)
	for used, fromHead := 0.0, true; head < tail; fromHead = !fromHead {
		next := tail - 1
		if fromHead {
			next = head
		}
		used += l.cells[next].width
		if used > room {
			break
		}
		if fromHead {
			head++
		} else {
			tail--
		}
	}
	cells := append([]cell{}, l.cells[:head]...)
	cells = append(cells, dots)
	cells = append(cells, l.cells[tail:]...)
	short := l.fonts.join(cells, l.style)
	for short.Width() > width && head > 0 { // kerning may widen a pair by a hair
		head--
		short = l.fonts.join(append(append(append([]cell{}, l.cells[:head]...), dots), l.cells[tail:]...), l.style)
	}
	return short
}

// ellipsis lays out the sign for what was left out.
func (f *fonts) ellipsis(family Family) cell { return f.cell(unit{text: "…"}, family) }

// Wrap returns the label in at most lines lines of at most width each, broken
// at blanks, and inside a word when the word alone is too long. What does not
// fit is elided at the end of the last line with ….
func (l Label) Wrap(width vg.Length, lines int) []Label {
	room := float64(width) / l.style.Size
	var out []Label
	rest := trimBlanks(l.cells)
	for len(rest) > 0 && len(out) < lines {
		if len(out) == lines-1 {
			out = append(out, l.cutEnd(rest, room))
			break
		}
		n := breakAt(rest, room)
		out = append(out, l.fonts.join(trimBlanks(rest[:n]), l.style))
		rest = trimBlanks(rest[n:])
	}
	return out
}

// breakAt returns how many cells go on a line of the given room (em), at least
// one.
func breakAt(cells []cell, room float64) int {
	width, blank := 0.0, 0
	for i, c := range cells {
		if c.blank {
			blank = i
		}
		width += c.width
		if width > room {
			switch {
			case c.blank:
				return i
			case blank > 0:
				return blank
			}
			return max(i, 1)
		}
	}
	return len(cells)
}

// cutEnd returns cells in one line, the end replaced by … when it is too long.
func (l Label) cutEnd(cells []cell, room float64) Label {
	line := l.fonts.join(cells, l.style)
	if line.width <= room {
		return line
	}
	dots := l.fonts.ellipsis(l.style.Family)
	n, width := 0, dots.width
	for n < len(cells) && width+cells[n].width <= room {
		width += cells[n].width
		n++
	}
	return l.fonts.join(append(append([]cell{}, trimBlanks(cells[:n])...), dots), l.style)
}

func trimBlanks(cells []cell) []cell {
	for len(cells) > 0 && cells[0].blank {
		cells = cells[1:]
	}
	for len(cells) > 0 && cells[len(cells)-1].blank {
		cells = cells[:len(cells)-1]
	}
	return cells
}
