package plots

import (
	"path"
	"path/filepath"
	"strings"

	"lab/plots/canvas"
)

// Theme holds the colours of a picture; see [canvas.Theme].
type Theme = canvas.Theme

// Light returns the theme for paper and bright screens.
func Light() Theme { return canvas.Light() }

// Dark returns the theme for dark screens and slides.
func Dark() Theme { return canvas.Dark() }

// Print returns the theme for paper without colours.
func Print() Theme { return canvas.Print() }

// ThemeNamed returns a built-in theme; the empty name is light. Errors:
// fault.Usage with the nearest name.
func ThemeNamed(name string) (Theme, error) { return canvas.ThemeNamed(name) }

// ThemeNames returns the names of the built-in themes, light first.
func ThemeNames() []string {
	var names []string
	for _, t := range canvas.Themes() {
		names = append(names, t.Name)
	}
	return names
}

// OtherTheme returns, for a figure saved as name in the light or the dark theme, the
// other of the two and where the picture is kept in that: a page that is light or
// dark as its reader wants needs both. The file is relative to the folder of name,
// "" for any format but SVG and for the theme of paper, which has no other one.
func OtherTheme(name, theme string) (other Theme, file string) {
	if !strings.EqualFold(filepath.Ext(name), ".svg") {
		return other, ""
	}
	switch theme {
	case Light().Name:
		other = Dark()
	case Dark().Name:
		other = Light()
	default:
		return other, ""
	}
	return other, path.Join(".themes", other.Name, path.Clean(filepath.ToSlash(name)))
}
