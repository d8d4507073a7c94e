package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lab/core/measure"
	"lab/core/results"
	"lab/plots/canvas"
	"lab/plots/source"
)

const (
	mostCells = 200 // rows of the tables of cells
	openCells = 40  // of them, before those that are folded
)

// defaults are the measures of a run for which none were named: of text, and where
// steps were recorded of both distributions.
func (s *sweepReport) defaults() []string {
	names := []string{"distinct_2", "seq_rep_4", "length_tokens"}
	if s.run.Manifest.Ledger {
		searched := slices.ContainsFunc(s.cells, func(c map[string]any) bool { return c["search"] != nil })
		if !searched { // a search has no sampling distribution
			names = append(names, "sampling_entropy_bits")
		}
		names = append(names, "model_surprisal_bits")
		if !searched {
			names = append(names, "kept_mass")
		}
	}
	return names
}

// estimate measures the cells. Of measures that nobody named those that the run has
// not are left out, and why.
func (s *sweepReport) estimate() (est *results.Estimates, missing []string, err error) {
	if s.Measures != nil {
		est, err = results.Estimate(s.run, s.Measures, s.Interval)
		return est, nil, err
	}
	names := s.defaults()
	if est, err = results.Estimate(s.run, names, s.Interval); err == nil || !refused(err) {
		return est, nil, err
	}
	var kept []string
	var last error
	for _, name := range names {
		if _, err := results.Estimate(s.run, []string{name}, s.Interval); err == nil {
			kept = append(kept, name)
		} else if !refused(err) {
			return nil, nil, err
		} else {
			last = err
			missing = append(missing, name+" is not shown: "+err.Error())
		}
	}
	if kept == nil {
		return nil, nil, last
	}
	est, err = results.Estimate(s.run, kept, s.Interval)
	return est, missing, err
}

// results is the table of cells, and the finding that it makes.
func (s *sweepReport) results() error {
	if s.records-s.failed == 0 {
		s.finding = "No sample is there yet."
		s.add("results", "Results", block{text: "There is no sample to measure."})
		return nil
	}
	est, missing, err := s.estimate()
	if err != nil {
		return err
	}
	s.finding = s.find(est)
	axes := s.run.Manifest.Axes
	g := &grid{caption: "Estimates by cell", head: columns("#cell")}
	for _, a := range axes {
		g.head = append(g.head, column{a, slices.ContainsFunc(s.cells, func(c map[string]any) bool { return isNumber(c[a]) })})
	}
	g.head = append(g.head, column{"samples", true})
	for _, m := range est.Measures {
		name := m.Name
		if m.Unit != "" && !strings.HasSuffix(name, m.Unit) {
			name += ", " + m.Unit
		}
		g.head = append(g.head, column{name, true})
	}
	for _, c := range est.Cells[:min(len(est.Cells), mostCells)] {
		row := words(strconv.Itoa(c.Cell))
		for _, a := range axes {
			row = append(row, cell{text: canvas.Shorten(source.SettingText(s.cells[c.Cell][a]), 80)})
		}
		row = append(row, cell{text: canvas.Count(c.Samples)})
		for _, e := range c.Of {
			row = append(row, estimated(e, c.Samples))
		}
		g.rows = append(g.rows, row)
	}
	g.note = "In brackets the interval; what each measure and its interval is stands below. n is given where a measure is not defined for every sample."
	if more := len(est.Cells) - len(g.rows); more > 0 {
		g.note += fmt.Sprintf(" Not shown: %s; run.stats in a script has all.", plural(more, "cell"))
	}
	if without := s.run.Manifest.Cells - len(est.Cells); without > 0 {
		g.note += fmt.Sprintf(" Without a sample: %s.", plural(without, "cell"))
	}
	blocks := []block{{table: g}, {table: explained(est)}}
	if len(g.rows) > openCells { // the figures should not lie ten screens below
		rest := &grid{caption: fmt.Sprintf("Estimates of the other %s", plural(len(g.rows)-openCells, "cell")), head: g.head, rows: g.rows[openCells:]}
		g.rows = g.rows[:openCells]
		blocks = []block{{table: g}, {table: rest, folded: rest.caption}, blocks[1]}
	}
	if missing != nil {
		blocks = append(blocks, block{list: missing})
	}
	s.add("results", "Results", blocks...)
	return nil
}

func isNumber(v any) bool {
	switch v.(type) {
	case float64, int64:
		return true
	}
	return false
}

// estimated writes a value, its interval, and n where it is not that of the cell.
func estimated(e measure.Estimate, samples int) cell {
	c := cell{text: digits(e.Value)}
	if e.Method == "none" && e.Value == math.Trunc(e.Value) && math.Abs(e.Value) < 1e15 { // a count
		c.text = count(int64(e.Value))
	}
	if interval := interval(e); interval != "" {
		c.detail = interval
	}
	if e.N != samples {
		c.detail = strings.TrimSpace(c.detail + " n " + canvas.Count(e.N))
	}
	return c
}

func interval(e measure.Estimate) string {
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return ""
	}
	return "[" + digits(e.Lo) + ", " + digits(e.Hi) + "]"
}

// digits writes a number with three significant digits, "n/a" where there is none.
func digits(v float64) string {
	if math.IsNaN(v) {
		return "n/a"
	}
	return canvas.Digits(v, 3)
}

// explained says what the measures and their intervals are.
func explained(est *results.Estimates) *grid {
	g := &grid{caption: "What was measured", head: columns("measure", "meaning", "interval", "#level", "#n", "remarks")}
	for i, m := range est.Measures {
		var methods, levels, notes []string
		counts := map[string]int{}
		n, missing := 0, 0
		for _, c := range est.Cells {
			e := c.Of[i]
			n, missing = n+e.N, missing+e.Missing
			methods, levels = add(methods, methodWords(e.Method)), add(levels, strconv.FormatFloat(100*e.Level, 'g', 6, 64)+" %")
			if e.Note != "" {
				notes = add(notes, e.Note)
				counts[e.Note]++
			}
		}
		for k, note := range notes {
			notes[k] = fmt.Sprintf("%s: %s", plural(counts[note], "cell"), note)
		}
		if missing > 0 {
			notes = append(notes, fmt.Sprintf("not defined for %s", plural(missing, "sample")))
		}
		g.rows = append(g.rows, words(m.Name, m.Doc, strings.Join(methods, ", "), strings.Join(levels, ", "), canvas.Count(n), strings.Join(notes, "; ")))
	}
	return g
}

// methodWords says what a method of intervals is.
func methodWords(method string) string {
	words := map[string]string{
		measure.MethodT: "Student", measure.MethodBootstrap: "percentiles of resampled values", measure.MethodBCa: "bias-corrected and accelerated",
		measure.MethodWilson: "Wilson's score", measure.MethodExact: "Clopper–Pearson", measure.MethodJackknife: "leaving out one sample at a time",
		"esty": "Esty 1983", "chao": "Chao 1987", "none": "a count of what is there",
	}[method]
	if words == "" {
		return method
	}
	return method + " (" + words + ")"
}

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// find states what the first measure found: the extremes of the cells, and whether
// their intervals are apart.
func (s *sweepReport) find(est *results.Estimates) string {
	const first = 0
	low, high, n := -1, -1, 0
	for i, c := range est.Cells {
		v := c.Of[first].Value
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		n++
		if low < 0 || v < est.Cells[low].Of[first].Value {
			low = i
		}
		if high < 0 || v > est.Cells[high].Of[first].Value {
			high = i
		}
	}
	name := est.Measures[first].Name
	said := func(i int) string {
		e := est.Cells[i].Of[first]
		return strings.TrimSpace(digits(e.Value) + " " + interval(e))
	}
	switch {
	case n == 0:
		return name + " is defined for no cell."
	case len(est.Cells) == 1:
		return fmt.Sprintf("%s is %s over %s.", name, said(low), plural(est.Cells[low].Of[first].N, "sample"))
	case low == high || est.Cells[low].Of[first].Value == est.Cells[high].Of[first].Value:
		return fmt.Sprintf("%s is %s in all %s.", name, digits(est.Cells[low].Of[first].Value), plural(n, "cell"))
	}
	a, b := est.Cells[low].Of[first], est.Cells[high].Of[first]
	apart := ""
	switch {
	case interval(a) == "" || interval(b) == "":
	case a.Hi < b.Lo:
		apart = "; the two intervals do not overlap"
	default:
		apart = "; the two intervals overlap"
	}
	where := func(i int) string {
		ties := -1
		for _, c := range est.Cells {
			if c.Of[first].Value == est.Cells[i].Of[first].Value {
				ties++
			}
		}
		if ties == 0 {
			return s.cellName(est.Cells[i].Cell)
		}
		return s.cellName(est.Cells[i].Cell) + " and " + plural(ties, "other cell")
	}
	return fmt.Sprintf("%s runs from %s at %s to %s at %s%s.", name, said(low), where(low), said(high), where(high), apart)
}

// cellName names a cell by what the grid varies.
func (s *sweepReport) cellName(cell int) string {
	var parts []string
	for _, a := range s.run.Manifest.Axes {
		v := canvas.Shorten(source.SettingText(s.cells[cell][a]), 40)
		if strings.ContainsAny(v, " ,") { // its end must be seen in a sentence
			v = "“" + v + "”"
		}
		parts = append(parts, a+" "+v)
	}
	if parts == nil {
		return "cell " + strconv.Itoa(cell)
	}
	return strings.Join(parts, ", ")
}
