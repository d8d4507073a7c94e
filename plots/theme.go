package plots

import "lab/plots/canvas"

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
