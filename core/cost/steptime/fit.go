package steptime

import (
	"math"
	"math/rand/v2"
	"slices"

	"lab/core/fault"
)

const op = "step time"

// Point is one measured call: a decode step of Batch sequences that hold Context
// tokens each, or the prefill of Context tokens.
type Point struct {
	Context int
	Batch   int
	Seconds float64
	// What the call does, as the backend counts it.
	Weights float64 // a step moves with nothing held
	Linear  float64 // of that step; of a prefill all
	Cache   float64 // moved beyond that
	// Attention is the operations beyond Linear. No term is of them, as the cache's
	// is of the same positions; they are carried for floors.
	Attention float64
}

// Term is one constant of a fit.
type Term struct {
	// Name is "weights", "arithmetic", "cache", "step" or "row"; Unit what
	// SecondsPer is of: byte, FLOP, token, step, row.
	Name       string  `json:"name"`
	Unit       string  `json:"unit"`
	SecondsPer float64 `json:"seconds_per_unit"`
	Lo         float64 `json:"lo"` // the interval at Fitted.Level
	Hi         float64 `json:"hi"`
	// PerSecond is 1/SecondsPer: a bandwidth or a rate; nil when the constant is 0.
	PerSecond *float64 `json:"per_second,omitempty"`
	// Holds are the terms that the points cannot tell from this one: their time is
	// in it, so that PerSecond is a lower bound.
	Holds []string `json:"holds,omitempty"`
}

// Residual is a point beside the fit.
type Residual struct {
	Point
	Fitted float64 // seconds
	Ratio  float64 // measured over fitted
}

// Fitted is a fit.
type Fitted struct {
	Form      string     `json:"form"` // "sum" or "split"
	Terms     []Term     `json:"terms"`
	Level     float64    `json:"level"`
	Residuals []Residual `json:"-"` // in the order of the points
	// Of |measured/fitted - 1| over the points.
	MedianResidual float64 `json:"median_residual"`
	MostResidual   float64 `json:"max_residual"`

	prefill bool
	columns []column
	draws   [][]float64 // constants of the bootstrap, one list a draw
}

// Options say how a fit is made; the zero value will do.
type Options struct {
	Form  string // "sum" or "split"; "": whichever explains the points better
	Level float64
	Seed  uint64 // of the intervals
	// Prefill leaves the terms arithmetic and step, and cache where there are points
	// enough to see it. There is one form then.
	Prefill bool
	// Uncounted is set when the backend counts nothing: Cache is then tokens held
	// by all sequences, and Linear of a prefill its tokens.
	Uncounted bool
}

// Draws of the bootstrap.
const draws = 400

// Fit fits the constants to points of one phase. Lists that are too short for
// the constants that they can tell apart, times of 0 and counts below 0 are usage
// errors. The intervals, at level 0.9 unless said, are percentiles of a wild
// bootstrap (Wu 1986, with the signs of Davidson and Flachaire 2008) under the form
// of the fit: they say what the scatter of the points is worth, not
// how another day would be.
func Fit(points []Point, opt Options) (*Fitted, error) {
	if opt.Level == 0 {
		opt.Level = 0.9
	}
	if err := check(points, opt); err != nil {
		return nil, err
	}
	var best *candidate
	for _, c := range candidates(points, opt) {
		if c.fit(points) && (best == nil || c.score < best.score) {
			best = c
		}
	}
	if best == nil {
		return nil, fault.New(fault.Usage, op, "", "%d points are too few for its constants", len(points)).
			Fix("measure at least two contexts and two batches")
	}
	f := &Fitted{Form: best.form, Level: opt.Level, prefill: opt.Prefill, columns: best.columns}
	var apart []float64
	for i, p := range points {
		ratio := p.Seconds / best.modelled[i]
		f.Residuals = append(f.Residuals, Residual{p, best.modelled[i], ratio})
		apart = append(apart, math.Abs(ratio-1))
	}
	f.MedianResidual, f.MostResidual = median(apart), slices.Max(apart)
	f.draws = best.bootstrap(points, opt.Seed)
	for j, c := range best.columns {
		t := Term{Name: c.name, Unit: c.unit(opt), SecondsPer: best.x[j], Holds: c.holds}
		one := make([]float64, len(f.draws))
		for i := range f.draws {
			one[i] = f.draws[i][j]
		}
		t.Lo, t.Hi = interval(one, opt.Level)
		if t.SecondsPer > 0 {
			rate := 1 / t.SecondsPer
			t.PerSecond = &rate
		}
		f.Terms = append(f.Terms, t)
	}
	return f, nil
}

func check(points []Point, opt Options) error {
	bad := func(format string, args ...any) error { return fault.New(fault.Usage, op, "", format, args...) }
	if !(opt.Level > 0 && opt.Level < 1) {
		return bad("level = %g is outside (0, 1)", opt.Level)
	}
	if forms := []string{"", "sum", "split"}; !slices.Contains(forms, opt.Form) {
		return fault.Unknown(op, "form", opt.Form, forms[1:])
	}
	for i, p := range points {
		switch {
		case !(p.Seconds > 0) || math.IsInf(p.Seconds, 0):
			return bad("point %d took %g seconds", i+1, p.Seconds)
		case p.Context < 0 || p.Batch < 1:
			return bad("point %d has a context of %d and a batch of %d", i+1, p.Context, p.Batch)
		}
		for _, x := range []float64{p.Weights, p.Linear, p.Cache, p.Attention} {
			if !(x >= 0) || math.IsInf(x, 0) {
				return bad("point %d has a count of %g", i+1, x)
			}
		}
	}
	return nil
}

// candidate is a form with its columns.
type candidate struct {
	form    string
	columns []column

	x        []float64 // constants
	modelled []float64
	huber    []float64 // weights of the points
	bound    float64   // residuals above it count less
	score    float64   // AICc, small is good
}

// matrix returns the columns' values at the points.
func (c *candidate) matrix(points []Point) [][]float64 {
	a := make([][]float64, len(c.columns))
	for j := range a {
		a[j] = make([]float64, len(points))
		for i := range points {
			a[j][i] = c.columns[j].at(&points[i])
		}
	}
	return a
}

// fit finds the constants; false when there are too few points.
func (c *candidate) fit(points []Point) bool {
	n, p := len(points), len(c.columns)
	if p == 0 || n <= p {
		return false
	}
	a := c.matrix(points)
	spread := make([]float64, n) // what a residual is a share of
	for i := range points {
		spread[i] = points[i].Seconds
	}
	c.huber = slices.Repeat([]float64{1}, n)
	y := make([]float64, n)
	for i := range points {
		y[i] = points[i].Seconds
	}
	apart := make([]float64, n)
	for range 50 {
		before := c.x
		c.x = solve(a, y, spread, c.huber)
		c.modelled = predictAll(c.columns, c.x, points)
		for i, m := range c.modelled {
			if !(m > 0) {
				return false
			}
			spread[i], apart[i] = m, math.Abs(y[i]/m-1)
		}
		// Scale and constant of Huber's proposal: 95 % efficient for normal errors.
		c.bound = 1.345 * 1.4826 * median(apart)
		weigh(c.huber, apart, c.bound)
		if before != nil && near(before, c.x) {
			break
		}
	}
	loss := 0.0
	for i, r := range apart {
		loss += c.huber[i] * r * r
	}
	k := float64(p)
	c.score = float64(n)*math.Log(loss/float64(n)+1e-24) + 2*k
	if rest := float64(n) - k - 1; rest > 0 {
		c.score += 2 * k * (k + 1) / rest
	} else {
		c.score = math.MaxFloat64 // only when there is nothing else
	}
	return true
}

// weigh sets Huber's weights of residuals.
func weigh(huber, apart []float64, bound float64) {
	for i, r := range apart {
		huber[i] = 1
		if r > bound && bound > 0 {
			huber[i] = bound / r
		}
	}
}

func near(a, b []float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-9*math.Abs(b[i]) {
			return false
		}
	}
	return true
}

// solve returns the constants of a weighted fit.
func solve(a [][]float64, y, spread, huber []float64) []float64 {
	scaled := make([][]float64, len(a))
	target := make([]float64, len(y))
	for i := range y {
		target[i] = math.Sqrt(huber[i]) * y[i] / spread[i]
	}
	for j := range a {
		scaled[j] = make([]float64, len(y))
		for i := range y {
			scaled[j][i] = math.Sqrt(huber[i]) * a[j][i] / spread[i]
		}
	}
	return nonNegative(scaled, target)
}

// bootstrap returns the constants of fits to points whose residuals have random
// signs. A residual is grown by 1/(1-h), h being the point's leverage, since the fit
// bends towards points that stand alone (HC3, MacKinnon and White 1985).
func (c *candidate) bootstrap(points []Point, seed uint64) [][]float64 {
	n := len(points)
	a := c.matrix(points)
	h := c.leverage(a)
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	out, y := make([][]float64, draws), make([]float64, n)
	for d := range out {
		for i := range points {
			r := (points[i].Seconds/c.modelled[i] - 1) / max(1-h[i], 0.1)
			if rng.Uint64()&1 == 0 {
				r = -r
			}
			y[i] = c.modelled[i] * (1 + r)
		}
		out[d] = c.refit(a, y)
	}
	return out
}

// refit is the fit to other times at the scale of this one.
func (c *candidate) refit(a [][]float64, y []float64) []float64 {
	x, huber, apart := c.x, make([]float64, len(y)), make([]float64, len(y))
	for range 4 {
		for i := range y {
			m := 0.0
			for j := range x {
				m += x[j] * a[j][i]
			}
			apart[i] = math.Abs(y[i]-m) / c.modelled[i]
		}
		weigh(huber, apart, c.bound)
		x = solve(a, y, c.modelled, huber)
	}
	return x
}

// leverage returns how much of its own fitted value each point decides, of the
// constants that are not 0.
func (c *candidate) leverage(a [][]float64) []float64 {
	n := len(c.modelled)
	var columns [][]float64
	for j, x := range c.x {
		if x > 0 {
			column := make([]float64, n)
			for i := range column {
				column[i] = math.Sqrt(c.huber[i]) * a[j][i] / c.modelled[i]
			}
			columns = append(columns, column)
		}
	}
	h := make([]float64, n)
	for _, q := range orthonormal(columns) {
		for i := range q {
			h[i] += q[i] * q[i]
		}
	}
	return h
}

// interval returns the percentiles that leave out equal shares at both ends.
func interval(x []float64, level float64) (lo, hi float64) {
	sorted := slices.Sorted(slices.Values(x))
	at := func(q float64) float64 {
		h := q * float64(len(sorted)-1)
		i := int(h)
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
	}
	return at((1 - level) / 2), at((1 + level) / 2)
}

func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
