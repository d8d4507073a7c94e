package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// Lengths of the bar chart, in points.
const (
	barPitch   = vg.Length(13)
	groupPitch = vg.Length(9.5) // of the bars in a group
)

// colour returns the colour of a bar.
func (b *bars) colour(p *canvas.Page, name, series string) color.RGBA {
	return b.colourIn(p.Theme(), name, series)
}

func (b *bars) colourIn(th Theme, name, series string) color.RGBA {
	grey := canvas.Blend(th.Muted, th.Background, 0.75)
	i := slices.Index(b.series, series)
	switch {
	case b.data.Highlight != "" && name != b.data.Highlight, len(b.series) > directLines:
		return grey
	case len(b.series) == 1:
		return th.Series[0]
	case b.data.Ordered:
		return th.OrderedLine(float64(i) / float64(len(b.series)-1))
	}
	fills := []color.RGBA{th.Series[0], th.Series[1], th.Series[2], th.Series[3], th.Amber, canvas.Blend(th.Muted, th.Background, 0.75)}
	return fills[i%len(fills)]
}

func (b *bars) seriesWords(name string) string {
	if b.data.By != "" && isNumber(name) {
		return b.data.By + " = " + name
	}
	return name
}

func (b *bars) draw(o Options) (*Figure, error) {
	title := b.data.Value.words()
	if b.data.Category != "" {
		title += " by " + b.data.Category
	}
	p, o, err := o.sheet(barName, panelWidth(len(b.panels)), title, b.subtitle())
	if err != nil {
		return nil, err
	}
	if b.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: b.data.Value.axisName(), Max: 1}, canvas.Axis{Name: b.data.Category, Max: 1}, b.emptyWhy)
	} else {
		if len(b.series) > 1 && len(b.series) <= directLines {
			var keys []canvas.Key
			for _, s := range b.series {
				keys = append(keys, canvas.Key{Words: b.seriesWords(s), Draw: func(p *canvas.Page, r vg.Rectangle) {
					p.Fill(r, b.colour(p, b.data.Highlight, s))
				}})
			}
			p.Legend(keys)
		}
		b.drawPanels(p)
	}
	return o.finish(p, content{name: barName, describe: b.describe(), notes: b.notes(), table: b.table, text: b.textColumns(), vega: b.vega, sketch: b.sketch}), nil
}

func (b *bars) drawPanels(p *canvas.Page) {
	perGroup := vg.Length(len(b.series))
	pitch := barPitch
	if perGroup > 1 {
		pitch = groupPitch*perGroup + 5
	}
	room := vg.Length(0)
	for _, bar := range b.data.Bars {
		if _, drawn := b.at[bar.Name]; !drawn {
			continue
		}
		room = max(room, p.Words(b.valueWords(bar), p.Ink(canvas.Sans, canvas.ValueSize)).Width())
	}
	names := make([]string, len(b.categories))
	for i, c := range b.categories {
		names[i] = shownName(c)
	}
	pitch = pitchFor(p, names, pitch)
	g := canvas.Grid{Height: vg.Length(len(names))*pitch + 4, Room: room + 4, Least: 80}
	for _, panel := range b.panels {
		if panel != "" && b.data.Facet != "" && isNumber(panel) {
			panel = b.data.Facet + " = " + panel
		}
		if len(b.panels) > 1 || panel != "" {
			panel = shownName(panel)
		}
		g.Titles = append(g.Titles, panel)
	}
	g.Y = canvas.Axis{Min: -float64(len(names)) + 0.45, Max: 0.55, Ticks: rowTicks(p, names, pitch), Name: b.data.Category}
	if strip := ruleStrip(b.data.Rules); strip > 0 {
		g.Y.Max += float64(strip / pitch)
		g.Height += strip
	}
	width := float64(p.Right()-p.Left()-p.YAxisWidth(g.Y, g.Height))/float64(g.Columns(p, len(g.Titles))) - float64(g.Room)
	g.X = b.x.ticked(width, 36)
	thick := 0.72 / float64(len(b.series))
	if len(b.series) > 1 {
		thick = 0.84 / float64(len(b.series))
	}
	for k, panel := range p.Grid(g) {
		marks := mark.SignedBars{Page: p}
		for _, bar := range b.data.Bars {
			at, drawn := b.at[bar.Name]
			if !drawn || bar.Panel != b.panels[k] {
				continue
			}
			marks.Bars = append(marks.Bars, b.bar(p, bar, at, thick))
		}
		if !b.data.Value.Log && b.x.Min < 0 {
			zero := panel.X(0)
			p.Line(p.Theme().Ink, canvas.AxisLine, nil, vg.Point{X: zero, Y: panel.Rect.Min.Y}, vg.Point{X: zero, Y: panel.Rect.Max.Y})
		}
		panel.Draw(marks)
		for _, r := range b.data.Rules {
			panel.Draw(mark.Rule{Page: p, At: b.x.Coord(r.At), Vertical: true, Words: r.Label})
		}
	}
}

// bar returns one bar in axis coordinates.
func (b *bars) bar(p *canvas.Page, bar CategoryBar, at int, thick float64) mark.SignedBar {
	i := slices.Index(b.series, bar.Series)
	out := mark.SignedBar{At: -float64(at) + (float64(len(b.series)-1)/2-float64(i))*thick, Thick: thick * 0.9,
		To: b.x.Coord(bar.Value), Lo: b.x.Coord(bar.Lo), Hi: b.x.Coord(bar.Hi), Colour: b.colour(p, bar.Name, bar.Series),
		Words: b.valueWords(bar), Quiet: !defined(bar.Value)}
	if b.data.Value.Log {
		out.From, out.Dot = math.NaN(), true
		if bar.Value == 0 {
			out.To, out.Hollow = b.x.floor, true
		}
		if bar.Lo <= 0 {
			out.Lo = b.x.Min
		}
	}
	if !defined(bar.Value) {
		out.To, out.Lo, out.Hi = math.NaN(), math.NaN(), math.NaN()
	}
	return out
}

func (b *bars) valueWords(bar CategoryBar) string {
	if !defined(bar.Value) {
		return "n/a"
	}
	return canvas.Significant(bar.Value, 3)
}
