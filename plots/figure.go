package plots

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// Figure is a drawn picture with its data and its words. It never changes and is
// safe for concurrent use.
type Figure struct {
	content
	picture *canvas.Picture
	options Options // resolved, Title and Subtitle as drawn
}

// content is what a figure is besides its picture.
type content struct {
	name     string
	describe string   // the picture in words
	notes    []string // what was left out or moved, below the picture
	table    func() Table
	drawn    func() Table       // the rows that vega speaks of; nil: those of table
	text     []string           // columns of the table that hold names, though they may look like numbers
	vega     func(v *view)      // says how the table is drawn
	sketch   func(s *sketchpad) // draws with characters; nil: rows of the table
}

// finish draws the foot of a page and returns the figure. The functions of c are
// called when they are needed, from any goroutine, and change nothing.
func (o Options) finish(p *canvas.Page, c content) *Figure {
	p.Footer(c.notes, o.Footer)
	return &Figure{content: c, picture: p.Finish(o.Title, c.describe), options: o}
}

// fixed returns a function that returns a copy of a table.
func fixed(t Table) func() Table { return t.clone }

// Name returns the figure's name in the catalogue.
func (f *Figure) Name() string { return f.name }

// Title returns the title as drawn.
func (f *Figure) Title() string { return f.picture.Title() }

// Theme returns the theme it was drawn in.
func (f *Figure) Theme() Theme { return f.options.Theme }

// Description returns the picture in words, for readers who cannot see it, made
// from the numbers that were drawn.
func (f *Figure) Description() string { return f.picture.Description() }

// Faces returns the font faces drawn with, in order of first use. Pictures that
// use faces found at run time look different on another machine.
func (f *Figure) Faces() []string { return f.picture.Faces() }

// Size returns width and height in inches.
func (f *Figure) Size() (width, height float64) {
	w, h := f.picture.Size()
	return float64(w) / 72, float64(h) / 72
}

// Table returns a copy of the numbers drawn, with the full text of every token.
func (f *Figure) Table() Table { return f.table() }

// SVG writes the figure as SVG. Errors: fault.Data when w fails.
func (f *Figure) SVG(w io.Writer) error { return f.picture.SVG(w, f.options.LiveText) }

// PNG writes the figure as PNG at 300 dpi. Errors: fault.Data when w fails.
func (f *Figure) PNG(w io.Writer) error { return f.picture.PNG(w) }

// PDF writes the figure as PDF; the same figure gives the same bytes. Errors:
// fault.Data when w fails.
func (f *Figure) PDF(w io.Writer) error { return f.picture.PDF(w) }

// Formats returns the file extensions [Figure.Save] knows, sorted, without the
// first dot.
func Formats() []string { return []string{"csv", "pdf", "png", "svg", "txt", "vl.json"} }

// terminalColumns is the width of a .txt file.
const terminalColumns = 100

// Save writes the figure to a file in the format of its extension, upper or
// lower case: a picture (svg, png, pdf), its table (csv), its Vega-Lite
// specification (vl.json), or its drawing in characters (txt). The file appears
// whole or not at all.
//
// Errors: fault.Usage for an extension that is not in [Formats] and for a folder
// that is missing or cannot be written to; fault.Data when the disk fails.
func (f *Figure) Save(path string) error {
	writers := map[string]func(io.Writer) error{"csv": func(w io.Writer) error { return f.Table().CSV(w) }, "pdf": f.PDF, "png": f.PNG, "svg": f.SVG,
		"txt": func(w io.Writer) error { return f.Terminal(w, terminalColumns, false) }, "vl.json": f.VegaLite}
	name := strings.ToLower(filepath.Base(path))
	for ext, write := range writers {
		if strings.HasSuffix(name, "."+ext) {
			return canvas.WriteFile(path, write)
		}
	}
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	cure := "end the name in one of ." + strings.Join(Formats(), ", .")
	if ext == "" {
		return fault.New(fault.Usage, "save figure", path, "the name has no extension to tell the format").Fix("%s", cure)
	}
	return fault.New(fault.Usage, "save figure", path, "unknown format %q", ext).Fix("%s", cure)
}

// guard turns a panic in a figure into an error: no figure may take down its
// caller.
func guard(figure string, err *error) {
	if r := recover(); r != nil {
		*err = fault.New(fault.Internal, "figure "+figure, "", "%v", r).Fix("please report it with the data")
	}
}

// badNumber returns the error for an impossible number.
func badNumber(figure, where, problem string, args ...any) *fault.Error {
	return fault.New(fault.Data, "figure "+figure, where, problem, args...)
}

// plural returns "1 token" or "9 tokens", with separators.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return canvas.Count(n) + " " + noun + "s"
}

// verb chooses by number.
func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// nameLimit is how many characters of a rule's or a stage's name a sentence
// takes.
const nameLimit = 48

// shortened returns words made visible, in the middle shortened to at most limit
// characters.
func shortened(s string, limit int) string { return canvas.Shorten(canvas.Clean(s), limit) }

// quoted returns a prompt in quotation marks, shortened.
func quoted(s string, limit int) string { return "“" + shortened(s, limit) + "”" }

// number writes a float for a table.
func number(v float64) string { return fmt.Sprintf("%v", v) }
