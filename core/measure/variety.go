package measure

// TypeToken returns the type–token ratio, distinct tokens over tokens, in (0, 1]
// (Johnson 1944, "Studies in language behavior"). It falls with length by
// itself: compare texts of equal length only. An empty sequence is a data error.
func TypeToken[T comparable](tokens []T) (float64, error) {
	return ratioOfGrams("type-token ratio", tokens, 1)
}

// Distinct returns distinct-n: distinct n-grams over n-grams, in (0, 1]. The
// measure is that of Li et al. 2016, "A diversity-promoting objective function
// for neural conversation models", who divide by tokens; the division by n-grams
// is what later work uses and what makes a text without repetition score 1. A
// sequence shorter than n is a data error.
func Distinct[T comparable](tokens []T, n int) (float64, error) {
	return ratioOfGrams("distinct-n", tokens, n)
}

func ratioOfGrams[T comparable](op string, tokens []T, n int) (float64, error) {
	if err := enough(op, len(tokens), n); err != nil {
		return 0, err
	}
	ids, _ := classes(tokens)
	all, distinct := grams(ids, n)
	return float64(distinct) / float64(len(all)), nil
}

// PooledDistinct returns distinct-n over all sequences together: distinct
// n-grams of the whole set over n-grams; none spans two sequences. This is the
// form over a whole set of answers of Li et al. 2016. It falls with the size of
// the set. Sequences shorter than n have no n-grams and add none; when all are
// shorter it is a data error.
func PooledDistinct[T comparable](sequences [][]T, n int) (float64, error) {
	distinct, total, err := pooled("pooled distinct-n", sequences, n)
	if err != nil {
		return 0, err
	}
	return float64(len(distinct)) / float64(total), nil
}

// pooled returns the counts of all n-grams of a set of sequences.
func pooled[T comparable](op string, sequences [][]T, n int) (count []int, total int, err error) {
	longest := 0
	for _, s := range sequences {
		longest = max(longest, len(s))
	}
	if err := enough(op, longest, n); err != nil {
		return nil, 0, err
	}
	all, distinct, _ := joint(sequences, n)
	for _, ids := range all {
		total += len(ids)
	}
	count = make([]int, distinct)
	for _, ids := range all {
		for _, id := range ids {
			count[id]++
		}
	}
	return count, total, nil
}

// joint numbers the n-grams of several sequences in one numbering.
func joint[T comparable](sequences [][]T, n int) (out [][]int32, distinct, total int) {
	seen := make(map[T]int32)
	ids := make([][]int32, len(sequences))
	for i, s := range sequences {
		ids[i] = make([]int32, len(s))
		for j, t := range s {
			id, ok := seen[t]
			if !ok {
				id = int32(len(seen))
				seen[t] = id
			}
			ids[i][j] = id
		}
	}
	distinct = len(seen)
	out = ids
	for m := 2; m <= n; m++ {
		pairs := make(map[[2]int32]int32)
		next := make([][]int32, len(ids))
		for i, s := range ids {
			for j := 0; j+m <= len(s); j++ {
				key := [2]int32{out[i][j], s[j+m-1]}
				id, ok := pairs[key]
				if !ok {
					id = int32(len(pairs))
					pairs[key] = id
				}
				next[i] = append(next[i], id)
			}
		}
		out, distinct = next, len(pairs)
	}
	for _, s := range out {
		total += len(s)
	}
	return out, distinct, total
}

// Once returns the share of n-grams that occur exactly once, in [0, 1]: what
// the published scripts of Holtzman et al. 2020, "The curious case of neural text
// degeneration", call distinct-n. It is not [Distinct]. A sequence shorter than
// n is a data error.
func Once[T comparable](tokens []T, n int) (float64, error) {
	if err := enough("once-n", len(tokens), n); err != nil {
		return 0, err
	}
	ids, _ := classes(tokens)
	all, distinct := grams(ids, n)
	once := 0
	for _, c := range counts(all, distinct) {
		if c == 1 {
			once++
		}
	}
	return float64(once) / float64(len(all)), nil
}

// Vocabulary returns how many distinct tokens the sequences use together.
func Vocabulary[T comparable](sequences [][]T) int {
	seen := make(map[T]struct{})
	for _, s := range sequences {
		for _, t := range s {
			seen[t] = struct{}{}
		}
	}
	return len(seen)
}

// Unique returns how many distinct outputs there are.
func Unique[T comparable](outputs []T) int {
	_, distinct := classes(outputs)
	return distinct
}
