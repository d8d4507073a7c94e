package report

import (
	"encoding/base64"
	"strings"

	"lab/plots/canvas"
)

// A report is sections of blocks: what is written in HTML and in Markdown is the
// same. All words in it were made visible by [Report.clean].

type pair struct{ name, value string }

type section struct {
	id     string // of the HTML element: ours, never from a file
	title  string
	level  int // of its heading, 2 to 4
	blocks []block
}

// block is one of its members.
type block struct {
	text   string // a paragraph
	alert  string // a paragraph that warns
	code   string // lines to be shown as they are
	folded string // with code or table: what it is, when it is not open at first
	list   []string
	table  *grid
	figure *figure
	tokens *tokenView
	scale  *scale
}

// grid is a table of words.
type grid struct {
	caption string
	head    []column
	rows    [][]cell
	note    string // below it
}

type column struct {
	name    string
	numeric bool
}

// cell is a value and, smaller, what is known about it.
type cell struct{ text, detail string }

func words(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, t := range texts {
		out[i].text = t
	}
	return out
}

func columns(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i].name, out[i].numeric = strings.CutPrefix(n, "#")
	}
	return out
}

// figure is a picture with its words and numbers.
type figure struct {
	name       string // of its file beside Markdown: letters, digits, - and _
	title, alt string
	purpose    string    // what it shows, "" when it is not of our catalogue
	pictures   []picture // one for all themes, or light and dark
	data       *grid
	csv        []byte // all of it
	source     string // the file it was read from
}

type picture struct {
	theme string // "light", "dark"; "" for all
	mime  string
	data  []byte
}

func (p picture) url() string {
	return "data:" + p.mime + ";base64," + base64.StdEncoding.EncodeToString(p.data)
}

func (p picture) extension() string {
	if p.mime == "image/png" {
		return ".png"
	}
	return ".svg"
}

// clean makes all words of the report visible; tokens are, already.
func (r *Report) clean() {
	each := func(texts ...*string) {
		for _, t := range texts {
			*t = canvas.Clean(*t)
		}
	}
	each(&r.title, &r.finding, &r.foot)
	for i := range r.facts {
		each(&r.facts[i].name, &r.facts[i].value)
	}
	for i := range r.alerts {
		each(&r.alerts[i])
	}
	for i := range r.sections {
		s := &r.sections[i]
		each(&s.title)
		for j := range s.blocks {
			b := &s.blocks[j]
			each(&b.text, &b.alert, &b.folded)
			b.code = cleanLines(b.code)
			for k := range b.list {
				each(&b.list[k])
			}
			if b.table != nil {
				b.table.clean(each)
			}
			if f := b.figure; f != nil {
				each(&f.title, &f.alt, &f.purpose, &f.source)
				if f.data != nil {
					f.data.clean(each)
				}
			}
			if v := b.tokens; v != nil {
				each(&v.title, &v.about, &v.stop, &v.more)
				v.prompt = cleanLines(v.prompt)
			}
		}
	}
}

func (g *grid) clean(each func(...*string)) {
	each(&g.caption, &g.note)
	for i := range g.head {
		each(&g.head[i].name)
	}
	for i := range g.rows {
		for j := range g.rows[i] {
			each(&g.rows[i][j].text, &g.rows[i][j].detail)
		}
	}
}

// cleanLines is canvas.Clean that keeps the ends of lines.
func cleanLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = canvas.Clean(l)
	}
	return strings.Join(lines, "\n")
}
