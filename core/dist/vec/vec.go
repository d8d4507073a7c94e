// Package vec holds the passes over a row of scores that sampling waits for:
// the largest score, exponential weights and their sums, moments, and the
// places of the scores above a floor.
//
// Every result has one value, whichever machine computes it. The exponential is
// this package's own, see [Exp], and the order of every sum is part of its
// definition: a token adds to lane id mod 8 of its block id / 1024; then lane
// i+4 is added to lane i, i+2 to i and 1 to 0, and the blocks are added in
// ascending order, each operation rounded once. Tokens are counted by id and
// not by place, so a dense row with removed tokens and its sparse twin give the
// same bits. The portable code says so in plain Go; the amd64 code, for AVX2
// with FMA and for AVX-512, does the same with vectors, and a test compares
// them bit by bit.
//
// A row is a list of scores, finite or -Inf (a removed token), and a list of
// their token ids, ascending; nil ids mean that scores[i] is token i. The
// caller has checked both: NaN and +Inf give results without meaning, and lists
// of different length panic. Nothing here keeps state, and all of it is safe
// for concurrent use on memory that does not overlap.
//
// Not here: what the numbers are good for. Start with [Max] and [Sum]: the
// probability of a token is Exp(score - Max) / Sum.
package vec

//go:generate go -C asm run . -out ../asm_amd64.s -stubs ../asm_amd64.go -pkg vec

import "math"

const (
	lanes     = 8    // partial sums of a block
	block     = 1024 // tokens of a block
	blockBits = 10
)

// sums is what a pass has added up for one block, by lane.
type sums [lanes]float64

// fold adds the lanes in halves and clears them.
func (s *sums) fold() float64 {
	total := ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
	*s = sums{}
	return total
}

// Max returns the largest score, +0 for a zero of either sign, and -Inf for an
// empty row.
func Max(values []float32) float32 { return maxOf(best, values) + 0 }

// Least returns the smallest finite score, and +Inf when there is none.
func Least(values []float32) float32 { return leastOf(best, values) + 0 }

// AllFinite reports whether no score is -Inf, +Inf or NaN, for a row of any
// length.
func AllFinite(values []float32) bool { return finiteOf(best, values) }

// Legal reports whether every score is finite or -Inf: none is +Inf or NaN.
func Legal(values []float32) bool { return legalOf(best, values) }

// Within reports whether before is finite wherever values is: no token that was
// removed has a score again. The rows list the same tokens.
func Within(values, before []float32) bool { return withinOf(best, values, before[:len(values)]) }

// Same reports whether two rows of one length have the same scores, to the bit.
func Same(values, other []float32) bool {
	if len(values) != len(other) {
		return false
	}
	// Rows that differ most often do so at once.
	n := min(len(values), block)
	return sameOf(best, values[:n], other[:n]) && sameOf(best, values[n:], other[n:])
}

// Ascending reports whether each number is larger than the one before it.
func Ascending(ids []int32) bool { return ascendingOf(best, ids) }

// Count returns how many scores are at least floor.
func Count(values []float32, floor float32) int { return countOf(best, values, floor) }

// Support returns how many scores are finite.
func Support(values []float32) int { return countOf(best, values, -math.MaxFloat32) }

// First returns the place of the first score that is at least floor, or -1.
func First(values []float32, floor float32) int {
	var places [block + slack]int32
	for at := 0; at < len(values); at += block {
		part := values[at:min(at+block, len(values))]
		if found, _ := searchIn(best, places[:0], part, at, floor); len(found) > 0 {
			return int(found[0])
		}
	}
	return -1
}

// slack is how many places a search may write beyond those it finds.
const slack = 16

// Find appends the places of the scores that are at least floor, ascending, and
// returns the extended slice. In a dense row they are token ids. With room for
// 16 more than there are it does not allocate.
func Find(dst []int32, values []float32, floor float32) []int32 {
	return findAll(best, dst, values, floor)
}

// Pick appends the scores that are at least floor, in their order, as [Find]
// appends their places.
func Pick(dst, values []float32, floor float32) []float32 {
	return pickAll(best, dst, values, floor)
}

// Search is [Find] for part of a row that ends early instead of allocating: it
// appends base plus the places, stops when fewer than 16 entries of dst are
// unused, and returns how many scores it has looked at.
func Search(dst []int32, values []float32, base int, floor float32) (found []int32, seen int) {
	return searchIn(best, dst, values, base, floor)
}

// Exps sets dst[i] to the weight Exp(values[i] - top).
func Exps(dst []float64, values []float32, top float64) {
	expsInto(best, dst[:len(values)], values, top)
}

// Sum returns the sum of the weights Exp(v - top) of a row.
func Sum(values []float32, ids []int32, top float64) float64 { return sumOf(best, values, ids, top) }

// Lean returns the sum of the weights w = Exp(v - top), and that of w*(v - top),
// rounded once a token; both ignore removed tokens. The entropy of a row is
// ln(total) - lean/total, in nats.
func Lean(values []float32, ids []int32, top float64) (total, lean float64) {
	return leanOf(best, nil, values, ids, top)
}

// Weigh sets dst[i] to the weight of values[i], and returns what [Lean] does.
func Weigh(dst []float64, values []float32, ids []int32, top float64) (total, lean float64) {
	return leanOf(best, dst[:len(values)], values, ids, top)
}

// Add returns the sum of numbers w[i] that belong to tokens ids[i], or to
// tokens i for nil ids.
func Add(w []float64, ids []int32) float64 { return addOf(w, ids) }

// Moments returns the number of finite scores, and the sums of v - shift and of
// its square over them. Their variance is squares/n with shift the mean, which
// a first call with shift 0 gives.
func Moments(values []float32, ids []int32, shift float64) (n int, sum, squares float64) {
	return momentsOf(best, values, ids, shift)
}

// Draw returns the place of the first token, in ascending order of id, whose
// running sum of weights exceeds u times their total, for 0 <= u < 1. top is the
// largest score.
//
// The running sum is the sum of the blocks before the token's, in their order,
// plus the weights of its own block one after the other; where that order of
// addition ends below the block's own sum, the block's last token with a weight
// takes the rest. A token of weight 0 is never drawn.
func Draw(values []float32, ids []int32, top, u float64) int {
	return drawFrom(best, values, ids, top, u)
}
