package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of the general charts, in points, and their widths in inches.
const (
	xyWidth      = 5.2
	xyWide       = 7.0 // with more than two panels
	singleHeight = vg.Length(170)
	facetHeight  = vg.Length(104)
	markerRadius = vg.Length(2.6)
	endShare     = 0.3  // of the page, at most, for end labels
	mostRings    = 300  // more markers have no ring of background
	mostMarkers  = 1000 // more points become cells, and those of a line have no markers
	mostCells    = 5000
)

// drawXY checks, places and draws the data of a line or a scatter.
func drawXY(figure string, line bool, d XYData, o Options) (*Figure, error) {
	m, err := newXY(figure, line, d)
	if err != nil {
		return nil, err
	}
	return m.draw(o)
}

func (m *xy) draw(o Options) (*Figure, error) {
	m.cells = !m.data.Join && !m.line && m.points > mostMarkers
	p, o, err := o.sheet(m.figure, panelWidth(len(m.panels)), m.title(), m.subtitle())
	if err != nil {
		return nil, err
	}
	if m.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: m.data.X.axisName(), Max: 1}, canvas.Axis{Name: m.data.Y.axisName(), Max: 1}, m.emptyWhy)
	} else {
		p.Legend(m.legend())
		m.drawPanels(p)
	}
	return o.finish(p, content{name: m.figure, describe: m.describe(), notes: m.notes(), table: m.table, text: m.textColumns(), vega: m.vega, sketch: m.sketch}), nil
}

// panelWidth returns the width of a chart in inches by its number of panels.
func panelWidth(panels int) float64 {
	if panels > 2 {
		return xyWide
	}
	return xyWidth
}

// style is how a series looks.
type style struct {
	colour color.RGBA
	width  vg.Length
	dash   []vg.Length
	symbol canvas.Symbol
}

// style returns the look of series i, the same in every panel.
func (m *xy) style(p *canvas.Page, i int) style { return m.styleIn(p.Theme(), i) }

func (m *xy) styleIn(th Theme, i int) style {
	st := style{colour: th.Series[0], width: canvas.SeriesLine}
	switch {
	case m.grey(i):
		st.colour, st.width = canvas.Blend(th.Muted, th.Background, 0.75), canvas.AxisLine
	case m.split || m.data.Highlight != "" || len(m.names) == 1:
	case m.data.Ordered:
		st.colour = th.OrderedLine(float64(i) / float64(len(m.names)-1))
		st.symbol = canvas.SymbolAt(i)
	default:
		st.colour, st.dash, st.symbol = th.Series[i%len(th.Series)], dashes(i/len(th.Series)), canvas.SymbolAt(i)
	}
	if th.Grey && !m.grey(i) && !m.split && m.data.Highlight == "" {
		st.dash = dashes(i)
	}
	if m.ink(i) {
		st.colour, st.dash = th.Ink, nil
	}
	return st
}

// dashes tell apart series that share a colour.
func dashes(i int) []vg.Length {
	all := [][]vg.Length{nil, {5, 2}, {1.5, 1.5}, {5, 2, 1.5, 2}}
	return all[i%len(all)]
}

// endLabelled reports whether lines are named at their ends: in a single panel.
// Joined points end anywhere, where a leader would cross other points, and
// distribution functions all end at 1.
func (m *xy) endLabelled() bool {
	return m.line && m.ecdf == nil && !m.data.Keys && len(m.panels) == 1 && len(m.names) > 1
}

// joined reports whether there are lines.
func (m *xy) joined() bool { return m.line || m.data.Join }

// legend returns the keys of series that nothing else names.
func (m *xy) legend() []canvas.Key {
	var keys []canvas.Key
	if len(m.names) > 1 && !m.split && !m.endLabelled() {
		others := 0
		for i := range m.names {
			if m.grey(i) {
				others++
				continue
			}
			keys = append(keys, m.key(i, m.seriesWords(i)))
		}
		if others > 0 && m.data.Highlight != "" {
			for i := range m.names {
				if m.grey(i) {
					keys = append(keys, m.key(i, plural(others, "other")))
					break
				}
			}
		}
	}
	if m.anyHollow() && m.data.Hollow != "" {
		keys = append(keys, canvas.Key{Words: m.data.Hollow, Draw: func(p *canvas.Page, r vg.Rectangle) {
			p.Mark(middle(r), canvas.Disc, markerRadius, m.hollowColour(p), true)
		}})
	}
	return keys
}

func (m *xy) hollowColour(p *canvas.Page) color.RGBA {
	if len(m.names) == 1 {
		return m.style(p, 0).colour
	}
	return p.Theme().Ink
}

func (m *xy) key(i int, words string) canvas.Key {
	return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) {
		st := m.style(p, i)
		at := middle(r)
		if m.joined() {
			p.Line(st.colour, st.width, st.dash, vg.Point{X: r.Min.X, Y: at.Y}, vg.Point{X: r.Max.X, Y: at.Y})
		}
		switch {
		case m.cells:
			p.Fill(vg.Rectangle{Min: vg.Point{X: at.X - 2, Y: at.Y - 2}, Max: vg.Point{X: at.X + 2, Y: at.Y + 2}}, st.colour)
		case m.marked():
			p.Mark(at, st.symbol, markerRadius, st.colour, false)
		}
	}}
}

func middle(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

// marked reports whether points have markers.
func (m *xy) marked() bool { return !m.line || m.data.Points || m.anyHollow() }

func (m *xy) anyHollow() bool {
	for _, s := range m.series {
		for _, h := range s.hollow {
			if h {
				return true
			}
		}
	}
	return false
}

// drawPanels draws the grid and all series.
func (m *xy) drawPanels(p *canvas.Page) {
	g := canvas.Grid{Height: singleHeight}
	if len(m.panels) > 1 {
		g.Height = facetHeight
	}
	for i := range m.panels {
		g.Titles = append(g.Titles, m.panelTitle(i))
	}
	g.Y = m.y.ticked(float64(g.Height), 30)
	if m.endLabelled() {
		g.Room = mark.EndRoom(p, m.ends(p, g.Height), endShare*(p.Right()-p.Left()))
	}
	g.X = m.x.Axis
	width := float64(p.Right()-p.Left()-p.YAxisWidth(g.Y, g.Height)) / float64(g.Columns(p, len(m.panels)))
	g.X = m.x.ticked(width, 36)
	panels := p.Grid(g)
	for i, panel := range panels {
		m.drawPanel(p, panel, i, g)
	}
}

// drawPanel draws bands first, then rules, lines, markers and words, so that
// nothing that matters is covered.
func (m *xy) drawPanel(p *canvas.Page, panel *canvas.Panel, i int, g canvas.Grid) {
	columns := int(panel.Rect.Size().X)
	mine := m.inPanel(i)
	if m.line {
		for _, edge := range []bool{false, true} {
			for _, s := range mine {
				crowded := m.ecdf != nil && len(mine) > 2 // steps that cross: edges alone
				if s.spans == nil || m.grey(s.name) || crowded && !edge {
					continue
				}
				c := m.style(p, s.name).colour
				spans := mark.ThinSpans(s.spans, m.x.Min, m.x.Max, columns)
				if m.ecdf != nil {
					spans = mark.StepSpans(spans)
				}
				b := mark.Band{Page: p, Spans: spans, Fill: canvas.Blend(c, p.Theme().Background, 0.2)}
				if edge {
					b.Edge = canvas.Blend(c, p.Theme().Background, 0.45)
				}
				panel.Draw(b)
			}
		}
	}
	for _, r := range m.data.Rules {
		axis := m.y.Axis
		if r.Vertical {
			axis = m.x.Axis
		}
		panel.Draw(mark.Rule{Page: p, At: axis.Coord(r.At), Vertical: r.Vertical, Words: r.Label})
	}
	for _, s := range mine {
		m.drawSeries(p, panel, s, columns)
	}
	if m.cells {
		m.drawCells(p, panel, mine)
	}
	for _, s := range mine {
		m.drawPoints(p, panel, s)
	}
	for _, s := range mine {
		if len(s.labels) > 0 {
			panel.Draw(mark.PointLabels{Page: p, Points: s.points, Words: s.labels, Radius: markerRadius, Missed: &m.unlabelled, Avoid: m.obstacles(mine)})
		}
	}
	if m.endLabelled() {
		panel.Draw(mark.EndLabels{Page: p, Labels: m.ends(p, g.Height), Room: g.Room})
	}
}

// inPanel returns the series of a panel, those in grey first.
func (m *xy) inPanel(i int) []placed {
	var grey, coloured []placed
	for _, s := range m.series {
		switch {
		case s.panel != i:
		case m.grey(s.name):
			grey = append(grey, s)
		default:
			coloured = append(coloured, s)
		}
	}
	return append(grey, coloured...)
}

// obstacles returns what words beside points should not cover: points, and
// samples of lines and intervals.
func (m *xy) obstacles(in []placed) []mark.XY {
	const samples = 24 // of a line or an interval
	var out []mark.XY
	along := func(a, b mark.XY) {
		for k := range samples + 1 {
			t := float64(k) / samples
			out = append(out, mark.XY{X: a.X + t*(b.X-a.X), Y: a.Y + t*(b.Y-a.Y)})
		}
	}
	for _, s := range in {
		for k, pt := range s.points {
			out = append(out, pt)
			if len(s.points) > mostJoined/samples {
				continue // too many for their words to find room anyway
			}
			if k > 0 && m.joined() {
				along(s.points[k-1], pt)
			}
			if s.spans != nil && !m.line {
				along(mark.XY{X: pt.X, Y: s.spans[k].Lo}, mark.XY{X: pt.X, Y: s.spans[k].Hi})
			}
			if s.across != nil {
				along(mark.XY{X: s.across[k].Lo, Y: pt.Y}, mark.XY{X: s.across[k].Hi, Y: pt.Y})
			}
		}
	}
	return out
}

// drawSeries draws lines and whiskers.
func (m *xy) drawSeries(p *canvas.Page, panel *canvas.Panel, s placed, columns int) {
	st := m.style(p, s.name)
	if m.line {
		points := mark.Thin(s.points, m.x.Min, m.x.Max, columns)
		if m.ecdf != nil {
			from := 0.0
			for _, pt := range s.zero {
				from = max(from, pt.Y)
			}
			points = mark.Steps(points, from)
		}
		panel.Draw(mark.Curve{Page: p, Points: points, Colour: st.colour, Width: st.width, Dash: st.dash})
		return
	}
	if m.data.Join {
		panel.Draw(mark.Curve{Page: p, Points: s.points, Colour: canvas.Blend(st.colour, p.Theme().Background, 0.7), Width: canvas.AxisLine * 1.5, Dash: st.dash})
	}
	if m.cells {
		return // whiskers of thousands of points would cover everything
	}
	if s.spans != nil {
		panel.Draw(mark.Whiskers{Page: p, Points: s.points, Spans: s.spans, Colour: st.colour})
	}
	if s.across != nil {
		panel.Draw(mark.Whiskers{Page: p, Points: s.points, Spans: s.across, Across: true, Colour: st.colour})
	}
}

// drawCells draws points too many for markers.
func (m *xy) drawCells(p *canvas.Page, panel *canvas.Panel, in []placed) {
	c := mark.Cells{Page: p}
	c.Side, c.Most = m.cellSide(panel)
	for _, s := range in {
		c.Series = append(c.Series, mark.CellSeries{Points: s.points, Colour: m.style(p, s.name).colour})
	}
	panel.Draw(c)
}

// drawPoints draws markers and the open markers of zeros.
func (m *xy) drawPoints(p *canvas.Page, panel *canvas.Panel, s placed) {
	st := m.style(p, s.name)
	if m.marked() && m.points <= mostMarkers {
		panel.Draw(mark.Markers{Bare: m.points > mostRings, Page: p, Points: s.points, Hollow: s.hollow, Symbol: st.symbol, Radius: markerRadius, Colour: st.colour})
	}
	if len(s.zero) > 0 {
		hollow := make([]bool, len(s.zero))
		for i := range hollow {
			hollow[i] = true
		}
		zero := s.zero
		if len(zero) > mostMarkers {
			zero = zero[:mostMarkers]
		}
		panel.Draw(mark.Markers{Page: p, Points: zero, Hollow: hollow, Symbol: st.symbol, Radius: markerRadius, Colour: st.colour})
	}
}

// cellSide returns the side of cells so that all panels together stay small, and
// the most points in one.
func (m *xy) cellSide(panel *canvas.Panel) (side vg.Length, most int) {
	if m.side > 0 {
		return m.side, m.most
	}
	size := panel.Rect.Size()
	defer func() { m.side, m.most = side, most }()
	for side = 3; ; side *= 1.25 {
		cells := 0
		most = 0
		for _, s := range m.series {
			n, top := mark.CountCells(s.points, side, size.X, size.Y, m.x.Axis, m.y.Axis)
			cells, most = cells+n, max(most, top)
		}
		if cells <= mostCells || side > 40 {
			return side, most
		}
	}
}

// ends returns the labels at the ends of lines: of all, of the highlighted one,
// or of none when they are too many for the height.
func (m *xy) ends(p *canvas.Page, height vg.Length) []mark.EndLabel {
	var out []mark.EndLabel
	all := m.data.Highlight == "" && len(m.names) <= mark.EndsThatFit(height)
	for _, s := range m.series {
		if !all && m.names[s.name] != m.data.Highlight {
			continue
		}
		end := mark.XY{X: math.NaN(), Y: math.NaN()}
		for _, pt := range s.points {
			if defined(pt.X) && defined(pt.Y) {
				end = pt
			}
		}
		out = append(out, mark.EndLabel{At: end, Words: m.seriesWords(s.name), Colour: m.style(p, s.name).colour})
	}
	return out
}
