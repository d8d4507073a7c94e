package measure

import (
	"math"
	"slices"
)

// zipfRanks is how many of the top ranks the regression uses: what the published
// scripts of Holtzman et al. 2020 use.
const zipfRanks = 5000

// ZipfRegression returns the Zipf exponent s of count ~ rank^-s by least squares
// of ln count on ln rank over the 5,000 most frequent types, as Holtzman et al.
// 2020 report it. All ranks weigh the same, so the many rare types decide;
// [ZipfMLE] weighs tokens. Counts are positive, in any order; fewer than two
// types leave it undefined, a data error.
func ZipfRegression(counts []int) (float64, error) {
	sorted, err := ranked("zipf regression", counts)
	if err != nil {
		return 0, err
	}
	sorted = sorted[:min(len(sorted), zipfRanks)]
	n := float64(len(sorted))
	var meanX, meanY float64
	for r, c := range sorted {
		meanX += math.Log(float64(r+1)) / n
		meanY += math.Log(float64(c)) / n
	}
	var xy, xx float64
	for r, c := range sorted {
		dx := math.Log(float64(r+1)) - meanX
		xy += dx * (math.Log(float64(c)) - meanY)
		xx += dx * dx
	}
	return 0 - xy/xx, nil // not -0 for equal counts
}

// ZipfMLE returns the exponent s under which the tokens are most likely when the
// type of rank r has probability r^-s / sum over the observed ranks: the s at
// which the model's mean of ln rank equals the observed one. Ranks come from the
// same counts, which biases s upwards in small texts (Piantadosi 2014, "Zipf's
// word frequency law in natural language"). Arguments and errors as for
// [ZipfRegression].
func ZipfMLE(counts []int) (float64, error) {
	sorted, err := ranked("zipf mle", counts)
	if err != nil {
		return 0, err
	}
	logs := make([]float64, len(sorted))
	var total, observed float64
	for r, c := range sorted {
		logs[r] = math.Log(float64(r + 1))
		total += float64(c)
		observed += float64(c) * logs[r]
	}
	observed /= total
	excess := func(s float64) float64 {
		var num, den float64
		for _, l := range logs {
			w := math.Exp(-s * l)
			num += w * l
			den += w
		}
		return num/den - observed
	}
	lo, hi := 0.0, 1.0
	if excess(0) <= 0 { // equal counts: nothing falls with rank
		return 0, nil
	}
	for excess(hi) > 0 {
		lo, hi = hi, 2*hi
	}
	for range 100 { // halves below the spacing of float64 numbers
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if excess(mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2, nil
}

// ranked returns counts in descending order.
func ranked(op string, counts []int) ([]int, error) {
	for i, c := range counts {
		if c < 1 {
			return nil, bad(op, "count %d is %d", i, c).Fix("give the counts of types that occur")
		}
	}
	if len(counts) < 2 {
		return nil, short{bad(op, "%d distinct types leave the exponent undefined", len(counts)).Fix("give a text with at least two")}
	}
	sorted := slices.Clone(counts)
	slices.SortFunc(sorted, func(a, b int) int { return b - a })
	return sorted, nil
}

// Counts returns how often each distinct token of the sequences occurs, in the
// order of its first place.
func Counts[T comparable](sequences [][]T) []int {
	all, distinct, _ := joint(sequences, 1)
	out := make([]int, distinct)
	for _, s := range all {
		for _, id := range s {
			out[id]++
		}
	}
	return out
}
