package watermark

import "slices"

// ContextMark gives the numbers of a Gumbel watermark: a seed for each context
// of at most width tokens (Aaronson 2022; Kirchenbauer et al. 2023 call it the
// exponential scheme). It is immutable and safe for concurrent use.
type ContextMark struct {
	key   int64
	width int
}

// NewContextMark returns the numbers under a key.
func NewContextMark(key int64, width int) *ContextMark { return &ContextMark{key: key, width: width} }

// window returns the tokens that the seed of a place depends on.
func (m *ContextMark) window(tokens []int32, place int) []int32 {
	return tokens[max(0, place-m.width):place]
}

// Seed returns the seed of the token at a place: the first eight bytes of
// SHA-256 over a label, the key and up to width tokens before the place.
func (m *ContextMark) Seed(tokens []int32, place int) uint64 {
	w := m.window(tokens, place)
	numbers := make([]uint64, 0, len(w)+1)
	numbers = append(numbers, uint64(m.key))
	for _, t := range w {
		numbers = append(numbers, uint64(uint32(t)))
	}
	return digest("lab/watermark/gumbel/1", numbers...)
}

// Repeated reports whether the context of a place was that of an earlier one, of
// which the first is from. Its numbers would be the same again.
func (m *ContextMark) Repeated(tokens []int32, from, place int) bool {
	w := m.window(tokens, place)
	for i := from; i < place; i++ {
		if slices.Equal(m.window(tokens, i), w) {
			return true
		}
	}
	return false
}

// Sequence gives the numbers of a keyed-sequence watermark: a list of seeds that
// a text walks through from some place on, and round again (Kuditipudi, Thickstun,
// Hashimoto, Liang 2023, Robust distortion-free watermarks for language models,
// exponential minimum sampling). It is immutable and safe for concurrent use.
type Sequence struct{ seeds []uint64 }

// NewSequence returns a list of a length, at least 1, under a key. Seed i is the
// first eight bytes of SHA-256 over a label, the key and i.
func NewSequence(key int64, length int) *Sequence {
	s := &Sequence{seeds: make([]uint64, length)}
	for i := range s.seeds {
		s.seeds[i] = digest("lab/watermark/keyed/1", uint64(key), uint64(i))
	}
	return s
}

// Len returns the length of the list.
func (s *Sequence) Len() int { return len(s.seeds) }

// Seed returns the seed of step number step, counted from 0, of a text that
// starts at a place of the list.
func (s *Sequence) Seed(start, step int) uint64 {
	return s.seeds[(start%len(s.seeds)+step%len(s.seeds))%len(s.seeds)]
}
