package notebook

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/microcosm-cc/bluemonday"

	"lab/core/fault"
)

//go:embed page.css
var pageCSS string

// HTML writes the notebook as one page that needs nothing else: no network, no
// scripts, pictures inside, light or dark as the reader's system is. name is the
// title when no heading gives one. Whatever the notebook holds is escaped or cut
// down to harmless elements.
func (n *Notebook) HTML(w io.Writer, name string) error {
	p := &page{formatter: chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true)), policy: tablePolicy()}
	title := n.Title()
	if title == "" {
		title = name
	}
	css, err := p.css()
	if err != nil {
		return err
	}
	p.printf("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n", html.EscapeString(title))
	p.printf("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	p.printf("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n")
	p.printf("<style>\n%s</style>\n</head>\n<body>\n<main>\n", css)
	for i := range n.Cells {
		if err := p.cell(&n.Cells[i]); err != nil {
			return fault.Wrap(err, fault.Data, "notebook html", CellName(i))
		}
	}
	p.printf("</main>\n</body>\n</html>\n")
	_, err = w.Write(p.b.Bytes())
	return err
}

// Title returns the text of the first heading of the first level, and "" when
// there is none.
func (n *Notebook) Title() string {
	for _, c := range n.Cells {
		if c.Kind != Markdown {
			continue
		}
		for line := range strings.Lines(c.Source) {
			if text, ok := strings.CutPrefix(line, "# "); ok {
				return strings.TrimSpace(strings.NewReplacer("`", "", "*", "").Replace(text))
			}
		}
	}
	return ""
}

type page struct {
	b         bytes.Buffer
	formatter *chromahtml.Formatter
	policy    *bluemonday.Policy
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// css returns the style sheet: ours, and the colours of code in both themes.
func (p *page) css() (string, error) {
	var b bytes.Buffer
	b.WriteString(pageCSS)
	for _, theme := range []struct{ query, style string }{{"print, (prefers-color-scheme: light)", "github"}, {"screen and (prefers-color-scheme: dark)", "github-dark"}} {
		b.WriteString("@media " + theme.query + " {\n")
		if err := p.formatter.WriteCSS(&b, styles.Get(theme.style)); err != nil {
			return "", err
		}
		b.WriteString("}\n")
	}
	return b.String(), nil
}

// tablePolicy admits tables and plain marks of text, and no attribute that could
// load or run anything.
func tablePolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "p", "b", "strong", "i", "em", "code", "pre", "br", "ul", "ol", "li", "span", "div", "sub", "sup")
	p.AllowAttrs("scope").Matching(regexp.MustCompile(`^(row|col)$`)).OnElements("th")
	p.AllowAttrs("colspan", "rowspan").Matching(regexp.MustCompile(`^[0-9]{1,3}$`)).OnElements("th", "td")
	p.AllowStyles("text-align").MatchingEnum("left", "right", "center").OnElements("th", "td")
	return p
}

func (p *page) cell(c *Cell) error {
	switch c.Kind {
	case Markdown:
		text, err := markdown(c.Source, c.Attachments)
		if err != nil {
			return err
		}
		p.printf("<section class=\"text\">\n%s</section>\n", text)
	case Code:
		number := ""
		if c.Count > 0 {
			number = fmt.Sprintf(" <span class=\"count\">%d</span>", c.Count)
		}
		code, err := p.highlight(c.Source)
		if err != nil {
			return err
		}
		p.printf("<section class=\"cell\">\n<div class=\"code\">%s<pre class=\"chroma\" tabindex=\"0\"><code>%s</code></pre></div>\n", number, code)
		for i := range c.Outputs {
			if err := p.output(&c.Outputs[i]); err != nil {
				return err
			}
		}
		p.printf("</section>\n")
	default: // raw cells are for other formats
		p.printf("<section class=\"raw\"><pre tabindex=\"0\">%s</pre></section>\n", html.EscapeString(visible(c.Source)))
	}
	return nil
}

// highlight colours the source; the lexer of Go knows the words of Tengo.
func (p *page) highlight(src string) (string, error) {
	it, err := chroma.Coalesce(lexers.Get("go")).Tokenise(nil, visible(strings.TrimRight(src, "\n")))
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = p.formatter.Format(&b, styles.Get("github"), it)
	return b.String(), err
}

func (p *page) output(out *Output) error {
	switch out.Kind {
	case Stream:
		p.printf("<pre class=\"stream %s\" tabindex=\"0\">%s</pre>\n", map[bool]string{true: "stderr", false: "stdout"}[out.Name == "stderr"], html.EscapeString(visible(out.Text)))
	case Error:
		text := strings.Join(out.Traceback, "\n")
		if text == "" {
			text = out.Name + ": " + out.Text
		}
		p.printf("<pre class=\"error\" role=\"note\" aria-label=\"error\" tabindex=\"0\">%s</pre>\n", html.EscapeString(visible(text)))
	default:
		return p.data(out)
	}
	return nil
}

// data writes the best form that the page can show.
func (p *page) data(out *Output) error {
	if svg := stringOf(out, "image/svg+xml"); svg != "" {
		p.picture(out, "image/svg+xml", base64.StdEncoding.EncodeToString([]byte(svg)))
		return nil
	}
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif"} {
		raw := strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' || r == ' ' {
				return -1
			}
			return r
		}, stringOf(out, mime))
		if raw == "" {
			continue
		}
		if _, err := base64.StdEncoding.DecodeString(raw); err != nil {
			return fault.New(fault.Data, "", mime, "it is not base64")
		}
		p.picture(out, mime, raw)
		return nil
	}
	if h := stringOf(out, "text/html"); h != "" {
		p.printf("<div class=\"output html\" tabindex=\"0\">%s</div>\n", p.policy.Sanitize(h))
		return nil
	}
	if md := stringOf(out, "text/markdown"); md != "" {
		h, err := markdown(md, nil)
		if err != nil {
			return err
		}
		p.printf("<div class=\"output text\">%s</div>\n", h)
		return nil
	}
	p.printf("<pre class=\"output\" tabindex=\"0\">%s</pre>\n", html.EscapeString(visible(stringOf(out, "text/plain"))))
	return nil
}

func stringOf(out *Output, mime string) string {
	s, _ := out.Data[mime].(string)
	return s
}

func (p *page) picture(out *Output, mime, data string) {
	alt := stringOf(out, "text/plain")
	if m, ok := out.Metadata[mime].(map[string]any); ok {
		if s, ok := m["alt"].(string); ok && s != "" {
			alt = s
		}
	}
	p.printf("<figure><img src=\"data:%s;base64,%s\" alt=\"%s\"></figure>\n", mime, data, html.EscapeString(visible(alt)))
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// visible takes away the colours of terminals and writes other control characters
// and marks of direction as their numbers.
func visible(s string) string {
	s = ansi.ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "")
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
