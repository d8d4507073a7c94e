package canvas

import (
	"encoding/base64"

	"golang.org/x/image/font/sfnt"
)

// embeddedFamily is the name under which a face's letters are embedded.
func embeddedFamily(f *face) string { return "lab-" + f.id }

// embed writes, for every face in use, a font with just the characters in use. A
// face that is not a single TrueType file (a collection, or cubic outlines) is
// only named.
func (s *svgWriter) embed(p *Picture) {
	s.printf("<defs><style>\n")
	for _, fc := range facesOf(p.shapes) {
		used := make(map[rune]sfnt.GlyphIndex)
		for _, sh := range p.shapes {
			if sh.label == nil {
				continue
			}
			for _, g := range sh.label.glyphs {
				if g.glyph.face == fc {
					used[g.r] = g.glyph.index
				}
			}
		}
		data, err := subset(fc.data, used)
		if err != nil {
			continue // the viewer takes its own font of that name
		}
		weight := "normal"
		if fc.bold {
			weight = "bold"
		}
		s.printf("@font-face{font-family:'%s';font-weight:%s;src:url(data:font/ttf;base64,%s) format('truetype');}\n",
			embeddedFamily(fc), weight, base64.StdEncoding.EncodeToString(data))
	}
	s.printf("</style></defs>\n")
}
