package gguf

import "fmt"

// Type is the storage type of a tensor, with ggml's numbers.
type Type uint32

// The types that are read here or elsewhere by name; the others are known by
// size only (see layouts).
const (
	F32  Type = 0
	F16  Type = 1
	Q8_0 Type = 8
)

// layout is how a type is stored: blocks of so many values in so many bytes.
type layout struct {
	name         string
	values, size int
}

// layouts returns the layout of a type; the sizes let a file be checked whose
// arithmetic nobody here knows. Numbers that ggml has retired are unknown.
func layouts(t Type) (layout, bool) {
	switch t {
	case F32:
		return layout{"F32", 1, 4}, true
	case F16:
		return layout{"F16", 1, 2}, true
	case 2:
		return layout{"Q4_0", 32, 18}, true
	case 3:
		return layout{"Q4_1", 32, 20}, true
	case 6:
		return layout{"Q5_0", 32, 22}, true
	case 7:
		return layout{"Q5_1", 32, 24}, true
	case Q8_0:
		return layout{"Q8_0", 32, 34}, true
	case 9:
		return layout{"Q8_1", 32, 36}, true
	case 10:
		return layout{"Q2_K", 256, 84}, true
	case 11:
		return layout{"Q3_K", 256, 110}, true
	case 12:
		return layout{"Q4_K", 256, 144}, true
	case 13:
		return layout{"Q5_K", 256, 176}, true
	case 14:
		return layout{"Q6_K", 256, 210}, true
	case 15:
		return layout{"Q8_K", 256, 292}, true
	}
	return rareLayouts(t)
}

func rareLayouts(t Type) (layout, bool) {
	switch t {
	case 16:
		return layout{"IQ2_XXS", 256, 66}, true
	case 17:
		return layout{"IQ2_XS", 256, 74}, true
	case 18:
		return layout{"IQ3_XXS", 256, 98}, true
	case 19:
		return layout{"IQ1_S", 256, 50}, true
	case 20:
		return layout{"IQ4_NL", 32, 18}, true
	case 21:
		return layout{"IQ3_S", 256, 110}, true
	case 22:
		return layout{"IQ2_S", 256, 82}, true
	case 23:
		return layout{"IQ4_XS", 256, 136}, true
	case 24:
		return layout{"I8", 1, 1}, true
	case 25:
		return layout{"I16", 1, 2}, true
	case 26:
		return layout{"I32", 1, 4}, true
	case 27:
		return layout{"I64", 1, 8}, true
	case 28:
		return layout{"F64", 1, 8}, true
	case 29:
		return layout{"IQ1_M", 256, 56}, true
	case 30:
		return layout{"BF16", 1, 2}, true
	case 34:
		return layout{"TQ1_0", 256, 54}, true
	case 35:
		return layout{"TQ2_0", 256, 66}, true
	case 39:
		return layout{"MXFP4", 32, 17}, true
	}
	return layout{}, false
}

// String returns ggml's name of the type.
func (t Type) String() string {
	if l, ok := layouts(t); ok {
		return l.name
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}
