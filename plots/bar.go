package plots

import (
	"fmt"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: how much is there of each thing?

// BarData is what [Bar] draws: one value per category, and per series within a
// category. The slices are not kept.
type BarData struct {
	Value    Quantity
	Category string // what the names are values of
	Bars     []CategoryBar

	By        string // what Series are values of
	Ordered   bool   // the series are steps of one quantity, in order
	Facet     string // what the panels are values of
	Interval  string // what Lo to Hi is; "": "interval"
	Highlight string // name of the category in colour, with all others grey
	Rules     []Rule // vertical ones
}

// CategoryBar is one bar. Lo and Hi are NaN when it has no interval.
type CategoryBar struct {
	Name, Series, Panel string
	Value, Lo, Hi       float64
}

const (
	barName   = "bar"
	mostBars  = 100_000
	barsShown = 48 // bars of a panel
)

// bars is the content of the figure.
type bars struct {
	data       BarData
	categories []string
	at         map[string]int // of each category that is drawn
	series     []string
	panels     []string
	x          scale
	hidden     int // categories that are in the table only
	undefined  int
	zeros      int
	emptyWhy   string
	banded     bool
}

// Bar draws horizontal bars from zero, named at the left, with the value at the
// end and a whisker from Lo to Hi. Several series of a category lie below each
// other in their colours; more than six are grey. On a logarithmic axis, which has
// no zero to start from, dots take the place of bars. Up to 48 bars of a panel
// are drawn, the categories in the order of their first bar; the others are
// counted and in the table.
//
// NaN and infinite values are written as n/a and counted. Errors: fault.Usage for
// rules that are not vertical, a highlight without a category, more than 64
// panels, and options; fault.Data for a bar given twice, an interval upside down,
// and a negative value on a logarithmic axis.
func Bar(d BarData, o Options) (fig *Figure, err error) {
	defer guard(barName, &err)
	b, err := newBars(d)
	if err != nil {
		return nil, err
	}
	return b.draw(o)
}

func newBars(d BarData) (*bars, error) {
	b := &bars{data: d}
	b.data.Bars = slices.Clone(d.Bars)
	if err := checkRules(barName, d.Rules, d.Value, Quantity{}); err != nil {
		return nil, err
	}
	for _, r := range d.Rules {
		if !r.Vertical {
			return nil, fault.New(fault.Usage, "figure "+barName, "rule "+fault.Quote(r.Label, 40), "the vertical axis holds names, not numbers").Fix("give it at a value of x")
		}
	}
	if len(d.Bars) > mostBars {
		return nil, fault.New(fault.Usage, "figure "+barName, "bars", "%d are more than %d", len(d.Bars), mostBars).Fix("put them together with group")
	}
	seen := map[[3]string]bool{}
	names, series, panels := map[string]bool{}, map[string]bool{}, map[string]bool{}
	first := func(in map[string]bool, list *[]string, name string) {
		if !in[name] {
			in[name] = true
			*list = append(*list, name)
		}
	}
	for i, bar := range d.Bars {
		where := func() string {
			return fmt.Sprintf("bar %d (%s)", i, fault.Quote(strings.Join([]string{bar.Panel, bar.Name, bar.Series}, " "), 60))
		}
		key := [3]string{bar.Name, bar.Series, bar.Panel}
		for _, v := range []float64{bar.Value, bar.Lo, bar.Hi} {
			if tooLarge(v) {
				return nil, outsized(barName, where(), v)
			}
		}
		switch {
		case seen[key]:
			return nil, badNumber(barName, where(), "it is given twice").Fix("average them (group, then stats), or tell them apart with by or facet")
		case bar.Lo > bar.Hi:
			return nil, badNumber(barName, where(), "the interval runs from %v down to %v", bar.Lo, bar.Hi)
		case d.Value.Log && bar.Value < 0 && defined(bar.Value):
			return nil, badNumber(barName, where(), "it is negative (%v), which has no place on a logarithmic axis", bar.Value).Fix("draw it on a linear axis")
		}
		seen[key] = true
		first(names, &b.categories, bar.Name)
		first(series, &b.series, bar.Series)
		first(panels, &b.panels, bar.Panel)
		if !defined(bar.Value) {
			b.undefined++
		}
		if d.Value.Log && bar.Value == 0 {
			b.zeros++
		}
	}
	if d.Highlight != "" && !names[d.Highlight] {
		return nil, fault.Unknown("figure "+barName, "category to highlight", d.Highlight, b.categories)
	}
	if len(b.panels) > mostPanels {
		return nil, fault.New(fault.Usage, "figure "+barName, "panels", "%d are more than %d", len(b.panels), mostPanels).Fix("choose a facet with fewer values")
	}
	if most := max(barsShown/max(len(b.series), 1), 1); len(b.categories) > most {
		b.hidden = len(b.categories) - most
		b.categories = b.categories[:most]
		if d.Highlight != "" && !slices.Contains(b.categories, d.Highlight) {
			b.categories[most-1] = d.Highlight
		}
	}
	b.at = make(map[string]int, len(b.categories))
	for i, c := range b.categories {
		b.at[c] = i
	}
	b.place()
	return b, nil
}

func (b *bars) place() {
	switch {
	case len(b.data.Bars) == 0:
		b.emptyWhy = "no bars"
		return
	case b.undefined == len(b.data.Bars):
		b.emptyWhy = "all " + plural(b.undefined, "value") + " undefined"
		if b.undefined == 1 {
			b.emptyWhy = "the one value is undefined"
		}
		return
	}
	q := b.data.Value
	axis := canvas.Axis{Log: q.Log}
	b.x = newScale(q, func(yield func(float64)) {
		if !q.Log {
			yield(0)
		}
		for _, bar := range b.data.Bars {
			if _, drawn := b.at[bar.Name]; drawn && defined(bar.Value) {
				yield(axis.Coord(bar.Value))
				if defined(bar.Lo) && defined(bar.Hi) {
					yield(axis.Coord(bar.Lo))
					yield(axis.Coord(bar.Hi))
				}
			}
			b.banded = b.banded || defined(bar.Lo) && defined(bar.Hi)
		}
		for _, r := range b.data.Rules {
			yield(axis.Coord(r.At))
		}
	}, 0, b.zeros > 0, false)
	if !q.Log && b.x.Min < 0 { // room for words left of a bar
		b.x.Min -= 0.08 * (b.x.Max - b.x.Min)
	}
	if !b.x.values {
		b.emptyWhy = "no value above zero for the logarithmic axis"
	}
}

func (b *bars) subtitle() string {
	if b.emptyWhy != "" {
		return ""
	}
	text := plural(len(b.data.Bars), "value")
	if b.data.Value.Log {
		text = plural(len(b.data.Bars), "value") + "; dots, since a logarithmic axis has no zero"
	}
	if b.banded {
		text += "; whisker: "
		if b.data.Interval == "" {
			text += "interval"
		}
		text += b.data.Interval
	}
	if len(b.series) == 1 && b.series[0] != "" {
		text += "; " + b.seriesWords(b.series[0])
	}
	if len(b.panels) > 1 && b.data.Facet != "" {
		text += "; a panel per " + b.data.Facet
	}
	return text
}

func (b *bars) notes() []string {
	var notes []string
	if b.emptyWhy != "" {
		return nil
	}
	if b.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s undefined (n/a).", canvas.Count(b.undefined), plural(len(b.data.Bars), "value"), verb(b.undefined, "is", "are")))
	}
	if b.zeros > 0 {
		notes = append(notes, fmt.Sprintf("%s of exactly 0 %s drawn open at the tick 0, outside the logarithmic scale.", plural(b.zeros, "value"), verb(b.zeros, "is", "are")))
	}
	if b.hidden > 0 {
		notes = append(notes, fmt.Sprintf("%s more %s in the data table only.", canvas.Count(b.hidden), verb(b.hidden, "category is", "categories are")))
	}
	if len(b.series) > directLines {
		notes = append(notes, fmt.Sprintf("%s series are drawn in grey, too many to tell apart; from top to bottom as in the data table.", canvas.Count(len(b.series))))
	}
	return notes
}

func (b *bars) describe() string {
	var s strings.Builder
	s.WriteString("Bars of " + b.data.Value.axisName())
	if b.data.Category != "" {
		s.WriteString(" by " + b.data.Category)
	}
	if b.emptyWhy != "" {
		return s.String() + ": no data (" + b.emptyWhy + ")."
	}
	s.WriteString(": ")
	for i, bar := range b.data.Bars {
		if i == 2*mostDescribed {
			fmt.Fprintf(&s, " and %d more, in the table", len(b.data.Bars)-i)
			break
		}
		if i > 0 {
			s.WriteString(", ")
		}
		for _, part := range []string{bar.Panel, b.seriesWords(bar.Series), bar.Name} {
			if part != "" {
				s.WriteString(shortened(part, nameLimit) + " ")
			}
		}
		s.WriteString(b.valueWords(bar))
		if defined(bar.Lo) && defined(bar.Hi) {
			fmt.Fprintf(&s, " (%s to %s)", canvas.Significant(bar.Lo, 3), canvas.Significant(bar.Hi, 3))
		}
	}
	return s.String() + ". " + strings.Join(b.notes(), " ")
}

// columns are the header of the data table and what each column is: panel,
// category, series, value, lo, hi.
func (b *bars) columns() (header []string, roles map[string]int) {
	roles = map[string]int{}
	add := func(role, name, fallback string) {
		roles[role] = len(header)
		header = append(header, columnName(name, fallback, header))
	}
	if len(b.panels) > 1 || len(b.panels) == 1 && b.panels[0] != "" {
		add("panel", b.data.Facet, "panel")
	}
	add("category", b.data.Category, "category")
	if len(b.series) > 1 || len(b.series) == 1 && b.series[0] != "" {
		add("series", b.data.By, "series")
	}
	add("value", b.data.Value.Name, "value")
	if b.banded {
		value := header[roles["value"]]
		add("lo", value+"_lo", "lo")
		add("hi", value+"_hi", "hi")
	}
	return header, roles
}

func (b *bars) textColumns() []string {
	header, roles := b.columns()
	return header[:roles["value"]]
}

func (b *bars) table() Table {
	header, roles := b.columns()
	t := Table{Header: header}
	_, panels := roles["panel"]
	_, series := roles["series"]
	for _, bar := range b.data.Bars {
		var row []string
		if panels {
			row = append(row, canvas.Clean(bar.Panel))
		}
		row = append(row, canvas.Visible(bar.Name))
		if series {
			row = append(row, canvas.Clean(bar.Series))
		}
		row = append(row, number(bar.Value))
		if b.banded {
			row = append(row, number(bar.Lo), number(bar.Hi))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
