package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// vector is the values of a column, without its nulls. The value in a null row is
// the zero value of the type.
type vector interface {
	kind() Type
	len() int
	take(rows []int) vector // -1 takes the zero value
	slice(from, to int) vector
	concat(rest []vector) vector // all of the same type
	compare(i, j int) int        // NaN after the numbers
	codes(null bitmap) coding
	at(i int) any
}

// coding numbers the different values of a column in the order of their first
// row; null is a value of its own.
type coding struct {
	of    []int32 // of row i, 0 <= of[i] < count
	count int
}

// typeOf is what differs between the types.
type typeOf[T any] struct {
	kind    Type
	compare func(a, b T) int
	codes   func(v []T, null bitmap) coding
}

type values[T any] struct {
	v  []T
	of *typeOf[T]
}

func (x values[T]) kind() Type           { return x.of.kind }
func (x values[T]) len() int             { return len(x.v) }
func (x values[T]) at(i int) any         { return x.v[i] }
func (x values[T]) compare(i, j int) int { return x.of.compare(x.v[i], x.v[j]) }

func (x values[T]) codes(null bitmap) coding { return x.of.codes(x.v, null) }

func (x values[T]) slice(from, to int) vector { return values[T]{x.v[from:to:to], x.of} }

func (x values[T]) take(rows []int) vector {
	out := make([]T, len(rows))
	for i, r := range rows {
		if r >= 0 {
			out[i] = x.v[r]
		}
	}
	return values[T]{out, x.of}
}

func (x values[T]) concat(rest []vector) vector {
	n := len(x.v)
	for _, r := range rest {
		n += r.len()
	}
	out := append(make([]T, 0, n), x.v...)
	for _, r := range rest {
		out = append(out, r.(values[T]).v...)
	}
	return values[T]{out, x.of}
}

// coder returns the numbering of values by a key that is equal for equal values.
// Neighbours are often equal in tables of steps, so the last key is remembered.
func coder[T any, K comparable](key func(T) K) func([]T, bitmap) coding {
	return func(v []T, null bitmap) coding {
		out := coding{of: make([]int32, len(v))}
		seen := map[K]int32{}
		var last K
		lastCode, nullCode := int32(-1), int32(-1)
		for i, x := range v {
			if null != nil && null.get(i) {
				if nullCode < 0 {
					nullCode = int32(out.count)
					out.count++
				}
				out.of[i] = nullCode
				continue
			}
			k := key(x)
			if lastCode < 0 || k != last {
				code, ok := seen[k]
				if !ok {
					code = int32(out.count)
					out.count++
					seen[k] = code
				}
				last, lastCode = k, code
			}
			out.of[i] = lastCode
		}
		return out
	}
}

// floatKey is equal for equal numbers: all NaN are one, and 0 and -0 are.
func floatKey(v float64) uint64 {
	switch {
	case v == 0:
		return 0
	case v != v:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v)
}

func listKey(v []int64) string {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return string(b)
}

// compareFloats orders numbers, then NaN.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return compareBools(a != a, b != b)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func same[T any](v T) T { return v }

var (
	floats  = &typeOf[float64]{Float, compareFloats, coder(floatKey)}
	ints    = &typeOf[int64]{Int, cmp.Compare[int64], coder(same[int64])}
	texts   = &typeOf[string]{String, strings.Compare, coder(same[string])}
	bools   = &typeOf[bool]{Bool, compareBools, coder(same[bool])}
	blobs   = &typeOf[[]byte]{Bytes, bytes.Compare, coder(func(v []byte) string { return string(v) })}
	intList = &typeOf[[]int64]{Ints, slices.Compare[[]int64], coder(listKey)}
)

// vectorOf wraps a slice of one of the six types.
func vectorOf[T Value](v []T) vector {
	switch v := any(v).(type) {
	case []float64:
		return values[float64]{v, floats}
	case []int64:
		return values[int64]{v, ints}
	case []string:
		return values[string]{v, texts}
	case []bool:
		return values[bool]{v, bools}
	case [][]byte:
		return values[[]byte]{v, blobs}
	case [][]int64:
		return values[[]int64]{v, intList}
	}
	panic("table: a type outside Value")
}
