package plots

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"slices"

	"lab/plots/canvas"
	"lab/plots/vega"
)

// VegaLite writes the figure as a Vega-Lite specification of version 5 that
// carries the numbers drawn: an interactive picture for notebooks and web pages. It
// shows the same numbers in the same colours, laid out by the viewer; what is
// undefined is null and left out there. Errors: fault.Data when w fails.
func (f *Figure) VegaLite(w io.Writer) (err error) {
	defer guard(f.name, &err)
	t := f.drawnTable()
	v := &view{header: t.Header, fields: vega.Fields(t.Header), theme: f.options.Theme}
	f.vega(v)
	s := v.spec
	th := f.options.Theme
	s.Schema = vega.Schema
	s.Title = &vega.Title{Text: canvas.Clean(f.Title()), Anchor: "start"}
	for _, line := range append([]string{f.options.Subtitle, v.note, f.options.Footer}, f.notes...) {
		if line != "" {
			s.Title.Subtitle = append(s.Title.Subtitle, canvas.Clean(line))
		}
	}
	s.Description = f.Description()
	s.Data = vega.Rows(t.Header, t.Rows, func(c int) bool { return slices.Contains(f.text, t.Header[c]) })
	ink, muted, grid := css(th.Ink), css(th.Muted), css(th.Grid)
	s.Config = &vega.Config{Background: css(th.Background), Axis: &vega.AxisStyle{LabelColor: ink, TitleColor: ink, GridColor: grid, DomainColor: ink, TickColor: ink, LabelLimit: labelPixels},
		Legend: &vega.TextStyle{LabelColor: ink, TitleColor: ink, SymbolOpacity: 1}, Title: &vega.TextStyle{Color: ink, SubtitleColor: muted},
		Header: &vega.TextStyle{LabelColor: ink, TitleColor: ink}, View: &vega.View{Stroke: grid}}
	return s.Write(w)
}

// drawnTable returns the rows that a specification speaks of.
func (f *Figure) drawnTable() Table {
	if f.drawn != nil {
		return f.drawn()
	}
	return f.table()
}

// css returns a colour as #rrggbb.
func css(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// inOrderOfRows keeps the order of the rows, where the language would sort.
func inOrderOfRows() any { return json.RawMessage("null") }

// view is a specification being made for a table.
type view struct {
	spec   vega.Spec
	header []string
	fields []string
	theme  Theme
	note   string // what differs from the picture, added to the subtitle
}

// of returns the channel of a column.
func (v *view) of(column int, kind, title string) *vega.Channel {
	c := &vega.Channel{Field: v.fields[column], Type: kind, Title: title}
	if title == "" {
		c.Title = canvas.Clean(v.header[column])
	}
	return c
}

// quantity returns the channel of a column of numbers on an axis.
func (v *view) quantity(column int, q Quantity, zero bool) *vega.Channel {
	c := v.of(column, "quantitative", canvas.Clean(q.axisName()))
	switch {
	case q.Log:
		c.Scale = &vega.Scale{Type: "log", Nice: vega.No()}
	case !zero:
		c.Scale = &vega.Scale{Zero: vega.No()}
	}
	return c
}

// end returns the second channel of an interval.
func (v *view) end(column int) *vega.Channel { return &vega.Channel{Field: v.fields[column]} }

// names returns the channel of a column of names in an order.
func (v *view) names(column int, order []string, title string) *vega.Channel {
	c := v.of(column, "nominal", canvas.Clean(title))
	c.Sort = cleaned(order)
	return c
}

// coloured is names with a colour for each.
func (v *view) coloured(column int, order []string, title string, colour func(i int) color.RGBA) *vega.Channel {
	c := v.names(column, order, title)
	var colours []string
	for i := range order {
		colours = append(colours, css(colour(i)))
	}
	c.Sort = nil
	c.Scale = &vega.Scale{Domain: cleaned(order), Range: colours}
	return c
}

func cleaned(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = canvas.Clean(s)
	}
	return out
}

// positive keeps the rows that a logarithmic axis can show.
func (v *view) positive(column int, q Quantity) {
	v.spec.Transform = append(v.spec.Transform, v.above(column, q)...)
}

// above returns the filter of positive.
func (v *view) above(column int, q Quantity) []vega.Transform {
	if !q.Log {
		return nil
	}
	zero := 0.0
	return []vega.Transform{{Filter: &vega.Filter{Field: v.fields[column], GT: &zero}}}
}

// layers sets the layers, in panels when there are several.
func (v *view) layers(layers []vega.Spec, facet *vega.Channel, width, height any) {
	one := vega.Spec{Layer: layers, Width: width, Height: height}
	if facet == nil {
		v.spec.Layer, v.spec.Width, v.spec.Height = layers, width, height
		return
	}
	v.spec.Facet, v.spec.Columns, v.spec.Spec = facet, 3, &one
}

// oneRow is data for a mark that stands once: it would be drawn for every row of
// the table otherwise.
func oneRow() *vega.Data { return &vega.Data{Values: []map[string]any{{}}} }

// rules are the layers of reference lines, with a row of data of their own.
func (v *view) rules(rules []Rule) []vega.Spec {
	var out []vega.Spec
	for _, r := range rules {
		at := &vega.Channel{Datum: r.At}
		line := vega.Encoding{Y: at}
		words := vega.Mark{Type: "text", Color: css(v.theme.Muted), Align: "left", DY: -5}
		if r.Vertical {
			line = vega.Encoding{X: at}
			words.DX, words.DY = 4, -60
		}
		out = append(out, vega.Spec{Data: oneRow(), Mark: &vega.Mark{Type: "rule", Color: css(v.theme.Muted), StrokeDash: []float64{5, 2}}, Encoding: &line})
		if r.Label != "" {
			text := line
			text.Text = &vega.Channel{Value: canvas.Clean(r.Label)}
			out = append(out, vega.Spec{Data: oneRow(), Mark: &words, Encoding: &text})
		}
	}
	return out
}

// Sizes of a view in pixels.
const (
	viewWidth   = 420
	viewHeight  = 260
	panelPixels = 190
	panelHigh   = 130
	labelPixels = 280
)

func viewSize(panels int) (width, height any) {
	if panels > 1 {
		return panelPixels, panelHigh
	}
	return viewWidth, viewHeight
}
