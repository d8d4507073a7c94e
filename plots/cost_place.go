package plots

import (
	"math"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// finish places everything: counts what has no place and chooses the axes.
func (c *chart) finish() {
	if c.emptyWhy != "" {
		return
	}
	c.split()
	for _, pl := range c.planes {
		padX, padY := 0.03, 0.06
		if len(pl.cells) > 0 {
			padX, padY = 0, 0
		}
		pl.sx = newScale(pl.x, c.coords(pl, true), padX, false, false)
		pl.sy = newScale(pl.y, c.coords(pl, false), padY, false, len(pl.cells) == 0)
		if pl.ticks != nil {
			pl.sy.Ticks = pl.ticks
		}
		for i := range pl.curves {
			pl.curves[i].at = pl.points(pl.curves[i].X, pl.curves[i].Y)
		}
		for i := range pl.dots {
			pl.dots[i].at = pl.points(pl.dots[i].X, pl.dots[i].Y)
		}
		for _, k := range pl.curves {
			if !k.silent && !k.derived {
				c.count(pl, k.X, k.Y)
				c.countEnds(pl, k.X, k.Y, k.Lo, k.Hi, pl.y.Log)
			}
		}
		for _, d := range pl.dots {
			if d.derived {
				continue
			}
			c.count(pl, d.X, d.Y)
			c.countEnds(pl, d.X, d.Y, d.Lo, d.Hi, pl.y.Log)
			c.countEnds(pl, d.X, d.Y, d.XLo, d.XHi, pl.x.Log)
		}
	}
	switch {
	case c.alone:
	case c.total == 0:
		c.emptyWhy = "no points"
	case c.placed == 0 && c.zeros > 0:
		c.emptyWhy = "no value above zero for the logarithmic axis"
	case c.placed == 0:
		c.emptyWhy = "all " + plural(c.total, "point") + " undefined"
		if c.total == 1 {
			c.emptyWhy = "the one point is undefined"
		}
	}
}

// count counts the points that have no place.
func (c *chart) count(pl *plane, x, y []float64) {
	for k := range x {
		c.total++
		switch {
		case !defined(x[k]) || !defined(y[k]):
			c.undefined++
		case pl.x.Log && x[k] == 0 || pl.y.Log && y[k] == 0:
			c.zeros++
		default:
			c.placed++
		}
	}
}

// countEnds counts the intervals that cannot be drawn as they are.
func (c *chart) countEnds(pl *plane, x, y, lo, hi []float64, log bool) {
	for k := range lo {
		switch {
		case !pl.placeable(x[k], y[k]):
		case math.IsNaN(lo[k]) || math.IsNaN(hi[k]):
			c.open++
		case log && lo[k] <= 0:
			c.below++
		}
	}
}

// coords yields every coordinate that an axis of a plane has to hold; of all
// planes when they share their axes.
func (c *chart) coords(of *plane, x bool) func(func(float64)) {
	return func(yield func(float64)) {
		for _, pl := range c.planes {
			if pl != of && !c.shared {
				continue
			}
			for _, k := range pl.curves {
				pl.yield(x, k.X, k.Y, nil, nil, k.Lo, k.Hi, yield)
			}
			for _, d := range pl.dots {
				pl.yield(x, d.X, d.Y, d.XLo, d.XHi, d.Lo, d.Hi, yield)
			}
			for _, r := range pl.rules {
				if r.Vertical == x {
					yield(pl.axis(x).Coord(r.At))
				}
			}
			for _, k := range pl.cells {
				if x {
					yield(k.X0)
					yield(k.X1)
				} else {
					yield(k.Y0)
					yield(k.Y1)
				}
			}
			if x {
				for _, v := range pl.reach {
					yield(pl.axis(x).Coord(v))
				}
			}
		}
	}
}

// axis returns the axis of x or y without a range.
func (pl *plane) axis(x bool) canvas.Axis {
	if x {
		return canvas.Axis{Log: pl.x.Log}
	}
	return canvas.Axis{Log: pl.y.Log}
}

func (pl *plane) yield(ofX bool, x, y, xlo, xhi, lo, hi []float64, yield func(float64)) {
	v, from, to := y, lo, hi
	if ofX {
		v, from, to = x, xlo, xhi
	}
	axis := pl.axis(ofX)
	for k := range v {
		if !pl.placeable(x[k], y[k]) {
			continue
		}
		yield(axis.Coord(v[k]))
		if len(from) > 0 {
			yield(axis.Coord(from[k]))
			yield(axis.Coord(to[k]))
		}
	}
}

// placeable reports whether a point has a place in the plane.
func (pl *plane) placeable(x, y float64) bool {
	return defined(x) && defined(y) && !(pl.x.Log && x <= 0) && !(pl.y.Log && y <= 0)
}

// points returns the coordinates of a series, NaN where a line breaks.
func (pl *plane) points(x, y []float64) []mark.XY {
	out := make([]mark.XY, len(x))
	for k := range x {
		out[k] = mark.XY{X: math.NaN(), Y: math.NaN()}
		if pl.placeable(x[k], y[k]) {
			out[k] = mark.XY{X: pl.sx.Coord(x[k]), Y: pl.sy.Coord(y[k])}
		}
	}
	return out
}

// spans returns intervals at the points, on the axis they belong to.
func spans(at []mark.XY, lo, hi []float64, on scale, ofX bool) []mark.Span {
	if len(lo) == 0 {
		return nil
	}
	out := make([]mark.Span, len(at))
	for k, pt := range at {
		s := mark.Span{At: pt.X, Lo: math.NaN(), Hi: math.NaN()}
		if ofX {
			s.At = pt.Y
		}
		switch {
		case !defined(pt.X): // has no point
		case math.IsNaN(lo[k]) || math.IsNaN(hi[k]):
		default:
			s.Lo, s.Hi = on.Coord(lo[k]), on.Coord(hi[k])
			if on.Log && lo[k] <= 0 {
				s.Lo = on.Min
			}
			far := 10 * (on.Max - on.Min) // an end at infinity is beyond the edge, where it is cut
			s.Lo, s.Hi = max(s.Lo, on.Min-far), min(s.Hi, on.Max+far)
			s.Hi = max(s.Hi, s.Lo)
		}
		out[k] = s
	}
	return out
}

// split gives every name its own plane when there are too many to tell apart in
// one; what has no name of its own stays in all.
func (c *chart) split() {
	names := c.names()
	if len(c.planes) != 1 || len(names) <= directLines {
		return
	}
	whole := c.planes[0]
	c.planes, c.shared, c.across = nil, true, 4
	for _, n := range names {
		one := *whole
		one.title, one.curves, one.dots, one.notes = n, nil, nil, nil
		for _, k := range whole.curves {
			if k.name == n || k.name == "" || k.silent {
				k.silent = k.silent || k.name == ""
				one.curves = append(one.curves, k)
			}
		}
		for _, d := range whole.dots {
			if d.name == n || d.name == "" {
				one.dots = append(one.dots, d)
			}
		}
		c.planes = append(c.planes, &one)
	}
	c.splitUp = true
}
