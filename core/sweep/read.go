package sweep

import (
	"fmt"
	"math"

	"lab/core/fault"
)

// DefaultSamples is how many samples a cell has when nobody says.
const DefaultSamples = 1

// Read makes a specification of what a file or a script says: grid (a map of keys
// to values or lists of them, or a list of such maps), samples, record, and any
// setting or stage that all cells share. Values may be of any type that JSON has.
func Read(values map[string]any) (Spec, error) {
	s := Spec{Fixed: map[string]any{}, Samples: DefaultSamples}
	for key, v := range values {
		switch key {
		case "grid":
			blocks, ok := v.([]any)
			if !ok {
				blocks = []any{v}
			}
			for i, b := range blocks {
				block, err := readBlock(b)
				if err != nil {
					return s, fault.Wrap(err, fault.Usage, op, fmt.Sprintf("grid[%d]", i))
				}
				s.Grid = append(s.Grid, block)
			}
		case "samples":
			value, err := plain(v)
			if err != nil {
				return s, fault.Wrap(err, fault.Usage, op, key)
			}
			n, err := whole(value, 1, mostSamples)
			if err != nil {
				return s, fault.Wrap(err, fault.Usage, op, key)
			}
			s.Samples = int(n)
		case "record":
			if err := text(&s.Record, v); err != nil {
				return s, fault.Wrap(err, fault.Usage, op, key)
			}
		default:
			value, err := plain(v)
			if err != nil {
				return s, fault.Wrap(err, fault.Usage, op, fault.Quote(key, 40))
			}
			s.Fixed[key] = value
		}
	}
	return s, nil
}

// Plain returns a specification that was read back from JSON as it was written:
// there, whole numbers have become reals.
func (s Spec) Plain() Spec {
	whole := func(v any) any {
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f)
		}
		return v
	}
	out := s
	out.Grid, out.Fixed = nil, map[string]any{}
	for _, b := range s.Grid {
		block := Block{}
		for key, values := range b {
			for _, v := range values {
				block[key] = append(block[key], whole(v))
			}
		}
		out.Grid = append(out.Grid, block)
	}
	for key, v := range s.Fixed {
		out.Fixed[key] = whole(v)
	}
	return out
}

func readBlock(v any) (Block, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Usage, "", "", "%s is not a map of settings to values", show(v)).Fix("for example {temperature: [0.5, 1.0]}")
	}
	out := Block{}
	for key, values := range m {
		list, ok := values.([]any)
		if !ok {
			list = []any{values}
		}
		out[key] = []any{}
		for _, element := range list {
			value, err := plain(element)
			if err != nil {
				return nil, fault.Wrap(err, fault.Usage, "", fault.Quote(key, 40))
			}
			out[key] = append(out[key], value)
		}
	}
	return out, nil
}

// plain returns a value as the types that a specification has.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case string, bool, int64:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fault.New(fault.Usage, "", "", "%v is not a finite number", v)
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return nil, fault.New(fault.Usage, "", "", "%d is above %d", v, int64(math.MaxInt64))
		}
		return int64(v), nil
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			e, err := plain(element)
			if err != nil {
				return nil, err
			}
			out[i] = e
		}
		return out, nil
	}
	return nil, fault.New(fault.Usage, "", "", "%s is neither a text, a number, true nor false", show(v))
}
