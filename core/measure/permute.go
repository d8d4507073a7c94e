package measure

import "math"

// everyPermutation is up to how many outcomes a permutation test counts all of
// them instead of drawing some.
const everyPermutation = 1 << 17

// PermutePairs is the permutation test of the mean difference of pairs: the
// probability, over all choices of the signs of the differences, of a mean at
// least as far from 0 (Fisher 1935, "The design of experiments", section 21). Up
// to 2^17 sign patterns are all counted; above, resamples of them are drawn from
// the seed and P is (hits + 1)/(resamples + 1), which is valid and never 0 (Phipson
// and Smyth 2010, "Permutation p-values should never be zero"). resamples is in
// [99, 1e6]; 0 is 9,999. The statistic is the mean difference.
func PermutePairs(p Pairs, resamples int, seed uint64) (Test, error) {
	const op = "permute pairs"
	d, err := p.differences(op, 1)
	if err != nil {
		return Test{}, err
	}
	resamples, err = permutations(op, resamples, len(d))
	if err != nil {
		return Test{}, err
	}
	t := Test{Name: "paired permutation", N: len(d), Statistic: mean(d)}
	limit := reached(math.Abs(sum(d)), d)
	if len(d) <= 17 { // 2^17
		t.Exact = true
		hits := 0
		for pattern := 0; pattern < 1<<len(d); pattern++ {
			s := 0.0
			for i, x := range d {
				if pattern>>i&1 == 1 {
					x = -x
				}
				s += x
			}
			if math.Abs(s) >= limit {
				hits++
			}
		}
		t.P = float64(hits) / float64(int(1)<<len(d))
		return t, nil
	}
	draw := newDraws(seed, "permute pairs")
	hits := 0
	for b := range resamples {
		s := 0.0
		for i, u := range draw.uniforms(b, len(d)) {
			if u < 0.5 {
				s -= d[i]
			} else {
				s += d[i]
			}
		}
		if math.Abs(s) >= limit {
			hits++
		}
	}
	t.P = float64(hits+1) / float64(resamples+1)
	return t, nil
}

// PermuteGroups is the permutation test of the difference of the means of two
// independent groups, over all ways to deal the values to groups of these sizes.
// Up to 2^17 ways are all counted; otherwise as [PermutePairs].
func PermuteGroups(a, b []float64, resamples int, seed uint64) (Test, error) {
	const op = "permute groups"
	if err := finite(op+": a", a, 1); err != nil {
		return Test{}, err
	}
	if err := finite(op+": b", b, 1); err != nil {
		return Test{}, err
	}
	all := append(append([]float64(nil), a...), b...)
	n := len(all)
	resamples, err := permutations(op, resamples, n)
	if err != nil {
		return Test{}, err
	}
	// The difference of means is a multiple of the deviation of the sum of group a
	// from its expectation, so the centred sum decides.
	center := mean(all)
	for i := range all {
		all[i] -= center
	}
	t := Test{Name: "permutation", N: n, Statistic: mean(a) - mean(b)}
	limit := reached(math.Abs(sum(all[:len(a)])), all)
	if ways, ok := choices(n, len(a)); ok {
		t.Exact = true
		hits := 0
		combinations(n, len(a), func(index []int) {
			s := 0.0
			for _, i := range index {
				s += all[i]
			}
			if math.Abs(s) >= limit {
				hits++
			}
		})
		t.P = float64(hits) / float64(ways)
		return t, nil
	}
	draw := newDraws(seed, "permute groups")
	hits := 0
	order := make([]float64, n)
	for b := range resamples {
		copy(order, all)
		s := 0.0
		for i, u := range draw.uniforms(b, len(a)) { // the first steps of a Fisher–Yates shuffle
			j := i + below(u, n-i)
			order[i], order[j] = order[j], order[i]
			s += order[i]
		}
		if math.Abs(s) >= limit {
			hits++
		}
	}
	t.P = float64(hits+1) / float64(resamples+1)
	return t, nil
}

// reached is the size from which on a sum counts as large as the observed one:
// sums of the same numbers in another order differ by rounding, at most n units in
// the last place of the sum of sizes.
func reached(observed float64, values []float64) float64 {
	sizes := 0.0
	for _, v := range values {
		sizes += math.Abs(v)
	}
	return observed - sizes*float64(len(values))*0x1p-52
}

func permutations(op string, resamples, n int) (int, error) {
	if resamples == 0 {
		resamples = 9999
	}
	if resamples < 99 || resamples > 1e6 {
		return 0, misuse(op, "resamples = %d is outside [99, 1000000]", resamples)
	}
	if n > maxDraws/resamples {
		return 0, misuse(op, "%d resamples of %d values are more than %d draws", resamples, n, maxDraws).Fix("use a t or rank test, or fewer resamples")
	}
	return resamples, nil
}

// choices returns n choose k when all of them are to be counted.
func choices(n, k int) (ways int64, ok bool) {
	ways = 1
	for i := 1; i <= min(k, n-k); i++ {
		ways = ways * int64(n-i+1) / int64(i)
		if ways > everyPermutation {
			return 0, false
		}
	}
	return ways, true
}

// combinations calls f with every ascending choice of k of n indexes.
func combinations(n, k int, f func([]int)) {
	index := make([]int, k)
	for i := range index {
		index[i] = i
	}
	for {
		f(index)
		i := k - 1
		for i >= 0 && index[i] == n-k+i {
			i--
		}
		if i < 0 {
			return
		}
		index[i]++
		for j := i + 1; j < k; j++ {
			index[j] = index[j-1] + 1
		}
	}
}
