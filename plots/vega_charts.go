package plots

import (
	"image/color"

	"lab/plots/canvas"
	"lab/plots/vega"
)

func (b *bars) vega(v *view) {
	_, roles := b.columns()
	rows := map[string]int{"step": 16}
	y := v.names(roles["category"], b.allCategories(), b.data.Category)
	x := v.quantity(roles["value"], b.data.Value, true)
	v.positive(roles["value"], b.data.Value)
	e := vega.Encoding{X: x, Y: y, Color: &vega.Channel{Value: css(v.theme.Series[0])}}
	if s, ok := roles["series"]; ok {
		e.Color = v.coloured(s, b.series, b.data.By, func(i int) color.RGBA { return b.colourIn(v.theme, b.data.Highlight, b.series[i]) })
		e.YOffset = v.names(s, b.series, b.data.By)
	}
	mark := vega.Mark{Type: "bar", Tooltip: vega.AllFields()}
	if b.data.Value.Log {
		mark = vega.Mark{Type: "point", Filled: vega.Yes(), Tooltip: vega.AllFields()}
	}
	layers := []vega.Spec{{Mark: &mark, Encoding: &e}}
	if lo, ok := roles["lo"]; ok {
		w := e
		w.X, w.X2, w.Color = v.quantity(lo, b.data.Value, true), v.end(lo+1), &vega.Channel{Value: css(v.theme.Ink)}
		w.X.Title = x.Title
		layers = append(layers, vega.Spec{Mark: &vega.Mark{Type: "rule"}, Encoding: &w})
	}
	layers = append(layers, v.rules(b.data.Rules)...)
	var facet *vega.Channel
	if p, ok := roles["panel"]; ok && len(b.panels) > 1 {
		facet = v.names(p, b.panels, b.data.Facet)
	}
	width, _ := viewSize(len(b.panels))
	v.layers(layers, facet, width, rows)
}

// allCategories are the names of all bars as the table has them.
func (b *bars) allCategories() []string {
	var out []string
	seen := map[string]bool{}
	for _, bar := range b.data.Bars {
		if name := canvas.Visible(bar.Name); !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

func (h *heat) vega(v *view) {
	at := h.first
	ordinal := func(column int, order []string, q Quantity) *vega.Channel {
		c := v.of(column, "ordinal", canvas.Clean(q.axisName()))
		list := make([]string, len(order))
		for i, name := range order {
			list[i] = h.spell(name)
		}
		c.Sort = list
		return c
	}
	rows := append([]string(nil), h.data.Rows...)
	if h.data.RowsUp {
		for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
			rows[i], rows[j] = rows[j], rows[i]
		}
	}
	value := v.of(at+2, "quantitative", canvas.Clean(h.data.Value.axisName()))
	const stops = 8
	var amounts []string // the colours of the picture: the lowest is not the page's
	for i := range stops + 1 {
		amounts = append(amounts, css(amountColour(v.theme, float64(i)/stops)))
	}
	scale := &vega.Scale{Range: amounts}
	if h.data.Value.Log {
		scale.Type = "log"
		v.positive(at+2, h.data.Value)
	}
	if h.data.Centre != nil {
		scale = &vega.Scale{DomainMid: *h.data.Centre, Interpolate: "rgb", Range: []string{css(v.theme.Series[0]), css(v.theme.Background), css(v.theme.Series[1])}}
	}
	value.Scale = scale
	var facet *vega.Channel
	if at > 0 && len(h.data.Panels) > 1 {
		var titles []string
		for _, p := range h.data.Panels {
			titles = append(titles, p.Title)
		}
		facet = v.names(0, titles, h.data.Facet)
	}
	width, height := viewSize(len(h.data.Panels))
	x, y := ordinal(at, h.data.Columns, h.data.X), ordinal(at+1, rows, h.data.Y)
	layers := []vega.Spec{{Mark: &vega.Mark{Type: "rect", Tooltip: vega.AllFields()}, Encoding: &vega.Encoding{X: x, Y: y, Color: value}}}
	for k, frame := range h.frames {
		if frame[0] < 0 {
			continue
		}
		equal := func(column int, name string) vega.Transform {
			return vega.Transform{Filter: &vega.Filter{Field: v.fields[column], Equal: name}}
		}
		only := []vega.Transform{equal(at, h.spell(h.data.Columns[frame[1]])), equal(at+1, h.spell(h.data.Rows[frame[0]]))}
		if facet != nil {
			only = append(only, equal(0, canvas.Clean(h.data.Panels[k].Title)))
		}
		layers = append(layers, vega.Spec{Transform: only, Mark: &vega.Mark{Type: "rect", Fill: "transparent", Stroke: css(v.theme.Ink), StrokeWidth: 2.5},
			Encoding: &vega.Encoding{X: x, Y: y}})
	}
	v.layers(layers, facet, width, height)
}

func stopsOf(th Theme) []string {
	var out []string
	for _, c := range th.Stops {
		out = append(out, css(c))
	}
	return out
}

// sampleFacet returns the channel of the panels of a chart of samples: the
// samples, and when there are facets as well, those.
func (m *samples) sampleFacet(v *view, bySample bool) *vega.Channel {
	header, _ := m.sampleColumns()
	panels := len(m.panels) > 1 || len(m.panels) == 1 && m.panels[0] != ""
	switch {
	case len(header) == 0:
		return nil
	case panels && len(m.panels) > 1:
		return v.names(0, m.panels, m.data.Facet)
	case bySample && len(m.names) > 1:
		return v.names(len(header)-1, m.names, m.data.By)
	}
	return nil
}

func (h *hist) vega(v *view) {
	header, _ := h.sampleColumns()
	n := len(header)
	q := h.data.Value
	v.positive(n, q)
	x := v.quantity(n, q, false)
	x.Bin = "binned"
	if q.Log {
		x.Bin = ""
	}
	e := &vega.Encoding{X: x, X2: v.end(n + 1), Y: v.of(n+2, "quantitative", h.yQuantity().words()), Color: &vega.Channel{Value: css(v.theme.Series[0])}}
	if q.Log { // rectangles from zero, since the language bins no logarithmic axis
		e.Y2 = &vega.Channel{Datum: 0.0}
	}
	kind := "bar"
	if q.Log {
		kind = "rect"
	}
	if facet := h.sampleFacet(v, true); facet != nil && len(h.panels) > 1 && len(h.names) > 1 {
		e.Color = v.coloured(n-1, h.names, h.data.By, func(i int) color.RGBA { return v.theme.Series[i%len(v.theme.Series)] })
	}
	layers := append([]vega.Spec{{Mark: &vega.Mark{Type: kind, Tooltip: vega.AllFields(), Opacity: 0.8}, Encoding: e}}, v.rules(h.data.Rules)...)
	facet := h.sampleFacet(v, true)
	panels := 1
	if facet != nil {
		panels = 2
	}
	width, height := viewSize(panels)
	v.layers(layers, facet, width, height)
}

// vega draws violins as boxes: the table holds their quartiles, not their
// shapes.
func (m *violin) vega(v *view) {
	v.note = "Here as boxes: quartiles and median, lines to the ends."
	header, _ := m.sampleColumns()
	n := len(header) // then n, min, quartile_1, median, quartile_3, max
	q := m.data.Value
	v.positive(n+1, q)
	y := &vega.Channel{Value: 20.0}
	var height any = 60
	if len(m.names) > 1 || len(m.names) == 1 && m.names[0] != "" {
		y = v.names(n-1, m.names, m.data.By)
		height = map[string]int{"step": 24}
	}
	colour := &vega.Channel{Value: css(v.theme.Series[0])}
	x := func(column int) *vega.Channel {
		c := v.quantity(column, q, false)
		return c
	}
	layers := []vega.Spec{
		{Mark: &vega.Mark{Type: "rule"}, Encoding: &vega.Encoding{X: x(n + 1), X2: v.end(n + 5), Y: y, Color: colour}},
		{Mark: &vega.Mark{Type: "bar", Size: 10, Tooltip: vega.AllFields()}, Encoding: &vega.Encoding{X: x(n + 2), X2: v.end(n + 4), Y: y, Color: colour}},
		{Mark: &vega.Mark{Type: "tick", Size: 14, Thickness: 2}, Encoding: &vega.Encoding{X: x(n + 3), Y: y, Color: &vega.Channel{Value: css(v.theme.Ink)}}},
	}
	layers = append(layers, v.rules(m.data.Rules)...)
	facet := m.sampleFacet(v, false)
	width, _ := viewSize(len(m.panels))
	v.layers(layers, facet, width, height)
}
