package tablemod

import (
	"slices"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
)

// rowMembers returns the members of a table that choose or order rows.
func rowMembers() []script.Member {
	return []script.Member{
		{Name: "filter", Returns: "table", Doc: "Returns the rows for which the condition holds: a function, or a map of comparisons that must all hold. {temperature: 1} is equal, {n: {\">\": 2, \"<=\": 9}} compares, {c: {\"in\": [1, 2]}}, {c: {\"null\": true}}. No comparison but null holds for a null.",
			Params: []script.Param{{Name: "condition", Type: script.Either(script.Callback("row"), script.Map(script.Any())), Meaning: "a function of the row, or comparisons by column"}},
			Func:   filter},
		{Name: "sort", Returns: "table", Doc: "Returns the rows ordered by the columns, the first one first; equal rows stay in their order, NaN and then nulls come last in both directions.",
			Params:  []script.Param{columns},
			Options: []script.Param{{Name: "descending", Type: names, Meaning: "those of the columns whose largest value comes first"}},
			Func: func(c *script.Call) (any, error) {
				by, down := c.Strings("columns"), c.Strings("descending")
				for _, d := range down {
					if !slices.Contains(by, d) {
						return nil, failure(fault.Unknown(c.Name(), "column", d, by))
					}
				}
				keys := make([]table.Key, len(by))
				for i, name := range by {
					keys[i] = table.Key{Column: name, Descending: slices.Contains(down, name)}
				}
				t := this(c)
				return t.env.wrap(t.Sort(keys...))
			}},
		{Name: "head", Returns: "table", Doc: "Returns the first rows.", Params: []script.Param{count("n", 10)},
			Func: func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Head(int(c.Int("n")))) }},
		{Name: "tail", Returns: "table", Doc: "Returns the last rows.", Params: []script.Param{count("n", 10)},
			Func: func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Tail(int(c.Int("n")))) }},
		{Name: "slice", Returns: "table", Doc: "Returns the rows from <= i < to.",
			Params: []script.Param{{Name: "from", Type: script.Int(), Range: script.AtLeast(0), Meaning: "the first row"},
				{Name: "to", Type: script.Int(), Range: script.AtLeast(0), Meaning: "the row behind the last"}},
			Func: func(c *script.Call) (any, error) {
				t := this(c)
				return t.env.wrap(t.Slice(int(c.Int("from")), int(c.Int("to"))))
			}},
		{Name: "sample", Returns: "table", Doc: "Returns n different rows chosen at random, in the order of the table.",
			Params:  []script.Param{{Name: "n", Type: script.Int(), Range: script.AtLeast(0), Unit: "rows", Meaning: "at most those there are"}},
			Options: []script.Param{{Name: "seed", Type: script.Int(), Required: true, Range: script.AtLeast(0), Meaning: "the same seed gives the same rows"}},
			Func: func(c *script.Call) (any, error) {
				t := this(c)
				return t.env.wrap(t.Sample(int(c.Int("n")), uint64(c.Int("seed"))))
			}},
		{Name: "unique", Returns: "table", Doc: "Returns the first row of each different combination of values in the columns, or in all when none is named.",
			Params: []script.Param{{Name: "columns", Type: names, Optional: true, Meaning: "names of columns"}},
			Func:   func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Unique(c.Strings("columns")...)) }},
	}
}

// record is a row that says when it is asked for a column it does not have.
func (t *object) record(i int) script.Record {
	return script.Record{Name: "row", Fields: t.At(i).(map[string]any)}
}

func filter(c *script.Call) (any, error) {
	t := this(c)
	if f, ok := c.Any("condition").(*script.Func); ok {
		keep := make([]bool, t.Rows())
		for i := range keep {
			v, err := f.CallFor(c.Context(), script.Bool(), t.record(i))
			if err != nil {
				return nil, err
			}
			keep[i] = v.(bool)
		}
		return t.env.wrap(t.Filter(keep))
	}
	var list []table.Condition
	conditions := c.Any("condition").(map[string]any)
	for _, name := range sortedKeys(conditions) {
		ops, ok := conditions[name].(map[string]any)
		if !ok {
			list = append(list, table.Condition{Column: name, Op: "==", Value: conditions[name]})
			continue
		}
		for _, op := range sortedKeys(ops) {
			list = append(list, table.Condition{Column: name, Op: op, Value: ops[op]})
		}
	}
	return t.env.wrap(t.Where(list...))
}
