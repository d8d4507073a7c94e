package host

import (
	"math"

	"lab/core/dist"
)

// probabilityTolerance is how far from 1 the sum of a row of probabilities may
// be: those of another language may be sums of 262,144 terms in single
// precision, and no more than that.
const probabilityTolerance = 1e-3

// fewestProbabilities is how many tokens must be left for the sum to say
// anything: a row of one or two scores may add up to 1 by chance.
const fewestProbabilities = 4

// likeProbabilities reports whether a row looks as if it held probabilities in
// place of scores: none is below 0 or above 1, and together they make 1. It is
// what a softmax returned by mistake looks like, and what scores do not, short of
// contrivance. Weights that were not normalised, logarithms to another base and
// probabilities of which few are left cannot be told from scores.
//
// Almost every row of scores is known for what it is by its first entries.
func likeProbabilities(row *dist.Scores) bool {
	sum, n := 0.0, 0
	for _, v := range row.Values {
		if math.IsInf(float64(v), -1) {
			continue
		}
		if !(v >= 0 && v <= 1) {
			return false
		}
		sum += float64(v)
		n++
	}
	return n >= fewestProbabilities && math.Abs(sum-1) <= probabilityTolerance
}
