package measure

// SeqRep returns seq-rep-n, the share of a sequence's n-grams that repeat an
// earlier one: 1 - distinct n-grams / n-grams, in [0, 1). Welleck et al. 2020,
// "Neural text generation with unlikelihood training", equation 11 (their n is
// 4). A sequence shorter than n is a data error.
func SeqRep[T comparable](tokens []T, n int) (float64, error) {
	d, err := ratioOfGrams("seq-rep-n", tokens, n)
	if err != nil {
		return 0, err
	}
	return 1 - d, nil
}

// Diversity returns the product of 1 - seq-rep-n over n = 2, 3, 4, in (0, 1]
// (Su et al. 2022, "A contrastive framework for neural text generation"). A
// sequence shorter than 4 tokens is a data error.
func Diversity[T comparable](tokens []T) (float64, error) {
	product := 1.0
	for n := 4; n >= 2; n-- {
		d, err := ratioOfGrams("diversity", tokens, n)
		if err != nil {
			return 0, err
		}
		product *= d
	}
	return product, nil
}

// Rep returns rep/l, the share of tokens that occur among the window tokens
// before them, in [0, 1]: Welleck et al. 2020, equation 9, for tokens that were
// generated. The first token counts as no repetition. window is l, at least 1;
// the paper uses 16, 32, 128 and 512. An empty sequence is a data error.
func Rep[T comparable](tokens []T, window int) (float64, error) {
	if window < 1 {
		return 0, misuse("rep/l", "window = %d is below 1", window)
	}
	if err := enough("rep/l", len(tokens), 1); err != nil {
		return 0, err
	}
	last := make(map[T]int)
	repeated := 0
	for i, t := range tokens {
		if at, ok := last[t]; ok && i-at <= window {
			repeated++
		}
		last[t] = i
	}
	return float64(repeated) / float64(len(tokens)), nil
}

// Loop is the periodic end of a sequence.
type Loop struct {
	Period  int // tokens in one round; 0 when the sequence does not end in a loop
	Repeats int // whole rounds, the first included
	Start   int // index of the first token from which on the sequence is periodic
}

// FindLoop returns the loop that a sequence ends in: the smallest period p such
// that the end repeats with period p for at least repeats whole rounds, and the
// earliest start of that repetition. repeats is at least 2; 3 is a good choice
// for text, where words double by themselves. It takes O(n) time: with z the
// Z-function of the reversed sequence (Gusfield 1997, "Algorithms on strings,
// trees and sequences", section 1.3), the end has period p for p + z[p] tokens.
func FindLoop[T comparable](tokens []T, repeats int) (Loop, error) {
	if repeats < 2 {
		return Loop{}, misuse("find loop", "repeats = %d is below 2", repeats).Fix("one round is no loop")
	}
	n := len(tokens)
	at := func(i int) T { return tokens[n-1-i] } // reversed
	z := make([]int, n)
	left, right := 0, 0
	for i := 1; i < n; i++ {
		if i < right {
			z[i] = min(right-i, z[i-left])
		}
		for i+z[i] < n && at(z[i]) == at(i+z[i]) {
			z[i]++
		}
		if i+z[i] > right {
			left, right = i, i+z[i]
		}
		if rounds := (i + z[i]) / i; rounds >= repeats {
			return Loop{Period: i, Repeats: rounds, Start: n - i - z[i]}, nil
		}
	}
	return Loop{}, nil
}
