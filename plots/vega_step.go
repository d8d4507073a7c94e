package plots

import (
	"lab/plots/canvas"
	"lab/plots/vega"
)

func (r *reshape) vega(v *view) {
	if r.emptyWhy != "" {
		v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "bar"}, Encoding: &vega.Encoding{}}}, nil, viewWidth, panelHigh)
		return
	}
	index := map[string]int{}
	for i, name := range v.header {
		index[name] = i
	}
	v.spec.Transform = []vega.Transform{{Filter: &vega.Filter{Field: "row", Equal: "token"}}}
	y := v.of(index["token"], "nominal", "token, ranked")
	var order []string
	for _, i := range r.rows {
		order = append(order, canvas.Visible(r.data.Tokens[i]))
	}
	y.Sort = order
	sampling := v.of(index["sampling"], "quantitative", "probability")
	layers := []vega.Spec{
		{Mark: &vega.Mark{Type: "bar", Tooltip: vega.AllFields()}, Encoding: &vega.Encoding{X: sampling, Y: y, Color: &vega.Channel{Value: css(v.theme.Series[0])}}},
		{Mark: &vega.Mark{Type: "bar", Stroke: css(v.theme.Ink), Fill: "transparent", StrokeWidth: 0.8, Tooltip: vega.AllFields()},
			Encoding: &vega.Encoding{X: v.of(index["model"], "quantitative", "probability"), Y: y}},
	}
	var titles []string
	for _, p := range r.data.Panels {
		titles = append(titles, p.Title)
	}
	v.layers(layers, v.names(index["rule"], titles, "rule"), panelPixels, map[string]int{"step": 14})
}

func (t *temperatures) vega(v *view) {
	log := Quantity{Name: "rank", Title: "rank, likeliest first", Log: true}
	e := &vega.Encoding{X: v.quantity(1, log, false), Y: v.of(2, "quantitative", "cumulative mass"), Color: v.of(0, "ordinal", "temperature")}
	var temperatures []float64
	var colours []string
	for i, s := range t.rows {
		temperatures = append(temperatures, s.temperature)
		place := 0.0
		if len(t.rows) > 1 {
			place = float64(i) / float64(len(t.rows)-1)
		}
		colours = append(colours, css(v.theme.OrderedLine(place)))
	}
	if len(t.rows) > 0 {
		e.Color.Scale = &vega.Scale{Domain: temperatures, Range: colours}
	}
	level := vega.Spec{Data: &vega.Data{Values: []map[string]any{{}}}, Mark: &vega.Mark{Type: "rule", Color: css(v.theme.Muted), StrokeDash: []float64{5, 2}}, Encoding: &vega.Encoding{Y: &vega.Channel{Datum: t.topP}}}
	v.layers([]vega.Spec{level, {Mark: &vega.Mark{Type: "line", Tooltip: vega.AllFields()}, Encoding: e}}, nil, viewWidth, viewHeight)
}

func (c *chain) vega(v *view) {
	y := v.of(0, "ordinal", "stage")
	label := v.of(1, "nominal", "")
	mass := vega.Spec{Width: viewWidth / 2, Height: map[string]int{"step": 20}, Layer: []vega.Spec{
		{Mark: &vega.Mark{Type: "bar", Tooltip: vega.AllFields()}, Encoding: &vega.Encoding{X: v.of(2, "quantitative", "share of the model’s mass"), Y: y, Color: &vega.Channel{Value: css(v.theme.Series[0])}}},
		{Mark: &vega.Mark{Type: "text", Align: "left", DX: 4, Color: css(v.theme.TextOn(v.theme.Series[0]))}, Encoding: &vega.Encoding{X: &vega.Channel{Datum: 0.0}, Y: y, Text: label}},
	}}
	distance := vega.Spec{Width: viewWidth / 2, Height: map[string]int{"step": 20}, Mark: &vega.Mark{Type: "point", Filled: vega.Yes(), Tooltip: vega.AllFields()},
		Encoding: &vega.Encoding{X: v.of(5, "quantitative", "total variation (TV)"), Y: y, Color: &vega.Channel{Value: css(v.theme.Series[2])}}}
	v.spec.HConcat = []vega.Spec{mass, distance}
}
