package table

import (
	"slices"

	"lab/core/fault"
)

// Group is the rows of a table put together by equal values in some columns. The
// groups are in the order of their first rows, and the rows of each in the order
// of the table.
type Group struct {
	table *Table
	by    []string
	start []int // of group g in rows; one more than there are groups
	rows  []int
}

// Group groups the rows by the named columns. Without columns all rows are one
// group, also when there are none. See the package comment for nulls and NaN.
func (t *Table) Group(by ...string) (*Group, error) {
	cols, err := t.columns("group", by)
	if err != nil {
		return nil, err
	}
	c := codesOf(cols, t.rows)
	if len(by) == 0 {
		c.count = 1
	}
	g := &Group{table: t, by: slices.Clone(by), start: make([]int, c.count+1), rows: make([]int, t.rows)}
	for _, code := range c.of {
		g.start[code+1]++
	}
	for i := range c.count {
		g.start[i+1] += g.start[i]
	}
	next := slices.Clone(g.start)
	for i, code := range c.of {
		g.rows[next[code]] = i
		next[code]++
	}
	return g, nil
}

// codesOf numbers the different combinations of values in the order of their
// first row. Without columns all rows are one combination.
func codesOf(cols []*Column, rows int) coding {
	if len(cols) == 0 {
		return coding{of: make([]int32, rows), count: min(rows, 1)}
	}
	out := cols[0].data.codes(cols[0].null)
	for _, c := range cols[1:] {
		out = pairs(out, c.data.codes(c.null))
	}
	return out
}

// pairs numbers the different pairs of two numberings.
func pairs(a, b coding) coding {
	out := coding{of: make([]int32, len(a.of))}
	if uint64(a.count)*uint64(b.count) <= uint64(4*len(a.of)+1024) {
		dense := make([]int32, a.count*b.count) // the number plus 1
		for i := range out.of {
			k := int(a.of[i])*b.count + int(b.of[i])
			if dense[k] == 0 {
				out.count++
				dense[k] = int32(out.count)
			}
			out.of[i] = dense[k] - 1
		}
		return out
	}
	seen := map[[2]int32]int32{}
	for i := range out.of {
		k := [2]int32{a.of[i], b.of[i]}
		v, ok := seen[k]
		if !ok {
			v = int32(out.count)
			out.count++
			seen[k] = v
		}
		out.of[i] = v
	}
	return out
}

// Len returns the number of groups.
func (g *Group) Len() int { return len(g.start) - 1 }

// By returns the columns grouped by.
func (g *Group) By() []string { return slices.Clone(g.by) }

// Rows returns the rows of the table that are in group i. The slice is shared.
func (g *Group) Rows(i int) []int { return g.rows[g.start[i]:g.start[i+1]:g.start[i+1]] }

// Table returns the rows of group i as a table.
func (g *Group) Table(i int) *Table { return g.table.take(g.Rows(i)) }

// Keys returns the values grouped by, a row per group.
func (g *Group) Keys() (*Table, error) {
	first := make([]int, g.Len())
	for i := range first {
		if len(g.Rows(i)) == 0 { // the one group of an empty table
			first[i] = -1
		} else {
			first[i] = g.Rows(i)[0]
		}
	}
	keys, err := g.table.Select(g.by...)
	if err != nil {
		return nil, err
	}
	return keys.take(first), nil
}

// Estimate is a mean with its interval.
type Estimate struct {
	Mean, Lo, Hi float64
	N            int // the number of values it is from
}

// Sample is what a statistic is computed from: the values of one column in one
// group that are not null.
type Sample struct {
	Column string
	Values []float64
	Rows   []int // of the table, for a statistic that looks at other columns
	Table  *Table
}

// Stats returns the keys of the groups and, for each named column x, the columns
// x_mean, x_lo, x_hi and x_n as estimate says. The columns must be float, int or
// bool. What the mean of no value is, estimate decides; NaN goes into the table.
func (g *Group) Stats(columns []string, estimate func(Sample) (Estimate, error)) (*Table, error) {
	out, err := g.Keys()
	if err != nil {
		return nil, err
	}
	names, cols := out.Names(), slices.Clone(out.cols)
	picked, err := g.table.columns("stats", columns)
	if err != nil {
		return nil, err
	}
	for k, c := range picked {
		mean, lo, hi, n := make([]float64, g.Len()), make([]float64, g.Len()), make([]float64, g.Len()), make([]int64, g.Len())
		for i := range g.Len() {
			v, rows, ok := c.Numbers(g.Rows(i))
			if !ok {
				return nil, typeError("stats", columns[k], c.Type(), "float, int or bool")
			}
			e, err := estimate(Sample{Column: columns[k], Values: v, Rows: rows, Table: g.table})
			if err != nil {
				return nil, fault.Wrap(err, fault.Usage, "stats", subject(columns[k]))
			}
			mean[i], lo[i], hi[i], n[i] = e.Mean, e.Lo, e.Hi, int64(e.N)
		}
		x := columns[k]
		names = append(names, x+"_mean", x+"_lo", x+"_hi", x+"_n")
		cols = append(cols, Of(mean), Of(lo), Of(hi), Of(n))
	}
	return build("stats", names, cols)
}
