package plots

import (
	"image/color"
	"strconv"

	"lab/plots/canvas"
	"lab/plots/vega"
)

// Vega-Lite for the cost figures made of bars.

// viewTable returns the parts of a stack with where each begins and ends.
func (s *stack) viewTable() Table {
	t := s.table()
	out := Table{Header: append([]string{"order"}, t.Header...)}
	for _, name := range []string{"from", "to"} {
		out.Header = append(out.Header, columnName(name, name, out.Header))
	}
	row, order := 0, 0
	for _, b := range s.bars {
		from := 0.0
		for _, v := range b.Values {
			ends := []string{"NaN", "NaN"}
			if defined(v) {
				ends = []string{number(from), number(from + v)}
				from += v
			}
			out.Rows = append(out.Rows, append(append([]string{strconv.Itoa(order)}, t.Rows[row]...), ends...))
			row, order = row+1, order+1
		}
		if b.Total > 0 {
			out.Rows = append(out.Rows, append(append([]string{"total"}, t.Rows[row]...), "NaN", "NaN"))
			row++
		}
	}
	return out
}

func (s *stack) vega(v *view) {
	if s.emptyWhy != "" {
		v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "bar"}, Encoding: &vega.Encoding{}}}, nil, viewWidth, viewHeight)
		return
	}
	const order, bar, part, value, lo, hi, from, to = 0, 1, 2, 3, 5, 6, 7, 8 // columns of viewTable
	var names []string
	for _, b := range s.bars {
		names = append(names, b.Name)
	}
	place := v.names(bar, names, s.groups)
	along := func(column int) *vega.Channel {
		c := v.quantity(column, s.value, true)
		c.Scale = &vega.Scale{Domain: []float64{0, s.top()}, Nice: vega.No()}
		return c
	}
	over := func(c, end *vega.Channel) *vega.Encoding {
		if s.upright {
			return &vega.Encoding{X: place, Y: c, Y2: end}
		}
		return &vega.Encoding{X: c, X2: end, Y: place}
	}
	total := []vega.Transform{{Filter: &vega.Filter{Field: v.fields[order], Equal: "total"}}}
	parts := over(along(from), v.end(to))
	parts.Color = v.coloured(part, s.parts, "part", func(i int) color.RGBA { fill, _ := fillOf(v.theme, i); return fill })
	layers := []vega.Spec{{Transform: []vega.Transform{{Filter: &vega.Filter{Field: v.fields[part], OneOf: cleaned(s.parts)}}},
		Mark: &vega.Mark{Type: "bar", Stroke: css(v.theme.Background), StrokeWidth: 1, Tooltip: vega.AllFields()}, Encoding: parts}}
	ink := &vega.Channel{Value: css(v.theme.Ink)}
	whiskers := over(along(lo), v.end(hi))
	whiskers.Color = ink
	points := over(along(value), nil)
	points.Color = ink
	layers = append(layers, vega.Spec{Transform: total, Mark: &vega.Mark{Type: "rule"}, Encoding: whiskers})
	if s.upright { // what was measured is joined over the bars
		layers = append(layers, vega.Spec{Transform: total, Mark: &vega.Mark{Type: "line"}, Encoding: points})
	}
	layers = append(layers, vega.Spec{Transform: total, Mark: &vega.Mark{Type: "point", Filled: vega.Yes(), Size: 45, Tooltip: vega.AllFields()}, Encoding: points})
	if s.upright {
		v.layers(layers, nil, map[string]int{"step": 48}, viewHeight)
	} else {
		v.layers(layers, nil, viewWidth, map[string]int{"step": 24})
	}
}

// viewTable returns a row for each end of each bar, in the order of the picture.
// An end that is never reached is at the edge of the axis.
func (t *drivers) viewTable() Table {
	out := Table{Header: []string{"factor", "kind", "end", "value", "outcome", "from", "to", "label"}}
	_, bars := t.spans()
	for _, i := range t.order {
		f := t.data.Factors[i]
		kind := "statistical"
		if f.Scenario {
			kind = "scenario"
		}
		for side, at := range []float64{f.AtLo, f.AtHi} {
			value := []string{f.LoWords, f.HiWords}[side]
			out.Rows = append(out.Rows, []string{canvas.Clean(stackName(CostBar{Name: f.Name})), kind, driverEnds[side], canvas.Clean(value), number(at),
				number(t.data.Median), number(bars.within(at)), canvas.Clean(t.words(value, at))})
		}
	}
	return out
}

var driverEnds = [2]string{"factor low", "factor high"}

// driverRoom is the share of the width on each side of the bars that is left for
// words.
const driverRoom = 0.22

// spans returns the ends of the axis, and those of the bars within it.
func (t *drivers) spans() (axis, bars scale) {
	axis.Axis = t.axis(1, driverRoom, driverRoom)
	bars = axis
	bars.Min, bars.Max = axis.Min+driverRoom*(axis.Max-axis.Min), axis.LineTo
	return axis, bars
}

func (t *drivers) vega(v *view) {
	if t.emptyWhy != "" {
		v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "bar"}, Encoding: &vega.Encoding{}}}, nil, viewWidth, viewHeight)
		return
	}
	const factor, kind, end, from, to, label = 0, 1, 2, 5, 6, 7 // columns of viewTable
	var names []string
	for _, i := range t.order {
		names = append(names, stackName(CostBar{Name: t.data.Factors[i].Name}))
	}
	axis, _ := t.spans()
	first, last := axis.ends()
	y := v.names(factor, names, "factor")
	x := func(column int) *vega.Channel {
		c := v.quantity(column, t.data.Outcome, false)
		c.Scale.Nice, c.Scale.Domain, c.Axis = vega.No(), []float64{first, last}, lettered(axis)
		return c
	}
	bars := vega.Encoding{X: x(from), X2: v.end(to), Y: y, Color: v.coloured(end, driverEnds[:], "", func(i int) color.RGBA { return v.theme.Series[i] }),
		FillOpacity: &vega.Channel{Value: 1.0, Condition: &vega.Condition{Test: &vega.Filter{Field: v.fields[kind], Equal: "scenario"}, Value: 0.55}}}
	layers := []vega.Spec{{Mark: &vega.Mark{Type: "bar", Tooltip: vega.AllFields()}, Encoding: &bars}}
	for _, side := range []struct {
		sign  string
		align string
		dx    float64
	}{{"left", "right", -4}, {"right", "left", 4}} {
		words := vega.Filter{Field: v.fields[to], LTE: &t.data.Median}
		if side.sign == "right" {
			words = vega.Filter{Field: v.fields[to], GT: &t.data.Median}
		}
		layers = append(layers, vega.Spec{Transform: []vega.Transform{{Filter: &words}},
			Mark:     &vega.Mark{Type: "text", Align: side.align, DX: side.dx, Color: css(v.theme.Ink)},
			Encoding: &vega.Encoding{X: x(to), Y: y, Text: v.of(label, "nominal", "")}})
	}
	layers = append(layers, v.rules([]Rule{{Vertical: true, At: t.data.Median, Label: "median " + canvas.Significant(t.data.Median, 3)}})...)
	if len(t.scenarios()) > 0 {
		v.note = "Pale: a scenario, whose ends are choices."
	}
	v.layers(layers, nil, viewWidth, map[string]int{"step": 22})
}

// scenarios are the factors drawn whose ends are choices.
func (t *drivers) scenarios() []int {
	var out []int
	for _, i := range t.order {
		if t.data.Factors[i].Scenario {
			out = append(out, i)
		}
	}
	return out
}
