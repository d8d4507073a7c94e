package gguf

import (
	"encoding/binary"
	"fmt"

	"lab/core/fault"
)

// Rewritten returns the header of a version 3 file that has this file's metadata,
// byte for byte and in its order, and other tensors. A value of change takes the
// place of the key's own or comes after all others; a key for which drop is true
// is left out. tensors describe what will follow (Size counts, Offset does not);
// they come back with their offsets in the new file, aligned as this one, and
// total is its length. Gaps between tensors are to be zero.
func (f *File) Rewritten(change []Pair, drop func(key string) bool, tensors []Tensor) (head []byte, placed []Tensor, total int64, err error) {
	align, found, err := f.Int("general.alignment")
	if err != nil {
		return nil, nil, 0, err
	}
	if !found {
		align = 32
	}
	body, pairs, err := f.rewrittenPairs(change, drop)
	if err != nil {
		return nil, nil, 0, err
	}
	le := binary.LittleEndian
	head = le.AppendUint32([]byte(magic), 3)
	head = le.AppendUint64(head, uint64(len(tensors)))
	head = le.AppendUint64(head, uint64(pairs))
	head = append(head, body...)
	padded := func(n int64) int64 { return (n + align - 1) / align * align }
	offset := int64(0)
	placed = append(placed, tensors...)
	for i, t := range placed {
		head = appendText(head, t.Name)
		head = le.AppendUint32(head, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			head = le.AppendUint64(head, uint64(d))
		}
		head = le.AppendUint32(head, uint32(t.Type))
		head = le.AppendUint64(head, uint64(offset))
		placed[i].Offset = offset
		offset += padded(t.Size)
	}
	start := padded(int64(len(head)))
	head = append(head, make([]byte, start-int64(len(head)))...)
	for i := range placed {
		placed[i].Offset += start
	}
	return head, placed, start + offset, nil
}

// rewrittenPairs returns the bytes of the metadata and how many pairs they are.
func (f *File) rewrittenPairs(change []Pair, drop func(key string) bool) (body []byte, pairs int, err error) {
	left := map[string]any{}
	for _, p := range change {
		left[p.Key] = p.Value
	}
	add := func(key string, value any) error {
		pairs++
		body = appendText(body, key)
		if body, err = appendTyped(body, value); err != nil {
			return fault.Wrap(err, fault.Usage, "write GGUF", fmt.Sprintf("metadata %q", key))
		}
		return nil
	}
	for _, key := range f.keys {
		if drop(key) {
			continue
		}
		if value, changed := left[key]; changed {
			delete(left, key)
			if err := add(key, value); err != nil {
				return nil, 0, err
			}
			continue
		}
		pairs++
		body = f.values[key].append(appendText(body, key))
	}
	for _, p := range change {
		if _, new := left[p.Key]; new {
			if err := add(p.Key, p.Value); err != nil {
				return nil, 0, err
			}
		}
	}
	return body, pairs, nil
}

// append appends the value as it lies in a file, its type first.
func (v Value) append(out []byte) []byte {
	le := binary.LittleEndian
	out = le.AppendUint32(out, uint32(v.Type))
	switch v.Type {
	case Text:
		out = le.AppendUint64(out, uint64(len(v.raw)))
	case Array:
		out = le.AppendUint32(out, uint32(v.Elem))
		out = le.AppendUint64(out, uint64(v.Len))
	}
	return append(out, v.raw...)
}

// SizeOf returns the bytes that n values of a type take, a whole number of
// blocks; known is false for a type that is not ggml's or a part of a block.
func SizeOf(t Type, n int64) (size int64, known bool) {
	l, ok := layouts[t]
	if !ok || n%int64(l.values) != 0 {
		return 0, false
	}
	return n / int64(l.values) * int64(l.size), true
}
