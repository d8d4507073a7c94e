package tablemod

import (
	"sort"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
)

// Given is the type of an argument that other modules take tables by: a table
// of this module, or a list of maps from column name to value. See [Taken].
func Given() script.Type {
	return script.Either(script.Host[*object](), script.Any().Called("list of maps"))
}

// Taken returns the table that an argument of type [Given] holds. The columns
// of a list of maps are sorted by name; what a map lacks is null.
func Taken(c *script.Call, name string) (*table.Table, error) {
	switch v := c.Any(name).(type) {
	case *object:
		return v.Table, nil
	case []any:
		values, err := columnsOf(c.Name(), v)
		if err != nil {
			return nil, err
		}
		var names []string
		for name := range values {
			names = append(names, name)
		}
		sort.Strings(names)
		cols := make([]table.Named, len(names))
		for i, name := range names {
			col, err := table.FromAny(c.Name(), name, values[name])
			if err != nil {
				return nil, failure(err)
			}
			cols[i] = table.Named{Name: name, Column: col}
		}
		t, err := table.New(cols...)
		return t, failure(err)
	case script.Object:
		return nil, fault.New(fault.Script, c.Name(), name, "it is a %s, expected a table or a list of maps", v.Class().Name)
	}
	return nil, fault.New(fault.Script, c.Name(), name, "expected a table or a list of maps")
}

// columnsOf turns rows into columns, nil where a row lacks a value.
func columnsOf(op string, rows []any) (map[string][]any, error) {
	values := map[string][]any{}
	for i, r := range rows {
		row, ok := r.(map[string]any)
		if !ok {
			return nil, fault.New(fault.Script, op, "", "row %d is not a map", i)
		}
		for name, v := range row {
			if values[name] == nil {
				values[name] = make([]any, len(rows))
			}
			values[name][i] = v
		}
	}
	return values, nil
}
