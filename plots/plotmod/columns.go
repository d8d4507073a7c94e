package plotmod

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
	"lab/core/table/tablemod"
)

// reader takes columns of one table for one chart. The first error stays.
type reader struct {
	c   *script.Call
	t   *table.Table
	err error
}

func newReader(c *script.Call) *reader {
	t, err := tablemod.Taken(c, "table")
	return &reader{c: c, t: t, err: err}
}

func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = failure(err)
	}
}

// column finds the column that an option names.
func (r *reader) column(option, name string) *table.Column {
	if r.err != nil {
		return nil
	}
	if len(r.t.Names()) == 0 { // an empty list of maps: the chart says that there is nothing
		return table.Of([]string{})
	}
	if !r.t.Has(name) {
		e := fault.Unknown(r.c.Name(), "column", name, r.t.Names())
		e.Subject = "option " + option
		r.fail(e)
		return nil
	}
	col, err := r.t.Column(name)
	if err != nil {
		r.fail(err)
	}
	return col
}

// numbers returns a column as numbers, NaN where it is null.
func (r *reader) numbers(option, name string) []float64 {
	col := r.column(option, name)
	if col == nil {
		return nil
	}
	out := make([]float64, col.Len())
	for i := range out {
		out[i] = math.NaN()
	}
	if col.Nulls() == col.Len() {
		return out
	}
	v, from, ok := col.Numbers(nil)
	if !ok {
		at := 0
		for col.Null(at) {
			at++
		}
		r.fail(fault.New(fault.Script, r.c.Name(), "option "+option, "column %s is %s (row %d is %s), expected numbers",
			fault.Quote(name, 60), col.Type(), at, fault.Quote(fmt.Sprint(col.At(at)), 40)).
			Fix("name another column, or tell series apart with it: by or facet"))
		return out
	}
	for k, i := range from {
		out[i] = v[k]
	}
	return out
}

// bools returns a column of true and false, false where it is null.
func (r *reader) bools(option, name string) []bool {
	col := r.column(option, name)
	if col == nil {
		return nil
	}
	out := make([]bool, col.Len())
	if col.Nulls() == col.Len() {
		return out
	}
	if col.Type() != table.Bool {
		r.fail(fault.New(fault.Script, r.c.Name(), "option "+option, "column %s is %s, expected true or false", fault.Quote(name, 60), col.Type()))
		return out
	}
	for i := range out {
		out[i], _ = col.At(i).(bool)
	}
	return out
}

// words returns a column as texts, "" where it is null.
func (r *reader) words(option, name string) []string {
	col := r.column(option, name)
	if col == nil {
		return nil
	}
	out := make([]string, col.Len())
	for i := range out {
		if v := col.At(i); v != nil {
			out[i] = text(v)
		}
	}
	return out
}

// text returns a value as it names a series.
func text(v any) string {
	switch x := v.(type) {
	case nil:
		return "none"
	case string:
		return x
	case []byte:
		return string(x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// kinds is the different values of one or several columns: the value of each row
// by its number, the names in the order of drawing, and whether they are steps
// of one quantity.
type kinds struct {
	of      []int
	names   []string
	ordered bool
	by      string // the names of the columns
}

// kinds reads the columns that an option names, a string or a list of strings;
// left out, all rows are one kind without a name. Numbers are in rising order,
// anything else in the order of its first row.
func (r *reader) kinds(option string) kinds {
	var list []string
	switch v := r.c.Any(option).(type) {
	case string:
		list = []string{v}
	case []any:
		for _, e := range v {
			list = append(list, e.(string))
		}
	}
	if r.err != nil {
		return kinds{}
	}
	k := kinds{of: make([]int, r.t.Rows()), names: []string{""}, by: strings.Join(list, ", ")}
	if len(list) == 0 {
		return k
	}
	cols := make([]*table.Column, len(list))
	for i, name := range list {
		if cols[i] = r.column(option, name); cols[i] == nil {
			return kinds{}
		}
	}
	k.names = nil
	var value []float64 // of each name
	at := map[string]int{}
	for i := range k.of {
		parts := make([]string, len(cols))
		for c, col := range cols {
			parts[c] = text(col.At(i))
		}
		name := strings.Join(parts, " · ")
		n, known := at[name]
		if !known {
			n = len(k.names)
			at[name] = n
			k.names = append(k.names, name)
			v, _, ok := cols[0].Numbers([]int{i})
			if !ok || len(v) == 0 {
				v = []float64{math.NaN()}
			}
			value = append(value, v[0])
		}
		k.of[i] = n
	}
	if t := cols[0].Type(); len(cols) == 1 && (t == table.Float || t == table.Int) {
		k.ordered = true
		k.sort(value)
	}
	return k
}

// sort brings the names into rising order of their values, NaN last.
func (k *kinds) sort(value []float64) {
	order := make([]int, len(value))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := value[a], value[b]; {
		case x < y || !math.IsNaN(x) && math.IsNaN(y):
			return -1
		case x > y || math.IsNaN(x) && !math.IsNaN(y):
			return 1
		}
		return 0
	})
	names, place := make([]string, len(order)), make([]int, len(order))
	for to, from := range order {
		names[to], place[from] = k.names[from], to
	}
	k.names = names
	for i := range k.of {
		k.of[i] = place[k.of[i]]
	}
}

// interval is two columns that hold the ends of an interval, and what it is.
type interval struct {
	lo, hi []float64
	words  string
}

// measured returns the column that an option names, or the mean that group.stats
// writes for it, and the name to show.
func (r *reader) measured(option string) (values []float64, name string) {
	name = r.c.String(option)
	if r.err != nil {
		return nil, name
	}
	if mean := name + "_mean"; !r.t.Has(name) && r.t.Has(mean) {
		return r.numbers(option, mean), name
	}
	return r.numbers(option, name), strings.TrimSuffix(name, "_mean")
}

// interval reads the option band: two columns, or "ci95" for the columns that
// group.stats writes for the measure.
func (r *reader) interval(option, measure string) interval {
	var out interval
	if r.err != nil || !r.c.Given(option) {
		return out
	}
	wrong := func(problem string, args ...any) interval {
		r.fail(fault.New(fault.Script, r.c.Name(), "option "+option, problem, args...).
			Fix("write [\"lo_column\", \"hi_column\"], or \"ci95\" for a table of group(…).stats(…)"))
		return interval{}
	}
	switch v := r.c.Any(option).(type) {
	case []any:
		if len(v) != 2 {
			return wrong("%d columns, an interval has 2", len(v))
		}
		lo, hi := v[0].(string), v[1].(string)
		out.lo, out.hi, out.words = r.numbers(option, lo), r.numbers(option, hi), lo+" to "+hi
	case string:
		level, ok := strings.CutPrefix(v, "ci")
		n, err := strconv.Atoi(level)
		if !ok || err != nil || n < 1 || n > 99 || len(level) != 2 {
			return wrong("%s is not ci and the level in percent", fault.Quote(v, 40))
		}
		if !r.t.Has(measure+"_lo") || !r.t.Has(measure+"_hi") {
			r.fail(fault.New(fault.Script, r.c.Name(), "option "+option, "there are no columns %q and %q", measure+"_lo", measure+"_hi").
				Fix("make them: t.group([…]).stats([%q], {level: 0.%s}); or name two columns", measure, level))
			return out
		}
		out.lo, out.hi = r.numbers(option, measure+"_lo"), r.numbers(option, measure+"_hi")
		out.words = level + " % interval" + r.sizes(measure+"_n")
	}
	return out
}

// sizes says how many values stand behind each interval, or nothing when the
// table does not.
func (r *reader) sizes(name string) string {
	if r.err != nil || !r.t.Has(name) {
		return ""
	}
	col, err := r.t.Column(name)
	if err != nil {
		return ""
	}
	v, _, ok := col.Numbers(nil)
	if !ok || len(v) == 0 {
		return ""
	}
	lo, hi := slices.Min(v), slices.Max(v)
	if lo == hi {
		return ", n = " + text(lo)
	}
	return ", n = " + text(lo) + " to " + text(hi)
}
