package source

import (
	"math"
	"slices"
	"sort"

	"lab/core/fault"
	"lab/core/results"
	"lab/core/store"
	"lab/core/trace"
	"lab/plots"
)

func nans(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

func drawEntropy(q *request) (*plots.Figure, error) {
	const bits = "sampling_entropy_bits"
	x := q.text("x")
	if !q.need([]string{x}, bits) {
		return nil, q.err
	}
	t, err := results.Samples(q.run, []string{bits})
	if err != nil {
		return nil, err
	}
	at, err := column(t, x)
	if err != nil {
		return nil, err
	}
	values, err := column(t, bits)
	if err != nil {
		return nil, err
	}
	by, most := map[float64][]float64{}, 0
	for i, v := range values {
		if !math.IsNaN(at[i]) { // a cell without a temperature stage
			by[at[i]] = append(by[at[i]], v)
			most = max(most, len(by[at[i]]))
		}
	}
	d := plots.EntropyData{Of: "sample"}
	for temperature, list := range by {
		d.Rows = append(d.Rows, plots.EntropyRow{Temperature: temperature, EntropyBits: append(list, nans(most-len(list))...)})
	}
	return plots.Entropy(d, q.Options)
}

func drawZipf(q *request) (*plots.Figure, error) {
	groups, err := q.grouped()
	if err != nil {
		return nil, err
	}
	return plots.Zipf(Zipf(groups), q.Options)
}

func drawRepetition(q *request) (*plots.Figure, error) {
	n := q.number("n")
	groups, err := q.grouped()
	if err != nil {
		return nil, err
	}
	return plots.Repetition(Repetition(n, groups), q.Options)
}

// grouped reads the samples by the setting by.
func (q *request) grouped() ([]Group, error) {
	columns := q.axes()
	if !q.need(columns) {
		return nil, q.err
	}
	return q.groups(columns)
}

func drawPairs(q *request) (*plots.Figure, error) {
	d, err := PairsOfRuns(q.Runs[0], q.Runs[1])
	if err != nil {
		return nil, err
	}
	return plots.Pairs(d, q.Options)
}

// PairsOfRuns returns the samples of two runs as pairs, by cell and index.
// Errors: fault.Usage when they share none.
func PairsOfRuns(a, b *store.Stored) (plots.PairsData, error) {
	type place struct{ cell, sample int }
	d := plots.PairsData{A: a.Manifest.Name, B: b.Manifest.Name}
	first := map[place]*trace.Sample{}
	steps := a.Manifest.Ledger && b.Manifest.Ledger
	err := a.Records(steps, func(rec *store.Record) error {
		if rec.Failure == "" {
			s := rec.Trace
			first[place{rec.Cell, rec.Sample}] = &s
		}
		return nil
	})
	if err != nil {
		return d, err
	}
	err = b.Records(steps, func(rec *store.Record) error {
		if s := first[place{rec.Cell, rec.Sample}]; s != nil && rec.Failure == "" {
			d.Pairs = append(d.Pairs, Pair(s, &rec.Trace))
		}
		return nil
	})
	if err == nil && len(d.Pairs) == 0 {
		err = fault.New(fault.Usage, op+" pairs", "", "%s and %s share no sample of the same cell and index", a.Dir, b.Dir).Fix("take two runs of one grid")
	}
	return d, err
}

func drawGrid(q *request) (*plots.Figure, error) {
	x, y := q.text("x"), q.text("y")
	for _, axis := range q.run.Manifest.Axes {
		switch {
		case x == "" && axis != y:
			x = axis
		case y == "" && axis != x:
			y = axis
		}
	}
	smaller := q.choice("smaller", "true", "false") == "true"
	if x == "" || y == "" {
		return nil, fault.New(fault.Usage, op+" grid", q.run.Dir, "its grid varies %d settings, and two are drawn", len(q.run.Manifest.Axes)).Fix("name columns with --set x=… and --set y=…")
	}
	if !q.need([]string{x, y}) {
		return nil, q.err
	}
	e, err := q.estimates()
	if err != nil {
		return nil, err
	}
	d := plots.GridData{X: plots.Quantity{Name: x}, Y: plots.Quantity{Name: y}, Value: e.quantity(), Smaller: smaller, Interval: "95 % interval"}
	failures, err := q.failures()
	if err != nil {
		return nil, err
	}
	xs, ys := q.values(x), q.values(y)
	d.XNames, d.YNames = xs.names, ys.names
	for cell := range q.cells {
		c := plots.GridCell{X: xs.of[cell], Y: ys.of[cell], Value: e.value[cell], Lo: e.lo[cell], Hi: e.hi[cell]}
		switch {
		case e.samples[cell]:
		case failures[cell] != "":
			c.Failed = failures[cell]
		default:
			continue // not run yet
		}
		d.Cells = append(d.Cells, c)
	}
	return plots.SweepGrid(d, q.Options)
}

// failures returns the first failure of every cell that has one.
func (q *request) failures() (map[int]string, error) {
	out := map[int]string{}
	err := q.run.Records(false, func(rec *store.Record) error {
		if rec.Failure != "" && out[rec.Cell] == "" {
			out[rec.Cell] = rec.Failure
		}
		return nil
	})
	return out, err
}

// steps is the different values of a setting and the one of every cell.
type steps struct {
	of    []int
	names []string
}

// values returns the values of a column, numbers rising, others in the order of
// the cells, what has none last.
func (q *request) values(column string) steps {
	var s steps
	type value struct {
		number float64
		at     int
	}
	var list []value
	known := map[string]int{}
	for i := range q.cells {
		v := q.cells[i][column]
		name := SettingText(v)
		n, ok := known[name]
		if !ok {
			n = len(list)
			known[name] = n
			list = append(list, value{numberOf(v), n})
			s.names = append(s.names, name)
		}
		s.of = append(s.of, n)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].number < list[j].number })
	names, place := make([]string, len(list)), make([]int, len(list))
	for to, v := range list {
		names[to], place[v.at] = s.names[v.at], to
	}
	s.names = names
	for i := range s.of {
		s.of[i] = place[s.of[i]]
	}
	return s
}

// numberOf orders values: numbers by themselves, anything else behind them.
func numberOf(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	return math.Inf(1)
}
