package std

import (
	"encoding/binary"
	"math"

	"lab/core/fault"
)

// The state of a script's sampler is a value of the script, written so that it
// reads back as exactly what it was: a kind, then its bytes. Lengths are unsigned
// varints, and the keys of a map are sorted, so equal values are equal bytes.
const (
	stateNothing = 'u'
	stateFalse   = 'f'
	stateTrue    = 't'
	stateInt     = 'i' // a varint
	stateFloat   = 'd' // 8 bytes, little-endian
	stateText    = 's'
	stateBytes   = 'b'
	stateList    = 'l'
	stateMap     = 'm'
)

// maxStateDepth bounds how deep the values of a state contain others.
const maxStateDepth = 64

func encodeState(v any) ([]byte, error) { return appendState(nil, v, 0) }

func appendState(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxStateDepth {
		return nil, wrongResult("its state is nested deeper than %d", maxStateDepth)
	}
	long := func(kind byte, n int) { b = binary.AppendUvarint(append(b, kind), uint64(n)) }
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, stateNothing), nil
	case bool:
		if v {
			return append(b, stateTrue), nil
		}
		return append(b, stateFalse), nil
	case int64:
		return binary.AppendVarint(append(b, stateInt), v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, stateFloat), math.Float64bits(v)), nil
	case string:
		long(stateText, len(v))
		return append(b, v...), nil
	case []byte:
		long(stateBytes, len(v))
		return append(b, v...), nil
	case []any:
		long(stateList, len(v))
		for _, e := range v {
			if b, err = appendState(b, e, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	case map[string]any:
		long(stateMap, len(v))
		for _, key := range sortedKeys(v) {
			b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
			if b, err = appendState(b, v[key], depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return nil, wrongResult("its state holds %s, which cannot be kept", shown(v)).Fix("keep numbers, texts, true, false, bytes, and lists and maps of them")
}

func decodeState(b []byte) (any, error) {
	d := stateReader{rest: b}
	v := d.value(0)
	if d.bad || len(d.rest) > 0 {
		return nil, fault.New(fault.Data, "state", "", "the %d bytes that were kept are not what a script's sampler keeps", len(b))
	}
	return v, nil
}

// stateReader reads what appendState wrote. bad is set at the first thing that
// it did not.
type stateReader struct {
	rest []byte
	bad  bool
}

// take returns the next n bytes, or nil when there are fewer.
func (d *stateReader) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *stateReader) length() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *stateReader) value(depth int) any {
	kind := d.take(1)
	if d.bad || depth > maxStateDepth {
		d.bad = true
		return nil
	}
	switch kind[0] {
	case stateNothing:
	case stateFalse:
		return false
	case stateTrue:
		return true
	case stateInt:
		n, size := binary.Varint(d.rest)
		d.take(uint64(max(size, 0)))
		d.bad = d.bad || size <= 0
		return n
	case stateFloat:
		if b := d.take(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case stateText:
		return string(d.take(d.length()))
	case stateBytes:
		return append([]byte{}, d.take(d.length())...)
	case stateList:
		out := []any{}
		for n := d.length(); n > 0 && !d.bad; n-- {
			out = append(out, d.value(depth+1))
		}
		return out
	case stateMap:
		out := map[string]any{}
		for n := d.length(); n > 0 && !d.bad; n-- {
			key := string(d.take(d.length()))
			out[key] = d.value(depth + 1)
		}
		return out
	default:
		d.bad = true
	}
	return nil
}
