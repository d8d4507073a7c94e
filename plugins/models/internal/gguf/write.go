package gguf

import (
	"encoding/binary"
	"fmt"
	"io"

	"lab/core/fault"
)

// Pair is one metadata entry to be written. Value is a uint32, uint64, int32,
// float32, bool, string, []string, []float32, []int32 or []any of these.
type Pair struct {
	Key   string
	Value any
}

// Blob is one tensor to be written: its description (Offset and Size are
// ignored) and its stored bytes.
type Blob struct {
	Tensor
	Data []byte
}

// Write writes a version 3 file with an alignment of 32. It exists for small
// files, such as those of tests; a value of another Go type is a usage error.
func Write(w io.Writer, pairs []Pair, tensors []Blob) error {
	const alignment = 32
	le := binary.LittleEndian
	out := []byte(magic)
	out = le.AppendUint32(out, 3)
	out = le.AppendUint64(out, uint64(len(tensors)))
	out = le.AppendUint64(out, uint64(len(pairs)))
	var err error
	for _, p := range pairs {
		out = appendText(out, p.Key)
		if out, err = appendTyped(out, p.Value); err != nil {
			return fault.Wrap(err, fault.Usage, "write GGUF", fmt.Sprintf("metadata %q", p.Key))
		}
	}
	pad := func(n int) int { return (alignment - n%alignment) % alignment }
	offset := 0
	for _, t := range tensors {
		out = appendText(out, t.Name)
		out = le.AppendUint32(out, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			out = le.AppendUint64(out, uint64(d))
		}
		out = le.AppendUint32(out, uint32(t.Type))
		out = le.AppendUint64(out, uint64(offset))
		offset += len(t.Data) + pad(len(t.Data))
	}
	out = append(out, make([]byte, pad(len(out)))...)
	for _, t := range tensors {
		out = append(out, t.Data...)
		out = append(out, make([]byte, pad(len(t.Data)))...)
	}
	_, err = w.Write(out)
	return err
}

func appendText(out []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(out, uint64(len(s))), s...)
}

// appendTyped appends the type number and the value.
func appendTyped(out []byte, v any) ([]byte, error) {
	t, body, err := encodeValue(v)
	if err != nil {
		return nil, err
	}
	return append(binary.LittleEndian.AppendUint32(out, uint32(t)), body...), nil
}

// encodeValue returns a value's type and its bytes without the type number.
func encodeValue(v any) (ValueType, []byte, error) {
	var b []byte
	size := binary.Size(v)
	switch x := v.(type) {
	case uint32:
		return Uint32, appendFixed(x), nil
	case uint64:
		return Uint64, appendFixed(x), nil
	case int32:
		return Int32, appendFixed(x), nil
	case float32:
		return Float32, appendFixed(x), nil
	case bool:
		return Bool, appendFixed(x), nil
	case string:
		return Text, appendText(nil, x), nil
	case []float32:
		return Array, append(arrayHead(Float32, size/4), appendFixed(x)...), nil
	case []int32:
		return Array, append(arrayHead(Int32, size/4), appendFixed(x)...), nil
	case []byte:
		return Array, append(arrayHead(Uint8, size), x...), nil
	case []string:
		b = arrayHead(Text, len(x))
		for _, s := range x {
			b = appendText(b, s)
		}
		return Array, b, nil
	case []any:
		elem := Uint8
		for i, e := range x {
			t, body, err := encodeValue(e)
			if err != nil {
				return 0, nil, err
			}
			if i > 0 && t != elem {
				return 0, nil, fault.New(fault.Usage, "", "", "an array of %v and %v", elem, t)
			}
			elem = t
			b = append(b, body...)
		}
		return Array, append(arrayHead(elem, len(x)), b...), nil
	}
	return 0, nil, fault.New(fault.Usage, "", "", "%T is no value of a GGUF file", v)
}

func arrayHead(elem ValueType, n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(elem))
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

// appendFixed returns the little-endian bytes of a number, a bool or a slice of
// numbers; encoding/binary knows all of them.
func appendFixed(v any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err) // unreachable: the callers pass fixed-size values only
	}
	return b
}
