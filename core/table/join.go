package table

import (
	"slices"

	"lab/core/fault"
)

var joins = []string{"inner", "left", "full", "semi", "anti"}

// Joins returns the kinds of a [Join].
func Joins() []string { return slices.Clone(joins) }

// Join says how two tables are joined.
type Join struct {
	On   []string // columns of both tables whose values must be equal; at least one
	Kind string   // one of Joins; "" is inner
	// Suffix is put behind the name of a column of the right table that the left one
	// has too; "" is "_right".
	Suffix string
}

// Join returns the rows of t with those of right that have the same values in the
// columns j.On. A row may match many. Null matches nothing, not even null; NaN
// matches NaN.
//
// The columns are those of t, then those of right without j.On. The order is that
// of t, and for one row of t that of right. left keeps the rows of t that match
// nothing, with null in the columns of right; full also those of right, at the
// end, with null in the columns of t but j.On. semi and anti return the rows of t
// that match something or nothing, with the columns of t alone.
func (t *Table) Join(right *Table, j Join) (*Table, error) {
	if j.Kind == "" {
		j.Kind = "inner"
	}
	if j.Suffix == "" {
		j.Suffix = "_right"
	}
	if !slices.Contains(joins, j.Kind) {
		return nil, fault.Unknown("join", "kind", j.Kind, joins)
	}
	m, err := t.match(right, j.On)
	if err != nil {
		return nil, err
	}
	if j.Kind == "semi" || j.Kind == "anti" {
		keep := make([]bool, t.rows)
		for i := range keep {
			keep[i] = (len(m.of(i)) > 0) == (j.Kind == "semi")
		}
		return t.Filter(keep)
	}
	if n := m.pairs(); n > maxCells/int64(max(1, len(t.cols)+len(right.cols)-len(j.On))) {
		return nil, fault.New(fault.Limit, "join", "", "%d pairs of rows match, more than a table of these columns holds", n).
			Fix("join on more columns, or make the keys of one table unique")
	}
	var from, to []int // rows of t and of right, -1 for none
	used := make([]bool, right.rows)
	for i := range t.rows {
		found := m.of(i)
		for _, r := range found {
			from, to = append(from, i), append(to, r)
			used[r] = true
		}
		if len(found) == 0 && j.Kind != "inner" {
			from, to = append(from, i), append(to, -1)
		}
	}
	matched := len(from)
	for r, u := range used {
		if !u && j.Kind == "full" {
			from, to = append(from, -1), append(to, r)
		}
	}
	out := t.take(from)
	if len(from) > matched { // the keys of the rows that only right has
		for _, name := range j.On {
			k := out.at[name]
			out.cols[k] = concatColumns([]*Column{out.cols[k].slice(0, matched), right.cols[right.at[name]].Take(to[matched:])})
		}
	}
	names, cols := out.Names(), out.cols
	for i, name := range right.names {
		if slices.Contains(j.On, name) {
			continue
		}
		if t.Has(name) {
			name += j.Suffix
		}
		names, cols = append(names, name), append(cols, right.cols[i].Take(to))
	}
	return build("join", names, cols)
}

// matches are the rows of the right table that match a row of the left one.
type matches struct {
	codes []int32 // of the left rows, -1 for a null key
	start []int   // of a code in rows
	rows  []int
}

func (m matches) of(left int) []int {
	c := m.codes[left]
	if c < 0 {
		return nil
	}
	return m.rows[m.start[c]:m.start[c+1]]
}

// pairs returns how many pairs of rows match.
func (m matches) pairs() int64 {
	n := int64(0)
	for i := range m.codes {
		n += int64(len(m.of(i)))
	}
	return n
}

// match finds the equal keys by numbering those of both tables together.
func (t *Table) match(right *Table, on []string) (matches, error) {
	if len(on) == 0 {
		return matches{}, fault.New(fault.Usage, "join", "", "no column to join on")
	}
	mine, err := t.columns("join", on)
	if err != nil {
		return matches{}, err
	}
	theirs, err := right.columns("join", on)
	if err != nil {
		return matches{}, err
	}
	both := make([]*Column, len(on))
	for k, name := range on {
		if a, b := mine[k].Type(), theirs[k].Type(); a != b {
			return matches{}, fault.New(fault.Usage, "join", subject(name), "its type is %s on the left and %s on the right", a, b).
				Fix("derive a column of the other type")
		}
		both[k] = concatColumns([]*Column{mine[k], theirs[k]})
	}
	c := codesOf(both, t.rows+right.rows)
	for _, col := range both {
		for i := range c.of {
			if col.Null(i) {
				c.of[i] = -1
			}
		}
	}
	m := matches{codes: c.of[:t.rows], start: make([]int, c.count+1)}
	for _, code := range c.of[t.rows:] {
		if code >= 0 {
			m.start[code+1]++
		}
	}
	for i := range c.count {
		m.start[i+1] += m.start[i]
	}
	next := slices.Clone(m.start)
	m.rows = make([]int, m.start[c.count])
	for r, code := range c.of[t.rows:] {
		if code >= 0 {
			m.rows[next[code]] = r
			next[code]++
		}
	}
	return m, nil
}
