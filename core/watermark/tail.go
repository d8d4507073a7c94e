package watermark

import "math"

// Tails are natural logarithms: the evidence of a page of marked text is far
// below the smallest float64.

// small is where a further term of a sum no longer counts.
const small = 1e-18

// BinomialTail returns ln P(X >= k) for X binomial with n trials of probability
// q in (0, 1), exact up to rounding.
func BinomialTail(k, n int, q float64) float64 {
	switch {
	case k <= 0:
		return 0
	case k > n:
		return math.Inf(-1)
	}
	odds := q / (1 - q)
	if float64(k) > float64(n+1)*q { // terms fall from k on
		sum, term := 1.0, 1.0
		for i := k; i < n && term > small*sum; i++ {
			term *= float64(n-i) / float64(i+1) * odds
			sum += term
		}
		return lnBinomial(k, n, q) + math.Log(sum)
	}
	sum, term := 1.0, 1.0
	for i := k - 1; i > 0 && term > small*sum; i-- {
		term *= float64(i) / float64(n-i+1) / odds
		sum += term
	}
	return math.Log1p(-min(1, math.Exp(lnBinomial(k-1, n, q)+math.Log(sum))))
}

// lnBinomial returns ln P(X = k).
func lnBinomial(k, n int, q float64) float64 {
	return lnFactorial(n) - lnFactorial(k) - lnFactorial(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q)
}

func lnFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// GammaTail returns ln P(X >= s) for X the sum of n >= 1 independent standard
// exponential variables, exact up to rounding: the probability that a Poisson
// variable of mean s is below n.
func GammaTail(s float64, n int) float64 {
	if !(s > 0) {
		return 0
	}
	lnTerm := func(k int) float64 { return float64(k)*math.Log(s) - s - lnFactorial(k) }
	if s > float64(n-1) { // terms fall from n-1 down
		sum, term := 1.0, 1.0
		for k := n - 1; k > 0 && term > small*sum; k-- {
			term *= float64(k) / s
			sum += term
		}
		return lnTerm(n-1) + math.Log(sum)
	}
	sum, term := 1.0, 1.0
	for k := n; term > small*sum; k++ {
		term *= s / float64(k+1)
		sum += term
	}
	return math.Log1p(-min(1, math.Exp(lnTerm(n)+math.Log(sum))))
}

// NormalTail returns ln P(X >= z) for X standard normal.
func NormalTail(z float64) float64 {
	if z < 10 {
		return math.Log(0.5 * math.Erfc(z/math.Sqrt2))
	}
	// The continued fraction of Laplace; 40 levels are exact from 10 on.
	f := 0.0
	for i := 40; i > 0; i-- {
		f = float64(i) / (z + f)
	}
	return -z*z/2 - math.Log(z+f) - 0.5*math.Log(2*math.Pi)
}
