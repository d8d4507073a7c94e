package canvas

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/vg"
)

// SVG writes the picture as SVG 1.1 with a title and a description. Text is
// outlines, each glyph stored once; with live it stays text that can be
// searched and edited, and the letters used of each face are embedded. Errors:
// fault.Data when w fails.
func (p *Picture) SVG(w io.Writer, live bool) error {
	return p.render(w, "svg", func(buf *bytes.Buffer) error {
		s := &svgWriter{buf: buf, height: p.height}
		s.open(p)
		if live {
			s.embed(p)
		} else {
			s.define(p)
		}
		s.printf(`<rect width="%s" height="%s" fill="%s"/>`+"\n", num(float64(p.width)), num(float64(p.height)), css(p.background))
		for i := range p.shapes {
			switch sh := &p.shapes[i]; {
			case sh.label == nil:
				s.path(sh)
			case live:
				s.liveText(sh)
			default:
				s.outlineText(sh)
			}
		}
		s.printf("</svg>\n")
		return nil
	})
}

// svgWriter writes elements with y turned down.
type svgWriter struct {
	buf    *bytes.Buffer
	height vg.Length
}

func (s *svgWriter) printf(format string, args ...any) { fmt.Fprintf(s.buf, format, args...) }

func (s *svgWriter) open(p *Picture) {
	w, h := num(float64(p.width)), num(float64(p.height))
	s.printf(`<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
		`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%spt" height="%spt" viewBox="0 0 %s %s" role="img">`+"\n",
		w, h, w, h)
	s.printf("<title>%s</title>\n<desc>%s</desc>\n<metadata>fonts: %s</metadata>\n",
		escape(p.title), escape(p.desc), escape(strings.Join(p.faces, ", ")))
}

// define stores every glyph in use once, in font units.
func (s *svgWriter) define(p *Picture) {
	seen := make(map[*glyph]bool)
	s.printf("<defs>\n")
	for _, sh := range p.shapes {
		if sh.label == nil {
			continue
		}
		for _, g := range sh.label.glyphs {
			if seen[g.glyph] || len(g.glyph.segments) == 0 {
				continue
			}
			seen[g.glyph] = true
			s.printf(`<path id="%s" d="`, g.glyph.id())
			s.segments(g.glyph.segments)
			s.printf("\"/>\n")
		}
	}
	s.printf("</defs>\n")
}

// id is the same for the same glyph in every picture, so that several pictures
// can live in one page.
func (g *glyph) id() string { return g.face.id + strconv.Itoa(int(g.index)) }

func (s *svgWriter) segments(segs sfnt.Segments) {
	letters := [...]string{"M", "L", "Q", "C"}
	args := [...]int{1, 1, 2, 3}
	open := false
	for _, seg := range segs {
		if seg.Op == sfnt.SegmentOpMoveTo && open {
			s.printf("Z")
		}
		open = true
		s.printf("%s", letters[seg.Op])
		for i := range args[seg.Op] {
			if i > 0 {
				s.printf(" ")
			}
			s.printf("%d %d", int(seg.Args[i].X), int(seg.Args[i].Y))
		}
	}
	if open {
		s.printf("Z")
	}
}

// outlineText writes one group per label; its words stand in aria-label.
func (s *svgWriter) outlineText(sh *shape) {
	l := sh.label
	x, y := float64(sh.at.X), float64(s.height-sh.at.Y)
	var open *face
	for _, g := range l.glyphs {
		if len(g.glyph.segments) == 0 {
			continue
		}
		fc := g.glyph.face
		scale := l.style.Size / fc.upem
		if fc != open {
			if open != nil {
				s.printf("</g>\n")
			} else {
				s.printf(`<g fill="%s" aria-label="%s">`+"\n", css(sh.colour), escape(l.Text()))
			}
			s.printf(`<g transform="translate(%s %s) scale(%s)">`, num(x), num(y), strconv.FormatFloat(scale, 'g', 6, 64))
			open = fc
		}
		s.printf(`<use xlink:href="#%s"`, g.glyph.id())
		if at := math.Round(g.x * fc.upem); at != 0 {
			s.printf(` x="%d"`, int(at))
		}
		s.printf("/>")
	}
	if open != nil {
		s.printf("</g>\n</g>\n")
	}
}

// liveText writes one text element per label with one span per face and
// direction; textLength keeps the layout when a viewer substitutes a font.
func (s *svgWriter) liveText(sh *shape) {
	l := sh.label
	size := l.style.Size
	y := num(float64(s.height - sh.at.Y))
	s.printf(`<text xml:space="preserve" font-size="%s" fill="%s">`, num(size), css(sh.colour))
	for _, seg := range l.segments {
		weight, direction := "", ""
		if seg.face.bold {
			weight = ` font-weight="bold"`
		}
		x := float64(sh.at.X) + seg.x*size
		if seg.rtl {
			direction = ` direction="rtl" unicode-bidi="isolate"`
			x += seg.width * size // the start of a right-to-left run is its right end
		}
		s.printf(`<tspan x="%s" y="%s" font-family="%s"%s%s textLength="%s" lengthAdjust="spacingAndGlyphs">%s</tspan>`,
			num(x), y, escape(cssFamily(seg.face)), weight, direction, num(seg.width*size), escape(seg.text))
	}
	s.printf("</text>\n")
}

// cssFamily names the embedded face first, then what a viewer may have instead.
func cssFamily(f *face) string {
	generic := "sans-serif"
	if strings.Contains(f.family, "Mono") {
		generic = "monospace"
	}
	return "'" + embeddedFamily(f) + "', '" + strings.ReplaceAll(f.family, "'", "") + "', " + generic
}

// path writes a filled or stroked path.
func (s *svgWriter) path(sh *shape) {
	s.printf(`<path d="`)
	for _, c := range sh.path {
		switch c.Type {
		case vg.MoveComp:
			s.printf("M%s", s.xy(c.Pos))
		case vg.LineComp:
			s.printf("L%s", s.xy(c.Pos))
		case vg.CurveComp:
			s.printf("C%s %s %s", s.xy(c.Control[0]), s.xy(c.Control[1]), s.xy(c.Pos))
		case vg.CloseComp:
			s.printf("Z")
		}
	}
	if !(sh.width > 0) {
		s.printf(`" fill="%s"/>`+"\n", css(sh.colour))
		return
	}
	s.printf(`" fill="none" stroke="%s" stroke-width="%s"`, css(sh.colour), num(float64(sh.width)))
	if len(sh.dash) > 0 {
		var lengths []string
		for _, d := range sh.dash {
			lengths = append(lengths, num(float64(d)))
		}
		s.printf(` stroke-dasharray="%s"`, strings.Join(lengths, " "))
	}
	s.printf("/>\n")
}

func (s *svgWriter) xy(p vg.Point) string {
	return num(float64(p.X)) + " " + num(float64(s.height-p.Y))
}

// num writes a length with at most two decimals, a hundredth of a point.
func num(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" || text == "" {
		return "0"
	}
	return text
}

func css(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// escape makes words safe in XML text and attributes. Characters XML cannot
// hold at all were already replaced by [Clean] or [Visible].
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;").Replace(s)
}

// facesOf returns the faces of all labels in order of first use.
func facesOf(shapes []shape) []*face {
	var out []*face
	for _, sh := range shapes {
		if sh.label == nil {
			continue
		}
		for _, g := range sh.label.glyphs {
			if !slices.Contains(out, g.glyph.face) {
				out = append(out, g.glyph.face)
			}
		}
	}
	return out
}
