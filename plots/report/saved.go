package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lab/core/table"
	"lab/plots"
	"lab/plots/canvas"
)

// savedFigure is a figure of a script in all the formats that it was saved in: files
// of one name but for the extension.
type savedFigure struct {
	stem  string
	files []string
}

// figures are those that the script saved.
func (s *scriptReport) figures() error {
	var list []*savedFigure
	at := map[string]*savedFigure{}
	for _, name := range s.record.Figures {
		stem := strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), ".vl")
		if at[stem] == nil {
			at[stem] = &savedFigure{stem: stem}
			list = append(list, at[stem])
		}
		at[stem].files = append(at[stem].files, name)
	}
	var blocks []block
	for i, f := range list {
		blocks = append(blocks, s.figure(f, i+1)...)
	}
	s.add("figures", "Figures", blocks...)
	return nil
}

// figure shows a figure by the best of its files.
func (s *scriptReport) figure(f *savedFigure, number int) []block {
	shown := &figure{name: fmt.Sprintf("saved%d", number), source: strings.Join(f.files, ", ")}
	var problems []string
	var drawn string // with characters
	for _, name := range f.files {
		if c := s.record.Captions[name]; shown.alt == "" {
			shown.title, shown.alt = c.Title, c.Description
		}
		ext := strings.ToLower(path.Ext(name))
		if !slices.Contains([]string{".svg", ".png", ".csv", ".txt"}, ext) {
			continue // named, not shown
		}
		data, err := s.read(name, mostPicture)
		if err != nil {
			problems = append(problems, name+" cannot be read: "+err.Error())
			continue
		}
		switch {
		case ext == ".svg":
			title, desc, err := svgWords(data)
			if err != nil {
				problems = append(problems, name+" is no SVG: "+err.Error())
				continue
			}
			if title != "" && desc != "" { // a picture that was changed since says so itself
				shown.title, shown.alt = title, desc
			}
			shown.pictures = s.both(name, data, title, desc)
		case ext == ".png" && !bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
			problems = append(problems, name+" is no PNG")
		case ext == ".png" && shown.pictures == nil:
			shown.pictures = []picture{{"", "image/png", data}}
		case ext == ".csv":
			if shown.data, err = csvGrid(data, name); err != nil {
				problems = append(problems, name+" is no CSV: "+err.Error())
				continue
			}
			shown.csv = data
		case ext == ".txt":
			drawn = string(data)
		}
	}
	if shown.title == "" {
		shown.title = f.stem
	}
	if shown.alt == "" {
		shown.alt = "The figure " + f.stem + ", saved without a description."
	}
	if s.finding == "" && shown.title != f.stem {
		s.finding = shown.title
	}
	var blocks []block
	switch {
	case shown.pictures != nil:
		blocks = append(blocks, block{figure: shown})
	case drawn != "":
		blocks = append(blocks, block{text: shown.title + " (" + shown.source + "), drawn with characters:"}, block{code: strings.TrimRight(drawn, "\n")})
	case shown.data != nil:
		blocks = append(blocks, block{table: shown.data})
	default:
		blocks = append(blocks, block{text: shown.title + " was saved as " + shown.source + ", which a page cannot show. " + shown.alt})
	}
	if problems != nil {
		blocks = append(blocks, block{list: problems})
	}
	return blocks
}

// both returns a picture in the light and the dark theme, where the script's run
// kept the other one and it still shows the same: title and description, which are
// made from the numbers. Otherwise it is one picture for both.
func (s *scriptReport) both(name string, data []byte, title, desc string) []picture {
	one := picture{"", "image/svg+xml", data}
	theme := s.record.Captions[name].Theme
	_, kept := plots.OtherTheme(name, theme)
	if kept == "" || title == "" || desc == "" {
		return []picture{one}
	}
	other, err := s.read(kept, mostPicture)
	if err != nil { // made by a lab that kept none, or moved without it
		return []picture{one}
	}
	if t, d, err := svgWords(other); err != nil || t != title || d != desc {
		return []picture{one}
	}
	light, dark := picture{"light", one.mime, data}, picture{"dark", one.mime, other}
	if theme == "dark" {
		light.data, dark.data = dark.data, light.data
	}
	return []picture{light, dark}
}

// svgWords returns title and description of an SVG. The picture itself is shown as
// an image, in which no script of it runs and which loads nothing.
func svgWords(data []byte) (title, desc string, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	depth, root := 0, ""
	for {
		t, err := d.Token()
		if err != nil { // also the end: no shape was met
			if root != "svg" {
				return "", "", err
			}
			return title, desc, nil
		}
		switch e := t.(type) {
		case xml.StartElement:
			depth++
			if depth == 1 {
				if root = e.Name.Local; root != "svg" {
					return "", "", fmt.Errorf("its root is %q", root)
				}
				continue
			}
			to := map[string]*string{"title": &title, "desc": &desc}[e.Name.Local]
			if depth != 2 || to == nil {
				if depth == 2 && title != "" && desc != "" {
					return title, desc, nil
				}
				continue
			}
			if err := d.DecodeElement(to, &e); err != nil {
				return "", "", err
			}
			depth--
		case xml.EndElement:
			depth--
		}
	}
}

// csvGrid shows the first rows of the numbers of a figure.
func csvGrid(data []byte, name string) (*grid, error) {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	g := numbers("Numbers of "+name, rows[0], rows[1:])
	if more := len(rows) - 1 - len(g.rows); more > 0 {
		g.note = plural(more, "more row") + " in " + name + "."
	}
	return g, nil
}

const mostRows = 100 // of a table that a script saved

// tables are those that the script saved.
func (s *scriptReport) tables() error {
	var blocks []block
	for _, name := range s.record.Tables {
		t, err := table.ReadIn(s.root, filepath.FromSlash(name), table.CSV{})
		if err != nil {
			blocks = append(blocks, block{list: []string{name + " cannot be read: " + err.Error()}})
			continue
		}
		g := tableOf(t, fmt.Sprintf("%s: %s, %s", name, plural(t.Rows(), "row"), plural(len(t.Names()), "column")), mostRows, func(v float64) string { return canvas.Significant(v, 6) })
		blocks = append(blocks, block{table: g})
	}
	s.add("tables", "Tables", blocks...)
	return nil
}
