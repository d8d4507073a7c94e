package plots

import (
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
	"lab/plots/canvas"
	"lab/plots/mark"
)

// XYData is what [Line] and [Scatter] draw: series of points over two
// quantities. The slices are not kept.
type XYData struct {
	X, Y   Quantity
	Series []Series

	By      string // what the names of the series are values of; "" when they are just names
	Ordered bool   // the names are steps of one quantity, in order: their colours run in order too
	Facet   string // what the panels are values of

	Interval  string // what Lo to Hi is; "": "interval"
	Hollow    string // what a hollow point is; "" when there are none
	Highlight string // name of the series in colour, with all others grey; "" for none

	Rules  []Rule
	Points bool // Line: a marker at every point
	Keys   bool // Line: the series are named above the panel, not at their ends
	Join   bool // Scatter: points joined in their order
}

// Series is points that belong together. X and Y are equally long; the other
// slices are so too, or nil. NaN is a point or an end without a value.
type Series struct {
	Name   string
	Panel  string // value of the facet; series of one name have one colour in all panels
	X, Y   []float64
	Lo, Hi []float64 // interval of Y, Lo at most Hi
	XLo    []float64 // interval of X, of a scatter
	XHi    []float64
	Labels []string // beside the points; "" for none
	Hollow []bool   // points drawn open
	Ink    bool     // in the colour of words: what the others are compared with
}

const (
	mostSeries = 512
	mostPanels = 64
	mostPoints = 1 << 22
	mostJoined = 4096 // points of a scatter that are joined
)

// xy is the content of a figure, ready to be drawn.
type xy struct {
	figure string
	line   bool
	data   XYData
	names  []string // of series, different, in their order
	panels []string
	series []placed
	x, y   scale

	split      bool // each series got its own panel
	points     int  // with a place
	undefined  int  // points without a value
	open       int  // intervals without an end
	below      int  // intervals cut at the lower edge of a logarithmic axis
	zeros      int  // values drawn at the floor
	banded     bool
	emptyWhy   string
	unlabelled int // labels without a place, known after drawing
	cells      bool
	side       vg.Length // of cells, and the most points in one; 0 until they are counted
	most       int
	ecdf       *samples // of a distribution function, whose lines are steps
}

// placed is a series in axis coordinates.
type placed struct {
	name, panel int
	points      []mark.XY   // NaN where a line breaks
	spans       []mark.Span // of y, nil without intervals
	across      []mark.Span // of x
	zero        []mark.XY   // points at a floor
	labels      []string
	hollow      []bool
}

func newXY(figure string, line bool, d XYData) (*xy, error) {
	m := &xy{figure: figure, line: line, data: d}
	if len(d.Series) > mostSeries {
		return nil, fault.New(fault.Usage, "figure "+figure, "series", "%d are more than %d", len(d.Series), mostSeries).
			Fix("draw fewer, or put them together with group")
	}
	if err := checkRules(figure, d.Rules, d.X, d.Y); err != nil {
		return nil, err
	}
	total := 0
	for i, s := range d.Series {
		if err := m.check(i, s); err != nil {
			return nil, err
		}
		total += len(s.X)
	}
	if total > mostPoints {
		return nil, fault.New(fault.Usage, "figure "+figure, "series", "%d points are more than %d", total, mostPoints)
	}
	m.data.Series = slices.Clone(d.Series)
	for i := range m.data.Series {
		m.data.Series[i] = m.data.Series[i].clone()
	}
	m.name()
	if d.Highlight != "" && !slices.Contains(m.names, d.Highlight) {
		return nil, fault.Unknown("figure "+figure, "series to highlight", d.Highlight, m.names)
	}
	if len(m.panels) > mostPanels {
		return nil, fault.New(fault.Usage, "figure "+figure, "panels", "%d are more than %d", len(m.panels), mostPanels).
			Fix("choose a facet with fewer values, or highlight one series")
	}
	m.place()
	return m, nil
}

func (s Series) clone() Series {
	s.X, s.Y, s.Lo, s.Hi = slices.Clone(s.X), slices.Clone(s.Y), slices.Clone(s.Lo), slices.Clone(s.Hi)
	s.XLo, s.XHi = slices.Clone(s.XLo), slices.Clone(s.XHi)
	s.Labels, s.Hollow = slices.Clone(s.Labels), slices.Clone(s.Hollow)
	return s
}

// where names a series in an error.
func (s Series) where(i int) string {
	w := "series " + strconv.Itoa(i+1)
	if s.Name != "" {
		w = "series " + fault.Quote(s.Name, 40)
	}
	if s.Panel != "" {
		w += " in panel " + fault.Quote(s.Panel, 40)
	}
	return w
}

// check refuses a series that cannot be drawn.
func (m *xy) check(i int, s Series) error {
	where := s.where(i)
	n := len(s.X)
	for name, got := range map[string]int{"Y": len(s.Y), "Lo": len(s.Lo), "Hi": len(s.Hi), "XLo": len(s.XLo), "XHi": len(s.XHi),
		"Labels": len(s.Labels), "Hollow": len(s.Hollow)} {
		if got != n && (got > 0 || name == "Y") {
			return badNumber(m.figure, where, "%d values of X and %d of %s", n, got, name)
		}
	}
	if len(s.Lo) != len(s.Hi) || len(s.XLo) != len(s.XHi) {
		return badNumber(m.figure, where, "an interval has one end only")
	}
	for j, earlier := range m.data.Series[:i] {
		if earlier.Name == s.Name && earlier.Panel == s.Panel {
			return badNumber(m.figure, where, "series %d has the same name and panel", j+1)
		}
	}
	axes := []struct {
		q      Quantity
		v      []float64
		lo, hi []float64
	}{{m.data.X, s.X, s.XLo, s.XHi}, {m.data.Y, s.Y, s.Lo, s.Hi}}
	for a, axis := range axes {
		letter := [2]string{"x", "y"}[a]
		for k, v := range axis.v {
			if tooLarge(v) {
				return outsized(m.figure, fmt.Sprintf("%s, %s of point %d", where, letter, k), v)
			}
			if axis.q.Log && v < 0 && defined(v) {
				return badNumber(m.figure, where, "%s of point %d is negative (%v), which has no place on a logarithmic axis", letter, k, v).
					Fix("leave out log_%s", letter)
			}
			if len(axis.lo) > 0 && axis.lo[k] > axis.hi[k] {
				return badNumber(m.figure, where, "the interval of %s at point %d runs from %v down to %v", letter, k, axis.lo[k], axis.hi[k])
			}
		}
	}
	if !m.line && m.data.Join && n > mostJoined {
		return fault.New(fault.Usage, "figure "+m.figure, where, "%d points are too many to join, more than %d", n, mostJoined).
			Fix("leave out join, or draw a line")
	}
	if m.line {
		return m.oneEach(where, s)
	}
	return nil
}

// oneEach refuses two values at one place of a line: they would be joined by a
// stroke straight up, the usual sign that a column was forgotten.
func (m *xy) oneEach(where string, s Series) error {
	x := slices.Clone(s.X)
	slices.Sort(x)
	for k := 1; k < len(x); k++ {
		if x[k] == x[k-1] {
			n := 0
			for _, v := range s.X {
				if v == x[k] {
					n++
				}
			}
			return fault.New(fault.Usage, "figure "+m.figure, where, "%s = %v has %d values of %s, a line takes one", m.data.X.words(), x[k], n, m.data.Y.words()).
				Fix("average them (group, then stats), or tell them apart with by or facet")
		}
	}
	return nil
}

// name lists series and panels, and gives every series its own panel when there
// are too many to tell apart.
func (m *xy) name() {
	panels := map[string]bool{}
	for _, s := range m.data.Series {
		if !slices.Contains(m.names, s.Name) {
			m.names = append(m.names, s.Name)
		}
		panels[s.Panel] = true
	}
	if m.many() && m.data.Highlight == "" && len(panels) == 1 && len(m.names) <= mostPanels {
		m.split = true
		m.data.Facet = m.data.By
		for i := range m.data.Series {
			m.data.Series[i].Panel = m.data.Series[i].Name
		}
	}
	for _, s := range m.data.Series {
		if !slices.Contains(m.panels, s.Panel) {
			m.panels = append(m.panels, s.Panel)
		}
	}
}

// many reports whether there are too many series to tell apart in one panel.
func (m *xy) many() bool { return len(m.names) > directLines }

// grey reports whether series i is drawn without a colour of its own.
func (m *xy) grey(i int) bool {
	if m.data.Highlight != "" {
		return m.names[i] != m.data.Highlight
	}
	return m.many() && !m.split
}

// seriesWords returns the name of a series with what it is a value of.
func (m *xy) seriesWords(i int) string {
	if m.data.By != "" && isNumber(m.names[i]) {
		return m.data.By + " = " + m.names[i]
	}
	return shownName(m.names[i])
}

// panelTitle returns the title of a panel.
func (m *xy) panelTitle(i int) string {
	switch {
	case m.panels[i] == "" && len(m.panels) == 1:
		return ""
	case m.data.Facet != "" && isNumber(m.panels[i]): // a number alone says nothing
		return m.data.Facet + " = " + m.panels[i]
	}
	return shownName(m.panels[i])
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func (m *xy) drawnPoints() int { return m.points + m.zeros }

// pointWords says how many points there are in how many series and panels.
func (m *xy) pointWords() string {
	if m.ecdf != nil {
		return m.ecdf.sizes()
	}
	text := plural(m.drawnPoints(), "point")
	if len(m.names) > 1 {
		text += " in " + canvas.Count(len(m.names)) + " series"
		if m.data.By != "" {
			text += " of " + m.data.By
		}
	}
	return text
}
