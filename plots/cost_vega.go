package plots

import (
	"image/color"
	"math"
	"strconv"

	"lab/plots/canvas"
	"lab/plots/vega"
)

// Vega-Lite for the cost figures over two quantities: a layer for each mark of
// the picture, on the picture's own axes.

// Columns of the rows that the specification of a chart speaks of. They are those
// of the data table with the layer each belongs to, and ends cut at the axes.
const (
	viewLayer = iota
	viewPanel
	viewSeries
	viewKind
	viewX
	viewY
	viewLo
	viewHi
	viewXLo
	viewXHi
	viewLabel
	viewHollow
	viewTone
)

// viewTable returns those rows. Points without a place are undefined, which
// breaks lines; what a curve or a set of points draws is one layer.
func (c *chart) viewTable() Table {
	t := c.table()
	header := append([]string{"layer"}, t.Header...)
	out := Table{Header: append(header, columnName(c.tone, "tone", header))}
	if c.emptyWhy != "" {
		return out
	}
	layer := 0
	row := func(pl *plane, name, kind string, x, y, lo, hi, xlo, xhi float64, label string, hollow bool, tone float64) {
		if !pl.placeable(x, y) {
			x, y = math.NaN(), math.NaN()
		}
		out.Rows = append(out.Rows, []string{strconv.Itoa(layer), canvas.Clean(pl.title), canvas.Clean(name), kind, number(x), number(y),
			number(lo), number(hi), number(xlo), number(xhi), canvas.Clean(label), strconv.FormatBool(hollow), number(tone)})
	}
	nan := math.NaN()
	for _, pl := range c.planes {
		ends := func(lo, hi []float64, k int, on scale) (from, to float64) {
			if k >= len(lo) || math.IsNaN(lo[k]) || math.IsNaN(hi[k]) {
				return nan, nan
			}
			return on.within(lo[k]), on.within(hi[k])
		}
		for _, k := range pl.cells {
			row(pl, "", "cell", (k.X0+k.X1)/2, (k.Y0+k.Y1)/2, k.Y0, k.Y1, k.X0, k.X1, "", false, k.value)
		}
		layer++
		for _, k := range pl.curves {
			for i := range k.X {
				lo, hi := ends(k.Lo, k.Hi, i, pl.sy)
				row(pl, k.name, k.kind, k.X[i], k.Y[i], lo, hi, nan, nan, "", false, nan)
			}
			layer++
		}
		for _, d := range pl.dots {
			for i := range d.X {
				lo, hi := ends(d.Lo, d.Hi, i, pl.sy)
				xlo, xhi := ends(d.XLo, d.XHi, i, pl.sx)
				label := ""
				if i < len(d.Labels) {
					label = d.Labels[i]
				}
				row(pl, d.name, d.kind, d.X[i], d.Y[i], lo, hi, xlo, xhi, label, i < len(d.Hollow) && d.Hollow[i], nan)
			}
			layer++
		}
	}
	return out
}

// within returns a value cut at the ends of the axis.
func (s scale) within(v float64) float64 {
	lo, hi := s.ends()
	return min(max(v, lo), hi)
}

// ends returns the values at the ends of the axis.
func (s scale) ends() (lo, hi float64) {
	if s.Log {
		return math.Pow(10, s.Min), math.Pow(10, s.Max)
	}
	return s.Min, s.Max
}

// on returns the channel of a column on an axis of the picture, as long as there.
func (v *view) on(column int, q Quantity, s scale) *vega.Channel {
	c := v.quantity(column, q, false)
	c.Scale.Nice = vega.No()
	if lo, hi := s.ends(); lo < hi && !math.IsInf(hi, 0) {
		c.Scale.Domain = []float64{lo, hi}
	}
	c.Axis = lettered(s)
	return c
}

// lettered writes large numbers of an axis with letters, as the picture does:
// 40M, 2T. It returns nil, the viewer's own way, where there are none.
func lettered(s scale) *vega.Axis {
	if _, hi := s.ends(); hi < 1e4 || hi > 1e18 {
		return nil
	}
	return &vega.Axis{Format: "~s"}
}

func (c *chart) vega(v *view) {
	if c.emptyWhy != "" {
		v.layers([]vega.Spec{{Mark: &vega.Mark{Type: "point"}, Encoding: &vega.Encoding{}}}, nil, viewWidth, viewHeight)
		return
	}
	names := c.names()
	colours := map[string]color.RGBA{}
	for _, pl := range c.planes {
		for _, k := range pl.curves {
			if _, known := colours[k.name]; !known && !k.silent {
				colours[k.name] = k.look.colour(v.theme)
			}
		}
		for _, d := range pl.dots {
			if _, known := colours[d.name]; !known {
				colours[d.name] = d.look.colour(v.theme)
			}
		}
	}
	series := v.coloured(viewSeries, names, "series", func(i int) color.RGBA { return colours[names[i]] })
	far := 0.0
	for _, pl := range c.planes {
		for _, k := range pl.cells {
			if defined(k.value) {
				far = max(far, math.Abs(k.value))
			}
		}
	}
	layer := 0
	var panels []vega.Spec
	for _, pl := range c.planes {
		m := planeView{view: v, plane: pl, far: far, layer: &layer, series: series, colours: colours,
			x: v.on(viewX, pl.x, pl.sx), y: v.on(viewY, pl.y, pl.sy)}
		if len(pl.cells) > 0 { // one layer has one scale of colours: that of the cells
			m.colours = nil
		}
		one := vega.Spec{Layer: m.layers(), Width: viewWidth, Height: viewHeight}
		if pl.title != "" {
			one.Title = &vega.Title{Text: canvas.Clean(pl.title), Anchor: "start"}
		}
		if pl.top != nil {
			v.note = "The upper axis of the picture, " + canvas.Clean(pl.top.Name) + ", is left out here."
		}
		panels = append(panels, one)
	}
	if len(panels) == 1 {
		v.spec.Layer, v.spec.Width, v.spec.Height = panels[0].Layer, viewWidth, viewHeight
		return
	}
	for i := range panels {
		panels[i].Width, panels[i].Height = viewWidth*2/3, viewHeight*2/3
	}
	v.spec.Concat, v.spec.Columns = panels, min(c.across, 3)
}

// planeView makes the layers of one plane, in the order in which the picture
// draws them.
type planeView struct {
	*view
	plane   *plane
	layer   *int // the next one
	series  *vega.Channel
	colours map[string]color.RGBA // of the legend; nil: there is none
	x, y    *vega.Channel
	far     float64 // of cells, from the background, in all planes
}

func (m planeView) layers() []vega.Spec {
	out := m.shades()
	if rows := m.rows(); len(m.plane.cells) > 0 {
		tone := m.of(viewTone, "quantitative", "")
		tone.Scale = &vega.Scale{DomainMid: 0.0, Interpolate: "rgb", Range: []string{css(m.theme.Series[1]), css(m.theme.Background), css(m.theme.Series[0])}}
		if m.far > 0 {
			tone.Scale.Domain = []float64{-m.far, m.far}
		}
		x, y := m.other(m.x, viewXLo), m.other(m.y, viewLo)
		out = append(out, vega.Spec{Transform: rows, Mark: &vega.Mark{Type: "rect", Tooltip: vega.AllFields()},
			Encoding: &vega.Encoding{X: x, X2: m.end(viewXHi), Y: y, Y2: m.end(viewHi), Color: tone}})
	}
	for _, k := range m.plane.curves {
		out = append(out, m.curve(k)...)
	}
	out = append(out, m.rules(m.plane.rules)...)
	for _, d := range m.plane.dots {
		out = append(out, m.dots(d)...)
	}
	for _, n := range m.plane.notes {
		out = append(out, vega.Spec{Data: oneRow(), Mark: &vega.Mark{Type: "text", Align: "right", DY: -8, Color: css(m.theme.Ink)},
			Encoding: &vega.Encoding{X: m.at(m.x, n.At.X), Y: m.at(m.y, n.At.Y), Text: &vega.Channel{Value: canvas.Clean(n.Words)}}})
	}
	return out
}

// rows keeps the rows of the next layer.
func (m planeView) rows() []vega.Transform {
	*m.layer++
	return []vega.Transform{{Filter: &vega.Filter{Field: m.fields[viewLayer], Equal: strconv.Itoa(*m.layer - 1)}}}
}

// other is a channel on the same axis that shows another column.
func (m planeView) other(c *vega.Channel, column int) *vega.Channel {
	out := *c
	out.Field = m.fields[column]
	return &out
}

// at is a place on an axis.
func (m planeView) at(c *vega.Channel, value float64) *vega.Channel {
	return &vega.Channel{Datum: value, Type: c.Type, Title: c.Title, Scale: c.Scale, Axis: c.Axis}
}

// colour is that of the legend where a mark has it.
func (m planeView) colour(name string, l look) *vega.Channel {
	if c, known := m.colours[name]; known && c == l.colour(m.theme) && name != "" {
		return m.series
	}
	return &vega.Channel{Value: css(l.colour(m.theme))}
}

func (m planeView) curve(k curve) []vega.Spec {
	rows := m.rows()
	x := *m.x
	x.Sort = inOrderOfRows()
	e := vega.Encoding{X: &x, Y: m.y, Color: m.colour(k.name, k.look)}
	var out []vega.Spec
	if len(k.Lo) > 0 {
		band := e
		band.Y, band.Y2 = m.other(m.y, viewLo), m.end(viewHi)
		out = append(out, vega.Spec{Transform: rows, Mark: &vega.Mark{Type: "area", Opacity: 0.22}, Encoding: &band})
	}
	line := &vega.Mark{Type: "line", Tooltip: vega.AllFields(), StrokeWidth: float64(k.look.thickness()) * pixelsPerPoint}
	for _, d := range k.look.dash {
		line.StrokeDash = append(line.StrokeDash, float64(d)*pixelsPerPoint)
	}
	return append(out, vega.Spec{Transform: rows, Mark: line, Encoding: &e})
}

// pixelsPerPoint is how long a point is in a viewer.
const pixelsPerPoint = 96.0 / 72

func (m planeView) dots(d dots) []vega.Spec {
	rows := m.rows()
	colour := m.colour(d.name, d.look)
	e := vega.Encoding{X: m.x, Y: m.y, Color: colour}
	var out []vega.Spec
	whisker := func(e vega.Encoding) {
		out = append(out, vega.Spec{Transform: rows, Mark: &vega.Mark{Type: "rule"}, Encoding: &e})
	}
	if len(d.Lo) > 0 {
		w := e
		w.Y, w.Y2 = m.other(m.y, viewLo), m.end(viewHi)
		whisker(w)
	}
	if len(d.XLo) > 0 {
		w := e
		w.X, w.X2 = m.other(m.x, viewXLo), m.end(viewXHi)
		whisker(w)
	}
	e.Color, e.Fill, e.Stroke = nil, colour, colour
	e.FillOpacity = &vega.Channel{Value: 1.0, Condition: &vega.Condition{Test: &vega.Filter{Field: m.fields[viewHollow], Equal: true}, Value: 0.0}}
	out = append(out, vega.Spec{Transform: rows, Mark: &vega.Mark{Type: "point", Shape: shapeOf(d.look.symbol), Size: 45, Opacity: 1, Tooltip: vega.AllFields()}, Encoding: &e})
	if len(d.Labels) > 0 {
		e := vega.Encoding{X: m.x, Y: m.y, Text: m.of(viewLabel, "nominal", "")}
		down := -7.0
		if d.Strong { // below its point, which lies on lines that rise
			down = 14
		}
		out = append(out, vega.Spec{Transform: rows, Mark: &vega.Mark{Type: "text", Align: "left", DX: 7, DY: down, Color: css(m.theme.Ink)}, Encoding: &e})
	}
	return out
}

// shapeOf returns the name of a marker's shape in the language.
func shapeOf(s canvas.Symbol) string {
	return map[canvas.Symbol]string{canvas.Disc: "circle", canvas.Square: "square", canvas.Triangle: "triangle-up", canvas.Diamond: "diamond",
		canvas.Cross: "cross", canvas.Nabla: "triangle-down"}[s]
}

// shades are the regions with a word, hatched in the picture.
func (m planeView) shades() []vega.Spec {
	var out []vega.Spec
	for _, s := range m.plane.shades {
		x0, x1 := m.plane.sx.within(s.X0), m.plane.sx.within(s.X1)
		y0, y1 := m.plane.sy.within(s.Y0), m.plane.sy.within(s.Y1)
		out = append(out, vega.Spec{Data: oneRow(), Mark: &vega.Mark{Type: "rect", Color: css(m.theme.Muted), Opacity: 0.18},
			Encoding: &vega.Encoding{X: m.at(m.x, x0), X2: &vega.Channel{Datum: x1}, Y: m.at(m.y, y0), Y2: &vega.Channel{Datum: y1}}})
		if s.Words != "" {
			out = append(out, vega.Spec{Data: oneRow(), Mark: &vega.Mark{Type: "text", Align: "left", DX: 4, DY: 10, Color: css(m.theme.Muted)},
				Encoding: &vega.Encoding{X: m.at(m.x, x0), Y: m.at(m.y, y1), Text: &vega.Channel{Value: canvas.Clean(s.Words)}}})
		}
	}
	return out
}
