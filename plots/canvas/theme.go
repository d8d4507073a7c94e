package canvas

import (
	"image/color"

	"lab/core/fault"
)

// MinContrast is the least contrast ratio of a line, a marker or a word against
// its background (WCAG 2.2, 1.4.11 for graphics).
const MinContrast = 3.0

// Theme holds the colours of a picture. It is a value: a figure drawn in one
// theme knows nothing of another, and there is no current theme. The zero Theme
// cannot be drawn with; take [Light] or [Dark], and change a copy.
type Theme struct {
	Name       string
	Background color.RGBA
	Ink        color.RGBA // words, axes, outlines
	Muted      color.RGBA // second-rank words
	Grid       color.RGBA

	// Series are blue, vermilion, green and pink, in the order of use; they stay
	// apart under every colour deficiency and may be used for lines.
	Series [4]color.RGBA
	// Amber is for fills with an ink edge only; it is too pale for a line.
	Amber color.RGBA
	// Sky is a second fill-only colour; in a dark theme it is Amber again, since
	// none is far enough from blue there.
	Sky color.RGBA

	// Stops is the sequential scale, from nothing to most.
	Stops [5]color.RGBA
	// OrderedFrom and OrderedTo cut the viridis map to the part that is used for
	// ordered series.
	OrderedFrom, OrderedTo float64

	// Grey says that the theme has no colours: ordered series are greys as well,
	// and figures add a dash to every line.
	Grey bool
}

// Light returns the theme for paper and bright screens.
func Light() Theme {
	return Theme{
		Name:       "light",
		Background: rgb(0xffffff), Ink: rgb(0x1a1a1a), Muted: rgb(0x5f6368), Grid: rgb(0xe3e5e8),
		Series:      [4]color.RGBA{rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7)},
		Amber:       rgb(0xe69f00),
		Sky:         rgb(0x56b4e9),
		Stops:       [5]color.RGBA{rgb(0xffffff), rgb(0xfde3c8), rgb(0xfbb983), rgb(0xef7f3a), rgb(0xb8430a)},
		OrderedFrom: 0.05, OrderedTo: 0.85,
	}
}

// Dark returns the theme for dark screens and slides.
func Dark() Theme {
	return Theme{
		Name:       "dark",
		Background: rgb(0x14171a), Ink: rgb(0xe8eaed), Muted: rgb(0x9aa0a6), Grid: rgb(0x2b3035),
		Series:      [4]color.RGBA{rgb(0x5ab4ee), rgb(0xff8a3d), rgb(0x2fc99b), rgb(0xe59bc4)},
		Amber:       rgb(0xf2d13a),
		Sky:         rgb(0xf2d13a),
		Stops:       [5]color.RGBA{rgb(0x14171a), rgb(0x3a2a1e), rgb(0x6b3d1c), rgb(0xa4551b), rgb(0xe07020)},
		OrderedFrom: 0.30, OrderedTo: 1.0,
	}
}

// Print returns the theme for paper without colours.
func Print() Theme {
	return Theme{
		Name:       "print",
		Background: rgb(0xffffff), Ink: rgb(0x000000), Muted: rgb(0x4d4d4d), Grid: rgb(0xe0e0e0),
		Series:      [4]color.RGBA{rgb(0x000000), rgb(0x8c8c8c), rgb(0x333333), rgb(0x616161)},
		Amber:       rgb(0xd4d4d4),
		Sky:         rgb(0xececec),
		Stops:       [5]color.RGBA{rgb(0xffffff), rgb(0xdedede), rgb(0xb0b0b0), rgb(0x7a7a7a), rgb(0x303030)},
		OrderedFrom: 0, OrderedTo: 1, Grey: true,
	}
}

// Themes returns the built-in themes, light first.
func Themes() []Theme { return []Theme{Light(), Dark(), Print()} }

// ThemeNamed returns the built-in theme of that name; the empty name is light.
// Errors: fault.Usage with the nearest name.
func ThemeNamed(name string) (Theme, error) {
	if name == "" {
		return Light(), nil
	}
	var names []string
	for _, t := range Themes() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Theme{}, fault.Unknown("choose theme", "theme", name, names)
}

// Check refuses a theme that cannot be read: words, axes or series below
// [MinContrast] on the background. The built-in themes pass.
func (t Theme) Check() error {
	roles := []struct {
		name string
		c    color.RGBA
	}{
		{"ink", t.Ink}, {"muted", t.Muted}, {"series 1", t.Series[0]}, {"series 2", t.Series[1]},
		{"series 3", t.Series[2]}, {"series 4", t.Series[3]},
	}
	for _, r := range roles {
		if got := Contrast(r.c, t.Background); !(got >= MinContrast) {
			return fault.New(fault.Usage, "theme", t.Name, "%s has contrast %.2f:1 on the background, below %g:1",
				r.name, got, MinContrast).Fix("take a colour further from the background")
		}
	}
	return nil
}

// Sequential returns the colour of amount t, 0..1, on the sequential scale.
func (t Theme) Sequential(amount float64) color.RGBA { return along(t.Stops[:], amount) }

// Ordered returns the fill colour of place t, 0..1, among ordered series: the
// theme's part of viridis. Its light end is too pale for a thin line; see
// [Theme.OrderedLine].
func (t Theme) Ordered(place float64) color.RGBA {
	if t.Grey {
		return along([]color.RGBA{t.Ink, t.Stops[2]}, place)
	}
	stops := viridisStops()
	return along(stops[:], t.OrderedFrom+place*(t.OrderedTo-t.OrderedFrom))
}

// OrderedLine returns the line colour of place t, 0..1, among ordered series:
// the same map as [Theme.Ordered], with the end that falls below [MinContrast]
// on the background left out. Luminance still runs one way, so the order
// survives a print in grey.
func (t Theme) OrderedLine(place float64) color.RGBA {
	const step = 0.01 // one hundredth of the scale, finer than the eye
	from, to := 0.0, 1.0
	readable := func(at float64) bool { return Contrast(t.Ordered(at), t.Background) >= MinContrast }
	for from < to && !readable(from) {
		from += step
	}
	for to > from && !readable(to) {
		to -= step
	}
	return t.Ordered(from + place*(to-from))
}

// TextOn returns ink or background, whichever can be read better on fill.
func (t Theme) TextOn(fill color.RGBA) color.RGBA {
	if Contrast(t.Ink, fill) >= Contrast(t.Background, fill) {
		return t.Ink
	}
	return t.Background
}
