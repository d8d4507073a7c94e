package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// SampleData is what [Hist], [Ecdf] and [Violin] draw: samples of one quantity,
// which lies along the horizontal axis. The slices are not kept.
type SampleData struct {
	Value   Quantity
	Samples []Sample

	By        string // what the names of the samples are values of
	Ordered   bool   // the names are steps of one quantity, in order
	Facet     string // what the panels are values of
	Highlight string // Ecdf: name of the sample in colour, with all others grey

	Rules []Rule
	Bins  int     // Hist: about how many bins, 1 to 200; 0: by the rule of Freedman and Diaconis
	Share bool    // Hist: shares of each sample in place of counts
	Level float64 // Ecdf: confidence of a band, in (0, 1); 0: no band
}

// Sample is values that belong together. NaN and infinite ones are left out and
// counted.
type Sample struct {
	Name   string
	Panel  string
	Values []float64
}

const mostSamples = 200

// samples is the checked content of a figure of samples.
type samples struct {
	figure    string
	data      SampleData
	sorted    [][]float64 // the finite values of each, rising
	names     []string
	panels    []string
	total     int
	undefined int
	zeros     int // values of exactly 0 under a logarithmic axis
	x         scale
	emptyWhy  string
}

func newSamples(figure string, d SampleData) (*samples, error) {
	m := &samples{figure: figure, data: d}
	if err := checkRules(figure, d.Rules, d.Value, Quantity{}); err != nil {
		return nil, err
	}
	if len(d.Samples) > mostSamples {
		return nil, fault.New(fault.Usage, "figure "+figure, "samples", "%d are more than %d", len(d.Samples), mostSamples).
			Fix("draw fewer, or put them together with by")
	}
	for i, s := range d.Samples {
		where := "sample" + strings.TrimPrefix(Series{Name: s.Name, Panel: s.Panel}.where(i), "series")
		for j, earlier := range d.Samples[:i] {
			if earlier.Name == s.Name && earlier.Panel == s.Panel {
				return nil, badNumber(figure, where, "sample %d has the same name and panel", j+1)
			}
		}
		m.total += len(s.Values)
		if m.total > mostPoints {
			return nil, fault.New(fault.Usage, "figure "+figure, "samples", "%d values are more than %d", m.total, mostPoints)
		}
		values := make([]float64, 0, len(s.Values))
		for k, v := range s.Values {
			switch {
			case !defined(v):
				m.undefined++
				continue
			case tooLarge(v):
				return nil, outsized(figure, fmt.Sprintf("%s, value %d", where, k), v)
			case d.Value.Log && v < 0:
				return nil, badNumber(figure, where, "value %d is negative (%v), which has no place on a logarithmic axis", k, v).Fix("draw it on a linear axis")
			case d.Value.Log && v == 0:
				m.zeros++
			}
			values = append(values, v)
		}
		slices.Sort(values)
		m.sorted = append(m.sorted, values)
		if !slices.Contains(m.names, s.Name) {
			m.names = append(m.names, s.Name)
		}
		if !slices.Contains(m.panels, s.Panel) {
			m.panels = append(m.panels, s.Panel)
		}
	}
	if len(m.panels) > mostPanels {
		return nil, fault.New(fault.Usage, "figure "+figure, "panels", "%d are more than %d", len(m.panels), mostPanels).Fix("choose a facet with fewer values")
	}
	m.place()
	return m, nil
}

// place chooses the axis of the values.
func (m *samples) place() {
	switch {
	case len(m.data.Samples) == 0:
		m.emptyWhy = "no samples"
	case m.total == 0:
		m.emptyWhy = "no values"
	case m.undefined == m.total:
		m.emptyWhy = "all " + plural(m.total, "value") + " undefined"
		if m.total == 1 {
			m.emptyWhy = "the one value is undefined"
		}
	}
	if m.emptyWhy != "" {
		return
	}
	axis := canvas.Axis{Log: m.data.Value.Log}
	m.x = newScale(m.data.Value, func(yield func(float64)) {
		for _, s := range m.sorted {
			for k, v := range s {
				if k == 0 || k == len(s)-1 || axis.Log && s[k-1] == 0 {
					yield(axis.Coord(v))
				}
			}
		}
		for _, r := range m.data.Rules {
			if r.Vertical {
				yield(axis.Coord(r.At))
			}
		}
	}, 0.03, m.zeros > 0, false)
	if !m.x.values {
		m.emptyWhy = "no value above zero for the logarithmic axis"
	}
}

// coord returns the place of a value, that of zero on a logarithmic axis at its
// floor.
func (m *samples) coord(v float64) float64 {
	if m.data.Value.Log && v == 0 {
		return m.x.floor
	}
	return m.x.Coord(v)
}

// quantile returns the quantile q of sorted values by linear interpolation
// (type 7 of Hyndman and Fan, The American Statistician 1996); NaN of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	t := at - float64(i)
	return (1-t)*sorted[i] + t*sorted[i+1] // never leaves the two, whatever their sizes
}

// words returns the name of sample i with what it is a value of.
func (m *samples) words(i int) string {
	s := m.data.Samples[i]
	name := s.Name
	if m.data.By != "" && isNumber(name) {
		name = m.data.By + " = " + name
	}
	return name
}

// place of a sample in sentences: its name and its panel.
func (m *samples) placeWords(i int) string {
	text := m.words(i)
	if panel := m.panelWords(m.data.Samples[i].Panel); panel != "" {
		if text != "" {
			text += ", "
		}
		text += panel
	}
	return shortened(text, 2*nameLimit)
}

func (m *samples) panelWords(panel string) string {
	if m.data.Facet != "" && isNumber(panel) {
		return m.data.Facet + " = " + panel
	}
	return panel
}

// notes say what was left out or moved.
func (m *samples) notes() []string {
	var notes []string
	if m.emptyWhy != "" {
		return nil
	}
	if m.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s undefined and left out.", canvas.Count(m.undefined), plural(m.total, "value"), verb(m.undefined, "is", "are")))
	}
	if m.zeros > 0 {
		notes = append(notes, fmt.Sprintf("%s of exactly 0 %s drawn at the tick 0, outside the logarithmic scale.", plural(m.zeros, "value"), verb(m.zeros, "is", "are")))
	}
	return notes
}

// sizes says how many values there are, in all and in each sample.
func (m *samples) sizes() string {
	text := plural(m.total-m.undefined, "value")
	if n := len(m.sorted); n > 1 {
		lo, hi := len(m.sorted[0]), len(m.sorted[0])
		for _, s := range m.sorted {
			lo, hi = min(lo, len(s)), max(hi, len(s))
		}
		text = "n = " + canvas.Count(lo)
		if lo != hi {
			text += " to " + canvas.Count(hi)
		}
		text += " in each of " + strconv.Itoa(n)
		if m.data.By != "" {
			text += " by " + m.data.By
		} else {
			text += " samples"
		}
	}
	return text
}

// describe says where each sample lies.
func (m *samples) describe(kind string) string {
	text := kind + " of " + m.data.Value.axisName()
	if m.emptyWhy != "" {
		return text + ": no data (" + m.emptyWhy + ")."
	}
	text += "."
	for i, s := range m.sorted {
		if i == mostDescribed {
			text += fmt.Sprintf(" And %d more samples, in the table.", len(m.sorted)-i)
			break
		}
		name := m.placeWords(i)
		if name != "" {
			name += ": "
		}
		text += " " + name + "n = " + canvas.Count(len(s))
		if len(s) > 0 {
			text += fmt.Sprintf(", median %s, quartiles %s and %s, from %s to %s", canvas.Significant(quantile(s, 0.5), 3), canvas.Significant(quantile(s, 0.25), 3),
				canvas.Significant(quantile(s, 0.75), 3), canvas.Significant(s[0], 3), canvas.Significant(s[len(s)-1], 3))
		}
		text += "."
	}
	for _, n := range m.notes() {
		text += " " + n
	}
	return text
}

// sampleColumns are the columns that name a sample in a table, and the cells of
// one.
func (m *samples) sampleColumns() (header []string, cells func(i int) []string) {
	panels := len(m.panels) > 1 || len(m.panels) == 1 && m.panels[0] != ""
	names := len(m.names) > 1 || len(m.names) == 1 && m.names[0] != ""
	if panels {
		header = append(header, columnName(m.data.Facet, "panel", header))
	}
	if names {
		header = append(header, columnName(m.data.By, "sample", header))
	}
	return header, func(i int) []string {
		var out []string
		if panels {
			out = append(out, canvas.Clean(m.data.Samples[i].Panel))
		}
		if names {
			out = append(out, canvas.Clean(m.data.Samples[i].Name))
		}
		return out
	}
}

func (m *samples) textColumns() []string {
	header, _ := m.sampleColumns()
	return header
}
