package tablemod

import (
	"strings"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
)

// shapeMembers returns the members of a table that change its columns or its shape.
func shapeMembers() []script.Member {
	return []script.Member{
		{Name: "select", Returns: "table", Doc: "Returns the named columns in the order given.", Params: []script.Param{columns},
			Func: func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Select(c.Strings("columns")...)) }},
		{Name: "drop", Returns: "table", Doc: "Returns the table without the named columns.", Params: []script.Param{columns},
			Func: func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Drop(c.Strings("columns")...)) }},
		{Name: "rename", Returns: "table", Doc: "Returns the table with columns renamed, all at once.",
			Params: []script.Param{{Name: "names", Type: script.Map(script.String()), Meaning: "new names by old ones"}},
			Func: func(c *script.Call) (any, error) {
				to := map[string]string{}
				for old, name := range c.Map("names") {
					to[old] = name.(string)
				}
				t := this(c)
				return t.env.wrap(t.Rename(to))
			}},
		{Name: "derive", Returns: "table", Doc: "Returns the table with a column added or replaced: the results of a function of each row, an expression of columns as in \"log2(p) * -1\", or a list of values. An expression has numbers, \"text\", true, false, null, names of columns or col(\"any name\"), + - * / % == != < <= > >= && || ! and the functions " + strings.Join(table.Functions(), ", ") + "; / is always a float.",
			Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "of the column"},
				{Name: "values", Type: script.Either(script.Callback("row"), script.String(), script.Any()).Called("func(row), string or list"), Meaning: "a function, an expression or a list"}},
			Func: derive},
		{Name: "group", Returns: "group", Doc: "Groups the rows by equal values in the columns, groups in the order of their first rows.", Params: []script.Param{columns},
			Func: func(c *script.Call) (any, error) {
				t := this(c)
				g, err := t.Group(c.Strings("columns")...)
				if err != nil {
					return nil, failure(err)
				}
				return &group{env: t.env, Group: g}, nil
			}},
		{Name: "join", Returns: "table", Doc: "Returns the rows with those of the other table that have the same values in some columns. Null matches nothing. left and full keep rows that match nothing; semi and anti return the rows that match something or nothing.",
			Params: []script.Param{{Name: "other", Type: script.Host[*object](), Meaning: "the right table"}},
			Options: []script.Param{{Name: "on", Type: names, Required: true, Meaning: "columns of both tables"},
				{Name: "how", Type: script.String(), Default: "inner", Choices: table.Joins(), Meaning: "what becomes of rows that match nothing"},
				{Name: "suffix", Type: script.String(), Default: "_right", Meaning: "behind the names of the other table's columns that this one has too"}},
			Func: func(c *script.Call) (any, error) {
				t := this(c)
				return t.env.wrap(t.Join(script.Arg[*object](c, "other").Table, table.Join{On: c.Strings("on"), Kind: c.String("how"), Suffix: c.String("suffix")}))
			}},
		{Name: "pivot", Returns: "table", Doc: "Spreads a column over several: a row for each different combination of the index columns and a column for each different value of names.",
			Options: []script.Param{{Name: "index", Type: names, Required: true, Meaning: "columns that say which row"},
				{Name: "names", Type: script.String(), Required: true, Meaning: "the column that says which column"},
				{Name: "values", Type: script.String(), Required: true, Meaning: "the column with what goes there"}},
			Func: func(c *script.Call) (any, error) {
				t := this(c)
				return t.env.wrap(t.Pivot(c.Strings("index"), c.String("names"), c.String("values")))
			}},
		{Name: "unpivot", Returns: "table", Doc: "Gathers columns of one type into two, one with the name and one with the value; the rows made of one row stay together.",
			Params: []script.Param{columns},
			Options: []script.Param{{Name: "keep", Type: names, Meaning: "columns repeated on each row; left out, all others"},
				{Name: "name", Type: script.String(), Default: "name", Meaning: "of the column with the names"},
				{Name: "value", Type: script.String(), Default: "value", Meaning: "of the column with the values"}},
			Func: func(c *script.Call) (any, error) {
				t := this(c)
				keep := c.Strings("keep")
				if !c.Given("keep") {
					rest, err := t.Drop(c.Strings("columns")...)
					if err != nil {
						return nil, failure(err)
					}
					keep = rest.Names()
				}
				return t.env.wrap(t.Unpivot(keep, c.Strings("columns"), c.String("name"), c.String("value")))
			}},
		{Name: "counts", Returns: "table", Doc: "Returns how often each combination of values in the columns occurs, the most frequent first.", Params: []script.Param{columns},
			Func: func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Counts(c.Strings("columns")...)) }},
		{Name: "describe", Returns: "table", Doc: "Returns a row per column: type, values, nulls, different values, and mean, sd, min, quartiles and max of numbers.",
			Func: func(c *script.Call) (any, error) { t := this(c); return t.env.wrap(t.Describe()) }},
	}
}

func derive(c *script.Call) (any, error) {
	t, name := this(c), c.String("name")
	var list []any
	switch v := c.Any("values").(type) {
	case string:
		col, err := t.Evaluate(v)
		if err != nil {
			return nil, failure(err)
		}
		return t.env.wrap(t.With(name, col))
	case []any:
		list = v
	case *script.Func:
		list = make([]any, t.Rows())
		for i := range list {
			x, err := v.Call(c.Context(), t.record(i))
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
	default:
		return nil, fault.New(fault.Script, c.Name(), "", "the values are not a function, an expression or a list")
	}
	col, err := table.FromAny("derive", name, list)
	if err != nil {
		return nil, failure(err)
	}
	return t.env.wrap(t.With(name, col))
}
