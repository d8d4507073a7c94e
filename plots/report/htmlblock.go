package report

import (
	"fmt"
	"strings"

	"lab/plots/canvas"
)

// The forms of a report that the template reads: it sees exported fields only.

type htmlReport struct {
	Title, Finding, Foot string
	Alerts               []string
	Facts                []htmlFact
	Sections             []htmlSection
}

type htmlFact struct{ Name, Value string }

type htmlSection struct {
	ID, Title string
	Level     int
	Blocks    []htmlBlock
}

// htmlBlock is a block as the template reads it.
type htmlBlock struct {
	Text, Alert, Code, Folded string
	List                      []string
	Table                     *htmlTable
	Figure                    *htmlFigure
	Tokens                    *htmlTokens
	Scale                     []htmlStop
}

type htmlTable struct {
	Caption, Note string
	Head          []htmlHead
	Rows          [][]htmlCell
	HideCaption   bool // it says the summary that it is folded under
}

// htmlHead is the name of a column in parts, between which a line may break.
type htmlHead struct {
	Parts []string
	Class string
}

type htmlCell struct {
	Text, Detail string
	Class        string // "n" for numbers, "long" for sentences
}

type htmlFigure struct {
	Title, Alt, Purpose, Source string
	Number                      int
	Pictures                    []htmlPicture
	Data                        *htmlTable
}

type htmlPicture struct {
	Theme string
	Of    picture
}

type htmlTokens struct {
	ID, Title, About, Prompt, Stop, More string
	Known                                bool
	Tokens                               []htmlToken
	Details                              []tokenDetail
	Level                                int
}

type htmlToken struct {
	Shown, Bits, Class string
	Break              bool
}

// htmlStop is a colour of the scale and the bits from which it is.
type htmlStop struct{ Class, Bits string }

func (r *Report) html() htmlReport {
	h := htmlReport{Title: r.title, Finding: r.finding, Foot: r.foot, Alerts: r.alerts}
	for _, f := range r.facts {
		h.Facts = append(h.Facts, htmlFact{f.name, f.value})
	}
	figures := 0
	for _, s := range r.sections {
		h.Sections = append(h.Sections, htmlSection{s.id, s.title, s.level, htmlBlocks(s, &figures)})
	}
	return h
}

// htmlBlocks counts the figures of the report.
func htmlBlocks(s section, figures *int) []htmlBlock {
	out := make([]htmlBlock, 0, len(s.blocks))
	for _, b := range s.blocks {
		h := htmlBlock{Text: b.text, Alert: b.alert, Code: b.code, Folded: b.folded, List: b.list}
		if b.table != nil {
			h.Table = htmlGrid(b.table)
			h.Table.HideCaption = b.folded == b.table.caption
		}
		if f := b.figure; f != nil {
			*figures++
			h.Figure = &htmlFigure{Number: *figures, Title: f.title, Alt: f.alt, Purpose: f.purpose, Source: f.source}
			for _, p := range f.pictures {
				h.Figure.Pictures = append(h.Figure.Pictures, htmlPicture{p.theme, p})
			}
			if f.data != nil {
				h.Figure.Data = htmlGrid(f.data)
				h.Figure.Data.HideCaption = true
			}
		}
		if v := b.tokens; v != nil {
			h.Tokens = v.html(s.level + 1)
		}
		if b.scale != nil {
			for i := range levels + 1 {
				h.Scale = append(h.Scale, htmlStop{class(i), canvas.Significant(b.scale.top*float64(i)/levels, 2)})
			}
		}
		out = append(out, h)
	}
	return out
}

func htmlGrid(g *grid) *htmlTable {
	t := &htmlTable{Caption: g.caption, Note: g.note}
	for _, c := range g.head {
		t.Head = append(t.Head, htmlHead{broken(c.name), cellClass("", c.numeric)})
	}
	for _, r := range g.rows {
		row := make([]htmlCell, len(r))
		for i, c := range r {
			row[i] = htmlCell{c.text, c.detail, cellClass(c.text, g.head[i].numeric)}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// broken splits a long name of a column where a line may break.
func broken(name string) []string {
	const short = 12 // characters
	if len(name) <= short {
		return []string{name}
	}
	return strings.SplitAfter(name, "_")
}

// cellClass says how wide a cell has to be to be read.
func cellClass(text string, numeric bool) string {
	const sentence = 32 // characters
	switch {
	case numeric:
		return "n"
	case len(text) > sentence:
		return "long"
	}
	return ""
}

func (v *tokenView) html(level int) *htmlTokens {
	h := &htmlTokens{ID: v.id, Title: v.title, About: v.about, Prompt: v.prompt, Stop: v.stop, More: v.more, Known: v.known, Level: level}
	for _, t := range v.tokens {
		h.Tokens = append(h.Tokens, htmlToken{t.shown, t.bits, class(t.level), t.newline})
		h.Details = append(h.Details, t.detail)
	}
	return h
}

// class is the class of a level of colour.
func class(level int) string {
	if level < 0 {
		return "sx"
	}
	return fmt.Sprintf("s%d", level)
}
