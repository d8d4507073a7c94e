package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of cost figures, in points, and their widths in inches.
const (
	costWidth    = 5.2
	costWide     = 7.0
	costHeight   = vg.Length(176)
	costLow      = vg.Length(128) // of planes side by side
	costGap      = vg.Length(16)  // between columns
	costBelow    = vg.Length(8)
	costLeast    = vg.Length(100) // narrowest plane
	costTopSpace = vg.Length(canvas.TickSize*1.25 + 5)
)

// draw places and draws the chart.
func (c *chart) draw(o Options) (*Figure, error) {
	c.finish()
	own := costWidth
	if c.width > 0 {
		own = c.width
	}
	if c.splitUp {
		own = costWide
	}
	subtitle := c.subtitle
	if c.emptyWhy != "" {
		subtitle = ""
	}
	p, o, err := o.sheet(c.figure, own, c.title, subtitle)
	if err != nil {
		return nil, err
	}
	if c.emptyWhy != "" {
		pl := c.planes[0]
		drawEmpty(p, canvas.Axis{Name: pl.x.axisName(), Max: 1}, canvas.Axis{Name: pl.y.axisName(), Max: 1}, c.emptyWhy)
	} else {
		p.Legend(c.legend())
		c.drawPlanes(p)
	}
	table := c.table
	if c.rows != nil {
		table = c.rows
	}
	o.Footer = source(c.basis, o.Footer)
	return o.finish(p, content{name: c.figure, describe: c.describe(), notes: c.allNotes(), table: table, drawn: c.viewTable, text: []string{"layer", "panel", "series", "kind", "label"}, vega: c.vega}), nil
}

// source puts what the numbers rest on before where they come from.
func source(b CostBasis, footer string) string {
	if footer == "" {
		return b.words()
	}
	return b.words() + " " + footer
}

// endLabelled reports whether curves are named at their ends.
func (c *chart) endLabelled() bool {
	return !c.noEnds && len(c.planes) == 1 && len(c.names()) > 1 && len(c.names()) <= mark.EndsThatFit(c.tall())
}

func (c *chart) tall() vg.Length {
	switch {
	case c.height > 0:
		return c.height
	case len(c.planes) > 1:
		return costLow
	}
	return costHeight
}

// legend returns the keys of what nothing else names, then those of the figure.
func (c *chart) legend() []canvas.Key {
	var keys []canvas.Key
	seen := map[string]bool{"": true}
	for _, pl := range c.planes {
		for _, k := range pl.curves {
			if k.silent || k.keyless || seen[k.name] || c.endLabelled() || c.splitUp || len(c.names()) == 1 {
				continue
			}
			seen[k.name] = true
			keys = append(keys, lineKey(k.look, k.name))
		}
		for _, d := range pl.dots {
			if d.keyed && !seen[d.name] && !c.splitUp {
				seen[d.name] = true
				keys = append(keys, dotKey(d.look, false, d.name))
			}
		}
	}
	return append(keys, c.keys...)
}

func lineKey(l look, words string) canvas.Key {
	return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) {
		at := middle(r)
		p.Line(l.colour(p.Theme()), l.thickness(), l.dash, vg.Point{X: r.Min.X, Y: at.Y}, vg.Point{X: r.Max.X, Y: at.Y})
	}}
}

func joinedKey(l look, words string) canvas.Key {
	return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) {
		lineKey(l, "").Draw(p, r)
		dotKey(l, false, "").Draw(p, r)
	}}
}

func dotKey(l look, hollow bool, words string) canvas.Key {
	return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) {
		p.Mark(middle(r), l.symbol, markerRadius, l.colour(p.Theme()), hollow)
	}}
}

func hatchKey(words string) canvas.Key {
	return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) {
		mark.HatchKey(p, r, color.RGBA{}, hatchColour(p))
	}}
}

func hatchColour(p *canvas.Page) color.RGBA {
	return canvas.Blend(p.Theme().Muted, p.Theme().Background, 0.6)
}

// measuredKey names the dots of measurements.
func measuredKey() canvas.Key { return dotKey(look{hue: hueInk}, false, "measured") }

// ends returns the labels at the ends of the curves of a plane.
func (c *chart) ends(p *canvas.Page, pl *plane) []mark.EndLabel {
	var out []mark.EndLabel
	if !c.endLabelled() {
		return nil
	}
	seen := map[string]bool{"": true}
	for _, k := range pl.curves {
		if k.silent || seen[k.name] {
			continue
		}
		end := mark.XY{X: math.NaN(), Y: math.NaN()}
		for _, pt := range k.at {
			if defined(pt.X) {
				end = pt
			}
		}
		if defined(end.X) {
			seen[k.name] = true
			out = append(out, mark.EndLabel{At: end, Words: k.name, Colour: k.look.colour(p.Theme())})
		}
	}
	return out
}

// columns returns how many planes stand side by side.
func (c *chart) columns(p *canvas.Page, axis vg.Length) int {
	n := len(c.planes)
	most := max(1, min(n, c.across))
	for most > 1 && (p.Right()-p.Left()-vg.Length(most-1)*costGap)/vg.Length(most)-axis < costLeast {
		most--
	}
	rows := (n + most - 1) / most
	return (n + rows - 1) / rows
}

// drawPlanes lays out all planes below each other and side by side.
func (c *chart) drawPlanes(p *canvas.Page) {
	height := c.tall()
	axis := vg.Length(0)
	for _, pl := range c.planes {
		axis = max(axis, p.YAxisWidth(pl.sy.Axis, height))
	}
	columns := c.columns(p, axis)
	cell := (p.Right() - p.Left() - vg.Length(columns-1)*costGap) / vg.Length(columns)
	titled, topped := false, false
	for _, pl := range c.planes {
		titled, topped = titled || pl.title != "", topped || pl.top != nil
	}
	for first := 0; first < len(c.planes); first += columns {
		above := canvas.NameHeight
		if titled {
			above += canvas.PanelSize*1.25 + 1
		}
		if topped {
			above += costTopSpace
		}
		p.Down(above)
		below := vg.Length(0)
		for i := first; i < min(first+columns, len(c.planes)); i++ {
			pl := c.planes[i]
			left := p.Left() + vg.Length(i-first)*(cell+costGap)
			x, y := pl.sx.Axis, pl.sy.Axis
			last := i+columns >= len(c.planes)
			y.Name = ""
			if c.shared {
				y.Mute = i > first
				x.Mute = !last
			}
			name := x.Name
			x.Name = ""
			ends := c.ends(p, pl)
			room := mark.EndRoom(p, ends, 0.32*cell)
			rect := vg.Rectangle{Min: vg.Point{X: left + axis, Y: p.Y() - height}, Max: vg.Point{X: left + cell - room, Y: p.Y()}}
			pl.sx.Axis, pl.sy.Axis = x, y
			panel := p.Panel(rect, x, y)
			c.drawAbove(p, pl, left, cell, rect, !c.shared || i == first)
			c.drawPlane(p, panel, pl)
			panel.Draw(mark.EndLabels{Page: p, Labels: ends, Room: room})
			down := p.XAxisHeight(x)
			if !c.shared {
				l := p.Words(name, p.Ink(canvas.Sans, canvas.AxisSize)).Elide(cell)
				p.Put(l, vg.Point{X: min(max((rect.Min.X+rect.Max.X)/2, left+l.Width()/2), left+cell-l.Width()/2), Y: rect.Min.Y - down - 2}, canvas.Middle, canvas.Top)
				down += canvas.AxisSize*1.25 + 2
			}
			below = max(below, down)
		}
		p.Down(height + below + costBelow)
	}
	if c.shared {
		p.Down(-costBelow + 2)
		p.AxisName(c.planes[0].x.axisName(), p.Left()+axis, p.Left()+vg.Length(columns)*(cell+costGap)-costGap, p.Y())
		p.Down(canvas.AxisSize*1.25 + costBelow)
	}
}

// drawAbove draws the title of a plane, the name of its vertical axis and its
// top axis.
func (c *chart) drawAbove(p *canvas.Page, pl *plane, left, width vg.Length, rect vg.Rectangle, named bool) {
	at := rect.Max.Y + 7
	if pl.top != nil {
		drawTopAxis(p, pl, rect)
		at += costTopSpace
	}
	if named {
		p.Put(p.Words(pl.y.axisName(), p.Ink(canvas.Sans, canvas.AxisSize)).Elide(width), vg.Point{X: left, Y: at}, canvas.Start, canvas.Baseline)
	}
	if pl.title != "" {
		p.Put(p.Words(pl.title, p.Ink(canvas.Bold, canvas.PanelSize)).Elide(width-(rect.Min.X-left)), vg.Point{X: rect.Min.X, Y: at + canvas.AxisSize + 3}, canvas.Start, canvas.Baseline)
	}
}

// drawTopAxis relabels the horizontal axis above the panel.
func drawTopAxis(p *canvas.Page, pl *plane, rect vg.Rectangle) {
	ink := p.Theme().Ink
	shift := math.Log10(pl.top.Per)
	a := pl.sx
	at := func(v float64) vg.Length {
		return rect.Min.X + vg.Length((v+shift-a.Min)/(a.Max-a.Min))*rect.Size().X
	}
	p.Line(ink, canvas.AxisLine, nil, vg.Point{X: rect.Min.X, Y: rect.Max.Y}, rect.Max)
	name := p.Words(pl.top.Name, p.Ink(canvas.Sans, canvas.TickSize)).Elide(rect.Size().X / 3)
	base := rect.Max.Y + canvas.TickLength + 2
	edge := rect.Max.X - name.Width() // the name stands at the right end, above its line
	p.Put(name, vg.Point{X: edge, Y: base}, canvas.Start, canvas.Baseline)
	free := rect.Min.X - canvas.Margin/2
	for _, t := range canvas.LogTicks(a.Min-shift, a.Max-shift, int(max(float64(rect.Size().X/60), 3))) {
		x := at(t.At)
		if x < rect.Min.X-0.01 || x > rect.Max.X+0.01 {
			continue
		}
		length := canvas.TickLength
		if t.Label == "" {
			length /= 2
		}
		p.Line(ink, canvas.AxisLine, nil, vg.Point{X: x, Y: rect.Max.Y}, vg.Point{X: x, Y: rect.Max.Y + length})
		l := p.Words(t.Label, p.Ink(canvas.Sans, canvas.TickSize))
		if left := x - l.Width()/2; t.Label != "" && left > free && left+l.Width() < edge-4 {
			p.Put(l, vg.Point{X: x, Y: base}, canvas.Middle, canvas.Baseline)
			free = left + l.Width() + 4
		}
	}
}
