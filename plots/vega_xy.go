package plots

import (
	"image/color"

	"lab/plots/vega"
)

// seriesColour returns the colour of series i outside a page.
func (m *xy) seriesColour(th Theme, i int) color.RGBA { return m.styleIn(th, i).colour }

func (m *xy) vega(v *view) {
	_, roles := m.columns()
	at := func(role string) (int, bool) { c, ok := roles[role]; return c, ok }
	x, y := v.quantity(roles["x"], m.data.X, false), v.quantity(roles["y"], m.data.Y, false)
	v.positive(roles["x"], m.data.X)
	v.positive(roles["y"], m.data.Y)
	base := vega.Encoding{X: x, Y: y}
	series, named := at("series")
	switch {
	case named && m.split:
	case named:
		base.Color = v.coloured(series, m.names, m.data.By, func(i int) color.RGBA { return m.seriesColour(v.theme, i) })
	default:
		base.Color = &vega.Channel{Value: css(v.theme.Series[0])}
	}
	if m.data.Join && !m.line {
		ordered := *x
		ordered.Sort = inOrderOfRows()
		base.X = &ordered
	}
	layers := v.rules(m.data.Rules)
	if m.below > 0 {
		v.note = "Intervals that reach zero or below are left out here."
	}
	if lo, ok := at("lo"); ok {
		e := base
		e.Y, e.Y2 = v.quantity(lo, m.data.Y, false), v.end(lo+1)
		e.Y.Title = y.Title
		mark := vega.Mark{Type: "rule"}
		if m.line {
			mark = vega.Mark{Type: "area", Opacity: 0.22}
		}
		if m.ecdf != nil {
			mark.Interpolate = "step-after"
		}
		layers = append(layers, vega.Spec{Transform: v.above(lo, m.data.Y), Mark: &mark, Encoding: &e})
	}
	if lo, ok := at("x_lo"); ok {
		e := base
		e.X, e.X2 = v.quantity(lo, m.data.X, false), v.end(lo+1)
		e.X.Title = x.Title
		layers = append(layers, vega.Spec{Transform: v.above(lo, m.data.X), Mark: &vega.Mark{Type: "rule"}, Encoding: &e})
	}
	if m.joined() {
		mark := vega.Mark{Type: "line", Tooltip: vega.AllFields(), Point: m.line && m.data.Points}
		if m.ecdf != nil {
			mark.Interpolate = "step-after"
		}
		layers = append(layers, vega.Spec{Mark: &mark, Encoding: &base})
	}
	if !m.line {
		e := base
		if named && !m.split && len(m.names) <= directLines {
			shape := *base.Color // the same domain, so that both share a legend
			shape.Scale = &vega.Scale{Domain: cleaned(m.names)}
			e.Shape = &shape
		}
		mark := vega.Mark{Type: "point", Tooltip: vega.AllFields(), Filled: vega.Yes(), Size: 45}
		if h, ok := at("hollow"); ok {
			mark.Filled = nil
			e.Fill, e.Stroke, e.Color = base.Color, base.Color, nil
			e.FillOpacity = &vega.Channel{Value: 1.0, Condition: &vega.Condition{Test: &vega.Filter{Field: v.fields[h], Equal: true}, Value: 0.0}}
		}
		layers = append(layers, vega.Spec{Mark: &mark, Encoding: &e})
	}
	if l, ok := at("label"); ok {
		e := base
		e.Color = nil
		e.Text = v.of(l, "nominal", "")
		layers = append(layers, vega.Spec{Mark: &vega.Mark{Type: "text", Align: "left", DX: 6, DY: -6, Color: css(v.theme.Ink)}, Encoding: &e})
	}
	var facet *vega.Channel
	if p, ok := at("panel"); ok && len(m.panels) > 1 {
		facet = v.names(p, m.panels, m.data.Facet)
	} else if m.split && named {
		facet = v.names(series, m.panels, m.data.By)
	}
	width, height := viewSize(len(m.panels))
	v.layers(layers, facet, width, height)
}
