package tablemod

import (
	"fmt"
	"math"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/measure/statsmod"
	"lab/core/script"
	"lab/core/table"
)

// group is the rows of a table by equal values.
type group struct {
	env *Env
	*table.Group
}

// At returns the rows of group i.
func (g *group) At(i int) any { return &object{env: g.env, Table: g.Table(i)} }

func grouped(c *script.Call) *group { return script.Self[*group](c) }

// Class implements script.Object.
func (*group) Class() script.Class {
	return script.Class{Name: "group", Doc: "Rows put together by equal values. Indexing gives the table of a group, len the number of groups.", Members: []script.Member{
		{Name: "keys", Returns: "table", Doc: "The values grouped by, a row per group.",
			Get: func(c *script.Call) (any, error) { g := grouped(c); return g.env.wrap(g.Keys()) }},
		{Name: "rows", Returns: "list of list", Doc: "The row numbers of each group.",
			Get: func(c *script.Call) (any, error) {
				g := grouped(c)
				out := make([][]int, g.Len())
				for i := range out {
					out[i] = g.Rows(i)
				}
				return out, nil
			}},
		{Name: "count", Returns: "table", Doc: "Returns the keys with the number of rows of each group in a column called count.",
			Func: func(c *script.Call) (any, error) {
				g := grouped(c)
				return g.env.wrap(g.Aggregate(table.Aggregation{Name: "count", Function: "count"}))
			}},
		{Name: "agg", Returns: "table", Doc: "Returns the keys with a column per aggregation, sorted by name: {n: \"count\", m: {mean: \"x\"}, q: {quantile: \"x\", q: 0.9}, r: {with: \"x\", f: func(values) {…}}}. Functions: count, sum, mean, sd, var, min, max, median, quantile, first, last, list, unique. Nulls are left out, but by first and last; f gets them.",
			Params: []script.Param{{Name: "columns", Type: script.Map(script.Any()), Meaning: "aggregations by the name of the new column"}},
			Func:   aggregate},
		{Name: "stats", Returns: "table", Doc: "Returns the keys with the mean of each column x, its interval as stats.mean makes it and the number of values: x_mean, x_lo, x_hi, x_n. Nulls are left out.",
			Params:  []script.Param{columns},
			Options: statsmod.IntervalOptions(clusterColumn, append(statsmod.MeanMethods(), measure.MethodWilson, measure.MethodExact)...),
			Func: func(c *script.Call) (any, error) {
				g := grouped(c)
				return g.env.wrap(g.Stats(c.Strings("columns"), meanOf(statsmod.IntervalOf(c), c.String("by"))))
			}},
	}}
}

func aggregate(c *script.Call) (any, error) {
	g, given := grouped(c), c.Map("columns")
	var list []table.Aggregation
	for _, name := range sortedKeys(given) {
		a, err := aggregation(c, name, given[name])
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return g.env.wrap(g.Aggregate(list...))
}

// aggregation reads "count" or {function: column, q: number} or {with: column, f:
// function}.
func aggregation(c *script.Call, name string, v any) (table.Aggregation, error) {
	a := table.Aggregation{Name: name}
	wrong := func(format string, args ...any) (table.Aggregation, error) {
		return a, fault.New(fault.Script, c.Name(), "column "+fault.Quote(name, 40), format, args...).
			Fix("write for example {mean: \"x\"}, {quantile: \"x\", q: 0.9} or \"count\"")
	}
	if s, ok := v.(string); ok {
		if s != "count" {
			return wrong("%s needs a column", fault.Quote(s, 40))
		}
		a.Function = s
		return a, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return wrong("an aggregation is a map or \"count\"")
	}
	hasQ := false
	for _, key := range sortedKeys(m) {
		switch x := m[key].(type) {
		case *script.Func:
			if key != "f" {
				return wrong("%q is a function", key)
			}
			a.Custom = func(group *table.Column) (any, error) {
				values := make([]any, group.Len())
				for i := range values {
					values[i] = group.At(i)
				}
				return x.Call(c.Context(), values)
			}
		case float64, int64:
			if key != "q" {
				return wrong("%q is a number", key)
			}
			hasQ = true
			if n, isInt := x.(int64); isInt {
				a.Q = float64(n)
			} else {
				a.Q = x.(float64)
			}
		case string:
			if a.Function != "" {
				return wrong("both %q and %q", a.Function, key)
			}
			a.Function, a.Column = key, x
		default:
			return wrong("%q is neither a column nor a function", key)
		}
	}
	switch {
	case (a.Custom != nil) != (a.Function == "with"):
		return wrong("with and f belong together")
	case hasQ != (a.Function == "quantile"):
		return wrong("quantile and q belong together")
	case a.Function == "":
		return wrong("no function is named")
	}
	return a, nil
}

var clusterColumn = script.Param{Name: "by", Type: script.String(), Default: "", Meaning: "the column that names the cluster of each value, such as prompt, where values of one depend on each other"}

// meanOf returns the mean with an interval; clusters are in the column by, unless
// that is empty. Of no value the mean is NaN.
func meanOf(iv measure.Interval, by string) func(table.Sample) (table.Estimate, error) {
	return func(s table.Sample) (table.Estimate, error) {
		if len(s.Values) == 0 {
			nan := math.NaN()
			return table.Estimate{Mean: nan, Lo: nan, Hi: nan}, nil
		}
		if by != "" {
			column, err := s.Table.Column(by)
			if err != nil {
				return table.Estimate{}, err
			}
			iv.Clusters = make([]string, len(s.Rows))
			for i, row := range s.Rows {
				v := column.At(row)
				if v == nil {
					return table.Estimate{}, fault.New(fault.Usage, "stats", fmt.Sprintf("column %q, row %d", by, row), "the cluster is missing")
				}
				iv.Clusters[i] = fmt.Sprint(v)
			}
		}
		e, err := measure.Mean(s.Values, iv)
		return table.Estimate{Mean: e.Value, Lo: e.Lo, Hi: e.Hi, N: e.N}, err
	}
}
