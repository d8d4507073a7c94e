// Package dist is the distribution over the next token: rows of scores as the
// stages see them, normalised distributions, and the numbers that compare two
// of them.
//
// [Scores] is the mutable row a stage reshapes. [Model] (softmax of the logits
// at temperature 1) and [Sampling] (what is drawn from) are different types, so
// that one is never taken for the other. All sums run in float64; entropies and
// divergences are in bits. Nothing here knows of samplers, plugins or text.
package dist

import (
	"math"
	"slices"

	"lab/core/dist/vec"
	"lab/core/fault"
)

// Scores is one row: a score for each listed token.
//
// Dense: IDs is nil and Values[i] is the score of token i, len = Vocab.
// Sparse: IDs[i] is the token of Values[i], ascending, without repeats; every
// other token was removed and has probability 0. A score of -Inf removes a
// token as well; NaN and +Inf are never legal.
//
// Unlisted is the probability mass of tokens that a top-N backend did not
// list, in [0, 1); Values are then natural-log probabilities whose exponentials
// sum to 1 - Unlisted. It is 0 for every backend that sees its whole
// vocabulary.
//
// A row may alias memory shared with another process; it is not safe for
// concurrent use.
type Scores struct {
	Vocab    int
	IDs      []int32
	Values   []float32
	Unlisted float64
}

// NewDense returns a dense row over values, which it does not copy.
func NewDense(values []float32) Scores { return Scores{Vocab: len(values), Values: values} }

// Dense reports whether every token of the vocabulary has a slot in Values.
func (s *Scores) Dense() bool { return s.IDs == nil }

// Len returns the number of listed tokens, masked ones included.
func (s *Scores) Len() int { return len(s.Values) }

// ID returns the token of Values[i].
func (s *Scores) ID(i int) int32 {
	if s.IDs == nil {
		return int32(i)
	}
	return s.IDs[i]
}

// Clone returns a deep copy on the heap.
func (s *Scores) Clone() Scores {
	c := *s
	c.Values = append([]float32(nil), s.Values...)
	if s.IDs != nil {
		c.IDs = append(make([]int32, 0, len(s.IDs)), s.IDs...)
	}
	return c
}

// CopyFrom makes s equal to o, reusing the memory of s where it is large
// enough, and reports whether the row is full: what [Scores.Full] says costs
// next to nothing while the scores pass by.
func (s *Scores) CopyFrom(o *Scores) (full bool) {
	s.Vocab, s.Unlisted = o.Vocab, o.Unlisted
	s.Values = s.Values[:0]
	if cap(s.Values) < len(o.Values) {
		s.Values = make([]float32, 0, len(o.Values))
	}
	finite := true
	for piece := range slices.Chunk(o.Values, copyPiece) {
		finite = finite && AllFinite(piece)
		s.Values = append(s.Values, piece...)
	}
	if o.IDs == nil {
		s.IDs = nil
		return finite && len(s.Values) == s.Vocab && s.Vocab > 0 && s.Unlisted == 0
	}
	if s.IDs == nil {
		s.IDs = make([]int32, 0, len(o.IDs))
	}
	s.IDs = append(s.IDs[:0], o.IDs...)
	return false
}

// copyPiece is how many scores are copied at once: few enough to stay in the
// first cache while they are looked at, and for Go's copy to write through the
// caches, which it goes round from 1 MiB on; the copy will be read soon.
const copyPiece = 4096

// Keep removes every listed token whose index i (into Values) fails keep. The
// order of the survivors is unchanged. A dense row becomes sparse; ids is the
// memory used for its token ids when its capacity suffices (nil allocates).
func (s *Scores) Keep(keep func(i int) bool, ids []int32) {
	if s.IDs != nil {
		ids = s.IDs
	} else if ids == nil {
		ids = make([]int32, 0, 64)
	}
	out := ids[:0]
	n := 0
	for i := range s.Values {
		if keep(i) {
			out = append(out, s.ID(i))
			s.Values[n] = s.Values[i]
			n++
		}
	}
	s.Values = s.Values[:n]
	s.IDs = out
}

// KeepBest keeps the tokens with a score above floor and, of those equal to it,
// the first ties in ascending order of id; every other token is removed. Zeros
// of either sign are equal. A dense row becomes sparse, with room for n ids,
// which should be the number of survivors.
func (s *Scores) KeepBest(floor float32, ties, n int) {
	s.keep(floor, ties, n)
}

// Index returns the place of a token in Values, or -1 when it is not listed.
func (s *Scores) Index(token int32) int {
	if s.IDs == nil {
		if token < 0 || int(token) >= len(s.Values) {
			return -1
		}
		return int(token)
	}
	if i, ok := slices.BinarySearch(s.IDs, token); ok {
		return i
	}
	return -1
}

// Revives returns a token in the support of s that is not in the support of
// before, the lowest one, or -1 when there is none. Both rows are checked.
func (s *Scores) Revives(before *Scores) int32 {
	if s.IDs == nil && before.IDs == nil && len(s.Values) == len(before.Values) ||
		s.IDs != nil && before.IDs != nil && slices.Equal(s.IDs, before.IDs) {
		if vec.Within(s.Values, before.Values) {
			return -1
		}
	}
	i := 0
	for j, v := range s.Values {
		if !Finite(v) {
			continue
		}
		id := s.ID(j)
		if before.IDs == nil {
			i = min(int(id), len(before.Values))
		}
		for i < len(before.Values) && before.ID(i) < id {
			i++
		}
		if i == len(before.Values) || before.ID(i) != id || !Finite(before.Values[i]) {
			return id
		}
	}
	return -1
}

// Has reports whether a token is in the support: listed with a finite score.
func (s *Scores) Has(token int32) bool {
	i := s.Index(token)
	return i >= 0 && s.Values[i] >= -math.MaxFloat32
}

// Rank returns the place of a token by descending score, from 1, ties by
// ascending id; 0 when the token is not in the support.
func (s *Scores) Rank(token int32) int {
	at := s.Index(token)
	if at < 0 || !(s.Values[at] >= -math.MaxFloat32) {
		return 0
	}
	x := s.Values[at]
	above := math.Nextafter32(x, float32(math.Inf(1))) // the least score above it
	return 1 + vec.Count(s.Values[:at], x) + vec.Count(s.Values[at+1:], above)
}

// Check returns a data error naming the first token whose score is NaN or +Inf,
// and one when no token has a finite score or the row is malformed.
func (s *Scores) Check() error {
	if err := s.checkShape(); err != nil {
		return err
	}
	if !vec.Legal(s.Values) {
		for i, v := range s.Values {
			if !(v <= math.MaxFloat32) {
				return badScores("token %d has score %v", s.ID(i), v).
					Fix("a stage or backend before this one is at fault; scores are finite, or -Inf for a removed token")
			}
		}
	}
	if !Finite(vec.Max(s.Values)) {
		return badScores("no token is left: all %d scores are -Inf or removed", s.Vocab).
			Fix("loosen the stage that removed the last one")
	}
	return nil
}

// Repairable reports whether the row is well formed but for its scores: NaN,
// +Inf or no finite one at all.
func (s *Scores) Repairable() bool { return len(s.Values) > 0 && s.checkShape() == nil }

func (s *Scores) checkShape() error {
	switch {
	case s.IDs == nil && len(s.Values) != s.Vocab:
		return badScores("a dense row has %d scores for a vocabulary of %d", len(s.Values), s.Vocab)
	case s.IDs != nil && len(s.IDs) != len(s.Values):
		return badScores("a sparse row has %d scores for %d token ids", len(s.Values), len(s.IDs))
	case !(s.Unlisted >= 0 && s.Unlisted < 1):
		return badScores("the unlisted mass is %g, outside [0, 1)", s.Unlisted)
	case s.Unlisted > 0 && len(s.Values) >= s.Vocab:
		return badScores("the unlisted mass is %g but all %d tokens are listed", s.Unlisted, s.Vocab)
	}
	if n := len(s.IDs); n == 0 || s.IDs[0] >= 0 && int(s.IDs[n-1]) < s.Vocab && vec.Ascending(s.IDs) {
		return nil
	}
	last := int32(-1)
	for i, id := range s.IDs {
		if id <= last || int(id) >= s.Vocab {
			return badScores("token id %d at position %d is out of order or outside the vocabulary of %d", id, i, s.Vocab)
		}
		last = id
	}
	return nil
}

// Full reports whether the row is dense and every token of the vocabulary has a
// finite score; such a row passes [Scores.Check].
func (s *Scores) Full() bool {
	return s.IDs == nil && len(s.Values) == s.Vocab && s.Vocab > 0 && s.Unlisted == 0 && AllFinite(s.Values)
}

// AllFinite reports whether no score is -Inf, +Inf or NaN, for a row of any
// length; it is the quick answer for the usual row.
func AllFinite(values []float32) bool { return vec.AllFinite(values) }

func badScores(format string, args ...any) *fault.Error {
	return fault.New(fault.Data, "scores", "", format, args...)
}
