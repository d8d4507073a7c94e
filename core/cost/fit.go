package cost

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Line is a least-squares line of seconds per token over the context (F11). The
// intercept is what does not grow with the context, weights/(n W η_w) and t0
// together; the slope is what one token of cache costs, kv/(n W η_k). The two
// efficiencies are different numbers, and one line of one batch cannot part
// weights from t0.
type Line struct {
	Intercept   float64 // seconds
	Slope       float64 // seconds per token of context
	InterceptLo float64 // ends of the interval at Level; NaN with two points
	InterceptHi float64
	SlopeLo     float64
	SlopeHi     float64
	Level       float64
	N           int
	Min, Max    float64 // contexts that were measured
	// MedianResidual is the median of |measured − fitted|/measured.
	MedianResidual float64

	mean, sxx, sd, quantile float64
}

// FitLine fits seconds per token to contexts by ordinary least squares, with
// intervals of Student's t at n−2 degrees of freedom. At least two different
// contexts; with exactly two points the line is exact and has no interval. level is
// in (0, 1), such as 0.95.
func FitLine(context, seconds []float64, level float64) (Line, error) {
	g := guarded("fit")
	if len(context) != len(seconds) {
		g.refuse("give one time for each context", "%d contexts and %d times", len(context), len(seconds))
	}
	if len(context) < 2 {
		g.refuse("measure at two contexts or more", "%d points were given", len(context))
	}
	if !(level > 0 && level < 1) {
		g.refuse("", "level = %g is outside (0, 1)", level)
	}
	if g.err != nil {
		return Line{}, g.err
	}
	l := Line{Level: level, N: len(context), Min: context[0], Max: context[0]}
	for i, c := range context {
		g.nonNegative("context", c)
		g.positive("seconds per token", seconds[i])
		l.Min, l.Max = min(l.Min, c), max(l.Max, c)
	}
	if l.Min == l.Max {
		g.refuse("measure at two contexts or more", "every context is %g", l.Min)
	}
	if g.err != nil {
		return Line{}, g.err
	}
	l.Intercept, l.Slope = stat.LinearRegression(context, seconds, nil, false)
	g.finite("intercept", l.Intercept)
	g.finite("slope", l.Slope)
	if g.err != nil {
		return Line{}, g.err
	}
	l.mean = stat.Mean(context, nil)
	rss, n := 0.0, float64(l.N)
	residuals := make([]float64, l.N)
	for i, c := range context {
		r := seconds[i] - l.Intercept - l.Slope*c
		rss += r * r
		l.sxx += (c - l.mean) * (c - l.mean)
		residuals[i] = math.Abs(r) / seconds[i]
	}
	l.MedianResidual = median(residuals)
	l.InterceptLo, l.InterceptHi, l.SlopeLo, l.SlopeHi = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	l.sd, l.quantile = math.NaN(), math.NaN()
	if l.N > 2 {
		l.sd = math.Sqrt(rss / (n - 2))
		l.quantile = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 2}.Quantile((1 + level) / 2)
		slope := l.quantile * l.sd / math.Sqrt(l.sxx)
		intercept := l.quantile * l.sd * math.Sqrt(1/n+l.mean*l.mean/l.sxx)
		l.SlopeLo, l.SlopeHi = l.Slope-slope, l.Slope+slope
		l.InterceptLo, l.InterceptHi = l.Intercept-intercept, l.Intercept+intercept
	}
	return l, nil
}

// At is the seconds per token that a line says at a context.
type At struct {
	Seconds      float64
	Lo, Hi       float64 // interval of the line, not of one measurement; NaN with two points
	Extrapolated bool    // the context was not within those measured: show it apart
}

// At returns the line at a context of that many tokens.
func (l Line) At(context float64) (At, error) {
	g := guarded("fit")
	g.nonNegative("context", context)
	if g.err != nil {
		return At{}, g.err
	}
	y := l.Intercept + l.Slope*context
	half := l.quantile * l.sd * math.Sqrt(1/float64(l.N)+(context-l.mean)*(context-l.mean)/l.sxx)
	return At{Seconds: y, Lo: y - half, Hi: y + half, Extrapolated: context < l.Min || context > l.Max}, nil
}

// Bandwidths returns what the line says of the memory (F11): weights read over
// the intercept, in bytes/s, which is a floor as t0 is in it; and cache bytes per
// token over the slope. A line that does not rise has no cache bandwidth: +Inf.
func (l Line) Bandwidths(weightBytes, cachePerToken float64) (weights, cache float64, err error) {
	g := guarded("fit")
	g.positive("weight bytes", weightBytes)
	g.positive("cache bytes per token", cachePerToken)
	if !(l.Intercept > 0) {
		g.refuse("measure at smaller contexts too", "the line meets context 0 at %g s", l.Intercept)
	}
	if g.err != nil {
		return 0, 0, g.err
	}
	cache = never
	if l.Slope > 0 {
		cache = cachePerToken / l.Slope
	}
	return weightBytes / l.Intercept, cache, nil
}

// median returns the median and orders v.
func median(v []float64) float64 {
	order(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
