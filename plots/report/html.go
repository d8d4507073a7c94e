package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"strings"
	"sync"

	"lab/core/fault"
	"lab/plots/canvas"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// HTML writes the report as one page that loads nothing: style, script and pictures
// are in it, and a Content-Security-Policy lets the browser run and load nothing
// else. Errors: fault.Data when w fails.
func (r *Report) HTML(w io.Writer) error {
	t, err := parsed()
	if err != nil {
		return fault.Wrap(err, fault.Internal, op, "page.html")
	}
	css := themeCSS() + pageCSS
	page := struct {
		htmlReport
		Policy string
		CSS    template.CSS // ours, no word of it from a file
		JS     template.JS
	}{r.html(), "default-src 'none'; img-src data:; style-src " + hashed(css) + "; script-src " + hashed(pageJS) + "; base-uri 'none'; form-action 'none'", template.CSS(css), template.JS(pageJS)}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return fault.Wrap(err, fault.Internal, op, "page.html")
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fault.Wrap(err, fault.Data, op, "html")
	}
	return nil
}

// parsed is the template; html/template escapes by context whatever it is given.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"url": func(p picture) template.URL { return template.URL(p.url()) },
		"heading": func(s htmlSection) template.HTML { // the level cannot be chosen within a tag
			return template.HTML(fmt.Sprintf("<h%d id=\"%s-h\">%s</h%d>", s.Level, s.ID, template.HTMLEscapeString(s.Title), s.Level))
		},
	}).Parse(pageHTML)
})

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// themeCSS writes the colours of the figures' themes as the page's.
func themeCSS() string {
	var b strings.Builder
	light := vars(canvas.Light())
	fmt.Fprintf(&b, ":root {\n%s}\n", light)
	dark := vars(canvas.Dark())
	fmt.Fprintf(&b, "@media screen and (prefers-color-scheme: dark) { :root:not([data-theme=\"light\"]) {\n%s} }\n", dark)
	fmt.Fprintf(&b, "@media screen { :root[data-theme=\"dark\"] {\n%s} }\n", dark)
	return b.String()
}

func vars(t canvas.Theme) string {
	var b strings.Builder
	set := func(name string, c color.RGBA) { fmt.Fprintf(&b, "\t--%s: #%02x%02x%02x;\n", name, c.R, c.G, c.B) }
	fmt.Fprintf(&b, "\tcolor-scheme: %s;\n", t.Name)
	set("paper", t.Background)
	set("ink", t.Ink)
	set("muted", t.Muted)
	set("line", t.Grid)
	set("soft", canvas.Blend(t.Grid, t.Background, 0.4))
	set("accent", t.Series[0])
	set("warn", canvas.Blend(t.Series[1], t.Background, 0.14))
	set("edge", t.Series[1])
	for i := range levels + 1 {
		fill := t.Sequential(float64(i) / levels)
		set(fmt.Sprintf("s%d", i), fill)
		set(fmt.Sprintf("i%d", i), textOn(fill))
	}
	return b.String()
}

// textOn returns black or white, whichever is read better on a fill: small words
// need a contrast of 4.5, more than ink and paper of a theme reach on every level.
func textOn(fill color.RGBA) color.RGBA {
	black, white := color.RGBA{A: 255}, color.RGBA{255, 255, 255, 255}
	if canvas.Contrast(black, fill) >= canvas.Contrast(white, fill) {
		return black
	}
	return white
}
