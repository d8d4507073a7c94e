package plots

import (
	"fmt"
	"math"
	"slices"

	"lab/plots/canvas"
)

// sumTolerance is how far the probabilities of a row may be off 1: rows come
// from files with rounded digits as well as from memory.
const sumTolerance = 1e-3

// mostTokens bounds a row; no vocabulary is near it.
const mostTokens = 1 << 22

// checkMass refuses a row of probabilities that is impossible: a negative entry
// or one above 1, or a sum that with the unlisted mass is not 1. NaN and
// infinite entries are counted, and then the sum must only not exceed 1.
func checkMass(figure, where string, probs []float64, unlisted float64) (undefined int, err error) {
	if len(probs) > mostTokens {
		return 0, badNumber(figure, where, "%d entries are more than %d", len(probs), mostTokens)
	}
	if !(unlisted >= 0 && unlisted <= 1) {
		return 0, badNumber(figure, where, "unlisted mass %v is outside 0 to 1", unlisted)
	}
	sum := unlisted
	for i, p := range probs {
		switch {
		case math.IsNaN(p) || math.IsInf(p, 0):
			undefined++
		case p < 0:
			return 0, badNumber(figure, where, "entry %d is negative (%v)", i, p)
		case p > 1+sumTolerance:
			return 0, badNumber(figure, where, "entry %d is above 1 (%v)", i, p)
		default:
			sum += p
		}
	}
	low := 1 - sumTolerance
	if undefined > 0 {
		low = 0
	}
	if !(sum >= low && sum <= 1+sumTolerance) {
		return 0, badNumber(figure, where, "the probabilities sum to %.6g, not to 1", sum)
	}
	return undefined, nil
}

func defined(p float64) bool { return !math.IsNaN(p) && !math.IsInf(p, 0) }

// share returns p, or 0 when it is undefined.
func share(p float64) float64 {
	if defined(p) {
		return p
	}
	return 0
}

// largest returns the indices of the n largest keys above zero, largest first,
// ties lowest index first. It looks at every key once and keeps n.
func largest(n int, keys []float64) []int {
	var kept []int
	before := func(a, b int) int {
		if order := compareFloats(keys[b], keys[a]); order != 0 {
			return order
		}
		return a - b
	}
	for i, k := range keys {
		if !(k > 0) || len(kept) == n && (n == 0 || k <= keys[kept[n-1]]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(kept, i, before)
		kept = slices.Insert(kept, at, i)
		if len(kept) > n {
			kept = kept[:n]
		}
	}
	return kept
}

// undefinedNote says how many entries were left out, or "" for none.
func undefinedNote(undefined, of int, where string) string {
	if undefined == 0 {
		return ""
	}
	verb := "are"
	if undefined == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s: %s of %s probabilities %s undefined and left out",
		where, canvas.Count(undefined), canvas.Count(of), verb)
}
