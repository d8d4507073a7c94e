package plots

import (
	"slices"

	"lab/core/measure"
)

// curves is a figure whose body is a line chart with words and data of its own.
type curves struct {
	name     string
	title    string
	subtitle string
	chart    XYData
	table    func() Table // nil: the points
}

// ink reports whether the series of a name is drawn in ink.
func (m *xy) ink(name int) bool {
	for _, s := range m.data.Series {
		if s.Ink && s.Name == m.names[name] {
			return true
		}
	}
	return false
}

func (c curves) draw(o Options) (*Figure, error) {
	if o.Title == "" {
		o.Title = c.title
	}
	if o.Subtitle == "" {
		o.Subtitle = c.subtitle
	}
	f, err := drawXY(c.name, true, c.chart, o)
	if err == nil && c.table != nil {
		f.drawn, f.table = f.table, c.table
	}
	return f, err
}

// spreadOf returns the median of the defined values and their 5 and 95 %
// quantiles (definition 7 of Hyndman and Fan 1996); n values were defined. With
// fewer than two there is no band, with none no median: NaN.
func spreadOf(values []float64) (median, lo, hi float64, n int) {
	kept := make([]float64, 0, len(values))
	for _, v := range values {
		if defined(v) {
			kept = append(kept, v)
		}
	}
	at := func(q float64) float64 {
		e, err := measure.Quantile(kept, q, measure.Interval{})
		if err != nil { // of no values
			return unknown()
		}
		return e.Value
	}
	median, lo, hi = at(0.5), unknown(), unknown()
	if len(kept) > 1 {
		lo, hi = at(0.05), at(0.95)
	}
	return median, lo, hi, len(kept)
}

// settle drops a band without a single interval, which one value a point has.
func (s *Series) settle() {
	if !slices.ContainsFunc(s.Lo, defined) {
		s.Lo, s.Hi = nil, nil
	}
}

// lengthGrid returns at most most of the numbers from to to, evenly spread, both
// ends included.
func lengthGrid(from, to, most int) []int {
	var out []int
	for i := range most {
		v := from
		if most > 1 {
			v = from + int(int64(to-from)*int64(i)/int64(most-1))
		}
		if len(out) == 0 || v > out[len(out)-1] {
			out = append(out, v)
		}
	}
	if to < from {
		return nil
	}
	return slices.Clip(out)
}
