package cost

import (
	"math"
	"sort"

	"lab/core/seed"
)

// Uncertain is a number that is not known exactly. Make one with [Known],
// [Range] or [LogNormal].
type Uncertain struct {
	// Median is the middle; Lo and Hi are the 5 and 95% points, equal to it when
	// the number is known.
	Median, Lo, Hi float64
	uniform        bool // log-uniform between Lo and Hi: an interval without a middle
}

// Known returns a number that is exact.
func Known(v float64) Uncertain { return Uncertain{Median: v, Lo: v, Hi: v} }

// Range returns a number somewhere between lo and hi, 0 < lo ≤ hi: log-uniform,
// with the geometric mean as its median. Its 5 and 95% points lie inside.
func Range(lo, hi float64) (Uncertain, error) {
	g := guarded("interval")
	g.positive("lower end", lo)
	g.positive("upper end", hi)
	if hi < lo {
		g.refuse("put the smaller end first", "the interval [%g, %g] is empty", lo, hi)
	}
	return Uncertain{Median: math.Sqrt(lo) * math.Sqrt(hi), Lo: lo, Hi: hi, uniform: lo != hi}, g.result()
}

// LogNormal returns a number with that median and those 5 and 95% points,
// 0 < lo ≤ median ≤ hi: log-normal on either side of the median, each side with its own
// spread (a two-piece log-normal; one log-normal when hi/median = median/lo).
func LogNormal(median, lo, hi float64) (Uncertain, error) {
	g := guarded("interval")
	g.positive("lower end", lo)
	g.positive("median", median)
	g.positive("upper end", hi)
	if !(lo <= median && median <= hi) {
		g.refuse("order them as lo, median, hi", "the median %g is outside [%g, %g]", median, lo, hi)
	}
	return Uncertain{Median: median, Lo: lo, Hi: hi}, g.result()
}

// IsKnown reports whether the number is exact.
func (u Uncertain) IsKnown() bool { return u.Lo == u.Hi }

// Quantile returns the value below which the number lies with the chance p, in (0, 1).
func (u Uncertain) Quantile(p float64) float64 {
	switch {
	case u.IsKnown():
		return u.Median
	case u.uniform:
		return u.Lo * math.Pow(u.Hi/u.Lo, p)
	case p < 0.5:
		return u.Median * math.Pow(u.Median/u.Lo, normal(p)/normal(0.95))
	}
	return u.Median * math.Pow(u.Hi/u.Median, normal(p)/normal(0.95))
}

// normal returns the quantile of the standard normal distribution.
func normal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Product is a product of independent log-normal factors.
type Product struct {
	Median   float64
	GSD      float64 // geometric standard deviation, exp of the deviation of the logarithm
	P05, P95 float64
	Mean     float64 // above the median; a plot must say which it shows
}

// LogNormalProduct returns the product of independent log-normal factors with
// those medians and geometric standard deviations, each at least 1 (F33): medians multiply and
// log-variances add. Utilisation and batch are not independent: draw those
// together with [MonteCarlo].
func LogNormalProduct(medians, gsd []float64) (Product, error) {
	g := guarded("product")
	if len(medians) != len(gsd) || len(medians) == 0 {
		g.refuse("give one deviation for each median", "%d medians and %d deviations", len(medians), len(gsd))
		return Product{}, g.err
	}
	m, v := 1.0, 0.0
	for i := range medians {
		g.positive("median", medians[i])
		if !(gsd[i] >= 1) || math.IsInf(gsd[i], 0) {
			g.refuse("1 is a factor that is known exactly", "geometric standard deviation %g is below 1 or not finite", gsd[i])
		}
		m *= medians[i]
		v += math.Log(gsd[i]) * math.Log(gsd[i])
	}
	if g.err != nil {
		return Product{}, g.err
	}
	s := math.Sqrt(v)
	z := normal(0.95)
	return Product{Median: m, GSD: math.Exp(s), P05: m * math.Exp(-z*s), P95: m * math.Exp(z*s), Mean: m * math.Exp(v/2)}, nil
}

// Spread is what a Monte Carlo found: quantiles with their own errors.
type Spread struct {
	Median, P05, P95       float64 // +Inf where it is never
	MedianSE, P05SE, P95SE float64 // standard errors; NaN where the quantile is not finite
	Never                  float64 // share of draws that were +Inf
	N                      int
}

// MonteCarlo draws n points of independent inputs and returns the spread of
// f (F33). Draw i of input j is a function of (seed, i, j) only (core/seed), so equal
// seeds give equal bits and one input more changes no other's draws. f may return +Inf for
// never; NaN or an error stops. n is from 100 to 10^6.
func MonteCarlo(inputs []Uncertain, n int, run uint64, f func([]float64) (float64, error)) (Spread, error) {
	g := guarded("Monte Carlo")
	if n < 100 || n > 1e6 {
		g.refuse("draw from 100 to 1000000 times", "%d draws", n)
	}
	if g.err != nil {
		return Spread{}, g.err
	}
	stream, lane := seed.New(run, []byte("cost")), seed.Lane("cost", 0)
	x, u, values := make([]float64, len(inputs)), [1]float64{}, make([]float64, n)
	for i := range values {
		for j := range inputs {
			stream.Uniforms(u[:], uint64(i), uint64(j), lane)
			x[j] = inputs[j].Quantile(min(max(u[0], 1.0/(1<<53)), 1-1.0/(1<<53)))
		}
		v, err := f(x)
		if err != nil {
			return Spread{}, err
		}
		if math.IsNaN(v) {
			g.refuse("", "draw %d gives no number", i)
			return Spread{}, g.err
		}
		values[i] = v
	}
	order(values)
	s := Spread{N: n, Median: quantile(values, 0.5), P05: quantile(values, 0.05), P95: quantile(values, 0.95)}
	s.MedianSE, s.P05SE, s.P95SE = quantileSE(values, 0.5), quantileSE(values, 0.05), quantileSE(values, 0.95)
	for i := n; i > 0 && math.IsInf(values[i-1], 1); i-- {
		s.Never += 1 / float64(n)
	}
	return s, nil
}

func order(v []float64) { sort.Float64s(v) }

// quantile returns the p-quantile of ordered values: linear between order
// statistics (Hyndman and Fan 1996, type 7); an infinite neighbour makes it infinite
// unless it has no weight.
func quantile(v []float64, p float64) float64 {
	at := p * float64(len(v)-1)
	i := int(at)
	w := at - float64(i)
	if w == 0 || i+1 >= len(v) || v[i] == v[i+1] {
		return v[i]
	}
	return v[i] + w*(v[i+1]-v[i])
}

// QuantileSE returns the standard error of the p-quantile of n draws (F33):
// √(p(1−p)/n)/density, with the density there.
func QuantileSE(p float64, n int, density float64) (float64, error) {
	g := guarded("error of a quantile")
	if !(p > 0 && p < 1) {
		g.refuse("", "p = %g is outside (0, 1)", p)
	}
	g.atLeast("n", int64(n), 1)
	g.positive("density", density)
	return g.of(math.Sqrt(p*(1-p)/float64(n)) / density)
}

// quantileSE is QuantileSE with 1/density from the spacing of the order
// statistics √n ranks to either side (Siddiqui 1960).
func quantileSE(v []float64, p float64) float64 {
	n := float64(len(v))
	h := max(1/n, math.Min(math.Sqrt(1/n), math.Min(p, 1-p)/2))
	sparsity := (quantile(v, min(1, p+h)) - quantile(v, max(0, p-h))) / (2 * h)
	if math.IsInf(sparsity, 0) || math.IsNaN(sparsity) {
		return math.NaN()
	}
	return math.Sqrt(p*(1-p)/n) * sparsity
}
