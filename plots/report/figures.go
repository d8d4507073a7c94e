package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"lab/core/measure"
	"lab/core/store"
	"lab/plots"
	"lab/plots/canvas"
	"lab/plots/source"
)

// drawing is a figure to be drawn from the run.
type drawing struct {
	name string
	set  map[string]string
}

// automatic chooses figures by what the run has: what varies, how many cells, and
// whether steps were recorded.
func (s *sweepReport) automatic() []drawing {
	const most = 12 // lines and rows that can be told apart
	m, measured := s.run.Manifest, map[string]string{"value": s.single()}
	var list []drawing
	if len(m.Axes) == 2 && m.Cells > 3 && measured["value"] != "" {
		list = append(list, drawing{"grid", measured})
	}
	if len(m.Axes) > 0 && m.Cells > 1 && m.Cells <= 2*most && m.Samples > 1 && measured["value"] != "" {
		list = append(list, drawing{"outcomes", measured})
	}
	if m.Ledger && s.values("temperature") > 1 {
		list = append(list, drawing{"entropy", nil})
	}
	var by map[string]string // names of several values are too long for a line or a panel
	for _, a := range m.Axes {
		if len(m.Axes) > 1 && s.values(a) > 1 {
			by = map[string]string{"by": a}
			break
		}
	}
	if m.Cells <= most || by != nil && s.values(by["by"]) <= most {
		list = append(list, drawing{"repetition", by}, drawing{"zipf", by})
	}
	return list
}

// single returns the first measure of the report that single samples have.
func (s *sweepReport) single() string {
	names := s.Measures
	if names == nil {
		names = s.defaults()
	}
	for _, name := range names {
		if m, err := measure.Named(name); err == nil && !m.Set {
			return m.Name
		}
	}
	return ""
}

// values returns how many values a setting has, none left out.
func (s *sweepReport) values(name string) int {
	seen := map[string]bool{}
	for _, c := range s.cells {
		if c[name] != nil {
			seen[source.SettingText(c[name])] = true
		}
	}
	return len(seen)
}

// figures draws what was asked for, and otherwise what the run allows; a figure
// that nobody named and that the run refuses is left out, and why is said.
func (s *sweepReport) figures() error {
	if len(s.Figures) == 1 && s.Figures[0] == None || s.records-s.failed == 0 && s.Figures == nil {
		return nil
	}
	list, named := s.automatic(), s.Figures != nil
	if named {
		list = nil
		for _, name := range s.Figures {
			d := drawing{name: name}
			if name == "grid" || name == "outcomes" {
				if v := s.single(); v != "" {
					d.set = map[string]string{"value": v}
				}
			}
			list = append(list, d)
		}
	}
	var blocks []block
	var left []string
	for _, d := range list {
		f, err := s.draw(d)
		switch {
		case err == nil:
			blocks = append(blocks, block{figure: f})
		case !named && refused(err):
			left = append(left, d.name+" is not drawn: "+err.Error())
		default:
			return err
		}
	}
	if left != nil {
		blocks = append(blocks, block{list: left})
	}
	s.add("figures", "Figures", blocks...)
	return nil
}

// pageWidth is that of all figures of a report, in inches, so that their words have
// one size.
const pageWidth = 7

// draw draws a figure in the light and the dark theme.
func (s *sweepReport) draw(d drawing) (*figure, error) {
	var f *figure
	for _, theme := range []plots.Theme{plots.Light(), plots.Dark()} {
		r := source.Request{Figure: d.name, Runs: []*store.Stored{s.run}, Set: d.set, Pieces: s.Pieces,
			Options: plots.Options{Theme: theme, Width: pageWidth, Footer: "run " + s.Name + " · made by lab " + s.run.Manifest.Lab}}
		drawn, err := source.Draw(r)
		if err != nil {
			return nil, err
		}
		var svg bytes.Buffer
		if err := drawn.SVG(&svg); err != nil {
			return nil, err
		}
		if f == nil {
			var csv bytes.Buffer
			if err := drawn.Table().CSV(&csv); err != nil {
				return nil, err
			}
			f = &figure{name: s.prefix + d.name, title: drawn.Title(), purpose: purpose(d.name), alt: drawn.Description(), data: figureData(drawn), csv: csv.Bytes()}
		}
		f.pictures = append(f.pictures, picture{theme.Name, "image/svg+xml", svg.Bytes()})
	}
	return f, nil
}

// purpose is what a figure of the catalogue shows.
func purpose(name string) string {
	for _, e := range plots.Catalogue() {
		if e.Name == name {
			return e.Purpose
		}
	}
	return ""
}

const mostData = 200 // rows of the table behind a figure

// figureData is the table behind a figure.
func figureData(f *plots.Figure) *grid {
	t := f.Table()
	g := numbers("Data of: "+f.Title(), t.Header, t.Rows)
	if more := len(t.Rows) - len(g.rows); more > 0 {
		g.note = fmt.Sprintf("The first %s; %s that lab plot -o NAME.csv writes.", plural(len(g.rows), "row"), plural(more, "more row"))
	}
	return g
}

// numbers is a table of the first rows, each as long as the header; columns that
// hold nothing but numbers there are set as such.
func numbers(caption string, header []string, rows [][]string) *grid {
	g := &grid{caption: caption}
	rows = rows[:min(len(rows), mostData)]
	for i, name := range header {
		numeric := len(rows) > 0 && !slices.ContainsFunc(rows, func(r []string) bool { return !looksNumeric(r[i]) })
		g.head = append(g.head, column{name, numeric})
	}
	for _, r := range rows {
		row := words(r...)
		for i := range row {
			row[i].text = canvas.Shorten(row[i].text, 200)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

func looksNumeric(s string) bool {
	return s == "" || s == "NaN" || s == "+Inf" || strings.Trim(s, "0123456789.eE+-") == ""
}
