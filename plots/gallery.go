package plots

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
)

// Gallery writes a web page with the examples of the catalogue in each theme, what it is for and how a script draws it. The page is whole in
// itself: it loads nothing and runs nothing. footer says which version wrote it.
// Errors: fault.Data when w fails.
func Gallery(w io.Writer, footer string) error {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Figures of lab</title>
<style>
:root { color-scheme: light dark; --ink: #1a1a1a; --muted: #5f6368; --page: #ffffff; --edge: #e3e5e8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --muted: #9aa0a6; --page: #14171a; --edge: #2b3035; } }
body { font: 15px/1.5 "Liberation Sans", Arial, sans-serif; color: var(--ink); background: var(--page); max-width: 1320px; margin: 2rem auto; padding: 0 1rem; }
section { margin: 2.5rem 0; } h2 { margin: 0; font-size: 1.15rem; } p { margin: .2rem 0 .6rem; color: var(--muted); }
code { display: block; overflow-x: auto; font-family: "Liberation Mono", monospace; font-size: .85rem; margin-bottom: .8rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; flex: 1 1 420px; border: 1px solid var(--edge); } svg { width: 100%; height: auto; display: block; }
footer { color: var(--muted); font-size: .85rem; } @media print { section { break-inside: avoid; } }
</style></head><body>
<main><h1>Figures of lab</h1>
<p>Made-up numbers; the same example in the light, the dark and the print theme.</p>
`)
	for _, e := range Catalogue() {
		if e.Example == nil {
			continue
		}
		fmt.Fprintf(&b, "<section id=\"%s\"><h2>%s</h2>\n<p>%s</p>\n<code>%s</code>\n<div class=\"pair\">\n", e.Name, e.Name, html.EscapeString(e.Purpose), html.EscapeString(e.Call))
		for _, name := range ThemeNames() {
			theme, err := ThemeNamed(name)
			if err != nil {
				return err
			}
			f, err := e.Example(Options{Theme: theme})
			if err != nil {
				return err
			}
			var svg bytes.Buffer
			if err := f.SVG(&svg); err != nil {
				return err
			}
			_, body, _ := strings.Cut(svg.String(), "?>\n") // a page has no declaration inside
			fmt.Fprintf(&b, "<figure>%s</figure>\n", body)
		}
		b.WriteString("</div></section>\n")
	}
	fmt.Fprintf(&b, "</main><footer>%s</footer>\n</body></html>\n", html.EscapeString(footer))
	return writeAll(w, b.String())
}
