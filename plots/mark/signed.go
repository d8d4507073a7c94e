package mark

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lab/plots/canvas"
)

// SignedBar is a horizontal bar from one value to another, either way.
type SignedBar struct {
	At       float64 // y coordinate of its middle
	Thick    float64 // in y units
	From, To float64 // a bar of length zero draws its words only; NaN the same
	Lo, Hi   float64 // interval of To; NaN: none
	Colour   color.RGBA
	Dot      bool   // a dot at To in place of the bar, for axes without a zero
	Hollow   bool   // the dot is open
	Words    string // at the end
	Quiet    bool   // the words are muted
}

// SignedBars draws bars to both sides of zero with whiskers and words. Where a
// whisker is, the words stand behind it. Ends are cut at the panel.
type SignedBars struct {
	Page *canvas.Page
	Bars []SignedBar
}

// Plot implements plot.Plotter.
func (b SignedBars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	within := func(v vg.Length) vg.Length { return min(max(v, c.Min.X), c.Max.X) }
	for _, bar := range b.Bars {
		at := y(bar.At)
		start := startOf(x, bar.From, c)
		end, left := start, false
		if !undefined(bar.To) {
			from, to := end, within(x(bar.To))
			end, left = to, to < from
			if bar.Dot {
				b.Page.Mark(vg.Point{X: to, Y: at}, canvas.Disc, 2.8, bar.Colour, bar.Hollow)
				left, end = false, to+2
			} else if to != from {
				b.Page.Fill(vg.Rectangle{Min: vg.Point{X: min(from, to), Y: y(bar.At - bar.Thick/2)}, Max: vg.Point{X: max(from, to), Y: y(bar.At + bar.Thick/2)}}, bar.Colour)
			}
		}
		if !undefined(bar.Lo) && !undefined(bar.Hi) {
			lo, hi := within(x(bar.Lo)), within(x(bar.Hi))
			cap := min(vg.Length(2.2), (y(bar.At+bar.Thick/2)-at)*0.7)
			for _, pen := range []struct {
				colour color.RGBA
				width  vg.Length
			}{{b.Page.Theme().Background, 2.2}, {b.Page.Theme().Ink, canvas.AxisLine * 1.3}} { // a halo first, for dark bars
				b.Page.Line(pen.colour, pen.width, nil, vg.Point{X: lo, Y: at}, vg.Point{X: hi, Y: at})
				b.Page.Line(pen.colour, pen.width, nil, vg.Point{X: lo, Y: at - cap}, vg.Point{X: lo, Y: at + cap})
				b.Page.Line(pen.colour, pen.width, nil, vg.Point{X: hi, Y: at - cap}, vg.Point{X: hi, Y: at + cap})
			}
			if left {
				end = min(end, lo)
			} else {
				end = max(end, hi)
			}
		}
		if bar.Words == "" {
			continue
		}
		st := b.Page.Ink(canvas.Sans, canvas.ValueSize)
		if bar.Quiet {
			st = b.Page.Muted(canvas.Sans, canvas.ValueSize)
		}
		l := b.Page.Words(bar.Words, st)
		if left && end-2.5-l.Width() >= c.Min.X {
			b.Page.Put(l, vg.Point{X: end - 2.5, Y: at}, canvas.End, canvas.Centre)
		} else {
			b.Page.Put(l, vg.Point{X: max(end, start) + 2.5, Y: at}, canvas.Start, canvas.Centre)
		}
	}
}

// startOf returns where a bar starts.
func startOf(x func(float64) vg.Length, from float64, c draw.Canvas) vg.Length {
	if undefined(from) {
		return c.Min.X
	}
	return min(max(x(from), c.Min.X), c.Max.X)
}
