package yield

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/results"
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
)

// Quality says what an answer is worth.
type Quality struct {
	// Name is a measure of core/measure, or a column of Values.
	Name string
	// Values is a table with the columns cell, sample and Name, of numbers or
	// booleans; nil: Name is a measure. A sample without a row, or with null, has no value.
	Values *table.Table
}

// Judged are the settings of a run and what their values are.
type Judged struct {
	Settings []Setting
	Boolean  bool  // values are 0 or 1: whether an answer is right, ended, …
	Count    bool  // of sets: they count what is there
	Set      bool  // they are of sets of answers
	Longest  int64 // tokens of the longest context, prompt and completion
}

// counts are measures of sets that count what is in them.
var counts = []string{"unique_outputs", "vocabulary", "chao1"}

// mostAttempts bounds the samples of a run, each of which takes some 200 bytes.
const mostAttempts = 10_000_000

// Stored returns the settings of a stored run with the values of their answers and
// what they took. Cells that differ in nothing but prompt and seed are one
// setting; their samples are its attempts. Samples that failed are counted. Errors
// are those of the run's tables, of the measure, of values that do not fit the run, and
// of formulas that the pricing asks for.
func Stored(run *store.Stored, q Quality, p Pricing, iv measure.Interval) (*Judged, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if iv.Level == 0 {
		iv.Level = defaultLevel
	}
	cells, err := readCells(run)
	if err != nil {
		return nil, err
	}
	out := &Judged{}
	var values func(cell, sample int) float64
	var sets map[int]measure.Estimate
	if q.Values != nil {
		if values, out.Boolean, err = columnValues(q); err != nil {
			return nil, err
		}
	} else {
		m, err := measure.Named(q.Name)
		if err != nil {
			return nil, err
		}
		if m.Set {
			out.Set, out.Count = true, slices.Contains(counts, m.Name)
			if sets, err = setValues(run, m.Name, iv); err != nil {
				return nil, err
			}
		} else if values, err = measureValues(run, m.Name); err != nil {
			return nil, err
		}
		out.Boolean = slices.Contains(m.Methods, measure.MethodWilson)
	}
	works, valued, kept := map[*cellInfo][]work{}, 0, 0
	err = run.Records(false, func(r *store.Record) error {
		if r.Cell >= len(cells) {
			return fault.New(fault.Data, op, run.Dir, "cell %d of %d", r.Cell, len(cells))
		}
		c := &cells[r.Cell]
		if r.Failure != "" {
			c.failed++
			return nil
		}
		w := work{prompt: int64(r.PromptTokens), output: int64(len(r.Trace.Tokens)), value: math.NaN(), cost: r.Cost}
		if values != nil {
			w.value = values(r.Cell, r.Sample)
			if !math.IsNaN(w.value) {
				valued++
			}
		}
		out.Longest = max(out.Longest, w.prompt+w.output)
		if kept++; kept > mostAttempts {
			return fault.New(fault.Limit, op, run.Dir, "it has more than %d samples", mostAttempts).Fix("sweep fewer at a time")
		}
		works[c] = append(works[c], w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if q.Values != nil && valued == 0 {
		return nil, fault.New(fault.Usage, op, q.Name, "no value of the table is of a sample of %s", run.Dir).Fix("its columns cell and sample are those of the run's samples")
	}
	groups := settingsOf(cells, works)
	if len(groups) == 0 {
		return nil, fault.New(fault.Data, op, run.Dir, "it has no samples yet")
	}
	rate, err := ratesOf(groups)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		price := p.of(g, rate[g.model])
		s := Setting{Axes: g.axes, Known: price.known, Absent: price.absent}
		at := map[string]int{}
		for _, c := range g.cells {
			s.Cells, s.Failed = append(s.Cells, c.cell), s.Failed+c.failed
			if len(works[c]) == 0 {
				continue
			}
			i, ok := at[c.prompt]
			if !ok {
				i = len(s.Prompts)
				at[c.prompt] = i
				s.Prompts = append(s.Prompts, Prompt{Text: c.prompt})
			}
			if sets != nil {
				e, there := sets[c.cell]
				if !there || s.Prompts[i].Set != nil {
					return nil, fault.New(fault.Usage, op, q.Name, "it is of sets, and a setting has several at one prompt").Fix("sweep one seed only")
				}
				s.Prompts[i].Set = &e
			}
			for _, w := range works[c] {
				spent, err := price.spend(w)
				if err != nil {
					return nil, err
				}
				s.Prompts[i].Attempts = append(s.Prompts[i].Attempts, Attempt{Value: w.value, Spent: spent})
			}
		}
		out.Settings = append(out.Settings, s)
	}
	return out, nil
}

// cellInfo is what is to be known of a cell.
type cellInfo struct {
	cell                  int
	prompt, search, model string
	axes                  []Axis // without prompt and seed
	failed                int
}

// work is one sample: its tokens, its value and what it took, nil where it does not
// say.
type work struct {
	prompt, output int64
	value          float64
	cost           *trace.Cost
}

func readCells(run *store.Stored) ([]cellInfo, error) {
	t, err := results.Settings(run)
	if err != nil {
		return nil, err
	}
	if t.Rows() > run.Manifest.Cells {
		return nil, fault.New(fault.Data, op, run.Dir, "%d rows for %d cells", t.Rows(), run.Manifest.Cells)
	}
	out := make([]cellInfo, run.Manifest.Cells)
	for i := range out {
		out[i].cell = i
	}
	for i := range t.Rows() {
		row, err := t.Row(i)
		if err != nil {
			return nil, err
		}
		n, ok := row["cell"].(int64)
		if !ok || n < 0 || int(n) >= len(out) {
			return nil, fault.New(fault.Data, op, run.Dir, "row %d is of the cell %v", i, row["cell"])
		}
		c := &out[n]
		c.prompt, _ = row["prompt"].(string)
		c.search, _ = row["search"].(string)
		c.model, _ = row["model"].(string)
		for _, name := range run.Manifest.Axes {
			if name != "prompt" && name != "seed" {
				c.axes = append(c.axes, Axis{name, row[name]})
			}
		}
	}
	return out, nil
}

// group is the cells of a setting.
type group struct {
	axes          []Axis
	search, model string
	cells         []*cellInfo
	works         []work
}

func settingsOf(cells []cellInfo, works map[*cellInfo][]work) []*group {
	var out []*group
	at := map[string]*group{}
	for i := range cells {
		c := &cells[i]
		if len(works[c]) == 0 && c.failed == 0 {
			continue
		}
		key := fmt.Sprintf("%q %q", c.search, c.model)
		for _, a := range c.axes {
			key += fmt.Sprintf(" %q=%T:%q", a.Name, a.Value, fmt.Sprint(a.Value))
		}
		g := at[key]
		if g == nil {
			g = &group{axes: c.axes, search: c.search, model: c.model}
			at[key] = g
			out = append(out, g)
		}
		g.cells, g.works = append(g.cells, c), append(g.works, works[c]...)
	}
	return slices.DeleteFunc(out, func(g *group) bool { return len(g.works) == 0 })
}

// measureValues returns the value that a measure gives each sample.
func measureValues(run *store.Stored, name string) (func(cell, sample int) float64, error) {
	t, err := results.Samples(run, []string{name})
	if err != nil {
		return nil, err
	}
	v, err := keyed(t, name)
	if err != nil {
		return nil, err
	}
	return looked(v), nil
}

// looked returns values by cell and sample, NaN where there is none.
func looked(v map[[2]int64]float64) func(cell, sample int) float64 {
	return func(cell, sample int) float64 {
		x, ok := v[[2]int64{int64(cell), int64(sample)}]
		if !ok {
			return math.NaN()
		}
		return x
	}
}

// columnValues is measureValues of a table.
func columnValues(q Quality) (value func(cell, sample int) float64, boolean bool, err error) {
	c, err := q.Values.Column(q.Name)
	if err != nil {
		return nil, false, err
	}
	v, err := keyed(q.Values, q.Name)
	if err != nil {
		return nil, false, err
	}
	if len(v) == 0 {
		return nil, false, fault.New(fault.Usage, op, q.Name, "the table of values has no rows")
	}
	return looked(v), c.Type() == table.Bool, nil
}

// keyed reads a column of numbers or booleans by cell and sample; null has no entry.
func keyed(t *table.Table, name string) (map[[2]int64]float64, error) {
	var keys [2][]int64
	for i, key := range []string{"cell", "sample"} {
		c, err := t.Column(key)
		if err != nil {
			return nil, err
		}
		v, ok := table.Values[int64](c)
		if !ok || c.Nulls() > 0 {
			return nil, fault.New(fault.Usage, op, key, "the column is not of whole numbers without null")
		}
		keys[i] = v
	}
	c, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	out := make(map[[2]int64]float64, t.Rows())
	for i := range t.Rows() {
		k := [2]int64{keys[0][i], keys[1][i]}
		if _, twice := out[k]; twice {
			return nil, fault.New(fault.Usage, op, name, "cell %d has sample %d twice", k[0], k[1])
		}
		switch v := c.At(i).(type) {
		case nil:
		case bool:
			out[k] = 0
			if v {
				out[k] = 1
			}
		case int64:
			out[k] = float64(v)
		case float64:
			if !math.IsNaN(v) {
				out[k] = v
			}
		default:
			return nil, fault.New(fault.Usage, op, name, "the column is of type %s", c.Type()).Fix("give numbers or booleans")
		}
	}
	return out, nil
}

// setValues returns the estimates of a measure of sets, by cell.
func setValues(run *store.Stored, name string, iv measure.Interval) (map[int]measure.Estimate, error) {
	t, err := results.Cells(run, []string{name}, iv)
	if err != nil {
		return nil, err
	}
	out := map[int]measure.Estimate{}
	for i := range t.Rows() {
		row, err := t.Row(i)
		if err != nil {
			return nil, err
		}
		cell, _ := row["cell"].(int64)
		n, _ := row[name+"_n"].(int64)
		e := measure.Estimate{Value: number(row[name]), Lo: number(row[name+"_lo"]), Hi: number(row[name+"_hi"]), N: int(n), Level: iv.Level}
		out[int(cell)] = e
	}
	return out, nil
}

func number(v any) float64 {
	if x, ok := v.(float64); ok {
		return x
	}
	return math.NaN()
}

// String names a setting by its axes, those left out that its part of the grid lacks.
func (s *Setting) String() string {
	var parts []string
	for _, a := range s.Axes {
		if a.Value != nil {
			parts = append(parts, fmt.Sprintf("%s=%v", a.Name, a.Value))
		}
	}
	if parts == nil {
		return "all"
	}
	return strings.Join(parts, " ")
}
