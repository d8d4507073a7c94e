package plots

import (
	"math"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
	"lab/plots/canvas"
)

// Options are the settings every figure understands. The zero value draws the
// figure in its own size, in the light theme, with words made from the numbers.
type Options struct {
	Theme    Theme    // zero: Light()
	Title    string   // "": the finding, made from the numbers
	Subtitle string   // "": data, n and encoding, made from the numbers
	Footer   string   // where the numbers come from: run, seed, chain, version
	Width    float64  // inches, 3.5 to 14; 0: the figure's own. Height follows the content
	LiveText bool     // SVG keeps text as text, with the letters used embedded
	FontDirs []string // folders searched for faces when the built-in ones lack a character; see SystemFontDirs
}

// SystemFontDirs returns the folders in which this kind of machine keeps fonts,
// for [Options.FontDirs]. A picture that needs them depends on the machine.
func SystemFontDirs() []string { return canvas.SystemFontDirs() }

// widths are the named widths in inches, narrow first.
func widths() []struct {
	name   string
	inches float64
} {
	return []struct {
		name   string
		inches float64
	}{{"column", 3.5}, {"report", 5.2}, {"page", 7}}
}

// WidthNames returns the names of widths, narrow first: a column of a paper, a
// report, a page.
func WidthNames() []string {
	var names []string
	for _, w := range widths() {
		names = append(names, w.name)
	}
	return names
}

// WidthNamed returns the width of a name in inches. Errors: fault.Usage with the
// nearest name.
func WidthNamed(name string) (float64, error) {
	for _, w := range widths() {
		if w.name == name {
			return w.inches, nil
		}
	}
	return 0, fault.Unknown("choose width", "width", name, WidthNames())
}

const (
	narrowest = 3.5
	widest    = 14.0
)

// resolve fills in defaults and checks the options; own is the figure's width in
// inches.
func (o Options) resolve(figure string, own float64) (Options, error) {
	if o.Theme == (Theme{}) {
		o.Theme = Light()
	}
	if o.Width == 0 {
		o.Width = own
	}
	if math.IsNaN(o.Width) || o.Width < narrowest || o.Width > widest {
		return o, fault.New(fault.Usage, "figure "+figure, "width", "%g in is outside %g to %g", o.Width, narrowest, widest).
			Fix("leave it out for %g in", own)
	}
	if err := o.Theme.Check(); err != nil {
		return o, fault.Wrap(err, fault.Usage, "figure "+figure, "theme")
	}
	return o, nil
}

// page opens the page of a figure.
func (o Options) page() (*canvas.Page, error) {
	return canvas.NewPage(vg.Length(o.Width*72), o.Theme, o.FontDirs)
}

// sheet opens the page of a figure and draws its header; title and subtitle are
// those made from the numbers, own is the width in inches. The options returned
// are resolved, their Title as drawn.
func (o Options) sheet(figure string, own float64, title, subtitle string) (*canvas.Page, Options, error) {
	o, err := o.resolve(figure, own)
	if err != nil {
		return nil, o, err
	}
	p, err := o.page()
	if err != nil {
		return nil, o, err
	}
	if o.Title == "" {
		o.Title = title
	}
	if o.Subtitle == "" {
		o.Subtitle = subtitle
	}
	p.Header(o.Title, o.Subtitle)
	return p, o, nil
}
