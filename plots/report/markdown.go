package report

import (
	"fmt"
	"net/url"
	"strings"
)

// file is one that lies beside a report in Markdown.
type file struct {
	name string
	data []byte
}

const markdownTokens = 60 // of one example, a row each

// markdown returns the report as GitHub's Markdown, and the figures with their
// numbers as files whose names begin with base.
func (r *Report) markdown(base string) (string, []file) {
	m := &markdownWriter{base: base}
	m.line("# %s", escape(r.title))
	m.line("%s", leading(escape(r.finding)))
	for _, a := range r.alerts {
		m.line("> **Note:** %s", escape(a))
	}
	for _, f := range r.facts {
		m.item("**%s:** %s", escape(f.name), escape(f.value))
	}
	m.b.WriteString("\n")
	for _, s := range r.sections {
		m.line("%s %s", strings.Repeat("#", s.level), escape(s.title))
		for _, b := range s.blocks {
			m.block(b, s.level)
		}
	}
	m.line("---")
	m.line("%s", leading(escape(r.foot)))
	return strings.TrimRight(m.b.String(), "\n") + "\n", m.files
}

type markdownWriter struct {
	b       strings.Builder
	base    string
	files   []file
	figures int
}

func (m *markdownWriter) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n\n", args...) }
func (m *markdownWriter) item(format string, args ...any) {
	fmt.Fprintf(&m.b, "- "+format+"\n", args...)
}

func (m *markdownWriter) block(b block, level int) {
	if b.text != "" {
		m.line("%s", leading(escape(b.text)))
	}
	if b.alert != "" {
		m.line("> **Note:** %s", escape(b.alert))
	}
	if b.folded != "" && b.table == nil {
		m.line("%s", leading(escape(b.folded)+":"))
	}
	if b.code != "" {
		m.code(b.code)
	}
	for _, l := range b.list {
		m.item("%s", leading(escape(l)))
	}
	if b.list != nil {
		m.b.WriteString("\n")
	}
	if b.table != nil {
		m.table(b.table)
	}
	if b.figure != nil {
		m.figure(b.figure)
	}
	if b.tokens != nil {
		m.tokens(b.tokens, level+1)
	}
}

// code writes lines between fences longer than any row of back quotes in them.
func (m *markdownWriter) code(text string) {
	longest, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", max(3, longest+1))
	m.line("%s\n%s\n%s", fence, strings.TrimRight(text, "\n"), fence)
}

func (m *markdownWriter) table(g *grid) {
	if g.caption != "" {
		m.line("**%s**", escape(g.caption))
	}
	m.rows(g)
	if g.note != "" {
		m.line("%s", leading(escape(g.note)))
	}
}

func (m *markdownWriter) rows(g *grid) {
	for i, c := range g.head {
		if i == 0 {
			m.b.WriteString("|")
		}
		m.b.WriteString(" " + escape(c.name) + " |")
	}
	m.b.WriteString("\n|")
	for _, c := range g.head {
		if c.numeric {
			m.b.WriteString("---:|")
		} else {
			m.b.WriteString("---|")
		}
	}
	m.b.WriteString("\n")
	for _, r := range g.rows {
		m.b.WriteString("|")
		for _, c := range r {
			m.b.WriteString(" " + strings.TrimSpace(escape(c.text)+" "+escape(c.detail)) + " |")
		}
		m.b.WriteString("\n")
	}
	m.b.WriteString("\n")
}

// figure links the picture, in the light theme, and its numbers.
func (m *markdownWriter) figure(f *figure) {
	m.figures++
	for _, p := range f.pictures {
		if p.theme != "" && p.theme != "light" {
			continue
		}
		name := m.base + "-" + f.name + p.extension()
		m.files = append(m.files, file{name, p.data})
		m.line("![%s](%s)", escape(f.alt), url.PathEscape(name))
	}
	words := f.purpose
	if words == "" {
		words = f.title
	}
	if f.source != "" {
		words += " (" + f.source + ")"
	}
	text := fmt.Sprintf("Figure %d: %s", m.figures, escape(words))
	if f.csv != nil {
		name := m.base + "-" + f.name + ".csv"
		m.files = append(m.files, file{name, f.csv})
		text += fmt.Sprintf(". [Its numbers](%s)", url.PathEscape(name))
	}
	m.line("%s", text)
}

// tokens writes a sample as a row for each token.
func (m *markdownWriter) tokens(v *tokenView, level int) {
	m.line("%s %s", strings.Repeat("#", level), escape(v.title))
	if v.about != "" {
		m.line("%s", leading(escape(v.about)))
	}
	if v.prompt != "" {
		m.line("Prompt:")
		m.code(v.prompt)
	}
	if !v.known {
		var lines []string
		for _, t := range v.tokens {
			lines = append(lines, t.shown)
		}
		m.code(strings.Join(lines, "\n"))
	} else {
		g := &grid{head: columns("#", "token", "#model probability", "#rank", "#surprisal, bits", "#sampling probability", "#rank", "#surprisal, bits", "what the stages cut")}
		g.head[0] = column{"step", true}
		for i, t := range v.tokens[:min(len(v.tokens), markdownTokens)] {
			row := words(fmt.Sprint(i), t.shown)
			for _, side := range [][]string{t.detail.Model, t.detail.Sampling} {
				if side == nil {
					side = []string{"", "", ""}
				}
				row = append(row, words(side[:3]...)...)
			}
			g.rows = append(g.rows, append(row, cell{text: t.detail.Cut}))
		}
		m.rows(g)
		if more := v.length - len(g.rows); more > 0 {
			m.line("%s not shown.", plural(more, "more token"))
		}
	}
	m.line("%s.", leading(escape(v.stop)))
}

// escape writes text so that Markdown shows it as it is: no markup, HTML, entity or
// link of it works, those that GitHub makes of bare addresses included.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_[]<>&|~$#!@^{}", r),
			r == ':' && strings.HasPrefix(s[i:], "://"),
			r == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// leading protects the begin of a block, where signs and numbers make lists, rules
// and code.
func leading(s string) string {
	s = strings.TrimLeft(s, " ")
	if s == "" {
		return s
	}
	if strings.ContainsRune("-+=", rune(s[0])) {
		return `\` + s
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') {
		return s[:digits] + `\` + s[digits:]
	}
	return s
}
