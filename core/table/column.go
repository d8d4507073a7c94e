package table

import (
	"fmt"
	"slices"

	"lab/core/fault"
)

// Type is the type of a column.
type Type uint8

// The types of columns.
const (
	Float  Type = iota // float64
	Int                // int64
	String             // text, UTF-8 by convention
	Bool
	Bytes
	Ints // lists of int64, token ids for instance
)

var typeNames = [...]string{"float", "int", "string", "bool", "bytes", "ints"}

// String returns the type's name: float, int, string, bool, bytes or ints.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// TypeNames returns the names of all types.
func TypeNames() []string { return slices.Clone(typeNames[:]) }

// TypeNamed returns the type of a name.
func TypeNamed(name string) (Type, error) {
	if i := slices.Index(typeNames[:], name); i >= 0 {
		return Type(i), nil
	}
	return 0, fault.Unknown("table", "column type", name, typeNames[:])
}

// numeric reports whether the type's values are numbers.
func (t Type) numeric() bool { return t == Float || t == Int }

// Value is what a column holds.
type Value interface {
	float64 | int64 | string | bool | []byte | []int64
}

// Column is a sequence of values of one type, some of which may be null. It is
// immutable: the slices that go in and come out are shared and must not be
// written to.
type Column struct {
	data vector
	null bitmap // nil when none is
}

// Of returns the column of the values, none of which is null. It keeps the slice.
func Of[T Value](v []T) *Column { return &Column{data: vectorOf(v)} }

// OfNullable returns the column of the values with null where null is true; the
// values there are forgotten. It copies v when there are nulls. The slices must be
// equally long.
func OfNullable[T Value](v []T, null []bool) (*Column, error) {
	if len(null) != len(v) {
		return nil, fault.New(fault.Internal, "table", "", "%d marks of null for %d values", len(null), len(v))
	}
	if !slices.Contains(null, true) {
		return Of(v), nil
	}
	b := newBitmap(len(v))
	for i, n := range null {
		if n {
			b.set(i)
		}
	}
	return nullable(slices.Clone(v), b), nil
}

// nullable returns a column with the rows of null marked. It owns both.
func nullable[T Value](v []T, null bitmap) *Column {
	if null == nil || null.count() == 0 {
		return Of(v)
	}
	var zero T
	for i := range v {
		if null.get(i) {
			v[i] = zero
		}
	}
	return &Column{data: vectorOf(v), null: null}
}

// Values returns the values of a column of type T, the zero value in null rows.
// ok is false when the column has another type. The slice must not be written to.
func Values[T Value](c *Column) (v []T, ok bool) {
	x, ok := c.data.(values[T])
	return x.v, ok
}

// must returns the values of a column whose type was looked at.
func must[T Value](c *Column) []T { return c.data.(values[T]).v }

// Type returns the type of the values.
func (c *Column) Type() Type { return c.data.kind() }

// Len returns the number of rows.
func (c *Column) Len() int { return c.data.len() }

// Null reports whether row i is null.
func (c *Column) Null(i int) bool { return c.null != nil && c.null.get(i) }

// Nulls returns the number of null rows.
func (c *Column) Nulls() int { return c.null.count() }

// At returns the value of row i as a float64, int64, string, bool, []byte or
// []int64, or nil when it is null. It is for single values: see [Values].
func (c *Column) At(i int) any {
	if c.Null(i) {
		return nil
	}
	return c.data.at(i)
}

// Numbers returns the values of a float, int or bool column that are not null as
// float64 (true is 1), in the order of the rows, and the rows they are from; rows
// nil means all. Ints beyond 2^53 are rounded. ok is false for other types.
func (c *Column) Numbers(rows []int) (v []float64, from []int, ok bool) {
	if t := c.Type(); !t.numeric() && t != Bool {
		return nil, nil, false
	}
	n := c.Len()
	if rows != nil {
		n = len(rows)
	}
	v, from = make([]float64, 0, n), make([]int, 0, n)
	for i := range n {
		r := i
		if rows != nil {
			r = rows[i]
		}
		if c.Null(r) {
			continue
		}
		from = append(from, r)
		switch x := c.data.(type) {
		case values[float64]:
			v = append(v, x.v[r])
		case values[int64]:
			v = append(v, float64(x.v[r]))
		case values[bool]:
			if x.v[r] {
				v = append(v, 1)
			} else {
				v = append(v, 0)
			}
		}
	}
	return v, from, true
}

// Take returns the column of the given rows; -1 gives null.
func (c *Column) Take(rows []int) *Column {
	out := &Column{data: c.data.take(rows)}
	for i, r := range rows {
		if r < 0 || c.Null(r) {
			if out.null == nil {
				out.null = newBitmap(len(rows))
			}
			out.null.set(i)
		}
	}
	return out
}

// Slice returns the rows from <= i < to, sharing the values.
func (c *Column) slice(from, to int) *Column {
	out := &Column{data: c.data.slice(from, to)}
	if c.null == nil {
		return out
	}
	for i := from; i < to; i++ {
		if c.null.get(i) {
			if out.null == nil {
				out.null = newBitmap(to - from)
			}
			out.null.set(i - from)
		}
	}
	return out
}

// concat returns the columns, all of one type, one after the other.
func concatColumns(list []*Column) *Column {
	rest := make([]vector, 0, len(list)-1)
	n, nulls := 0, false
	for i, c := range list {
		if i > 0 {
			rest = append(rest, c.data)
		}
		n += c.Len()
		nulls = nulls || c.null != nil
	}
	out := &Column{data: list[0].data.concat(rest)}
	if !nulls {
		return out
	}
	out.null = newBitmap(n)
	at := 0
	for _, c := range list {
		for i := range c.Len() {
			if c.Null(i) {
				out.null.set(at + i)
			}
		}
		at += c.Len()
	}
	return out
}

// compare orders two rows: numbers, then NaN, then null.
func (c *Column) compare(i, j int) int {
	if a, b := c.Null(i), c.Null(j); a || b {
		return compareBools(a, b)
	}
	return c.data.compare(i, j)
}

// missing reports whether row i is null or NaN, which sort last.
func (c *Column) missing(i int) bool {
	if c.Null(i) {
		return true
	}
	x, ok := c.data.(values[float64])
	return ok && x.v[i] != x.v[i]
}

// nullColumn returns n nulls of a type.
func nullColumn(t Type, n int) *Column {
	null := newBitmap(n)
	for i := range n {
		null.set(i)
	}
	switch t {
	case Float:
		return nullable(make([]float64, n), null)
	case Int:
		return nullable(make([]int64, n), null)
	case String:
		return nullable(make([]string, n), null)
	case Bool:
		return nullable(make([]bool, n), null)
	case Bytes:
		return nullable(make([][]byte, n), null)
	}
	return nullable(make([][]int64, n), null)
}
