package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"lab/core/fault"
)

// ValueType is the type of a metadata value, with the numbers of the file.
type ValueType uint32

// The types of metadata values.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	Text
	Array
	Uint64
	Int64
	Float64
)

// String returns the type's name in messages.
func (t ValueType) String() string {
	names := [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "text", "array",
		"uint64", "int64", "float64"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

// size returns the bytes of a value of fixed size, and for text and arrays the
// least it takes.
func (t ValueType) size() (n int, fixed, known bool) {
	switch t {
	case Uint8, Int8, Bool:
		return 1, true, true
	case Uint16, Int16:
		return 2, true, true
	case Uint32, Int32, Float32:
		return 4, true, true
	case Uint64, Int64, Float64:
		return 8, true, true
	case Text:
		return 8, false, true
	case Array:
		return 12, false, true
	}
	return 0, false, false
}

// maxDepth is how deep arrays of arrays may go.
const maxDepth = 4

// Value is one metadata value, a view into the file.
type Value struct {
	Type ValueType
	Elem ValueType // of an array
	Len  int       // of an array, 1 otherwise
	raw  []byte    // the elements, or the text
}

// value reads a value of the given type; depth counts the arrays around it.
func (c *cursor) value(t ValueType, what string, depth int) (Value, error) {
	at := c.at
	size, _, known := t.size()
	switch {
	case !known:
		return Value{}, c.wrong(at, "%s has the value type %d; types are 0 to 12", what, uint32(t))
	case t == Text:
		raw, err := c.text(what)
		return Value{Type: Text, Len: 1, raw: raw}, err
	case t == Array:
		return c.array(what, depth)
	}
	raw, err := c.take(uint64(size), what)
	if err == nil && t == Bool && raw[0] > 1 {
		err = c.wrong(at, "%s is a bool of value %d; 0 is false and 1 is true", what, raw[0])
	}
	return Value{Type: t, Len: 1, raw: raw}, err
}

// array reads the element type, the count and the elements.
func (c *cursor) array(what string, depth int) (Value, error) {
	at := c.at
	if depth >= maxDepth {
		return Value{}, c.wrong(at, "%s nests arrays more than %d deep", what, maxDepth)
	}
	number, err := c.uint32("the element type of " + what)
	if err != nil {
		return Value{}, err
	}
	elem := ValueType(number)
	size, fixed, known := elem.size()
	if !known {
		return Value{}, c.wrong(at, "%s has elements of type %d; types are 0 to 12", what, number)
	}
	n, err := c.count("elements of "+what, size)
	if err != nil {
		return Value{}, err
	}
	start := c.at
	if fixed {
		if _, err := c.take(uint64(n)*uint64(size), what); err != nil {
			return Value{}, err
		}
		if elem == Bool {
			for i, b := range c.data[start:c.at] {
				if b > 1 {
					return Value{}, c.wrong(start+i, "element %d of %s is a bool of value %d", i, what, b)
				}
			}
		}
	} else {
		one := "an element of " + what
		for range n {
			if _, err := c.value(elem, one, depth+1); err != nil {
				return Value{}, err
			}
		}
	}
	return Value{Type: Array, Elem: elem, Len: n, raw: c.data[start:c.at:c.at]}, nil
}

// number returns the bits of element i of fixed-size values as a signed and as
// a real number; ok says which.
func (v Value) number(t ValueType, i int) (whole int64, real float64, isWhole, ok bool) {
	size, fixed, known := t.size()
	if !fixed || !known || t == Bool {
		return 0, 0, false, false
	}
	raw := v.raw[i*size:]
	le := binary.LittleEndian
	switch t {
	case Uint8:
		whole = int64(raw[0])
	case Int8:
		whole = int64(int8(raw[0]))
	case Uint16:
		whole = int64(le.Uint16(raw))
	case Int16:
		whole = int64(int16(le.Uint16(raw)))
	case Uint32:
		whole = int64(le.Uint32(raw))
	case Int32:
		whole = int64(int32(le.Uint32(raw)))
	case Int64:
		whole = int64(le.Uint64(raw))
	case Uint64:
		u := le.Uint64(raw)
		return int64(u), 0, true, u <= math.MaxInt64
	case Float32:
		return 0, float64(math.Float32frombits(le.Uint32(raw))), false, true
	case Float64:
		return 0, math.Float64frombits(le.Uint64(raw)), false, true
	}
	return whole, 0, true, true
}

// Keys returns the metadata keys in the order of the file.
func (f *File) Keys() []string { return f.keys }

// Value returns the value of a key; the typed methods below suit most uses.
func (f *File) Value(key string) (Value, bool) {
	v, ok := f.values[key]
	return v, ok
}

// mismatch is the error for a value that is not of the wanted type.
func (f *File) mismatch(key string, v Value, want string) error {
	have := v.Type.String()
	if v.Type == Array {
		have = fmt.Sprintf("array of %d %v", v.Len, v.Elem)
	}
	return fault.New(fault.Data, "read GGUF", f.name, "metadata %q is %s; it must be %s", key, have, want)
}

// Int returns a whole number; found is false when the key is absent. A value of
// another type, or too large for int64, is a data error.
func (f *File) Int(key string) (n int64, found bool, err error) {
	v, found := f.values[key]
	if !found {
		return 0, false, nil
	}
	n, _, whole, ok := v.number(v.Type, 0)
	if !ok || !whole {
		return 0, true, f.mismatch(key, v, "a whole number below 2^63")
	}
	return n, true, nil
}

// Float returns a real number that is finite, under the rules of [File.Int].
func (f *File) Float(key string) (x float64, found bool, err error) {
	v, found := f.values[key]
	if !found {
		return 0, false, nil
	}
	_, x, whole, ok := v.number(v.Type, 0)
	if !ok || whole || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, true, f.mismatch(key, v, "a finite real number")
	}
	return x, true, nil
}

// Bool returns a truth value, under the rules of [File.Int].
func (f *File) Bool(key string) (b, found bool, err error) {
	v, found := f.values[key]
	if !found {
		return false, false, nil
	}
	if v.Type != Bool {
		return false, true, f.mismatch(key, v, "a bool")
	}
	return v.raw[0] == 1, true, nil
}

// Text returns a string, under the rules of [File.Int]. It need not be UTF-8.
func (f *File) Text(key string) (s string, found bool, err error) {
	v, found := f.values[key]
	if !found {
		return "", false, nil
	}
	if v.Type != Text {
		return "", true, f.mismatch(key, v, "text")
	}
	return string(v.raw), true, nil
}

// Texts returns a copy of an array of exactly n strings, under the rules of
// [File.Int]; n < 0 takes any number.
func (f *File) Texts(key string, n int) (s []string, found bool, err error) {
	v, found, err := f.arrayOf(key, n, "text", func(t ValueType) bool { return t == Text })
	if !found || err != nil {
		return nil, found, err
	}
	// The lengths were checked when the file was read, but a mapped file may
	// have been written to since.
	c := &cursor{name: f.name, data: v.raw}
	s = make([]string, v.Len)
	for i := range s {
		raw, err := c.text("an element of metadata")
		if err != nil {
			return nil, true, err
		}
		s[i] = string(raw)
	}
	return s, true, nil
}

// Ints returns a copy of an array of exactly n whole numbers, as [File.Texts].
func (f *File) Ints(key string, n int) (x []int64, found bool, err error) {
	v, found, err := f.arrayOf(key, n, "whole numbers", func(t ValueType) bool {
		return t != Bool && t != Text && t != Array && t != Float32 && t != Float64
	})
	if !found || err != nil {
		return nil, found, err
	}
	x = make([]int64, v.Len)
	for i := range x {
		var ok bool
		if x[i], _, _, ok = v.number(v.Elem, i); !ok {
			return nil, true, f.mismatch(key, v, "whole numbers below 2^63")
		}
	}
	return x, true, nil
}

// Bytes returns a copy of an array of any number of bytes, signed or not, as
// [File.Texts].
func (f *File) Bytes(key string) (b []byte, found bool, err error) {
	v, found, err := f.arrayOf(key, -1, "bytes", func(t ValueType) bool { return t == Uint8 || t == Int8 })
	if !found || err != nil {
		return nil, found, err
	}
	return bytes.Clone(v.raw), true, nil
}

// Floats returns a copy of an array of exactly n single-precision numbers, as
// [File.Texts]. They need not be finite.
func (f *File) Floats(key string, n int) (x []float32, found bool, err error) {
	v, found, err := f.arrayOf(key, n, "float32", func(t ValueType) bool { return t == Float32 })
	if !found || err != nil {
		return nil, found, err
	}
	x = make([]float32, v.Len)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(v.raw[4*i:]))
	}
	return x, true, nil
}

func (f *File) arrayOf(key string, n int, what string, fits func(ValueType) bool) (Value, bool, error) {
	v, found := f.values[key]
	if !found {
		return Value{}, false, nil
	}
	if v.Type != Array || !fits(v.Elem) {
		return Value{}, true, f.mismatch(key, v, "an array of "+what)
	}
	if n >= 0 && v.Len != n {
		return Value{}, true, f.mismatch(key, v, fmt.Sprintf("an array of %d %s", n, what))
	}
	return v, true, nil
}
