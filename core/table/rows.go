package table

import (
	"fmt"
	"slices"
	"sort"

	"lab/core/fault"
	"lab/core/seed"
)

// Select returns the named columns in the order given.
func (t *Table) Select(names ...string) (*Table, error) {
	cols, err := t.columns("select", names)
	if err != nil {
		return nil, err
	}
	return build("select", slices.Clone(names), cols)
}

// Drop returns the table without the named columns.
func (t *Table) Drop(names ...string) (*Table, error) {
	if _, err := t.columns("drop", names); err != nil {
		return nil, err
	}
	var left []string
	for _, name := range t.names {
		if !slices.Contains(names, name) {
			left = append(left, name)
		}
	}
	return t.Select(left...)
}

// Rename returns the table with columns renamed from the keys to the values. All
// are renamed at once, so that two may swap their names.
func (t *Table) Rename(to map[string]string) (*Table, error) {
	from := make([]string, 0, len(to))
	for name := range to {
		from = append(from, name)
	}
	sort.Strings(from)
	names := t.Names()
	for _, name := range from {
		if _, err := t.column("rename", name); err != nil {
			return nil, err
		}
		names[t.at[name]] = to[name]
	}
	return build("rename", names, t.cols)
}

// With returns the table with the column added at the end, or in the place of the
// column that has the name already. The first column of a table without columns
// decides its number of rows.
func (t *Table) With(name string, c *Column) (*Table, error) {
	names, cols := t.Names(), slices.Clone(t.cols)
	if i, ok := t.at[name]; ok {
		cols[i] = c
	} else {
		names, cols = append(names, name), append(cols, c)
	}
	if len(t.cols) > 0 && c.Len() != t.rows {
		return nil, fault.New(fault.Usage, "derive", subject(name), "%d values for a table of %d rows", c.Len(), t.rows)
	}
	return build("derive", names, cols)
}

// Take returns the given rows, in their order; a row may be taken more than once.
func (t *Table) Take(rows []int) (*Table, error) {
	for _, r := range rows {
		if r < 0 || r >= t.rows {
			return nil, outside("take", r, t.rows)
		}
	}
	return t.take(rows), nil
}

// take is Take of rows that exist; -1 gives a row of nulls.
func (t *Table) take(rows []int) *Table {
	out := &Table{names: t.names, at: t.at, cols: make([]*Column, len(t.cols)), rows: len(rows)}
	for i, c := range t.cols {
		out.cols[i] = c.Take(rows)
	}
	return out
}

// Filter returns the rows that keep marks, in their order. len(keep) must be the
// number of rows.
func (t *Table) Filter(keep []bool) (*Table, error) {
	if len(keep) != t.rows {
		return nil, fault.New(fault.Internal, "filter", "", "%d marks for %d rows", len(keep), t.rows)
	}
	rows := make([]int, 0, len(keep))
	for i, k := range keep {
		if k {
			rows = append(rows, i)
		}
	}
	if len(rows) == t.rows {
		return t, nil
	}
	return t.take(rows), nil
}

// Slice returns the rows from <= i < to. Both must be within 0 and the number of
// rows. The values are shared.
func (t *Table) Slice(from, to int) (*Table, error) {
	if from < 0 || to < from || to > t.rows {
		return nil, fault.New(fault.Usage, "slice", "", "rows %d to %d of a table of %d rows", from, to, t.rows).
			Fix("give 0 <= from <= to <= %d", t.rows)
	}
	return t.slice(from, to), nil
}

func (t *Table) slice(from, to int) *Table {
	out := &Table{names: t.names, at: t.at, cols: make([]*Column, len(t.cols)), rows: to - from}
	for i, c := range t.cols {
		out.cols[i] = c.slice(from, to)
	}
	return out
}

// Head returns the first n rows, or all when there are fewer. n must not be
// negative.
func (t *Table) Head(n int) (*Table, error) {
	if n < 0 {
		return nil, fault.New(fault.Usage, "head", "", "%d rows is negative", n)
	}
	return t.slice(0, min(n, t.rows)), nil
}

// Tail returns the last n rows, or all when there are fewer. n must not be
// negative.
func (t *Table) Tail(n int) (*Table, error) {
	if n < 0 {
		return nil, fault.New(fault.Usage, "tail", "", "%d rows is negative", n)
	}
	return t.slice(t.rows-min(n, t.rows), t.rows), nil
}

// Sample returns n different rows, every set of n equally likely, in the order of
// the table. n must be at most the number of rows. The same seed and number of
// rows give the same choice.
//
// Source: selection sampling, Knuth, The Art of Computer Programming, volume 2,
// section 3.4.2, algorithm S.
func (t *Table) Sample(n int, run uint64) (*Table, error) {
	if n < 0 || n > t.rows {
		return nil, fault.New(fault.Usage, "sample", "", "%d rows of a table of %d", n, t.rows).Fix("give 0 to %d", t.rows)
	}
	stream := seed.New(run, []byte("table sample"))
	rows := make([]int, 0, n)
	lane := seed.Lane("table sample", 0)
	var u [256]float64
	for i := 0; len(rows) < n; i++ {
		if i%len(u) == 0 {
			stream.Uniforms(u[:], 0, uint64(i/len(u)), lane)
		}
		if u[i%len(u)]*float64(t.rows-i) < float64(n-len(rows)) {
			rows = append(rows, i)
		}
	}
	return t.take(rows), nil
}

// Unique returns the first row of each different combination of values in the
// named columns, or in all of them when none is named.
func (t *Table) Unique(names ...string) (*Table, error) {
	if len(names) == 0 {
		names = t.names
	}
	cols, err := t.columns("unique", names)
	if err != nil {
		return nil, err
	}
	return t.take(firstRows(codesOf(cols, t.rows))), nil
}

// firstRows returns the first row of each code.
func firstRows(c coding) []int {
	rows := make([]int, 0, c.count)
	for i, code := range c.of {
		if int(code) == len(rows) {
			rows = append(rows, i)
		}
	}
	return rows
}

// Concat returns the rows of the tables one after the other. All must have the
// columns of the first with the same types; the order of columns is the first's.
// No tables are a table without columns.
func Concat(tables ...*Table) (*Table, error) {
	if len(tables) == 0 {
		return New()
	}
	first := tables[0]
	cols := make([]*Column, len(first.cols))
	for i, name := range first.names {
		parts := make([]*Column, len(tables))
		for k, t := range tables {
			c, err := t.column("concat", name)
			if err != nil {
				return nil, fault.New(fault.Usage, "concat", subject(name), "table 1 has it, table %d has not", k+1).Fix("its columns are %s", list(t.names))
			}
			if c.Type() != first.cols[i].Type() {
				return nil, fault.New(fault.Usage, "concat", subject(name), "its type is %s in table 1 and %s in table %d", first.cols[i].Type(), c.Type(), k+1)
			}
			parts[k] = c
		}
		cols[i] = concatColumns(parts)
	}
	for k, t := range tables {
		for _, name := range t.names {
			if !first.Has(name) {
				return nil, fault.New(fault.Usage, "concat", subject(name), "table %d has it, table 1 has not", k+1).Fix("drop it, or add it to the others")
			}
		}
	}
	return build("concat", first.Names(), cols)
}

// list names columns in a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return fmt.Sprintf("%q", names)
}
