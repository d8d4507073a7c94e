package plots

import (
	"fmt"
	"math"
	"strings"

	"lab/plots/canvas"
)

// title states what is drawn against what; what it shows is for the reader to
// say, or for the caller's own title.
func (m *xy) title() string {
	text := m.data.Y.words() + " against " + m.data.X.words()
	if m.ecdf != nil {
		text = "Distribution of " + m.data.X.words()
	}
	if len(m.names) > 1 && m.data.By != "" {
		text += ", by " + m.data.By
	}
	return text
}

// subtitle states the data and the encoding.
func (m *xy) subtitle() string {
	if m.emptyWhy != "" {
		return ""
	}
	text := m.pointWords()
	if len(m.names) == 1 && m.names[0] != "" && len(m.panels) == 1 {
		text += ", " + m.seriesWords(0)
	}
	if m.banded && !m.cells {
		mark := "bars"
		if m.line {
			mark = "band"
		}
		text += "; " + mark + ": " + m.interval()
	}
	if m.data.Highlight != "" {
		text += fmt.Sprintf("; in grey the other %s", canvas.Count(len(m.names)-1))
	}
	if len(m.panels) > 1 && !m.split && m.data.Facet != "" {
		text += "; a panel per " + m.data.Facet
	}
	if m.data.Join && !m.line {
		text += "; joined in order"
	}
	if m.cells {
		text += "; each square holds the points of its place, larger when more"
	}
	return text
}

func (m *xy) interval() string {
	if m.data.Interval == "" {
		return "interval"
	}
	return m.data.Interval
}

// notes say what was left out or moved.
func (m *xy) notes() []string {
	if m.ecdf != nil {
		return m.ecdf.notes()
	}
	var notes []string
	add := func(n int, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, canvas.Count(n), verb(n, "is", "are")))
		}
	}
	total := 0
	for _, s := range m.data.Series {
		total += len(s.X)
	}
	left := "left out."
	if m.joined() && m.emptyWhy == "" {
		left = "left out; the line is broken there."
	}
	if m.emptyWhy == "" {
		add(m.undefined, "%s of "+plural(total, "point")+" %s undefined and "+left)
		add(m.open, "%s of the intervals %s undefined and not drawn.")
		if m.below > 0 {
			notes = append(notes, fmt.Sprintf("%s %s zero or below and %s at the edge of the logarithmic axis.",
				plural(m.below, "interval"), verb(m.below, "reaches", "reach"), verb(m.below, "ends", "end")))
		}
		if m.zeros > 0 {
			notes = append(notes, fmt.Sprintf("%s of exactly 0 %s drawn open at the tick 0, outside the logarithmic scale.",
				plural(m.zeros, "value"), verb(m.zeros, "is", "are")))
		}
		if m.banded && m.cells {
			notes = append(notes, "Intervals of so many points are in the data table only.")
		}
		if m.unlabelled > 0 {
			notes = append(notes, fmt.Sprintf("%s without room %s in the data table only.", plural(m.unlabelled, "label"), verb(m.unlabelled, "is", "are")))
		}
		if m.many() && !m.split && m.data.Highlight == "" {
			notes = append(notes, fmt.Sprintf("%s series are drawn in grey, too many to tell apart.", canvas.Count(len(m.names))))
		}
	}
	return notes
}

// mostDescribed is how many series a description spells out.
const mostDescribed = 12

func (m *xy) describe() string {
	if m.ecdf != nil {
		return m.ecdf.describe("Distribution functions")
	}
	var b strings.Builder
	kind := "Scatter of "
	if m.line {
		kind = "Lines of "
	}
	b.WriteString(kind + m.data.Y.axisName() + " over " + m.data.X.axisName())
	if m.emptyWhy != "" {
		return b.String() + ": no data (" + m.emptyWhy + ")."
	}
	b.WriteString(". ")
	for i, s := range m.data.Series {
		if i == mostDescribed {
			fmt.Fprintf(&b, "And %d more series, in the table. ", len(m.data.Series)-i)
			break
		}
		b.WriteString(m.describeSeries(s, m.series[i]))
	}
	for _, r := range m.data.Rules {
		axis := m.data.Y.words()
		if r.Vertical {
			axis = m.data.X.words()
		}
		fmt.Fprintf(&b, "Reference line at %s = %s", axis, canvas.Significant(r.At, 4))
		if r.Label != "" {
			b.WriteString(": " + shortened(r.Label, 80))
		}
		b.WriteString(". ")
	}
	b.WriteString(strings.Join(m.notes(), " "))
	return strings.TrimSpace(b.String())
}

// describeSeries says where a series begins and ends and its extremes.
func (m *xy) describeSeries(s Series, at placed) string {
	name := ""
	if len(m.names) > 1 || s.Name != "" {
		name = shortened(m.seriesWords(at.name), nameLimit)
	}
	if len(m.panels) > 1 && !m.split {
		if name != "" {
			name += ", "
		}
		name += shortened(m.panelTitle(at.panel), nameLimit)
	}
	if name != "" {
		name += ": "
	}
	n, low, high := 0, -1, -1
	first, last := -1, -1
	for k := range s.X {
		if !defined(s.X[k]) || !defined(s.Y[k]) {
			continue
		}
		n++
		if low < 0 || s.Y[k] < s.Y[low] {
			low = k
		}
		if high < 0 || s.Y[k] > s.Y[high] {
			high = k
		}
		if first < 0 || s.X[k] < s.X[first] {
			first = k
		}
		if last < 0 || s.X[k] > s.X[last] {
			last = k
		}
	}
	point := func(k int) string {
		return canvas.Significant(s.Y[k], 3) + " at " + canvas.Significant(s.X[k], 3)
	}
	none, one := "no point. ", "one point, "
	if name == "" {
		none, one = "No point. ", "One point, "
	}
	switch n {
	case 0:
		return name + none
	case 1:
		return name + one + point(first) + ". "
	}
	if m.line {
		return fmt.Sprintf("%s%s from %s to %s, lowest %s, highest %s. ", name, plural(n, "point"), point(first), point(last), point(low), point(high))
	}
	return fmt.Sprintf("%s%s with x from %s to %s and y from %s to %s. ", name, plural(n, "point"), canvas.Significant(s.X[first], 3),
		canvas.Significant(s.X[last], 3), canvas.Significant(s.Y[low], 3), canvas.Significant(s.Y[high], 3))
}

// columnName returns a name for a column of the data table that no other has.
func columnName(name, fallback string, taken []string) string {
	name = canvas.Clean(name)
	if name == "" {
		name = fallback
	}
	base := name
	for i := 2; ; i++ {
		free := true
		for _, t := range taken {
			free = free && t != name
		}
		if free {
			return name
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
}

// columns are the header of the data table and what each column is, by role:
// panel, series, x, y, lo, hi, x_lo, x_hi, label, hollow.
func (m *xy) columns() (header []string, roles map[string]int) {
	d := m.data
	roles = map[string]int{}
	add := func(role, name, fallback string) {
		roles[role] = len(header)
		header = append(header, columnName(name, fallback, header))
	}
	var y, x, labels, hollow bool
	for _, s := range d.Series {
		y, x = y || len(s.Lo) > 0, x || len(s.XLo) > 0
		labels, hollow = labels || len(s.Labels) > 0, hollow || len(s.Hollow) > 0
	}
	if !m.split && (len(m.panels) > 1 || len(m.panels) == 1 && m.panels[0] != "") {
		add("panel", d.Facet, "panel")
	}
	if len(m.names) > 1 || len(m.names) == 1 && m.names[0] != "" {
		add("series", d.By, "series")
	}
	add("x", d.X.Name, "x")
	add("y", d.Y.Name, "y")
	xName, yName := header[roles["x"]], header[roles["y"]]
	if y {
		add("lo", yName+"_lo", "lo")
		add("hi", yName+"_hi", "hi")
	}
	if x {
		add("x_lo", xName+"_lo", "x_lo")
		add("x_hi", xName+"_hi", "x_hi")
	}
	if labels {
		add("label", "label", "label")
	}
	if hollow {
		add("hollow", "hollow", "hollow")
	}
	return header, roles
}

func (m *xy) textColumns() []string {
	header, roles := m.columns()
	var out []string
	for _, role := range []string{"panel", "series", "label"} {
		if c, ok := roles[role]; ok {
			out = append(out, header[c])
		}
	}
	return out
}

// table returns every point given, in the order given.
func (m *xy) table() Table {
	header, roles := m.columns()
	t := Table{Header: header}
	d := m.data
	has := func(role string) bool { _, ok := roles[role]; return ok }
	panels, names, y, x, labels, hollow := has("panel"), has("series"), has("lo"), has("x_lo"), has("label"), has("hollow")
	end := func(list []float64, k int) string {
		if len(list) == 0 {
			return number(math.NaN())
		}
		return number(list[k])
	}
	for _, s := range d.Series {
		panel, name := canvas.Clean(s.Panel), canvas.Clean(s.Name)
		for k := range s.X {
			row := make([]string, 0, len(t.Header))
			if panels {
				row = append(row, panel)
			}
			if names {
				row = append(row, name)
			}
			row = append(row, number(s.X[k]), number(s.Y[k]))
			if y {
				row = append(row, end(s.Lo, k), end(s.Hi, k))
			}
			if x {
				row = append(row, end(s.XLo, k), end(s.XHi, k))
			}
			if labels {
				label := ""
				if len(s.Labels) > 0 {
					label = canvas.Visible(s.Labels[k])
				}
				row = append(row, label)
			}
			if hollow {
				row = append(row, fmt.Sprint(len(s.Hollow) > 0 && s.Hollow[k]))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
