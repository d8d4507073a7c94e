package wire

import (
	"encoding/binary"
	"math"
	"unsafe"

	"lab/core/fault"
)

// number is an element of the arrays that travel as bytes.
type number interface{ float32 | float64 | int32 }

// littleEndian tells whether numbers in memory already have the byte order of
// the wire, so that arrays can travel as they lie.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// bytesOf returns the little-endian form of v. Where the machine allows it the
// result is a view of v, which must not change while it is in use; elsewhere a
// copy.
func bytesOf[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(v[0]))
	if littleEndian() {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*size)
	}
	out := make([]byte, 0, len(v)*size)
	for _, x := range v {
		switch x := any(x).(type) {
		case float32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		case float64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
		case int32:
			out = binary.LittleEndian.AppendUint32(out, uint32(x))
		}
	}
	return out
}

// numbersOf is the inverse of bytesOf: a view of b where the machine and the
// alignment allow it, else a copy. what names the field in the error for a
// length that is no multiple of the element's.
func numbersOf[T number](b []byte, what string) ([]T, error) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(b)%size != 0 {
		return nil, fault.New(fault.Plugin, "message", what, "%d bytes are no multiple of %d", len(b), size)
	}
	if len(b) == 0 {
		return nil, nil
	}
	start := unsafe.Pointer(unsafe.SliceData(b))
	if littleEndian() && uintptr(start)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(start), len(b)/size), nil
	}
	out := make([]T, len(b)/size)
	for i := range out {
		switch p := any(&out[i]).(type) {
		case *float32:
			*p = math.Float32frombits(binary.LittleEndian.Uint32(b[i*size:]))
		case *float64:
			*p = math.Float64frombits(binary.LittleEndian.Uint64(b[i*size:]))
		case *int32:
			*p = int32(binary.LittleEndian.Uint32(b[i*size:]))
		}
	}
	return out, nil
}

// PutTokens returns tokens as they travel. The result may be a view of them.
func PutTokens(tokens []int32) []byte { return bytesOf(tokens) }

// GetTokens returns the tokens in b, perhaps as a view of it; vocab > 0 demands
// ids in [0, vocab).
func GetTokens(b []byte, vocab int, what string) ([]int32, error) {
	tokens, err := numbersOf[int32](b, what)
	if err != nil || vocab <= 0 {
		return tokens, err
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= vocab {
			return nil, fault.New(fault.Data, "message", what, "token %d at position %d is outside the vocabulary of %d", t, i, vocab)
		}
	}
	return tokens, nil
}

// PutFloats returns numbers as they travel, perhaps as a view.
func PutFloats(v []float32) []byte { return bytesOf(v) }

// GetFloats copies the numbers in b to dst, whose length they must have. They
// must be finite.
func GetFloats(dst []float32, b []byte, what string) error {
	v, err := numbersOf[float32](b, what)
	if err != nil {
		return err
	}
	if len(v) != len(dst) {
		return fault.New(fault.Data, "message", what, "it has %d numbers, not %d", len(v), len(dst))
	}
	for i, x := range v {
		if x-x != 0 {
			return fault.New(fault.Data, "message", what, "number %d is %v", i, x)
		}
	}
	copy(dst, v)
	return nil
}

// PutUniforms returns uniform numbers as they travel, perhaps as a view.
func PutUniforms(u []float64) []byte { return bytesOf(u) }

// GetUniforms returns the uniform numbers in b, each checked to be in [0, 1).
func GetUniforms(b []byte) ([]float64, error) {
	u, err := numbersOf[float64](b, "uniforms")
	if err != nil {
		return nil, err
	}
	for i, x := range u {
		if !(x >= 0 && x < 1) {
			return nil, fault.New(fault.Data, "message", "uniforms", "number %d is %g, outside [0, 1)", i, x)
		}
	}
	return u, nil
}

// PutPieces joins the pieces of a vocabulary as Vocabulary and PiecesResponse
// carry them. A limit error refuses more than 1 GiB of text.
func PutPieces(pieces [][]byte) (text, ends []byte, err error) {
	total := 0
	for _, p := range pieces {
		total += len(p)
		if total > MaxMessage {
			return nil, nil, fault.New(fault.Limit, "vocabulary", "", "its texts exceed %d bytes", MaxMessage)
		}
	}
	text = make([]byte, 0, total)
	at := make([]int32, len(pieces))
	for i, p := range pieces {
		text = append(text, p...)
		at[i] = int32(len(text))
	}
	return text, bytesOf(at), nil
}

// GetPieces is the inverse of PutPieces. The pieces are views of text. vocab is
// how many there must be; 0 accepts any number up to plane.MaxVocab.
func GetPieces(text, ends []byte, vocab int) ([][]byte, error) {
	at, err := numbersOf[int32](ends, "ends")
	if err != nil {
		return nil, err
	}
	if vocab > 0 && len(at) != vocab || len(at) > maxVocab {
		return nil, fault.New(fault.Plugin, "vocabulary", "", "it has %d pieces for %d tokens", len(at), vocab)
	}
	pieces := make([][]byte, len(at))
	start := int32(0)
	for i, end := range at {
		if end < start || int(end) > len(text) {
			return nil, fault.New(fault.Plugin, "vocabulary", "", "the piece of token %d ends at byte %d, outside [%d, %d]", i, end, start, len(text))
		}
		pieces[i] = text[start:end:end]
		start = end
	}
	return pieces, nil
}
