package table

import (
	"fmt"
	"slices"
	"strconv"

	"lab/core/fault"
)

// Table is named columns of equal length. The zero value has no columns and no
// rows.
type Table struct {
	names []string
	cols  []*Column
	at    map[string]int
	rows  int
}

// Named is a column and its name.
type Named struct {
	Name   string
	Column *Column
}

// New returns the table of the columns in their order. Names must differ and not
// be empty, and the columns must be equally long. No columns are a table without
// rows.
func New(columns ...Named) (*Table, error) {
	names, cols := make([]string, len(columns)), make([]*Column, len(columns))
	for i, c := range columns {
		names[i], cols[i] = c.Name, c.Column
	}
	return build("table", names, cols)
}

// build checks the columns of a new table for the operation op.
func build(op string, names []string, cols []*Column) (*Table, error) {
	t := &Table{names: names, cols: cols, at: make(map[string]int, len(names))}
	for i, name := range names {
		if name == "" {
			return nil, fault.New(fault.Usage, op, "", "column %d has no name", i+1)
		}
		if first, twice := t.at[name]; twice {
			return nil, fault.New(fault.Usage, op, "", "columns %d and %d are both called %s", first+1, i+1, quoted(name)).
				Fix("rename one of them")
		}
		t.at[name] = i
		if n := cols[i].Len(); i == 0 {
			t.rows = n
		} else if n != t.rows {
			return nil, fault.New(fault.Usage, op, subject(name), "it has %d rows, column %s has %d", n, quoted(names[0]), t.rows).
				Fix("give columns of equal length")
		}
	}
	return t, nil
}

func quoted(name string) string  { return fault.Quote(name, 60) }
func subject(name string) string { return "column " + quoted(name) }

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// Names returns the names of the columns in their order.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// Has reports whether there is a column of that name.
func (t *Table) Has(name string) bool { _, ok := t.at[name]; return ok }

// Column returns the column of that name.
func (t *Table) Column(name string) (*Column, error) { return t.column("column", name) }

// Columns returns the columns and their names in their order.
func (t *Table) Columns() []Named {
	out := make([]Named, len(t.cols))
	for i, c := range t.cols {
		out[i] = Named{t.names[i], c}
	}
	return out
}

// column finds a column for the operation op.
func (t *Table) column(op, name string) (*Column, error) {
	i, ok := t.at[name]
	if !ok {
		return nil, fault.Unknown(op, "column", name, t.names)
	}
	return t.cols[i], nil
}

// columns finds several, none twice.
func (t *Table) columns(op string, names []string) ([]*Column, error) {
	out := make([]*Column, len(names))
	for i, name := range names {
		c, err := t.column(op, name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names[:i], name) {
			return nil, fault.New(fault.Usage, op, subject(name), "it is named twice")
		}
		out[i] = c
	}
	return out, nil
}

// Row returns row i by column name, nil for null (see [Column.At]).
func (t *Table) Row(i int) (map[string]any, error) {
	if i < 0 || i >= t.rows {
		return nil, outside("row", i, t.rows)
	}
	out := make(map[string]any, len(t.names))
	for k, name := range t.names {
		out[name] = t.cols[k].At(i)
	}
	return out, nil
}

func outside(op string, i, n int) error {
	if n == 0 {
		return fault.New(fault.Usage, op, "", "row %d of a table without rows", i)
	}
	return fault.New(fault.Usage, op, "", "row %d is outside 0 to %d", i, n-1)
}

// typeError says that a column's type does not do for an operation.
func typeError(op, name string, got Type, want string) *fault.Error {
	return fault.New(fault.Usage, op, subject(name), "its type is %s, expected %s", got, want)
}

// cell describes the value of row i in messages: `"abc"`, 12, null.
func (c *Column) cell(i int) string {
	switch v := c.At(i).(type) {
	case nil:
		return "null"
	case string:
		return fault.Quote(v, 40)
	case []byte:
		return fault.Quote(string(v), 40)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []int64:
		if len(v) > 8 {
			return fmt.Sprintf("%d ints", len(v))
		}
		return fmt.Sprint(v)
	default:
		return fmt.Sprint(v)
	}
}
