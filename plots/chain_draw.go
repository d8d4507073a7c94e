package plots

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of the chain figure, in points and rows.
const (
	stagePitch    = vg.Length(17)
	stageThick    = 0.56
	stageLabels   = 0.26 // of the page, at most, for stage names
	distanceShare = 0.34 // of the page for the right panel
)

func (c *chain) draw(o Options) (*Figure, error) {
	p, o, err := o.sheet(chainName, chainWidth, c.finding(), c.subtitle())
	if err != nil {
		return nil, err
	}
	if c.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: "share of the model’s mass", Max: 1}, canvas.Axis{Name: "stage", Max: 1}, c.emptyWhy)
	} else {
		p.Legend(c.legend())
		c.drawPanels(p)
	}
	return o.finish(p, content{name: chainName, describe: c.describe(), notes: c.notes(), table: fixed(c.table()), text: []string{"stage"},
		vega: c.vega, sketch: c.sketch}), nil
}

func (c *chain) legend() []canvas.Key {
	keys := []canvas.Key{
		{Words: "model mass left", Draw: func(p *canvas.Page, r vg.Rectangle) { p.Fill(r, samplingColour(p)) }},
		{Words: "cut by this stage", Draw: func(p *canvas.Page, r vg.Rectangle) {
			p.Fill(r, p.Theme().Amber)
			p.Box(r, p.Theme().Ink, canvas.GhostLine, nil)
		}},
		{Words: "distance moved (TV)", Draw: func(p *canvas.Page, r vg.Rectangle) {
			middle := (r.Min.Y + r.Max.Y) / 2
			p.Line(p.Theme().Series[2], canvas.SeriesLine, nil, vg.Point{X: r.Min.X, Y: middle}, vg.Point{X: r.Max.X - 2, Y: middle})
			p.Dot(vg.Point{X: r.Max.X - 2, Y: middle}, 2.8, p.Theme().Series[2], false)
		}},
	}
	return keys
}

// rows are the names of the lines from the top: the model, then the stages.
func (c *chain) rowNames() []string {
	names := []string{"model"}
	for i, s := range c.data.Stages {
		names = append(names, stageName(s, i))
	}
	return names
}

// drawPanels draws mass and distance side by side, or below each other when the
// page is too narrow for both.
func (c *chain) drawPanels(p *canvas.Page) {
	labels := c.labelWidth(p)
	total := p.Right() - p.Left()
	massRoom, distanceRoom := c.rooms(p)
	distance := max(distanceShare*total, distanceRoom+60)
	mass := total - labels - panelGap - distance
	left := p.Left() + labels
	if mass-massRoom < 80 {
		c.drawMass(p, left, p.Right()-left, massRoom)
		p.Down(lineGap)
		c.drawDistance(p, left, p.Right()-left, distanceRoom, true)
		return
	}
	top := p.Y()
	c.drawMass(p, left, mass, massRoom)
	p.Down(p.Y() - top)
	c.drawDistance(p, p.Right()-distance, distance, distanceRoom, false)
}

// labelWidth is the room of the stage names.
func (c *chain) labelWidth(p *canvas.Page) vg.Length {
	width := vg.Length(0)
	for _, n := range c.rowNames() {
		width = max(width, p.Words(n, nameStyle(p)).Width())
	}
	return min(width, stageLabels*(p.Right()-p.Left())) + 4
}

func nameStyle(p *canvas.Page) canvas.TextStyle { return p.Ink(canvas.Mono, canvas.TickSize) }

// rowAxis is the bare vertical axis: the model at 0, then one stage a unit down.
func (c *chain) rowAxis() canvas.Axis {
	return canvas.Axis{Min: -float64(len(c.data.Stages)) - 0.5, Max: 0.5, Bare: true}
}

// drawMass draws the left panel with the names of the stages.
func (c *chain) drawMass(p *canvas.Page, left, width, room vg.Length) {
	x := canvas.Axis{Name: "share of the model’s mass, %", Grid: true, Max: 100 * float64(width/(width-room)),
		Ticks: percentTicks(width - room), LineTo: 100}
	panel := c.panel(p, left, width, x)
	panel.Draw(c.massMarks(p)...)
	c.drawNames(p, panel)
}

// drawDistance draws the right panel, with the names when it stands alone.
func (c *chain) drawDistance(p *canvas.Page, left, width, room vg.Length, named bool) {
	x := canvas.Axis{Name: "total variation (TV)", Grid: true, LineTo: c.farthest(),
		Max: c.farthest() * float64(width/(width-room)), Ticks: canvas.LinearTicks(0, c.farthest(), 3)}
	panel := c.panel(p, left, width, x)
	panel.Draw(c.distanceMarks(p))
	if named {
		c.drawNames(p, panel)
	}
}

// panel draws one panel over all rows and moves the page down.
func (c *chain) panel(p *canvas.Page, left, width vg.Length, x canvas.Axis) *canvas.Panel {
	height := vg.Length(len(c.data.Stages)+1) * stagePitch
	rect := vg.Rectangle{Min: vg.Point{X: left, Y: p.Y() - height}, Max: vg.Point{X: left + width, Y: p.Y()}}
	p.Down(height + p.XAxisHeight(x) + 4)
	return p.Panel(rect, x, c.rowAxis())
}

func (c *chain) drawNames(p *canvas.Page, panel *canvas.Panel) {
	right := panel.Rect.Min.X - 4
	for k, n := range c.rowNames() {
		p.Put(p.Words(n, nameStyle(p)).Elide(right-p.Left()), vg.Point{X: right, Y: panel.Y(-float64(k))}, canvas.End, canvas.Centre)
	}
}

// percentTicks are quarters of the whole, or its ends in a narrow panel.
func percentTicks(width vg.Length) []canvas.Tick {
	if width < 100 {
		return []canvas.Tick{{At: 0, Label: "0"}, {At: 50, Label: "50"}, {At: 100, Label: "100"}}
	}
	return []canvas.Tick{{At: 0, Label: "0"}, {At: 25, Label: "25"}, {At: 50, Label: "50"}, {At: 75, Label: "75"}, {At: 100, Label: "100"}}
}

// farthest is the end of the TV axis.
func (c *chain) farthest() float64 {
	far := 0.0
	for _, s := range c.data.Stages {
		far = max(far, share(s.TV))
	}
	if far == 0 {
		return 1
	}
	return far
}

// rooms measures the words at the ends of bars and lollipops.
func (c *chain) rooms(p *canvas.Page) (mass, distance vg.Length) {
	style := p.Ink(canvas.Sans, canvas.ValueSize)
	mass = p.Words(c.modelWords(), style).Width()
	for i := range c.data.Stages {
		mass = max(mass, p.Words(c.statement(i), style).Width())
		distance = max(distance, p.Words(c.distance(i), style).Width())
	}
	return mass + 6, distance + 12
}

func (c *chain) modelWords() string { return "100 % · " + plural(c.data.Support, "token") }

// massMarks are two layers: what was left before each stage in the colour of the
// removed, and on it what is left after.
func (c *chain) massMarks(p *canvas.Page) []plot.Plotter {
	cut := mark.Bars{Page: p, Fill: p.Theme().Amber, Outline: p.Theme().Ink, Thick: stageThick, Frame: stageThick}
	left := mark.Bars{Page: p, Fill: samplingColour(p), Outline: p.Theme().Ink, Thick: stageThick, Frame: stageThick}
	left.Bars = append(left.Bars, mark.Bar{Value: 100, End: c.modelWords()})
	for i, s := range c.data.Stages {
		at := -float64(i + 1)
		cutBar := mark.Bar{At: at, End: c.statement(i), Quiet: !defined(s.Mass)}
		if c.cut[i] > 0 {
			cutBar.Value, cutBar.Ghost = 100*c.before[i], 100*c.before[i]
		} else if defined(s.Mass) {
			cutBar.Value = 100 * min(s.Mass, 1)
		}
		cut.Bars = append(cut.Bars, cutBar)
		left.Bars = append(left.Bars, mark.Bar{At: at, Value: 100 * min(share(s.Mass), 1)})
	}
	return []plot.Plotter{cut, left}
}

func (c *chain) distanceMarks(p *canvas.Page) plot.Plotter {
	l := mark.Lollipops{Page: p, Colour: p.Theme().Series[2]}
	for i, s := range c.data.Stages {
		l.Values = append(l.Values, mark.Bar{At: -float64(i + 1), Value: min(s.TV, 1), End: c.distance(i)})
	}
	return l
}
