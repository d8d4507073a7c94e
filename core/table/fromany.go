package table

import "lab/core/fault"

// FromAny returns the column of Go values of one type: float64, int64, string,
// bool, []byte, []int64 or []any of int64, and nil for null. Ints among floats
// become floats. Nothing but nulls is a string column, as an empty list is. op and
// name are for the error, which names the element and the two types.
func FromAny(op, name string, list []any) (*Column, error) {
	return FromAnyAs(op, name, list, guess(list))
}

// guess returns the type of the first value, or Float when there are floats and
// ints.
func guess(list []any) Type {
	for i, v := range list {
		switch v.(type) {
		case nil:
			continue
		case float64:
			return Float
		case int64:
			for _, w := range list[i:] {
				if _, ok := w.(float64); ok {
					return Float
				}
			}
			return Int
		case bool:
			return Bool
		case []byte:
			return Bytes
		case []any, []int64:
			return Ints
		}
		return String
	}
	return String
}

// FromAnyAs is FromAny with the type given.
func FromAnyAs(op, name string, list []any, t Type) (*Column, error) {
	switch t {
	case Float:
		return fill(op, name, t, list, func(v any) (float64, bool) {
			if n, ok := v.(int64); ok {
				return float64(n), true
			}
			f, ok := v.(float64)
			return f, ok
		})
	case Int:
		return fill(op, name, t, list, assert[int64])
	case String:
		return fill(op, name, t, list, assert[string])
	case Bool:
		return fill(op, name, t, list, assert[bool])
	case Bytes:
		return fill(op, name, t, list, assert[[]byte])
	}
	return fill(op, name, t, list, intsOf)
}

func assert[T any](v any) (T, bool) { t, ok := v.(T); return t, ok }

func intsOf(v any) ([]int64, bool) {
	if n, ok := v.([]int64); ok {
		return n, true
	}
	list, ok := v.([]any)
	out := make([]int64, len(list))
	for i, e := range list {
		n, isInt := e.(int64)
		ok = ok && isInt
		out[i] = n
	}
	return out, ok
}

func fill[T Value](op, name string, t Type, list []any, take func(any) (T, bool)) (*Column, error) {
	out, null := make([]T, len(list)), newBitmap(len(list))
	for i, v := range list {
		if v == nil {
			null.set(i)
			continue
		}
		x, ok := take(v)
		if !ok {
			return nil, fault.New(fault.Usage, op, subject(name), "element %d is of type %s in a column of type %s", i, goType(v), t)
		}
		out[i] = x
	}
	return nullable(out, null), nil
}
