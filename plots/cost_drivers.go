package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: which assumption moves the answer most?

const costDriversName = "cost_drivers"

// CostDriversData is how far an outcome moves when one factor at a time goes from
// its 5 % to its 95 % value. Slices are not kept.
type CostDriversData struct {
	Outcome Quantity // "crossover", "USD per million tokens"
	Median  float64  // with all factors at their median; above zero when Outcome.Log
	Factors []CostFactor
	CostBasis
}

// CostFactor is one assumption.
type CostFactor struct {
	Name             string
	AtLo, AtHi       float64 // the outcome with the factor at its low and its high value; +Inf: never
	LoWords, HiWords string  // those values: "0.2", "0.6"
	Scenario         bool    // a choice nobody can measure, hatched
}

// drivers is the content of the figure.
type drivers struct {
	data      CostDriversData
	order     []int // factors by the size of their swing, largest first
	undefined int
	emptyWhy  string
}

const driversWidth = costWide

// CostDrivers draws a tornado: a bar per factor from the outcome at its low value
// to the outcome at its high value, the widest swing on top, around the median.
// Scenario factors are hatched, since their ends are choices and no quantiles. On
// a logarithmic axis swings are ratios.
//
// Errors: fault.Usage for more than 40 factors and options; fault.Data for a
// median that is not finite, values that have no place on a logarithmic axis and
// names given twice. Factors with an undefined end are left out and counted; an
// end at +Inf is drawn to the edge and called never.
func CostDrivers(d CostDriversData, o Options) (fig *Figure, err error) {
	defer guard(costDriversName, &err)
	t, err := newDrivers(d)
	if err != nil {
		return nil, err
	}
	return t.draw(o)
}

func newDrivers(d CostDriversData) (*drivers, error) {
	if err := checkCount(costDriversName, "factors", len(d.Factors), mostStacks); err != nil {
		return nil, err
	}
	if d.Outcome.Name == "" {
		d.Outcome.Name = "outcome"
	}
	d.Factors = slices.Clone(d.Factors)
	t := &drivers{data: d}
	if len(d.Factors) == 0 {
		t.emptyWhy = "no factors"
		return t, nil
	}
	if !defined(d.Median) || d.Outcome.Log && d.Median <= 0 {
		return nil, badNumber(costDriversName, "median", "%v has no place on the axis", d.Median)
	}
	var names []string
	for i, f := range d.Factors {
		where := fmt.Sprintf("factor %d (%s)", i+1, fault40(f.Name))
		names = append(names, f.Name)
		undefined := false
		for _, v := range []float64{f.AtLo, f.AtHi} {
			switch {
			case math.IsNaN(v) || math.IsInf(v, -1):
				undefined = true
			case d.Outcome.Log && v <= 0:
				return nil, badNumber(costDriversName, where, "an outcome of %v has no place on a logarithmic axis", v)
			}
		}
		if undefined {
			t.undefined++
			continue
		}
		t.order = append(t.order, i)
	}
	if err := checkNames(costDriversName, "factor", names); err != nil {
		return nil, err
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return compareFloats(t.swing(b), t.swing(a)) })
	if len(t.order) == 0 {
		t.emptyWhy = "all " + plural(t.undefined, "factor") + " undefined"
	}
	return t, nil
}

// swing is how far a factor moves the outcome: a difference, or a ratio's
// logarithm.
func (t *drivers) swing(i int) float64 {
	f := t.data.Factors[i]
	if math.IsInf(f.AtLo, 1) && math.IsInf(f.AtHi, 1) {
		return math.Inf(1)
	}
	a := canvas.Axis{Log: t.data.Outcome.Log}
	return math.Abs(a.Coord(f.AtHi) - a.Coord(f.AtLo))
}

func (t *drivers) draw(o Options) (*Figure, error) {
	subtitle := "One factor at a time from its 5 % to its 95 % value, the others at their median; beside the bars: its value, then the outcome."
	if t.emptyWhy != "" {
		subtitle = ""
	}
	p, o, err := o.sheet(costDriversName, driversWidth, t.finding(), subtitle)
	if err != nil {
		return nil, err
	}
	if t.emptyWhy != "" {
		drawEmpty(p, canvas.Axis{Name: t.data.Outcome.axisName(), Max: 1}, canvas.Axis{Name: "factor", Max: 1}, t.emptyWhy)
	} else {
		p.Legend(t.legend())
		t.drawBars(p)
	}
	o.Footer = source(t.data.CostBasis, o.Footer)
	return o.finish(p, content{name: costDriversName, describe: t.describe(), notes: t.notes(), table: t.table, drawn: t.viewTable,
		text: []string{"factor", "value", "label"}, vega: t.vega}), nil
}

func (t *drivers) legend() []canvas.Key {
	fill := func(i int, words string) canvas.Key {
		return canvas.Key{Words: words, Draw: func(p *canvas.Page, r vg.Rectangle) { p.Fill(r, p.Theme().Series[i]) }}
	}
	keys := []canvas.Key{fill(0, "factor low"), fill(1, "factor high")}
	for _, f := range t.data.Factors {
		if f.Scenario {
			return append(keys, hatchKey("a scenario: ends are choices"))
		}
	}
	return keys
}

// words stands at an end of a bar.
func (t *drivers) words(value string, outcome float64) string {
	text := "never"
	if defined(outcome) {
		text = canvas.Significant(outcome, 3)
	}
	if value != "" {
		text = shortened(value, 24) + ": " + text
	}
	return text
}

// ends returns the words left and right of a bar.
func (t *drivers) ends(i int) (left, right string) {
	f := t.data.Factors[i]
	lo, hi := t.words(f.LoWords, f.AtLo), t.words(f.HiWords, f.AtHi)
	if f.AtLo <= f.AtHi {
		return lo, hi
	}
	return hi, lo
}

func (t *drivers) drawBars(p *canvas.Page) {
	value := p.Ink(canvas.Sans, canvas.ValueSize)
	nameWidth, leftRoom, rightRoom := vg.Length(0), vg.Length(0), vg.Length(0)
	page := p.Right() - p.Left()
	for _, i := range t.order {
		nameWidth = max(nameWidth, p.Words(stackName(CostBar{Name: t.data.Factors[i].Name}), p.Ink(canvas.Sans, canvas.PanelSize)).Width())
		l, r := t.ends(i)
		leftRoom, rightRoom = max(leftRoom, p.Words(l, value).Width()), max(rightRoom, p.Words(r, value).Width())
	}
	nameWidth = min(nameWidth, 0.26*page)
	leftRoom, rightRoom = min(leftRoom, 0.2*page)+6, min(rightRoom, 0.2*page)+6
	height := vg.Length(len(t.order)) * lyingPitch
	p.Down(canvas.NoteSize * 1.3) // for the word at the median
	rect := vg.Rectangle{Min: vg.Point{X: p.Left() + nameWidth + 6, Y: p.Y() - height}, Max: vg.Point{X: p.Right(), Y: p.Y()}}
	axis := t.axis(float64(rect.Size().X), float64(leftRoom), float64(rightRoom))
	panel := p.Panel(rect, axis, canvas.Axis{Min: -float64(len(t.order)) + 0.5, Max: 0.5, Bare: true})
	bars := mark.Blocks{Page: p}
	middle := axis.Coord(t.data.Median)
	for row, i := range t.order {
		f := t.data.Factors[i]
		at := -float64(row)
		for side, v := range []float64{f.AtLo, f.AtHi} {
			to := axis.Coord(v)
			if math.IsInf(to, 1) {
				to = axis.LineTo
			}
			b := mark.Block{X0: middle, X1: to, Y0: at - lyingThick/2, Y1: at + lyingThick/2, Fill: p.Theme().Series[side]}
			if f.Scenario {
				b.Hatch = canvas.Blend(p.Theme().Background, b.Fill, 0.75)
			}
			bars.Blocks = append(bars.Blocks, b)
		}
	}
	panel.Draw(bars, mark.Rule{Page: p, At: middle, Vertical: true})
	median := p.Words("median "+canvas.Significant(t.data.Median, 3), p.Muted(canvas.Sans, canvas.NoteSize))
	x := min(max(panel.X(middle), p.Left()+median.Width()/2), p.Right()-median.Width()/2)
	p.Put(median, vg.Point{X: x, Y: rect.Max.Y + 5}, canvas.Middle, canvas.Centre)
	for row, i := range t.order {
		f := t.data.Factors[i]
		y := panel.Y(-float64(row))
		name := rowName(p, stackName(CostBar{Name: f.Name}), p.Ink(canvas.Sans, canvas.PanelSize), nameWidth, lyingPitch)
		putRow(p, name, vg.Point{X: rect.Min.X - 4, Y: y})
		low, high := min(f.AtLo, f.AtHi, t.data.Median), max(f.AtLo, f.AtHi, t.data.Median)
		end := axis.LineTo
		if !math.IsInf(high, 1) {
			end = axis.Coord(high)
		}
		start := axis.Coord(low)
		if math.IsInf(low, 1) {
			start = axis.LineTo
		}
		l, r := t.ends(i)
		p.PutClear(p.Words(l, value).Elide(leftRoom-6), vg.Point{X: panel.X(start) - 3, Y: y}, canvas.End)
		p.PutClear(p.Words(r, value).Elide(rightRoom-6), vg.Point{X: panel.X(end) + 3, Y: y}, canvas.Start)
	}
	p.Down(height + p.XAxisHeight(axis) + costBelow)
}

// axis fits the outcomes into a width, with room for words on both sides.
func (t *drivers) axis(width, left, right float64) canvas.Axis {
	a := t.data.Outcome.axis()
	values := []float64{t.data.Median}
	never := false
	for _, i := range t.order {
		for _, v := range []float64{t.data.Factors[i].AtLo, t.data.Factors[i].AtHi} {
			never = never || math.IsInf(v, 1)
			values = append(values, v) // +Inf does not count
		}
	}
	a.Fit(values...)
	if never {
		a.Max += 0.15 * (a.Max - a.Min)
	}
	inner := max(width-left-right, 0.3*width)
	per := (a.Max - a.Min) / inner
	a.LineTo = a.Max
	lo, hi := a.Min, a.Max
	a.Min, a.Max = lo-per*left*(width-inner)/(left+right), hi+per*right*(width-inner)/(left+right)
	if a.Log {
		a.Ticks = canvas.LogTicks(lo, hi, 5)
	} else {
		a.Ticks = canvas.LinearTicks(lo, hi, 5)
	}
	if a.Ticks == nil {
		a.Ticks = []canvas.Tick{}
	}
	return a
}

// finding names the factor with the largest swing.
func (t *drivers) finding() string {
	what := shortened(t.data.Outcome.words(), 40)
	if t.emptyWhy != "" {
		return "What drives the " + what
	}
	f := t.data.Factors[t.order[0]]
	lo, hi := min(f.AtLo, f.AtHi), max(f.AtLo, f.AtHi)
	if t.swing(t.order[0]) == 0 {
		return "No factor moves the " + what
	}
	to := "never"
	if defined(hi) {
		to = amountWords(hi, t.data.Outcome.Unit)
	}
	if !defined(lo) {
		return sentence(shortened(f.Name, 32)) + " decides whether the " + what + " is ever reached"
	}
	return fmt.Sprintf("%s moves the %s most: from %s to %s", sentence(shortened(f.Name, 32)), what, canvas.Significant(lo, 3), to)
}

func (t *drivers) notes() []string {
	if t.undefined == 0 || t.emptyWhy != "" {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s %s undefined and left out.", canvas.Count(t.undefined), plural(len(t.data.Factors), "factor"), verb(t.undefined, "is", "are"))}
}

func (t *drivers) describe() string {
	begin := "Bars of the swing of " + t.data.Outcome.axisName() + " by factor"
	if t.emptyWhy != "" {
		return begin + ": no data (" + t.emptyWhy + ")."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s around the median of %s. ", begin, canvas.Significant(t.data.Median, 3))
	for row, i := range t.order {
		if row == mostDescribed {
			fmt.Fprintf(&b, "And %d more factors, in the table. ", len(t.order)-row)
			break
		}
		l, r := t.ends(i)
		fmt.Fprintf(&b, "%s: %s to %s. ", shortened(t.data.Factors[i].Name, nameLimit), l, r)
	}
	b.WriteString(t.finding() + ". ")
	for _, n := range t.notes() {
		b.WriteString(n + " ")
	}
	b.WriteString(t.data.CostBasis.words())
	return b.String()
}

func (t *drivers) table() Table {
	out := Table{Header: []string{"factor", "kind", "low", "high", "outcome_at_low", "outcome_at_high", "median"}}
	for _, f := range t.data.Factors {
		kind := "statistical"
		if f.Scenario {
			kind = "scenario"
		}
		out.Rows = append(out.Rows, []string{canvas.Clean(f.Name), kind, canvas.Clean(f.LoWords), canvas.Clean(f.HiWords), number(f.AtLo), number(f.AtHi), number(t.data.Median)})
	}
	return out
}
