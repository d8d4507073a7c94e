package cost

import "math"

// Loss is a fit of the loss of a model of N parameters after D tokens (F24):
// L = E + A/N^α + B/D^β (Hoffmann et al. 2022). Coefficients are named, as
// published ones differ and rounding an exponent to two digits can halve a
// result; there is no default. Holds within about 10 times the sizes it was fitted
// on, for the same data and tokenizer; it overstates what far more tokens than
// usual give (Sardana et al. 2023).
type Loss struct {
	Name        string // which fit this is
	E, A, B     float64
	Alpha, Beta float64
}

func (l Loss) check(g *guard) {
	g.nonNegative("E", l.E)
	g.positive("A", l.A)
	g.positive("B", l.B)
	g.positive("alpha", l.Alpha)
	g.positive("beta", l.Beta)
}

// At returns the loss (F24), in the unit of the fit, nats per token for the published ones.
func (l Loss) At(params, tokens float64) (float64, error) {
	g := guarded("loss")
	l.check(g)
	g.positive("parameters", params)
	g.positive("tokens", tokens)
	return g.of(l.at(params, tokens))
}

func (l Loss) at(n, d float64) float64 {
	return l.E + l.A*math.Pow(n, -l.Alpha) + l.B*math.Pow(d, -l.Beta)
}

// Point is a size and a number of training tokens.
type Point struct{ Params, Tokens float64 }

// Optimum returns the size and tokens of the least loss for compute FLOP of
// training, C = 6 N D (F25): N = G (C/6)^{β/(α+β)}, G = (αA/(βB))^{1/(α+β)}.
func (l Loss) Optimum(compute float64) (Point, error) {
	g := guarded("training optimum")
	l.check(g)
	g.positive("compute", compute)
	if g.err != nil {
		return Point{}, g.err
	}
	s := l.Alpha + l.Beta
	n := math.Pow(l.Alpha*l.A/(l.Beta*l.B), 1/s) * math.Pow(compute/6, l.Beta/s)
	p := Point{n, compute / (6 * n)}
	return p, l.whole(g, p)
}

// TokensFor returns the training tokens at which params parameters are the
// optimum (F25): α A N^−α = β B D^−β.
func (l Loss) TokensFor(params float64) (float64, error) {
	g := guarded("training optimum")
	l.check(g)
	g.positive("parameters", params)
	return g.of(math.Pow(l.Beta*l.B*math.Pow(params, l.Alpha)/(l.Alpha*l.A), 1/l.Beta))
}

// TokensAt returns the training tokens with which params parameters reach a loss
// (F24 solved for D); +Inf when so small a model never does.
func (l Loss) TokensAt(loss, params float64) (float64, error) {
	g := guarded("tokens at a loss")
	l.check(g)
	g.positive("parameters", params)
	g.finite("loss", loss)
	if g.err != nil {
		return 0, g.err
	}
	d := l.tokensAt(loss, params)
	if math.IsInf(d, 1) {
		return never, nil
	}
	return g.of(d)
}

func (l Loss) tokensAt(loss, n float64) float64 {
	left := loss - l.E - l.A*math.Pow(n, -l.Alpha)
	if !(left > 0) {
		return never
	}
	return math.Pow(l.B/left, 1/l.Beta)
}

// Lifetime returns 6 N D + 2 N Q, the FLOP of training and of Q served tokens.
func Lifetime(p Point, served float64) float64 { return 6*p.Params*p.Tokens + 2*p.Params*served }

// WithInference returns the size and training tokens that reach a loss with the
// least 6 N D + 2 N Q for Q served tokens (F26; Sardana et al. 2023): the root of
// D(N) + N D'(N) + Q/3, which rises with N from the smallest size that reaches the
// loss, (A/(loss−E))^{1/α}. Q = 0 is the training optimum.
func (l Loss) WithInference(loss, served float64) (Point, error) {
	g := guarded("optimum with inference")
	l.check(g)
	g.finite("loss", loss)
	g.nonNegative("served tokens", served)
	if g.err == nil && !(loss > l.E) {
		g.refuse("no size reaches it", "loss %g is not above the fit's limit E = %g", loss, l.E)
	}
	if g.err != nil {
		return Point{}, g.err
	}
	// The slope of the lifetime cost over N, by its sign, in x = ln N.
	rising := func(x float64) bool {
		n := math.Exp(x)
		small := l.A * math.Pow(n, -l.Alpha)
		left := loss - l.E - small
		if !(left > 0) {
			return false
		}
		d := math.Pow(l.B/left, 1/l.Beta)
		return d*(1-l.Alpha*small/(l.Beta*left))+served/3 > 0
	}
	lo := math.Log(l.A/(loss-l.E)) / l.Alpha
	step := 1.0
	for ; !rising(lo + step); step *= 2 {
		if step > 1e3 {
			g.refuse("check the coefficients", "no size has the least cost")
			return Point{}, g.err
		}
	}
	hi := lo + step
	for range 200 { // halves to the last bit long before
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if rising(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	n := math.Exp(hi)
	p := Point{n, l.tokensAt(loss, n)}
	return p, l.whole(g, p)
}

// whole refuses a point beyond what a float64 holds.
func (l Loss) whole(g *guard, p Point) error {
	g.positive("the optimum's size", p.Params)
	g.positive("the optimum's tokens", p.Tokens)
	return g.result()
}
