package plots

import (
	"image/color"
	"math"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// mostLabels is how many labels of one series are tried.
const mostLabels = 500

// drawPlane draws regions first, then bands, rules, curves, points and words, so
// that nothing that matters is covered.
func (c *chart) drawPlane(p *canvas.Page, panel *canvas.Panel, pl *plane) {
	th, columns := p.Theme(), int(panel.Rect.Size().X)
	var cells []mark.Block
	for _, k := range pl.cells {
		cells = append(cells, mark.Block{X0: k.X0, X1: k.X1, Y0: k.Y0, Y1: k.Y1, Fill: k.colour(th)})
	}
	panel.Draw(mark.Blocks{Page: p, Blocks: cells}, mark.Blocks{Page: p, Blocks: c.regions(p, pl)})
	bands := make([][]mark.Span, len(pl.curves))
	for i, k := range pl.curves {
		bands[i] = mark.ThinSpans(spans(k.at, k.Lo, k.Hi, pl.sy, false), pl.sx.Min, pl.sx.Max, columns)
	}
	for _, edge := range []bool{false, true} {
		for i, k := range pl.curves {
			if len(k.Lo) == 0 {
				continue
			}
			b := mark.Band{Page: p, Spans: bands[i], Fill: canvas.Blend(k.look.colour(th), th.Background, 0.2)}
			if edge {
				b.Edge = canvas.Blend(k.look.colour(th), th.Background, 0.45)
			}
			panel.Draw(b)
		}
	}
	for _, r := range pl.rules {
		panel.Draw(mark.Rule{Page: p, At: pl.axis(r.Vertical).Coord(r.At), Vertical: r.Vertical})
	}
	for _, k := range pl.curves {
		panel.Draw(mark.Curve{Page: p, Points: mark.Thin(k.at, pl.sx.Min, pl.sx.Max, columns),
			Colour: k.look.colour(th), Width: k.look.thickness(), Dash: k.look.dash})
	}
	for _, d := range pl.dots {
		pts := d.at
		colour := d.look.colour(th)
		if len(d.Lo) > 0 {
			panel.Draw(mark.Whiskers{Page: p, Points: pts, Spans: spans(pts, d.Lo, d.Hi, pl.sy, false), Colour: colour})
		}
		if len(d.XLo) > 0 {
			panel.Draw(mark.Whiskers{Page: p, Points: pts, Spans: spans(pts, d.XLo, d.XHi, pl.sx, true), Across: true, Colour: colour})
		}
	}
	for _, d := range pl.dots {
		if len(d.X) > mostMarkers {
			c.drawMany(p, panel, pl, d)
			continue
		}
		panel.Draw(mark.Markers{Page: p, Points: d.at, Hollow: d.Hollow, Symbol: d.look.symbol, Radius: markerRadius, Colour: d.look.colour(th)})
	}
	panel.Draw(c.words(p, pl))
}

// drawMany draws points too many for markers.
func (c *chart) drawMany(p *canvas.Page, panel *canvas.Panel, pl *plane, d dots) {
	pts, size := d.at, panel.Rect.Size()
	cells := mark.Cells{Page: p, Side: 3, Series: []mark.CellSeries{{Points: pts, Colour: d.look.colour(p.Theme())}}}
	for {
		n, most := mark.CountCells(pts, cells.Side, size.X, size.Y, pl.sx.Axis, pl.sy.Axis)
		if cells.Most = most; n*len(pl.dots) <= mostCells || cells.Side > 40 {
			break
		}
		cells.Side *= 1.25
	}
	panel.Draw(cells)
}

// regions returns the hatched regions of a plane in coordinates.
func (c *chart) regions(p *canvas.Page, pl *plane) []mark.Block {
	var out []mark.Block
	for _, s := range pl.shades {
		end := func(v float64, on scale) float64 {
			if math.IsInf(v, -1) || on.Log && v <= 0 {
				return on.Min
			}
			if math.IsInf(v, 1) {
				return on.Max
			}
			return on.Coord(v)
		}
		out = append(out, mark.Block{X0: end(s.X0, pl.sx), X1: end(s.X1, pl.sx), Y0: end(s.Y0, pl.sy), Y1: end(s.Y1, pl.sy), Hatch: hatchColour(p)})
	}
	return out
}

// words gathers all words of a plane: the finding first, then rules, regions,
// then labels beside points.
func (c *chart) words(p *canvas.Page, pl *plane) mark.Notes {
	n := mark.Notes{Page: p, Radius: markerRadius + 1, Missed: &c.unplaced}
	at := func(x, y float64) mark.XY { return mark.XY{X: pl.sx.Coord(x), Y: pl.sy.Coord(y)} }
	for _, strong := range []bool{true, false} {
		for _, d := range pl.dots {
			if d.Strong == strong && strong {
				n.Notes = append(n.Notes, pointNotes(d)...)
			}
		}
		if !strong {
			continue
		}
		for _, k := range pl.notes {
			k.At = at(k.At.X, k.At.Y)
			n.Notes = append(n.Notes, k)
		}
		for _, r := range pl.rules {
			note := mark.Note{At: mark.XY{X: (pl.sx.Min + pl.sx.Max) / 2, Y: pl.sy.Coord(r.At)}, Words: r.Label, Beside: mark.RuleAlong}
			if r.Vertical {
				note = mark.Note{At: mark.XY{X: pl.sx.Coord(r.At), Y: (pl.sy.Min + pl.sy.Max) / 2}, Words: r.Label, Beside: mark.RuleDown}
			}
			n.Notes = append(n.Notes, note)
		}
		blocks := c.regions(p, pl)
		for i, s := range pl.shades {
			b := blocks[i]
			n.Notes = append(n.Notes, mark.Note{At: mark.XY{X: (b.X0 + b.X1) / 2, Y: (b.Y0 + b.Y1) / 2}, Words: s.Words, Beside: mark.Region})
		}
	}
	for _, d := range pl.dots {
		switch notes := pointNotes(d); {
		case d.Strong:
		case len(notes) > mostLabels: // none would find a place, and looking takes long
			c.unplaced += len(notes)
		default:
			n.Notes = append(n.Notes, notes...)
		}
		if pts := d.at; len(d.X) <= mostMarkers {
			n.Avoid = append(n.Avoid, pts...)
			for _, s := range spans(pts, d.Lo, d.Hi, pl.sy, false) {
				n.Dodge = append(n.Dodge, alongCurve([]mark.XY{{X: s.At, Y: s.Lo}, {X: s.At, Y: s.Hi}})...)
			}
			for _, s := range spans(pts, d.XLo, d.XHi, pl.sx, true) {
				n.Dodge = append(n.Dodge, alongCurve([]mark.XY{{X: s.Lo, Y: s.At}, {X: s.Hi, Y: s.At}})...)
			}
		}
	}
	for _, r := range pl.rules {
		from, to := mark.XY{X: pl.sx.Min, Y: pl.sy.Coord(r.At)}, mark.XY{X: pl.sx.Max, Y: pl.sy.Coord(r.At)}
		if r.Vertical {
			from, to = mark.XY{X: pl.sx.Coord(r.At), Y: pl.sy.Min}, mark.XY{X: pl.sx.Coord(r.At), Y: pl.sy.Max}
		}
		n.Dodge = append(n.Dodge, alongCurve([]mark.XY{from, to})...)
	}
	for _, k := range pl.curves {
		n.Dodge = append(n.Dodge, alongCurve(k.at)...)
	}
	return n
}

func pointNotes(d dots) []mark.Note {
	var out []mark.Note
	pts := d.at
	for k, l := range d.Labels {
		if l != "" && defined(pts[k].X) {
			out = append(out, mark.Note{At: pts[k], Words: l, Strong: d.Strong, Colour: color.RGBA{}})
		}
	}
	return out
}

// alongCurve returns samples of a curve close enough that no word fits between.
func alongCurve(pts []mark.XY) []mark.XY {
	const samples = 400 // over the whole curve
	var out []mark.XY
	step := max(1, len(pts)/samples)
	between := max(1, samples/max(len(pts), 1))
	for k := step; k < len(pts); k += step {
		a, b := pts[k-step], pts[k]
		if !defined(a.X) || !defined(b.X) {
			continue
		}
		for i := range between {
			t := float64(i) / float64(between)
			out = append(out, mark.XY{X: a.X + t*(b.X-a.X), Y: a.Y + t*(b.Y-a.Y)})
		}
	}
	return out
}
