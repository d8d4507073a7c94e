package measure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"lab/core/fault"
)

// Pairs are values of two settings, a and b, that belong together: the same
// prompt and sample under the same random numbers.
type Pairs struct {
	A, B         []float64
	OnlyA, OnlyB int // keys that the other side lacks; left out
}

// MatchKeys pairs the values of equal keys, in ascending order of key. Keys that
// one side lacks are left out and counted. No common key is a data error.
func MatchKeys[K cmp.Ordered](a, b map[K]float64) (Pairs, error) {
	var p Pairs
	keys := make([]K, 0, len(a))
	for k := range a {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if v, ok := b[k]; ok {
			p.A, p.B = append(p.A, a[k]), append(p.B, v)
		} else {
			p.OnlyA++
		}
	}
	p.OnlyB = len(b) - len(p.A)
	if len(p.A) == 0 {
		return Pairs{}, bad("match keys", "%d keys and %d keys have none in common", len(a), len(b)).
			Fix("key both sides by prompt and sample")
	}
	return p, nil
}

// Comparison is a difference a - b of two settings, and what comparing the same
// random numbers was worth.
type Comparison struct {
	A, B       Estimate
	Difference Estimate // of a - b
	Unpaired   Estimate // of a - b as if the values were drawn independently, Welch's interval

	VarA, VarB, VarDifference float64 // of single values; unbiased
	Correlation               float64 // of a and b; NaN when one does not vary
	// VarianceReduction is 1 - VarDifference / (VarA + VarB): the share of the
	// variance that pairing removed; negative when pairing added some; NaN when
	// nothing varies.
	VarianceReduction float64
	// Factor is (VarA + VarB) / VarDifference: how many times as many independent
	// values would tell as much (common random numbers: Law 2015, "Simulation
	// modeling and analysis", section 11.2). +Inf when all differences are equal.
	Factor float64
}

// ComparePairs compares two settings pair by pair. iv is the interval of the
// difference, as for [Mean]; the sides are given with the same. At least two
// pairs of finite values.
func ComparePairs(p Pairs, iv Interval) (Comparison, error) {
	d, err := p.differences("compare pairs", 2)
	if err != nil {
		return Comparison{}, err
	}
	var c Comparison
	if c.A, err = Mean(p.A, iv); err != nil {
		return c, err
	}
	if c.B, err = Mean(p.B, iv); err != nil {
		return c, err
	}
	if c.Difference, err = Mean(d, iv); err != nil {
		return c, err
	}
	if c.Unpaired, err = WelchInterval(p.A, p.B, c.Difference.Level); err != nil {
		return c, err
	}
	c.VarA, c.VarB, c.VarDifference = variance(p.A), variance(p.B), variance(d)
	c.Correlation = math.NaN()
	if !equal(p.A) && !equal(p.B) {
		c.Correlation = stat.Correlation(p.A, p.B, nil)
	}
	if equal(d) {
		c.VarDifference = 0
	}
	both := c.VarA + c.VarB
	c.VarianceReduction, c.Factor = 1-c.VarDifference/both, both/c.VarDifference
	return c, nil
}

// differences returns a - b after checking both.
func (p Pairs) differences(op string, least int) ([]float64, error) {
	if len(p.A) != len(p.B) {
		return nil, misuse(op, "%d values and %d values are no pairs", len(p.A), len(p.B)).Fix("match them by prompt and sample, or compare them unpaired")
	}
	if err := finite(op+": a", p.A, least); err != nil {
		return nil, err
	}
	if err := finite(op+": b", p.B, least); err != nil {
		return nil, err
	}
	d := make([]float64, len(p.A))
	for i := range d {
		d[i] = p.A[i] - p.B[i]
		if math.IsInf(d[i], 0) {
			return nil, bad(op, "the difference of pair %d is infinite", i)
		}
	}
	return d, nil
}

// Test is the outcome of a test of no difference, against a difference in either
// direction.
type Test struct {
	Name      string
	Statistic float64
	DF        float64 // degrees of freedom; 0 when the test has none
	P         float64 // two-sided, in (0, 1]; NaN when the data does not say
	N         int     // values or pairs that entered
	Exact     bool    // whether P is from the test's own distribution, not from a normal or sampled one
	Note      string
}

const noteSame = "all differences are 0: there is nothing to test"

// PairedT is Student's t test of the mean difference ("Student" 1908). It is
// exact for normal differences, and good for many. Differences that are all equal
// have no p.
func PairedT(p Pairs) (Test, error) {
	d, err := p.differences("paired t", 2)
	if err != nil {
		return Test{}, err
	}
	t := Test{Name: "paired t", N: len(d), DF: float64(len(d) - 1), Statistic: math.NaN(), P: math.NaN()}
	if equal(d) {
		t.Note = "all differences are equal: their spread, which the test needs, is 0"
		return t, nil
	}
	t.Statistic = mean(d) / math.Sqrt(variance(d)/float64(len(d)))
	t.P = tTail(t.Statistic, t.DF)
	return t, nil
}

// SignTest is the exact binomial test of how many differences are positive;
// those of 0 are left out (Dixon and Mood 1946, "The statistical sign test").
func SignTest(p Pairs) (Test, error) {
	d, err := p.differences("sign test", 1)
	if err != nil {
		return Test{}, err
	}
	plus, minus := 0, 0
	for _, x := range d {
		switch {
		case x > 0:
			plus++
		case x < 0:
			minus++
		}
	}
	return evens("sign test", plus, minus, noteSame), nil
}

// McNemar is the exact form of McNemar's test for pairs of right and wrong: the
// sign test of the pairs that differ (McNemar 1947, "Note on the sampling error of
// the difference between correlated proportions or percentages").
func McNemar(a, b []bool) (Test, error) {
	if len(a) != len(b) {
		return Test{}, misuse("mcnemar", "%d values and %d values are no pairs", len(a), len(b))
	}
	if len(a) == 0 {
		return Test{}, bad("mcnemar", "no pairs were given")
	}
	onlyA, onlyB := 0, 0
	for i := range a {
		switch {
		case a[i] && !b[i]:
			onlyA++
		case b[i] && !a[i]:
			onlyB++
		}
	}
	return evens("mcnemar exact", onlyA, onlyB, "no pair differs: there is nothing to test"), nil
}

// evens tests whether two counts are of events of equal chance.
func evens(name string, x, y int, nothing string) Test {
	t := Test{Name: name, Statistic: float64(x), N: x + y, P: math.NaN(), Exact: true}
	if t.N == 0 {
		t.Note = nothing
		return t
	}
	t.P = math.Min(1, 2*binomialCDF(min(x, y), t.N, 0.5))
	return t
}

// TestPairs runs a paired test by name: "t", "wilcoxon", "sign" or "permutation";
// resamples and seed are of the last.
func TestPairs(name string, p Pairs, resamples int, seed uint64) (Test, error) {
	switch name {
	case "t":
		return PairedT(p)
	case "wilcoxon":
		return SignedRank(p)
	case "sign":
		return SignTest(p)
	case "permutation":
		return PermutePairs(p, resamples, seed)
	}
	return Test{}, fault.Unknown("test pairs", "test", name, []string{"t", "wilcoxon", "sign", "permutation"})
}
