package measure

import (
	"strings"

	"lab/core/fault"
)

// Words returns the words of a text: what stands between white space as Unicode
// defines it, punctuation included.
func Words(text string) []string { return strings.Fields(text) }

// longestGram bounds the length of an n-gram: a longer one says nothing, and a
// mistaken count in its place should be seen.
const longestGram = 64

// classes numbers the distinct tokens in the order of their first place.
func classes[T comparable](tokens []T) (ids []int32, distinct int) {
	seen := make(map[T]int32)
	ids = make([]int32, len(tokens))
	for i, t := range tokens {
		id, ok := seen[t]
		if !ok {
			id = int32(len(seen))
			seen[t] = id
		}
		ids[i] = id
	}
	return ids, len(seen)
}

// grams numbers the n-grams of a sequence: entry i is the class of the n-gram
// that starts at i. Longer ones are built from pairs of shorter ones, so equal
// classes are equal n-grams and no hash decides.
func grams(ids []int32, n int) (out []int32, distinct int) {
	if len(ids) < n {
		return nil, 0
	}
	out, distinct = classes(ids)
	for m := 2; m <= n; m++ {
		seen := make(map[[2]int32]int32)
		for i := 0; i+m <= len(ids); i++ {
			key := [2]int32{out[i], ids[i+m-1]}
			id, ok := seen[key]
			if !ok {
				id = int32(len(seen))
				seen[key] = id
			}
			out[i] = id
		}
		out, distinct = out[:len(ids)-m+1], len(seen)
	}
	return out, distinct
}

// counts returns how often each class occurs.
func counts(ids []int32, distinct int) []int {
	out := make([]int, distinct)
	for _, id := range ids {
		out[id]++
	}
	return out
}

// short marks the errors of measures that a sequence is too short for. In an
// aggregate such samples are left out and counted, see [Estimate].
type short struct{ err *fault.Error }

// Error implements error.
func (s short) Error() string { return s.err.Error() }

// Unwrap lets fault.KindOf and errors.As find the error inside.
func (s short) Unwrap() error { return s.err }

// enough returns an error when a sequence has no n-gram, or n is no length.
func enough(op string, tokens, n int) error {
	if n < 1 || n > longestGram {
		return misuse(op, "n = %d is outside [1, %d]", n, longestGram)
	}
	if tokens < n {
		return short{bad(op, "not enough tokens: %d, and an n-gram has %d", tokens, n).Fix("generate longer texts or ask for a smaller n")}
	}
	return nil
}
