package measure

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactRanks is up to how many values rank tests count every outcome; above,
// the normal approximation errs by less than anyone reports.
const exactRanks = 100

// doubledRanks returns twice the mid-ranks of values, whole numbers, and the sum
// of t³ - t over groups of t tied values.
func doubledRanks(values []float64) (ranks []int, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return values[order[i]] < values[order[j]] })
	ranks = make([]int, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			ranks[at] = i + 1 + j // twice the mean of ranks i+1 to j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// SignedRank is Wilcoxon's signed-rank test of symmetry about 0 (Wilcoxon 1945,
// "Individual comparisons by ranking methods"): differences of 0 are left out and
// ties share mid-ranks. The statistic is the sum of ranks of positive
// differences. Up to 100 differences P is exact, given the ties, by counting all
// sign patterns; above, normal with tie correction and continuity correction.
func SignedRank(p Pairs) (Test, error) {
	d, err := p.differences("wilcoxon", 1)
	if err != nil {
		return Test{}, err
	}
	var sizes []float64
	var positive []bool
	for _, x := range d {
		if x != 0 {
			sizes, positive = append(sizes, math.Abs(x)), append(positive, x > 0)
		}
	}
	n := len(sizes)
	t := Test{Name: "wilcoxon signed-rank", N: n, P: math.NaN()}
	if n == 0 {
		t.Note = noteSame
		return t, nil
	}
	ranks, ties := doubledRanks(sizes)
	doubled := 0
	for i, r := range ranks {
		if positive[i] {
			doubled += r
		}
	}
	t.Statistic = float64(doubled) / 2
	if n <= exactRanks {
		t.Exact, t.P = true, twoTails(signedSums(ranks), doubled)
		return t, nil
	}
	m := float64(n)
	t.P = normalTails(t.Statistic-m*(m+1)/4, math.Sqrt(m*(m+1)*(2*m+1)/24-ties/48))
	return t, nil
}

// signedSums returns the probability of each sum of a subset of ranks, every
// subset having the same.
func signedSums(ranks []int) []float64 {
	p := []float64{1}
	for _, r := range ranks {
		next := make([]float64, len(p)+r)
		for s, x := range p {
			next[s] += x / 2
			next[s+r] += x / 2
		}
		p = next
	}
	return p
}

// twoTails returns twice the smaller tail at s, at most 1.
func twoTails(p []float64, s int) float64 {
	low, high := 0.0, 0.0
	for i, x := range p {
		if i <= s {
			low += x
		}
		if i >= s {
			high += x
		}
	}
	return math.Min(1, 2*math.Min(low, high))
}

// normalTails returns the two-sided probability of a deviation, with the
// continuity correction of half a unit.
func normalTails(deviation, sd float64) float64 {
	z := math.Max(0, math.Abs(deviation)-0.5) / sd
	return math.Min(1, 2*distuv.UnitNormal.Survival(z))
}

// MannWhitney is the rank test of two independent groups (Mann and Whitney 1947,
// "On a test of whether one of two random variables is stochastically larger than
// the other"). The statistic is U of a: pairs in which a is larger, ties counting
// half. Up to 100 values in all P is exact, given the ties, by counting all
// splits; above, normal with tie correction and continuity correction. Values
// that are all equal give P = 1.
func MannWhitney(a, b []float64) (Test, error) {
	if err := finite("mann-whitney: a", a, 1); err != nil {
		return Test{}, err
	}
	if err := finite("mann-whitney: b", b, 1); err != nil {
		return Test{}, err
	}
	n, m := len(a), len(b)
	ranks, ties := doubledRanks(append(append([]float64(nil), a...), b...))
	doubled := 0
	for _, r := range ranks[:n] {
		doubled += r
	}
	t := Test{Name: "mann-whitney", N: n + m, Statistic: float64(doubled-n*(n+1)) / 2}
	if n+m <= exactRanks {
		t.Exact, t.P = true, twoTails(splitSums(ranks, n), doubled)
		return t, nil
	}
	x, y, all := float64(n), float64(m), float64(n+m)
	sd := math.Sqrt(x * y / 12 * (all + 1 - ties/(all*(all-1))))
	if sd == 0 {
		t.P, t.Note = 1, "all values are equal"
		return t, nil
	}
	t.P = normalTails(t.Statistic-x*y/2, sd)
	return t, nil
}

// splitSums returns the probability of each sum of k of the ranks, every choice
// of k having the same. Row j of the table holds the choices of j ranks so far,
// as a share of all choices of j: adding rank i keeps 1 - j/i of the old and takes
// j/i of those with one less.
func splitSums(ranks []int, k int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	table := make([][]float64, k+1)
	for j := range table {
		table[j] = make([]float64, total+1)
	}
	table[0][0] = 1
	reached := 0
	for i, r := range ranks {
		reached += r
		for j := min(i+1, k); j >= 1; j-- {
			take := float64(j) / float64(i+1)
			row, less := table[j], table[j-1]
			for s := reached; s >= 0; s-- {
				v := row[s] * (1 - take)
				if s >= r {
					v += less[s-r] * take
				}
				row[s] = v
			}
		}
	}
	return table[k]
}
