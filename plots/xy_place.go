package plots

import (
	"math"
	"slices"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// place turns values into coordinates and chooses the axes.
func (m *xy) place() {
	if len(m.data.Series) == 0 {
		m.emptyWhy = "no series"
		return
	}
	xZeros, yZeros, total := false, false, 0
	for _, s := range m.data.Series {
		total += len(s.X)
		for k := range s.X {
			if defined(s.X[k]) && defined(s.Y[k]) {
				xZeros = xZeros || m.data.X.Log && s.X[k] == 0
				yZeros = yZeros || m.data.Y.Log && s.Y[k] == 0
			}
		}
	}
	m.x = newScale(m.data.X, m.coords(true), 0.03, xZeros, false)
	m.y = newScale(m.data.Y, m.coords(false), 0.05, yZeros, true)
	for _, s := range m.data.Series {
		m.series = append(m.series, m.placeSeries(s))
	}
	switch {
	case total == 0:
		m.emptyWhy = "no points"
	case m.points == 0 && m.zeros == 0:
		m.emptyWhy = "all " + plural(total, "point") + " undefined"
		if total == 1 {
			m.emptyWhy = "the one point is undefined"
		}
	case !m.x.values || !m.y.values:
		m.emptyWhy = "no value above zero for the logarithmic axis"
	}
}

// coords yields every coordinate that an axis has to hold: points that have
// both values, ends of intervals, and rules.
func (m *xy) coords(x bool) func(func(float64)) {
	return func(yield func(float64)) {
		q := m.data.Y
		if x {
			q = m.data.X
		}
		axis := canvas.Axis{Log: q.Log}
		for _, s := range m.data.Series {
			v, lo, hi := s.Y, s.Lo, s.Hi
			if x {
				v, lo, hi = s.X, s.XLo, s.XHi
			}
			for k := range v {
				if !defined(s.X[k]) || !defined(s.Y[k]) {
					continue
				}
				yield(axis.Coord(v[k]))
				if len(lo) > 0 {
					yield(axis.Coord(lo[k])) // NaN for what is below zero on a log axis
					yield(axis.Coord(hi[k]))
				}
			}
		}
		for _, r := range m.data.Rules {
			if r.Vertical == x {
				yield(axis.Coord(r.At))
			}
		}
	}
}

// placeSeries returns the coordinates of a series; those of a line by rising x.
func (m *xy) placeSeries(s Series) placed {
	p := placed{name: slices.Index(m.names, s.Name), panel: slices.Index(m.panels, s.Panel)}
	order := make([]int, 0, len(s.X))
	for k := range s.X {
		if m.line && !defined(s.X[k]) { // has no place among the others
			m.undefined++
			continue
		}
		order = append(order, k)
	}
	if m.line {
		slices.SortStableFunc(order, func(a, b int) int { return compareFloats(s.X[a], s.X[b]) })
	}
	gap := math.NaN()
	for _, k := range order {
		pt := mark.XY{X: m.x.Coord(s.X[k]), Y: m.y.Coord(s.Y[k])}
		switch {
		case !defined(s.X[k]) || !defined(s.Y[k]):
			m.undefined++
			pt = mark.XY{X: gap, Y: gap}
		case math.IsInf(pt.X, -1) || math.IsInf(pt.Y, -1): // zero on a logarithmic axis
			m.zeros++
			if math.IsInf(pt.X, -1) {
				pt.X = m.x.floor
			}
			if math.IsInf(pt.Y, -1) {
				pt.Y = m.y.floor
			}
			p.zero = append(p.zero, pt)
			pt = mark.XY{X: gap, Y: gap}
		default:
			m.points++
		}
		p.points = append(p.points, pt)
		p.spans = m.span(p.spans, s.Lo, s.Hi, k, pt.X, pt, m.y)
		p.across = m.span(p.across, s.XLo, s.XHi, k, pt.Y, pt, m.x)
		if len(s.Labels) > 0 {
			p.labels = append(p.labels, s.Labels[k])
		}
		if len(s.Hollow) > 0 {
			p.hollow = append(p.hollow, s.Hollow[k])
		}
	}
	return p
}

// span appends the interval of point k. An end at or below zero on a
// logarithmic axis goes to the edge.
func (m *xy) span(list []mark.Span, lo, hi []float64, k int, at float64, pt mark.XY, on scale) []mark.Span {
	if len(lo) == 0 {
		return nil
	}
	out := mark.Span{At: at, Lo: on.Coord(lo[k]), Hi: on.Coord(hi[k])}
	switch {
	case !defined(pt.X) || !defined(pt.Y):
		out.Lo, out.Hi = math.NaN(), math.NaN()
	case math.IsNaN(lo[k]) || math.IsNaN(hi[k]):
		m.open++
		out.Lo, out.Hi = math.NaN(), math.NaN()
	default:
		m.banded = true
		if on.Log && lo[k] <= 0 {
			m.below++
			out.Lo = on.Min
		}
		// An end at infinity is beyond the edge, where it is cut.
		far := 10 * (on.Max - on.Min)
		out.Lo, out.Hi = max(out.Lo, on.Min-far), min(out.Hi, on.Max+far)
		if !(out.Hi >= out.Lo) {
			out.Hi = out.Lo
		}
	}
	return append(list, out)
}
