package measure

import "math"

// bleuFloor is the numerator of an n-gram precision without a match: method 1 of
// Chen and Cherry 2014, "A systematic comparison of smoothing techniques for
// sentence-level BLEU", with the value that Texygen inherits from its library.
const bleuFloor = 0.1

// SelfBLEU returns, for every sequence, its BLEU-n against all others, in [0, 1]:
// Zhu et al. 2018, "Texygen: a benchmarking platform for text generation models",
// who report the mean. High means that the samples resemble each other.
//
// BLEU is that of Papineni et al. 2002 with equal weights 1/n: clipped n-gram
// precisions of order 1 to n, the brevity penalty with the closest reference
// length (the shorter one of two equally close). A precision without a match is
// 0.1 over the n-grams of the sequence, of which at least one is counted; without
// a common token the score is 0. n is in [1, 64], the paper uses 2 to 5. Fewer
// than two sequences, or an empty one, are data errors.
func SelfBLEU[T comparable](sequences [][]T, n int) ([]float64, error) {
	const op = "self-BLEU"
	if n < 1 || n > longestGram {
		return nil, misuse(op, "n = %d is outside [1, %d]", n, longestGram)
	}
	if len(sequences) < 2 {
		return nil, short{bad(op, "%d sequences were given", len(sequences)).Fix("give at least two: each is compared with the others")}
	}
	for i, s := range sequences {
		if len(s) == 0 {
			return nil, short{bad(op, "sequence %d is empty", i)}
		}
	}
	logs := make([]float64, len(sequences)) // sum of ln precisions
	none := make([]bool, len(sequences))
	for m := 1; m <= n; m++ {
		ids, distinct, _ := joint(sequences, m)
		matched := clipped(ids, distinct)
		for i, hits := range matched {
			num := float64(hits)
			if hits == 0 {
				num = bleuFloor
				none[i] = none[i] || m == 1
			}
			logs[i] += math.Log(num / float64(max(1, len(ids[i]))))
		}
	}
	lengths := make(map[int]int)
	for _, s := range sequences {
		lengths[len(s)]++
	}
	out := make([]float64, len(sequences))
	for i, s := range sequences {
		if none[i] {
			continue
		}
		penalty := 0.0
		if closest := closestLength(lengths, len(s)); len(s) < closest {
			penalty = 1 - float64(closest)/float64(len(s))
		}
		out[i] = math.Exp(penalty + logs[i]/float64(n))
	}
	return out, nil
}

// clipped returns for every sequence how many of its n-grams the others hold,
// each counted at most as often as in the one other that holds it most often.
func clipped(ids [][]int32, distinct int) []int {
	most := make([]int, distinct)   // highest count in one sequence
	holder := make([]int, distinct) // which one
	second := make([]int, distinct) // highest count in another one
	own := make([]map[int32]int, len(ids))
	for i, s := range ids {
		own[i] = make(map[int32]int)
		for _, id := range s {
			own[i][id]++
		}
		for id, c := range own[i] {
			switch {
			case c > most[id]:
				second[id], most[id], holder[id] = most[id], c, i
			case c > second[id]:
				second[id] = c
			}
		}
	}
	out := make([]int, len(ids))
	for i := range ids {
		for id, c := range own[i] {
			limit := most[id]
			if holder[id] == i {
				limit = second[id]
			}
			out[i] += min(c, limit)
		}
	}
	return out
}

// closestLength returns the length of another sequence that is nearest to n, the
// shorter one on ties. lengths counts all sequences, the one of length n included.
func closestLength(lengths map[int]int, n int) int {
	if lengths[n] > 1 {
		return n
	}
	best := -1
	for l := range lengths {
		if l == n {
			continue
		}
		d, b := max(l-n, n-l), max(best-n, n-best)
		if best < 0 || d < b || d == b && l < best {
			best = l
		}
	}
	return best
}
