package measure

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Mean returns the mean of values with its interval. Methods: "t" (default),
// "bootstrap", "bca", "cluster", "cluster_bootstrap", and "wilson" or "exact" when
// all values are 0 or 1. One value, or equal values, have no interval: NaN and a
// note. No value, or one that is not finite, is a data error that names it.
func Mean(values []float64, iv Interval) (Estimate, error) {
	const op = "mean"
	if err := finite(op, values, 1); err != nil {
		return Estimate{}, err
	}
	if iv.Method == MethodWilson || iv.Method == MethodExact {
		hits := make([]bool, len(values))
		for i, v := range values {
			if v != 0 && v != 1 {
				return Estimate{}, misuse(op, "method %q on value %d = %v", iv.Method, i, v).Fix("it is for proportions, where values are 0 or 1")
			}
			hits[i] = v == 1
		}
		return Proportion(hits, iv)
	}
	ones := make([]float64, len(values))
	for i := range ones {
		ones[i] = 1
	}
	return ratioOf(op, values, ones, 0x1p-52, iv) // the mean of equal values is rounded once
}

// Ratio returns the ratio of sums, sum num / sum den, such as bits over tokens.
// Long texts weigh more than in a mean of ratios, as they should where the token
// is the unit. Methods and degenerate cases as for [Mean], of the linearised
// values num - R den (Cochran 1977, "Sampling techniques", section 2.11): these
// intervals are for many values. Denominators must be positive.
func Ratio(num, den []float64, iv Interval) (Estimate, error) {
	const op = "ratio"
	if len(num) != len(den) {
		return Estimate{}, misuse(op, "%d numerators and %d denominators", len(num), len(den))
	}
	if err := finite(op, num, 1); err != nil {
		return Estimate{}, err
	}
	if err := finite(op, den, 1); err != nil {
		return Estimate{}, err
	}
	for i, d := range den {
		if d <= 0 {
			return Estimate{}, bad(op, "denominator %d is %v", i, d).Fix("leave out texts without tokens")
		}
	}
	return ratioOf(op, num, den, 1e-14, iv)
}

// Perplexity returns 2^(sum bits / sum tokens) of texts with the given surprisals
// and lengths: the perplexity of the corpus, which is not the mean of the texts'
// perplexities. The interval is that of the mean surprisal per token, [Ratio],
// raised to a power of 2.
func Perplexity(bits, tokens []float64, iv Interval) (Estimate, error) {
	e, err := Ratio(bits, tokens, iv)
	if err != nil {
		return Estimate{}, err
	}
	return e.Map(math.Exp2), nil
}

var meanMethods = []string{MethodT, MethodBootstrap, MethodBCa, MethodCluster, MethodClusterBootstrap}

// ratioOf is a ratio of sums. Ratios that differ from it by at most slack of
// their size are equal but for the rounding of the sums they were made of.
func ratioOf(op string, num, den []float64, slack float64, iv Interval) (Estimate, error) {
	n := len(num)
	iv, err := iv.settle(op, n, meanMethods...)
	if err != nil {
		return Estimate{}, err
	}
	sumNum, sumDen := sum(num), sum(den)
	e := unknown(sumNum/sumDen, n, iv.Level, iv.Method)
	rest := make([]float64, n) // of the linear approximation
	same := true
	for i := range num {
		rest[i] = num[i] - e.Value*den[i]
		same = same && math.Abs(rest[i]) <= slack*math.Abs(num[i])
	}
	if n == 1 {
		return e.noted(noteOne), nil
	}
	if same {
		return e.noted(noteEqual), nil
	}
	switch iv.Method {
	case MethodCluster:
		return clustered(e, rest, sumDen, iv), nil
	case MethodT:
		return e.student(standardError(rest, sumDen), n-1), nil
	}
	value := func(index []int32) float64 {
		var a, b float64
		for _, i := range index {
			a += num[i]
			b += den[i]
		}
		return a / b
	}
	if iv.Method == MethodClusterBootstrap {
		return clusterBootstrap(e, value, iv), nil
	}
	without := make([]float64, n)
	for i := range without {
		without[i] = (sumNum - num[i]) / (sumDen - den[i])
	}
	return bootstrap(e, value, without, iv), nil
}

// standardError returns that of a ratio whose residuals sum to 0; for a mean it
// is s/sqrt(n).
func standardError(rest []float64, sumDen float64) float64 {
	n := float64(len(rest))
	squares := 0.0
	for _, r := range rest {
		squares += r * r
	}
	return math.Sqrt(n/(n-1)*squares) / sumDen
}

// student sets the interval of Student's t with df degrees of freedom.
func (e Estimate) student(se float64, df int) Estimate {
	half := tQuantile((1+e.Level)/2, float64(df)) * se
	e.Lo, e.Hi = e.Value-half, e.Value+half
	return e
}

func tQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// sum adds with Neumaier's compensation, so that a mean of equal values is that
// value also for a million of them.
func sum(values []float64) float64 {
	total, lost := 0.0, 0.0
	for _, v := range values {
		t := total + v
		if math.Abs(total) >= math.Abs(v) {
			lost += (total - t) + v
		} else {
			lost += (v - t) + total
		}
		total = t
	}
	return total + lost
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

// variance is the unbiased one, with n - 1 below.
func variance(values []float64) float64 { return stat.Variance(values, nil) }
