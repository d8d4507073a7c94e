package bytegram

import (
	"cmp"
	"slices"
)

// Range is an inclusive range of code points, 0 <= Lo <= Hi <= [MostRune].
type Range struct{ Lo, Hi rune }

// MostRune is the largest number that the four-byte form of UTF-8 can hold.
// Unicode ends at 0x10FFFF.
const MostRune = 0x3FFFFF

// Alphabet is a list of ranges that do not overlap: the code points that classes
// stand for. Literals are not bound by it.
type Alphabet []Range

// Characters returns the alphabet of Unicode's characters: every code point but
// the surrogates.
func Characters() Alphabet { return Alphabet{{0, 0xD7FF}, {0xE000, 0x10FFFF}} }

// Unchecked returns what a decoder takes for characters that looks at the
// lengths of sequences only: everything up to [MostRune], so that the bytes 0xF5
// to 0xFF begin a sequence, but 0, which ends a text where texts are kept as C
// does.
func Unchecked() Alphabet { return Alphabet{{1, MostRune}} }

// normal returns ranges in order and without overlap.
func normal(ranges []Range) []Range {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Negate returns the code points up to [MostRune] that are in none of the
// ranges.
func Negate(ranges []Range) []Range {
	var out []Range
	next := rune(0)
	for _, r := range normal(ranges) {
		if r.Lo > next {
			out = append(out, Range{next, r.Lo - 1})
		}
		next = max(next, r.Hi+1)
	}
	if next <= MostRune {
		out = append(out, Range{next, MostRune})
	}
	return out
}

// span is an inclusive range of bytes.
type span struct{ lo, hi byte }

// lengths are the largest code points of each length in bytes.
var lengths = [...]rune{0x7F, 0x7FF, 0xFFFF, MostRune}

// sequences appends the sequences of byte ranges whose texts are the UTF-8 forms
// of the code points lo to hi. The form of n bytes is used for every number
// that needs it, surrogates and numbers above Unicode included: which of them
// are characters is for the front end to say.
func sequences(list [][]span, lo, hi rune) [][]span {
	from := rune(0)
	for n, most := range lengths {
		if l, h := max(lo, from), min(hi, most); l <= h {
			list = split(list, l, h, n+1)
		}
		from = most + 1
	}
	return list
}

// split cuts lo..hi, all of n bytes, where the ranges of the later bytes are not
// whole.
func split(list [][]span, lo, hi rune, n int) [][]span {
	for i := 1; i < n; i++ {
		low := rune(1)<<(6*i) - 1
		if lo&^low == hi&^low {
			continue
		}
		if lo&low != 0 {
			return split(split(list, lo, lo|low, n), lo|low+1, hi, n)
		}
		if hi&low != low {
			return split(split(list, lo, hi&^low-1, n), hi&^low, hi, n)
		}
	}
	a, b := encode(lo, n), encode(hi, n)
	seq := make([]span, n)
	for i := range seq {
		seq[i] = span{a[i], b[i]}
	}
	return append(list, seq)
}

func encode(r rune, n int) (out [4]byte) {
	for i := n - 1; i > 0; i-- {
		out[i] = 0x80 | byte(r&0x3F)
		r >>= 6
	}
	out[0] = [...]byte{0, 0xC0, 0xE0, 0xF0}[n-1] | byte(r)
	return out
}
