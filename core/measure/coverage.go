package measure

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Coverage returns the Good–Turing estimate of the probability that the next
// draw is an outcome seen before: 1 - f1/n, with f1 the outcomes seen once among
// n draws (Good 1953, "The population frequencies of species and the estimation
// of population parameters", equation 9). The interval is the normal one of Esty
// 1983, "A normal limit law for a nonparametric estimator of the coverage of a
// random sample", with variance (f1(n-f1)/n + 2 f2)/n². It is NaN when f1 is 0
// or n, where that variance says nothing, and an end outside [0, 1] is set to it,
// which is noted. counts has the number of draws of each outcome, all positive.
// level is the confidence, in (0, 1).
func Coverage(counts []int, level float64) (Estimate, error) {
	n, f1, f2, err := rare("coverage", counts, level)
	if err != nil {
		return Estimate{}, err
	}
	e := unknown(1-f1/n, int(n), level, "esty")
	switch f1 {
	case 0:
		return e.noted("no outcome was drawn once: the draws do not tell how far off the estimate is"), nil
	case n:
		return e.noted("every outcome was drawn once: the draws do not tell how far off the estimate is"), nil
	}
	half := normal(level) * math.Sqrt((f1*(n-f1)/n+2*f2)/(n*n))
	e.Lo, e.Hi = e.Value-half, e.Value+half
	if e.Lo < 0 || e.Hi > 1 {
		e.Lo, e.Hi = max(0, e.Lo), min(1, e.Hi)
		e.Note = "the normal interval reached past [0, 1] and ends there"
	}
	return e, nil
}

// Chao1 returns a lower bound for how many distinct outcomes there are in all,
// seen or not: the bias-corrected estimate S + (n-1)/n f1(f1-1) / (2(f2+1)), with
// S outcomes seen among n draws, f1 of them once and f2 twice (Chao 1984,
// "Nonparametric estimation of the number of classes in a population"). The
// interval is the log-normal one of Chao 1987, "Estimating the population size
// for capture-recapture data with unequal catchability", with the variance of
// Chiu et al. 2014; its lower end is never below S. It is NaN when at most one
// outcome was seen once, where the estimate is S, and when all were, where the
// estimate says little more than that n draws were made. Arguments as for [Coverage].
func Chao1(counts []int, level float64) (Estimate, error) {
	n, f1, f2, err := rare("chao1", counts, level)
	if err != nil {
		return Estimate{}, err
	}
	seen := float64(len(counts))
	a := (n - 1) / n
	unseen := a * f1 * (f1 - 1) / (2 * (f2 + 1))
	e := unknown(seen+unseen, int(n), level, "chao")
	switch {
	case unseen == 0:
		return e.noted("at most one outcome was drawn once: the draws do not tell how many were never drawn"), nil
	case f1 == n:
		return e.noted("every outcome was drawn once: there are many more, and the draws do not tell how many"), nil
	}
	var variance float64
	if f2 > 0 {
		variance = a*f1*(f1-1)/(2*(f2+1)) + a*a*f1*math.Pow(2*f1-1, 2)/(4*math.Pow(f2+1, 2)) +
			a*a*f1*f1*f2*math.Pow(f1-1, 2)/(4*math.Pow(f2+1, 4))
	} else {
		variance = a*f1*(f1-1)/2 + a*a*f1*math.Pow(2*f1-1, 2)/4 - a*a*math.Pow(f1, 4)/(4*e.Value)
	}
	k := math.Exp(normal(level) * math.Sqrt(math.Log1p(variance/(unseen*unseen))))
	e.Lo, e.Hi = seen+unseen/k, seen+unseen*k
	return e, nil
}

// rare returns the draws and how many outcomes were drawn once and twice.
func rare(op string, counts []int, level float64) (n, f1, f2 float64, err error) {
	if err := checkLevel(op, level); err != nil {
		return 0, 0, 0, err
	}
	if len(counts) == 0 {
		return 0, 0, 0, bad(op, "there are no draws")
	}
	for i, c := range counts {
		switch {
		case c < 1:
			return 0, 0, 0, bad(op, "count %d is %d", i, c).Fix("give the counts of outcomes that occur")
		case c == 1:
			f1++
		case c == 2:
			f2++
		}
		n += float64(c)
	}
	return n, f1, f2, nil
}

// normal returns the half-width of a two-sided interval in standard errors.
func normal(level float64) float64 { return distuv.UnitNormal.Quantile((1 + level) / 2) }
