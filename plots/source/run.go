package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/core/results"
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
	"lab/plots"
)

// Setting is what a figure of a run takes beside the run.
type Setting struct {
	Name, Default, Meaning string
}

// RunFigure is a figure that can be drawn from stored runs.
type RunFigure struct {
	Name     string // in the catalogue
	Runs     int    // it takes: 1 or 2
	Needs    string // of the run
	Settings []Setting
	// Vocabulary says that it shows tokens which only the model can spell: see
	// Request.Pieces.
	Vocabulary bool
	draw       func(*request) (*plots.Figure, error)
}

// Request is what to draw from which runs.
type Request struct {
	Figure  string
	Runs    []*store.Stored
	Set     map[string]string // values of settings
	Options plots.Options
	// Pieces opens the vocabulary of a cell's model, for figures that show tokens
	// that were not chosen; it may be nil.
	Pieces func(model string) (func(int32) []byte, error)
}

// request is a Request being drawn; the first error stays.
type request struct {
	Request
	figure *RunFigure
	run    *store.Stored // the first
	cells  []map[string]any
	err    error
}

// Figures returns the figures that can be drawn from stored runs, in the order
// of the catalogue.
func Figures() []RunFigure {
	cell := []Setting{{"cell", "0", "which cell of the run"}, {"sample", "0", "which sample of the cell"}}
	part := []Setting{{"first", "0", "first step drawn"}, {"most", "0", "steps drawn; 0 is the figure's own number"}}
	by := Setting{"by", "", "column that tells the samples apart; left out, all that the grid varies"}
	value := Setting{"value", "distinct_2", "measure, as in stats.measures"}
	unit := Setting{"unit", "tokens", "of costs: tokens, FLOP or s"}
	return []RunFigure{
		{"tokens", 1, "record: ledger", slices.Concat(cell, part, []Setting{{"distribution", "model", "model or sampling"}}), false, drawTokens},
		{"heat_steps", 1, "record: scores, or scores:N", slices.Concat(cell, part, []Setting{{"ranks", "5", "rows, 1 to 12"}}), true, drawHeatSteps},
		{"entropy", 1, "record: ledger, and a grid over temperature", []Setting{{"x", "temperature", "column of the temperature"}}, false, drawEntropy},
		{"zipf", 1, "nothing more", []Setting{by}, false, drawZipf},
		{"repetition", 1, "nothing more", []Setting{by, {"n", "4", "length of the n-grams"}}, false, drawRepetition},
		{"pairs", 2, "two runs of one grid", nil, false, drawPairs},
		{"outcomes", 1, "a measure of single samples", []Setting{value, by}, false, sampleChart(plots.Outcomes)},
		{"grid", 1, "a grid over two settings", []Setting{{"x", "", "column along the axis; left out, the first that the grid varies"}, {"y", "", "column upwards; left out, the second"},
			value, {"smaller", "false", "true: the smallest value is best"}}, false, drawGrid},
		{"line", 1, "a grid over a number", []Setting{{"x", "", "column along the axis; left out, the first number that the grid varies"}, value, {"by", "", "column of the lines; left out, all others that the grid varies"}}, false, drawLine},
		{"bar", 1, "nothing more", []Setting{value, by}, false, drawBar},
		{"hist", 1, "a measure of single samples", []Setting{value, by}, false, sampleChart(plots.Hist)},
		{"ecdf", 1, "a measure of single samples", []Setting{value, by}, false, sampleChart(plots.Ecdf)},
		{"violin", 1, "a measure of single samples", []Setting{value, by}, false, sampleChart(plots.Violin)},
		{"cost_quality", 1, "costs.parquet: a model that counts what its calls take", []Setting{value, unit, {"by", "", "column of the series, joined in the order of the grid; left out, every cell is its own"}}, false, drawCostQuality},
		{"cost_bill", 1, "costs.parquet: a model that counts what its calls take", []Setting{unit, by}, false, drawCostBill},
	}
}

// beyondRuns says what the figures that no run alone gives need.
var beyondRuns = map[string]string{
	"reshape":          "whole next-token distributions, and a run keeps the likeliest tokens of a step at most",
	"temperatures":     "a whole next-token distribution, and a run keeps the likeliest tokens of a step at most",
	"chain":            "one step under one chain; table stages of the run has what every stage did, for a script",
	"calibration":      "a whole distribution beside many draws from it, and a run draws each step from another one",
	"ridgeline":        "whole next-token distributions, and a run keeps the likeliest tokens of a step at most",
	"timeline":         "when each request began and ended, and a run keeps the sample's share of the seconds only",
	"scatter":          "two columns to compare, and a run has any number of them",
	"heat":             "columns to spread; grid draws a measure of the run over two settings",
	"cost_lifetime":    "what training cost and how demand runs, which no run holds",
	"cost_growth":      "what training cost and how demand runs, which no run holds",
	"cost_optimum":     "loss coefficients and demand, which no run holds",
	"cost_roofline":    "peaks and bandwidths of devices, which no run holds",
	"cost_context":     "the cost of a token at many contexts, from a model of costs",
	"cost_batch":       "the time of a step at many batches, modelled or measured",
	"cost_step":        "the time of a step by its parts, from a model of costs",
	"cost_frontier":    "rates at many batches, as lab cost frontier computes them",
	"cost_speculative": "acceptance and the cost of drafts, from a model of costs",
	"cost_drivers":     "the range of every assumption, from a model of costs",
}

// Draw draws a figure from stored runs.
//
// Errors: fault.Usage for a figure, a setting or a column that is not there (all
// missing columns are named), a number that cannot be read, another number of
// runs than the figure takes, and settings the figure refuses; fault.Data for
// damaged runs.
func Draw(r Request) (*plots.Figure, error) {
	q := &request{Request: r}
	list := Figures()
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
		if list[i].Name == r.Figure {
			q.figure = &list[i]
		}
	}
	if q.figure == nil {
		for _, e := range plots.Catalogue() {
			if e.Name == r.Figure {
				return nil, fault.New(fault.Usage, "draw", fault.Quote(r.Figure, 40), "it is not drawn from a run alone: it needs %s", beyondRuns[e.Name]).
					Fix("draw it in a script, as in %s; from runs alone: %s", e.Call, strings.Join(names, ", "))
			}
		}
		return nil, fault.Unknown("draw", "figure", r.Figure, names)
	}
	if len(r.Runs) != q.figure.Runs {
		return nil, fault.New(fault.Usage, "draw", r.Figure, "it takes %d of --run, and %d are given", q.figure.Runs, len(r.Runs))
	}
	var known []string
	for _, s := range q.figure.Settings {
		known = append(known, s.Name)
	}
	for name := range r.Set {
		if !slices.Contains(known, name) {
			return nil, fault.Unknown("figure "+r.Figure, "setting", name, known)
		}
	}
	q.run = r.Runs[0]
	t, err := results.Settings(q.run)
	if err != nil {
		return nil, err
	}
	for i := range t.Rows() {
		row, err := t.Row(i)
		if err != nil {
			return nil, err
		}
		q.cells = append(q.cells, row)
	}
	return q.figure.draw(q)
}

// text returns a setting or its default.
func (q *request) text(name string) string {
	if v, given := q.Set[name]; given {
		return v
	}
	for _, s := range q.figure.Settings {
		if s.Name == name {
			return s.Default
		}
	}
	q.fail(fault.New(fault.Internal, "draw", name, "there is no such setting"))
	return ""
}

func (q *request) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// number returns a setting that is a whole number.
func (q *request) number(name string) int {
	n, err := strconv.Atoi(q.text(name))
	if err != nil {
		q.fail(fault.New(fault.Usage, op+" "+q.Figure, "setting "+name, "%s is not a whole number", fault.Quote(q.text(name), 40)))
	}
	return n
}

// choice returns a setting that is one of several words.
func (q *request) choice(name string, words ...string) string {
	if v := q.text(name); !slices.Contains(words, v) {
		q.fail(fault.Unknown(op+" "+q.Figure, "value of "+name, v, words))
	}
	return q.text(name)
}

// need refuses a run that lacks columns, naming all of them: settings of cells,
// and columns of its steps.
func (q *request) need(cells []string, steps ...string) bool {
	var missing, have []string
	if len(q.cells) > 0 {
		for name := range q.cells[0] {
			have = append(have, name)
		}
		slices.Sort(have)
	}
	for _, c := range cells {
		if !slices.Contains(have, c) {
			missing = append(missing, c)
		}
	}
	cure := "its cells have " + strings.Join(have, ", ")
	if !q.run.Manifest.Ledger && len(steps) > 0 {
		missing = append(missing, steps...)
		cure = "it did not record what happened at every step: run the sweep with record: ledger"
	}
	if len(missing) > 0 {
		noun := "column"
		if len(missing) > 1 {
			noun = "columns"
		}
		q.fail(fault.New(fault.Usage, op+" "+q.Figure, q.run.Dir, "the run lacks the %s %s", noun, strings.Join(missing, ", ")).Fix("%s", cure))
	}
	return q.err == nil
}

// SettingText writes the value of a setting of a cell: "none" where it has none.
func SettingText(v any) string {
	switch x := v.(type) {
	case nil:
		return "none"
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// axes returns the columns that tell cells apart: the one of the setting by, or
// all that the grid varies.
func (q *request) axes() []string {
	if by := q.text("by"); by != "" {
		return []string{by}
	}
	return q.run.Manifest.Axes
}

// cellName names a cell by the values of columns.
func (q *request) cellName(cell int, columns []string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		v := q.cells[cell][c]
		parts[i] = SettingText(v)
		if _, isText := v.(string); !isText {
			parts[i] = c + " " + parts[i]
		}
	}
	return strings.Join(parts, " · ")
}

// groups reads the samples of the run by the values of columns, in the order of
// the cells.
func (q *request) groups(columns []string) ([]Group, error) {
	var out []Group
	at := map[string]int{}
	err := q.run.Records(false, func(rec *store.Record) error {
		if rec.Failure != "" || rec.Cell >= len(q.cells) {
			return nil
		}
		name := q.cellName(rec.Cell, columns)
		i, known := at[name]
		if !known {
			i = len(out)
			at[name] = i
			out = append(out, Group{Name: name})
		}
		s := rec.Trace
		out[i].Samples = append(out[i].Samples, &s)
		return nil
	})
	return out, err
}

// record reads one sample of one cell.
func (q *request) record(scores bool) (*store.Record, error) {
	cell, sample := q.number("cell"), q.number("sample")
	if q.err != nil {
		return nil, q.err
	}
	if cell < 0 || cell >= len(q.cells) {
		return nil, fault.New(fault.Usage, op+" "+q.Figure, "setting cell", "%d is outside 0 to %d", cell, len(q.cells)-1).Fix("lab runs show lists the cells")
	}
	var found *store.Record
	visit := func(rec *store.Record) error {
		if rec.Cell == cell && rec.Sample == sample {
			r := *rec
			found = &r
		}
		return nil
	}
	var err error
	if scores {
		err = q.run.WithScores(visit)
	} else {
		err = q.run.Records(true, visit)
	}
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fault.New(fault.Usage, op+" "+q.Figure, "setting sample", "cell %d has no sample %d yet; it is to have 0 to %d", cell, sample, q.run.Manifest.Samples-1)
	case found.Failure != "":
		return nil, fault.New(fault.Usage, op+" "+q.Figure, "setting sample", "sample %d of cell %d failed: %s", sample, cell, fault.Quote(found.Failure, 120)).Fix("choose another")
	}
	return found, nil
}

// prompt returns the prompt of a cell.
func (q *request) prompt(cell int) string {
	p, _ := q.cells[cell]["prompt"].(string)
	return p
}

// column returns a column of numbers of a table, NaN where it is null.
func column(t *table.Table, name string) ([]float64, error) {
	c, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	out := nans(c.Len())
	v, from, _ := c.Numbers(nil)
	for k, i := range from {
		out[i] = v[k]
	}
	return out, nil
}

func drawTokens(q *request) (*plots.Figure, error) {
	sampling := q.choice("distribution", "model", "sampling") == "sampling"
	first, most := q.number("first"), q.number("most")
	if !q.need(nil, "piece", "model_surprisal_bits", "sampling_surprisal_bits") {
		return nil, q.err
	}
	rec, err := q.record(false)
	if err != nil {
		return nil, err
	}
	d, err := Tokens(q.prompt(rec.Cell), &rec.Trace)
	if err != nil {
		return nil, err
	}
	d.Sampling, d.First, d.Most = sampling, first, most
	return plots.Tokens(d, q.Options)
}

func drawHeatSteps(q *request) (*plots.Figure, error) {
	first, most, ranks := q.number("first"), q.number("most"), q.number("ranks")
	if q.err != nil {
		return nil, q.err
	}
	if q.run.Manifest.Scores == "" {
		return nil, fault.New(fault.Usage, op+" "+q.Figure, q.run.Dir, "the run lacks the columns ids, scores: it did not keep the scores of every step").
			Fix("run the sweep with record: scores:12")
	}
	rec, err := q.record(true)
	if err != nil {
		return nil, err
	}
	piece := knownPieces(&rec.Trace)
	if ref, _ := q.cells[rec.Cell]["model"].(string); q.Pieces != nil {
		if piece, err = q.Pieces(ref); err != nil {
			return nil, err
		}
	}
	d, err := RecordedSteps(q.prompt(rec.Cell), &rec.Trace, rec.Scores, piece)
	if err != nil {
		return nil, err
	}
	d.First, d.Most, d.Ranks = first, most, ranks
	return plots.HeatSteps(d, q.Options)
}

// knownPieces gives the bytes of the tokens that a sample holds, and the number
// of any other.
func knownPieces(s *trace.Sample) func(int32) []byte {
	known := map[int32][]byte{}
	for i := range s.Steps {
		known[s.Steps[i].Token] = s.Steps[i].Piece
	}
	return func(id int32) []byte {
		if p, ok := known[id]; ok {
			return p
		}
		return []byte(fmt.Sprintf("#%d", id))
	}
}
