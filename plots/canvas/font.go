package canvas

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"codeberg.org/go-fonts/dejavu/dejavusansmono"
	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"lab/core/fault"
)

// Family is a kind of face.
type Family uint8

// Sans is for words, Mono for tokens and Bold for titles.
const (
	Sans Family = iota
	Bold
	Mono
)

// face is one font that can be drawn with.
type face struct {
	name   string // full name of the font
	family string // for CSS
	id     string // short, unique, safe in an XML name
	bold   bool
	font   *sfnt.Font
	data   []byte // the file; nil for a face in a collection
	upem   float64
}

// glyph is one outline in font units (y up), shared and never changed after it
// was loaded.
type glyph struct {
	face       *face
	index      sfnt.GlyphIndex
	segments   sfnt.Segments // in font units, y down as the loader gives them
	advance    float64       // font units
	minX, maxX float64       // extent of the ink, font units
}

// fonts is the chain of faces of one page. It is not safe for concurrent use.
type fonts struct {
	chains map[Family][]*face
	found  finder
	buf    sfnt.Buffer
	glyphs map[glyphKey]*glyph
	lookup map[runeKey]*glyph // nil: no face draws it
}

type glyphKey struct {
	face  *face
	index sfnt.GlyphIndex
}

type runeKey struct {
	family Family
	r      rune
}

// newFonts opens the built-in faces. dirs are searched, when a character is in
// none of them, in the order given.
func newFonts(dirs []string) (*fonts, error) {
	f := &fonts{
		chains: make(map[Family][]*face),
		found:  finder{dirs: dirs},
		glyphs: make(map[glyphKey]*glyph),
		lookup: make(map[runeKey]*glyph),
	}
	sources := []struct {
		id     string
		family string
		bold   bool
		data   []byte
	}{
		{"ls", "Liberation Sans", false, liberationsansregular.TTF},
		{"lb", "Liberation Sans", true, liberationsansbold.TTF},
		{"lm", "Liberation Mono", false, liberationmonoregular.TTF},
		{"ds", "DejaVu Sans", false, dejavusans.TTF},
		{"dm", "DejaVu Sans Mono", false, dejavusansmono.TTF},
	}
	byID := make(map[string]*face)
	for _, s := range sources {
		font, err := sfnt.Parse(s.data)
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "open font", s.family)
		}
		name := s.family
		if s.bold {
			name += " Bold"
		}
		byID[s.id] = &face{name: name, family: s.family, id: s.id, bold: s.bold, font: font, data: s.data, upem: float64(font.UnitsPerEm())}
	}
	f.chains[Sans] = []*face{byID["ls"], byID["ds"]}
	f.chains[Bold] = []*face{byID["lb"], byID["ls"], byID["ds"]}
	f.chains[Mono] = []*face{byID["lm"], byID["dm"], byID["ds"]}
	return f, nil
}

// newFoundFace describes a font met at run time.
func newFoundFace(f *sfnt.Font, data []byte, path string, index int) *face {
	var buf sfnt.Buffer
	name := func(id sfnt.NameID) string {
		s, err := f.Name(&buf, id)
		if err != nil || s == "" {
			return path
		}
		return Clean(s)
	}
	h := fnv.New64a()
	h.Write([]byte(name(sfnt.NameIDFull) + "\x00" + strconv.Itoa(index)))
	return &face{
		name: name(sfnt.NameIDFull), family: name(sfnt.NameIDFamily), id: fmt.Sprintf("x%x", h.Sum64()),
		font: f, data: data, upem: float64(f.UnitsPerEm()),
	}
}

// glyph returns the outline of r from the first face of the chain that has one,
// or nil when none does.
func (f *fonts) glyph(family Family, r rune) *glyph {
	key := runeKey{family, r}
	if g, ok := f.lookup[key]; ok {
		return g
	}
	var g *glyph
	for _, fc := range f.chains[family] {
		if g = f.load(fc, r); g != nil {
			break
		}
	}
	for i := 0; g == nil; i++ {
		fc := f.found.face(i)
		if fc == nil {
			break
		}
		g = f.load(fc, r)
	}
	f.lookup[key] = g
	return g
}

// load returns r's outline in fc, or nil when the face lacks it, holds it in
// colour only, or is damaged there.
func (f *fonts) load(fc *face, r rune) *glyph {
	index, err := fc.font.GlyphIndex(&f.buf, r)
	if err != nil || index == 0 {
		return nil
	}
	key := glyphKey{fc, index}
	if g, ok := f.glyphs[key]; ok {
		return g
	}
	// At a size of one unit per em every number comes back in font units.
	size := fixed.Int26_6(fc.font.UnitsPerEm())
	segments, err := fc.font.LoadGlyph(&f.buf, index, size, nil)
	if err != nil {
		return nil
	}
	advance, err := fc.font.GlyphAdvance(&f.buf, index, size, font.HintingNone)
	if err != nil {
		return nil
	}
	g := &glyph{face: fc, index: index, segments: append(sfnt.Segments(nil), segments...), advance: float64(advance)}
	box := g.segments.Bounds()
	g.minX, g.maxX = float64(box.Min.X), float64(box.Max.X)
	f.glyphs[key] = g
	return g
}

// kern returns the change of distance between two glyphs, in em.
func (f *fonts) kern(a, b *glyph) float64 {
	if a.face != b.face {
		return 0
	}
	k, err := a.face.font.Kern(&f.buf, a.index, b.index, fixed.Int26_6(a.face.font.UnitsPerEm()), font.HintingNone)
	if err != nil {
		return 0 // the loader reports a missing pair as an error
	}
	return float64(k) / a.face.upem
}
