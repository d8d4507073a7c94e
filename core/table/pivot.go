package table

import (
	"slices"

	"lab/core/fault"
)

// Pivot spreads a column over several: the result has a row for each different
// combination of the index columns, and a column for each different value of
// names, called as the value prints, which holds what values has there, or null.
// Rows and columns are in the order of their first occurrence. names must be a
// string, int, float or bool column without nulls. Two values in one place are an
// error: aggregate first.
func (t *Table) Pivot(index []string, names, values string) (*Table, error) {
	kinds, err := t.column("pivot", names)
	if err != nil {
		return nil, err
	}
	from, err := t.column("pivot", values)
	if err != nil {
		return nil, err
	}
	if k := kinds.Type(); k == Bytes || k == Ints {
		return nil, typeError("pivot", names, k, "string, int, float or bool")
	}
	if n := kinds.Nulls(); n > 0 {
		return nil, fault.New(fault.Usage, "pivot", subject(names), "%d of its values are null, which names no column", n).Fix("filter with {null: false} first")
	}
	g, err := t.Group(index...)
	if err != nil {
		return nil, err
	}
	if t.rows == 0 {
		return t.Select(index...)
	}
	keys, err := g.Keys()
	if err != nil {
		return nil, err
	}
	codes := kinds.data.codes(nil)
	if n := int64(codes.count) * int64(g.Len()); n > maxCells {
		return nil, fault.New(fault.Limit, "pivot", subject(names), "%d different values and %d rows make %d places, more than a table holds", codes.count, g.Len(), n).
			Fix("is it the right column?")
	}
	first := firstRows(codes)
	place := make([][]int, codes.count)
	for k := range place {
		place[k] = slices.Repeat([]int{-1}, g.Len())
	}
	for i := range g.Len() {
		for _, r := range g.Rows(i) {
			at := &place[codes.of[r]][i]
			if *at >= 0 {
				return nil, fault.New(fault.Usage, "pivot", subject(values), "rows %d and %d have the same place: %s %s and equal %s", *at, r, names, kinds.cell(r), list(index)).
					Fix("group and aggregate first, or add a column to the index")
			}
			*at = r
		}
	}
	out, cols := keys.Names(), slices.Clone(keys.cols)
	for k, rows := range place {
		name := kinds.cell(first[k])
		if kinds.Type() == String {
			name = must[string](kinds)[first[k]]
		}
		out, cols = append(out, name), append(cols, from.Take(rows))
	}
	return build("pivot", out, cols)
}

// Unpivot gathers columns into two: for each row and each of the named columns
// the result has a row with the columns in keep, the column's name in one called
// name and its value in one called value. The columns must have the same type.
// The rows made of one row are together, in the order of columns.
func (t *Table) Unpivot(keep, columns []string, name, value string) (*Table, error) {
	kept, err := t.columns("unpivot", keep)
	if err != nil {
		return nil, err
	}
	cols, err := t.columns("unpivot", columns)
	if err != nil {
		return nil, err
	}
	if len(cols) == 0 {
		return nil, fault.New(fault.Usage, "unpivot", "", "no column to gather")
	}
	for k, c := range cols {
		if c.Type() != cols[0].Type() {
			return nil, fault.New(fault.Usage, "unpivot", subject(columns[k]), "its type is %s, that of column %s is %s", c.Type(), quoted(columns[0]), cols[0].Type())
		}
	}
	n := len(cols)
	rows, labels, order := make([]int, n*t.rows), make([]string, n*t.rows), make([]int, n*t.rows)
	for i := range rows {
		rows[i], labels[i] = i/n, columns[i%n]
		order[i] = i%n*t.rows + i/n
	}
	outNames, out := slices.Clone(keep), make([]*Column, 0, len(keep)+2)
	for _, c := range kept {
		out = append(out, c.Take(rows))
	}
	return build("unpivot", append(outNames, name, value), append(out, Of(labels), concatColumns(cols).Take(order)))
}

// Counts returns how often each combination of values in the named columns
// occurs, in a column called count, the most frequent first and equally frequent
// ones in the order of their first rows.
func (t *Table) Counts(names ...string) (*Table, error) {
	g, err := t.Group(names...)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fault.New(fault.Usage, "counts", "", "no column to count")
	}
	out, err := g.Aggregate(Aggregation{Name: "count", Function: "count"})
	if err != nil {
		return nil, err
	}
	return out.Sort(Key{Column: "count", Descending: true})
}

// Describe returns a row per column: its name, type, number of values, of nulls
// and of different values, and for float, int and bool columns mean, sd, min,
// quartiles and max, null for others.
func (t *Table) Describe() (*Table, error) {
	n := len(t.cols)
	types, filled, nulls, unique := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n)
	numbers := []Aggregation{{Name: "mean", Function: "mean"}, {Name: "sd", Function: "sd"}, {Name: "min", Function: "quantile"},
		{Name: "q25", Function: "quantile", Q: 0.25}, {Name: "median", Function: "quantile", Q: 0.5},
		{Name: "q75", Function: "quantile", Q: 0.75}, {Name: "max", Function: "quantile", Q: 1}}
	stats := make([][]any, len(numbers))
	for i, c := range t.cols {
		types[i], nulls[i] = c.Type().String(), int64(c.Nulls())
		filled[i] = int64(c.Len()) - nulls[i]
		unique[i] = int64(c.data.codes(c.null).count)
		if nulls[i] > 0 {
			unique[i]--
		}
		v, _, isNumber := c.Numbers(nil)
		for k, a := range numbers {
			x, defined := number(a, v)
			if isNumber && defined {
				stats[k] = append(stats[k], x)
			} else {
				stats[k] = append(stats[k], nil)
			}
		}
	}
	names := []string{"column", "type", "count", "nulls", "unique"}
	cols := []*Column{Of(t.Names()), Of(types), Of(filled), Of(nulls), Of(unique)}
	for k, a := range numbers {
		c, err := FromAnyAs("describe", a.Name, stats[k], Float)
		if err != nil {
			return nil, err
		}
		names, cols = append(names, a.Name), append(cols, c)
	}
	return build("describe", names, cols)
}
