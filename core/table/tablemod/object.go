package tablemod

import (
	"os"
	"sort"
	"strings"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
)

// object is a table as a script holds it.
type object struct {
	env *Env
	*table.Table
}

// Len and At make t[i], len(t) and for i, row in t.
func (t *object) Len() int { return t.Rows() }

func (t *object) At(i int) any {
	row, err := t.Row(i)
	if err != nil {
		panic(err) // At is called within the rows
	}
	return row
}

func this(c *script.Call) *object { return script.Self[*object](c) }

func count(name string, fallback int) script.Param {
	return script.Param{Name: name, Type: script.Int(), Default: fallback, Range: script.AtLeast(0), Unit: "rows", Meaning: "how many; all when there are fewer"}
}

// Class implements script.Object.
func (*object) Class() script.Class {
	return script.Class{Name: "table", Doc: "Columns of equal length. Indexing with a number gives a row as a map, len the number of rows, and for walks the rows.",
		Members: append(append([]script.Member{
			{Name: "columns", Returns: "list of string", Doc: "The names of the columns in their order.",
				Get: func(c *script.Call) (any, error) { return this(c).Names(), nil }},
			{Name: "types", Returns: "map", Doc: "The types of the columns by name.",
				Get: func(c *script.Call) (any, error) {
					out := map[string]any{}
					for _, n := range this(c).Columns() {
						out[n.Name] = n.Column.Type().String()
					}
					return out, nil
				}},
			{Name: "column", Returns: "list", Doc: "Returns the values of a column, undefined for null.",
				Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "of the column"}},
				Func: func(c *script.Call) (any, error) {
					col, err := this(c).Column(c.String("name"))
					if err != nil {
						return nil, failure(err)
					}
					if v, ok := table.Values[float64](col); ok && col.Nulls() == 0 {
						return v, nil
					}
					out := make([]any, col.Len())
					for i := range out {
						out[i] = col.At(i)
					}
					return out, nil
				}},
			{Name: "row", Returns: "map", Doc: "Returns a row as a map from column name to value.",
				Params: []script.Param{{Name: "i", Type: script.Int(), Meaning: "counted from 0"}},
				Func: func(c *script.Call) (any, error) {
					row, err := this(c).Row(int(c.Int("i")))
					return row, failure(err)
				}},
			{Name: "text", Returns: "string", Doc: "Returns the table as it prints.",
				Options: []script.Param{{Name: "width", Type: script.Int(), Default: 100, Range: script.Between(1, 10000), Unit: "cells", Meaning: "of the terminal"},
					{Name: "rows", Type: script.Int(), Default: 10, Range: script.Between(1, 100000), Unit: "rows", Meaning: "shown at most"}},
				Func: func(c *script.Call) (any, error) {
					return this(c).Text(table.Layout{Width: int(c.Int("width")), Rows: int(c.Int("rows"))}), nil
				}},
			{Name: "csv", Returns: "string", Doc: "Returns the table as a CSV text.", Func: func(c *script.Call) (any, error) {
				var b strings.Builder
				err := this(c).WriteCSV(&b, ',')
				return b.String(), failure(err)
			}},
			{Name: "json", Returns: "string", Doc: "Returns the rows as a JSON array of objects; NaN and infinities are strings there.", Func: func(c *script.Call) (any, error) {
				var b strings.Builder
				err := this(c).WriteJSON(&b)
				return b.String(), failure(err)
			}},
			{Name: "save", Returns: "string", Doc: "Writes the table into the run's output folder and returns the name; the extension decides the format: .csv, .tsv, .parquet or .json.",
				Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "a file name or relative path"}},
				Func: func(c *script.Call) (any, error) {
					return c.String("name"), c.Blocking(func() error { return this(c).save(c.String("name")) })
				}},
		}, rowMembers()...), shapeMembers()...)}
}

func (t *object) save(name string) error {
	if t.env.Folder == "" {
		return fault.New(fault.Script, "save", fault.Quote(name, 60), "there is no output folder")
	}
	root, err := os.OpenRoot(t.env.Folder)
	if err != nil {
		return fault.Wrap(err, fault.Script, "save", fault.Quote(t.env.Folder, 60))
	}
	defer root.Close()
	if err := t.SaveIn(root, name); err != nil {
		return failure(err)
	}
	if t.env.Saved != nil {
		t.env.Saved(name)
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
