package canvas

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Axis is one axis of a panel. Its coordinate is the value, or log10 of the
// value when Log is set; Min and Max are coordinates.
type Axis struct {
	Name     string // shown below a horizontal axis, above a vertical one
	Min, Max float64
	Log      bool
	Ticks    []Tick // nil: chosen for the room there is
	Grid     bool   // lines across the panel at the labelled ticks
	Bare     bool   // no line, no ticks, no labels
	Mute     bool   // no labels: a neighbour that shares the axis has them

	// LineTo ends the line of a horizontal axis short of Max, where what follows
	// is room for words and no values; 0 draws it to the end.
	LineTo float64
}

// Coord returns the axis coordinate of a value.
func (a Axis) Coord(v float64) float64 {
	if a.Log {
		return math.Log10(v)
	}
	return v
}

// Fit sets the range of the axis to hold the values, widened when they are all
// equal: by 5 % of the value or by 1 around zero, and to one decade around on a
// log axis. NaN and infinite values, and values that are not positive on a log
// axis, do not count. Without any value the range stays as it is and Fit
// returns false.
func (a *Axis) Fit(values ...float64) bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		c := a.Coord(v)
		if math.IsNaN(c) || math.IsInf(c, 0) {
			continue
		}
		lo, hi = min(lo, c), max(hi, c)
	}
	if lo > hi {
		return false
	}
	if !usable(lo, hi) {
		switch {
		case a.Log:
			lo, hi = lo-0.5, hi+0.5
		case lo == 0:
			lo, hi = -1, 1
		default:
			pad := 0.05 * math.Abs(lo)
			lo, hi = lo-pad, hi+pad
		}
	}
	a.Min, a.Max = lo, hi
	return true
}

// ticks returns the ticks of the axis for a length with a label about every
// spacing points.
func (a Axis) ticks(length, spacing vg.Length) []Tick {
	if a.Bare {
		return nil
	}
	if a.Ticks != nil {
		return a.Ticks
	}
	want := int(min(max(float64(length/spacing), 3), 6))
	if a.Log {
		return LogTicks(a.Min, a.Max, want)
	}
	return LinearTicks(a.Min, a.Max, want)
}

// Panel is a data rectangle with its axes.
type Panel struct {
	Rect vg.Rectangle
	page *Page
	x, y Axis
}

const (
	labelGap  = vg.Length(2)  // between a tick and its label
	xSpacing  = vg.Length(36) // between labels of a horizontal axis
	ySpacing  = vg.Length(30)
	nameSpace = vg.Length(2)
)

// XAxisHeight returns how much a panel needs below its data rectangle.
func (p *Page) XAxisHeight(a Axis) vg.Length {
	if a.Bare {
		return 0
	}
	h := TickLength + labelGap + TickSize*leading
	if a.Name != "" {
		h += nameSpace + AxisSize*leading
	}
	return h
}

// YAxisWidth returns how much a panel of the given height needs left of its data
// rectangle.
func (p *Page) YAxisWidth(a Axis, height vg.Length) vg.Length {
	if a.Bare {
		return 0
	}
	w := vg.Length(0)
	for _, t := range a.ticks(height, ySpacing) {
		w = max(w, p.Words(t.Label, p.Ink(Sans, TickSize)).Width(), p.Words(t.Second, p.Ink(Sans, TickSize)).Width())
	}
	return w + labelGap + TickLength
}

// Panel draws grid and axes around a data rectangle.
func (p *Page) Panel(r vg.Rectangle, x, y Axis) *Panel {
	pl := &Panel{Rect: r, page: p, x: x, y: y}
	xt, yt := x.ticks(r.Size().X, xSpacing), y.ticks(r.Size().Y, ySpacing)
	if x.Grid {
		for _, t := range xt {
			if at := pl.X(t.At); t.Label != "" && inside(at, r.Min.X, r.Max.X) {
				p.Line(p.theme.Grid, GridLine, nil, vg.Point{X: at, Y: r.Min.Y}, vg.Point{X: at, Y: r.Max.Y})
			}
		}
	}
	if y.Grid {
		for _, t := range yt {
			if at := pl.Y(t.At); t.Label != "" && inside(at, r.Min.Y, r.Max.Y) {
				p.Line(p.theme.Grid, GridLine, nil, vg.Point{X: r.Min.X, Y: at}, vg.Point{X: r.Max.X, Y: at})
			}
		}
	}
	if !x.Bare {
		pl.drawX(xt)
	}
	if !y.Bare {
		pl.drawY(yt)
	}
	return pl
}

func inside(v, lo, hi vg.Length) bool { return v >= lo-0.01 && v <= hi+0.01 }

// X returns the position of an x coordinate, Y of a y coordinate.
func (pl *Panel) X(c float64) vg.Length { return position(c, pl.x, pl.Rect.Min.X, pl.Rect.Max.X) }

// Y returns the position of a y coordinate.
func (pl *Panel) Y(c float64) vg.Length { return position(c, pl.y, pl.Rect.Min.Y, pl.Rect.Max.Y) }

func position(c float64, a Axis, lo, hi vg.Length) vg.Length {
	if !usable(a.Min, a.Max) {
		return (lo + hi) / 2
	}
	return lo + vg.Length((c-a.Min)/(a.Max-a.Min))*(hi-lo)
}

func (pl *Panel) drawX(ticks []Tick) {
	p, r := pl.page, pl.Rect
	end := r.Max.X
	if pl.x.LineTo != 0 {
		end = min(end, pl.X(pl.x.LineTo))
	}
	p.Line(p.theme.Ink, AxisLine, nil, r.Min, vg.Point{X: end, Y: r.Min.Y})
	var spans []span
	for _, t := range ticks {
		at := pl.X(t.At)
		if !inside(at, r.Min.X, r.Max.X) {
			continue
		}
		length := TickLength
		if t.Label == "" {
			length /= 2
		}
		p.Line(p.theme.Ink, AxisLine, nil, vg.Point{X: at, Y: r.Min.Y}, vg.Point{X: at, Y: r.Min.Y - length})
		if t.Label != "" && !pl.x.Mute {
			l := p.Words(t.Label, p.Ink(Sans, TickSize))
			left := min(max(at-l.Width()/2, Margin/2), p.width-Margin/2-l.Width())
			spans = append(spans, span{l, left, l.Width()})
		}
	}
	for _, s := range thinned(spans, 3) {
		p.Put(s.label, vg.Point{X: s.at, Y: r.Min.Y - TickLength - labelGap}, Start, Top)
	}
	if pl.x.Name != "" {
		y := r.Min.Y - TickLength - labelGap - TickSize*leading - nameSpace
		p.AxisName(pl.x.Name, r.Min.X, end, y)
	}
}

// AxisName draws the name of a horizontal axis centred between two positions,
// its top at y, moved so that it stays on the page.
func (p *Page) AxisName(name string, from, to, y vg.Length) {
	l := p.Words(name, p.Ink(Sans, AxisSize)).Elide(p.Right() - p.Left())
	left := min(max((from+to-l.Width())/2, p.Left()), p.Right()-l.Width())
	p.Put(l, vg.Point{X: left, Y: y}, Start, Top)
}

// span is a label and the stretch of the axis it covers.
type span struct {
	label    Label
	at, size vg.Length
}

// thinned returns every k-th span with the smallest k that leaves gap between
// neighbours, or the first and the last when that would leave one.
func thinned(spans []span, gap vg.Length) []span {
	for k := 1; k < len(spans); k++ {
		var kept []span
		clear := true
		for i := 0; i < len(spans) && clear; i += k {
			if n := len(kept); n > 0 && kept[n-1].at+kept[n-1].size+gap > spans[i].at {
				clear = false
			}
			kept = append(kept, spans[i])
		}
		if clear && len(kept) > 1 {
			return kept
		}
	}
	if len(spans) > 2 {
		return []span{spans[0], spans[len(spans)-1]}
	}
	return spans
}

func (pl *Panel) drawY(ticks []Tick) {
	p, r := pl.page, pl.Rect
	p.Line(p.theme.Ink, AxisLine, nil, r.Min, vg.Point{X: r.Min.X, Y: r.Max.Y})
	var spans, second []span
	for _, t := range ticks {
		at := pl.Y(t.At)
		if !inside(at, r.Min.Y, r.Max.Y) {
			continue
		}
		length := TickLength
		if t.Label == "" {
			length /= 2
		}
		p.Line(p.theme.Ink, AxisLine, nil, vg.Point{X: r.Min.X, Y: at}, vg.Point{X: r.Min.X - length, Y: at})
		if t.Label != "" && !pl.y.Mute {
			label := p.Words(t.Label, p.Ink(Sans, TickSize))
			if t.Second == "" {
				spans = append(spans, span{label, at, TickSize})
				continue
			}
			second = append(second, span{p.Words(t.Second, p.Ink(Sans, TickSize)), at - LineApart/2, TickSize})
			spans = append(spans, span{label, at + LineApart/2, TickSize})
		}
	}
	kept := thinned(spans, 1)
	if len(kept) == len(spans) { // else the second lines belong to nothing
		kept = append(kept, second...)
	}
	for _, s := range kept {
		p.Put(s.label, vg.Point{X: r.Min.X - TickLength - labelGap, Y: s.at}, End, Centre)
	}
	if pl.y.Name != "" { // horizontal and above: never turned, never far from its axis
		l := p.Words(pl.y.Name, p.Ink(Sans, AxisSize)).Elide(p.Right() - p.Left())
		x := min(max(r.Min.X-p.YAxisWidth(pl.y, r.Size().Y), p.Left()), p.Right()-l.Width())
		p.Put(l, vg.Point{X: x, Y: r.Max.Y + 7}, Start, Baseline)
	}
}

// LineApart is how far the two lines of a tick's label are apart, in points.
const LineApart = 1.1 * TickSize

// NameHeight is what a vertical axis's name needs above the data rectangle.
const NameHeight = vg.Length(AxisSize*ascent + 7)

// Draw lets plotters draw into the data rectangle, in order. A plotter of the
// library that reports a data range does not change the axes.
func (pl *Panel) Draw(marks ...plot.Plotter) {
	inner := plot.New()
	inner.HideAxes()
	inner.BackgroundColor = nil
	inner.X.Padding, inner.Y.Padding = 0, 0 // the data rectangle is the whole canvas
	inner.Add(marks...)
	inner.X.Min, inner.X.Max = pl.x.Min, pl.x.Max
	inner.Y.Min, inner.Y.Max = pl.y.Min, pl.y.Max
	inner.Draw(draw.Canvas{Canvas: pl.page.scene, Rectangle: pl.Rect})
}

// Empty writes why there is nothing in the panel, centred.
func (pl *Panel) Empty(reason string) {
	p := pl.page
	width := pl.Rect.Size().X - 8
	lines := p.Words("no data ("+reason+")", p.Muted(Sans, SubtitleSize)).Wrap(width, 3)
	middle := vg.Point{X: (pl.Rect.Min.X + pl.Rect.Max.X) / 2, Y: (pl.Rect.Min.Y + pl.Rect.Max.Y) / 2}
	for i, l := range lines {
		p.Put(l, vg.Point{X: middle.X, Y: middle.Y - vg.Length(i)*SubtitleSize*leading}, Middle, Centre)
	}
}
