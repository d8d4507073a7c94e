package measure

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"lab/core/fault"
)

// Welch is the t test of the means of two independent groups with unequal
// variances (Welch 1947, "The generalization of Student's problem when several
// different population variances are involved"). Groups without any spread have
// no p. At least two values each.
func Welch(a, b []float64) (Test, error) {
	se, df, err := welch("welch t", a, b)
	if err != nil {
		return Test{}, err
	}
	t := Test{Name: "welch t", N: len(a) + len(b), DF: df, Statistic: math.NaN(), P: math.NaN()}
	if se == 0 {
		t.DF, t.Note = 0, "neither group varies: the test needs their spread"
		return t, nil
	}
	t.Statistic = (mean(a) - mean(b)) / se
	t.P = tTail(t.Statistic, df)
	return t, nil
}

// WelchInterval returns mean a - mean b of independent groups with the interval
// that belongs to [Welch].
func WelchInterval(a, b []float64, level float64) (Estimate, error) {
	const op = "welch interval"
	if err := checkLevel(op, level); err != nil {
		return Estimate{}, err
	}
	se, df, err := welch(op, a, b)
	if err != nil {
		return Estimate{}, err
	}
	e := unknown(mean(a)-mean(b), len(a)+len(b), level, "welch")
	if se == 0 {
		return e.noted("neither group varies: nothing tells how far other values would lie from them"), nil
	}
	half := tQuantile((1+level)/2, df) * se
	e.Lo, e.Hi = e.Value-half, e.Value+half
	return e, nil
}

func welch(op string, a, b []float64) (se, df float64, err error) {
	if err := finite(op+": a", a, 2); err != nil {
		return 0, 0, err
	}
	if err := finite(op+": b", b, 2); err != nil {
		return 0, 0, err
	}
	if equal(a) && equal(b) {
		return 0, 0, nil
	}
	x, y := variance(a)/float64(len(a)), variance(b)/float64(len(b))
	return math.Sqrt(x + y), (x + y) * (x + y) / (x*x/float64(len(a)-1) + y*y/float64(len(b)-1)), nil
}

// tTail returns the two-sided probability of Student's t.
func tTail(t, df float64) float64 {
	return math.Min(1, 2*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-math.Abs(t)))
}

// TestGroups runs a test of independent groups by name: "welch", "mann_whitney"
// or "permutation"; resamples and seed are of the last.
func TestGroups(name string, a, b []float64, resamples int, seed uint64) (Test, error) {
	switch name {
	case "welch":
		return Welch(a, b)
	case "mann_whitney":
		return MannWhitney(a, b)
	case "permutation":
		return PermuteGroups(a, b, resamples, seed)
	}
	return Test{}, fault.Unknown("test groups", "test", name, []string{"welch", "mann_whitney", "permutation"})
}

// Holm returns p values adjusted so that rejecting those up to alpha makes any
// false rejection with probability at most alpha, whatever their dependence (Holm
// 1979, "A simple sequentially rejective multiple test procedure"). Order is kept.
func Holm(p []float64) ([]float64, error) {
	if err := probabilities("holm", p); err != nil {
		return nil, err
	}
	order, out := ascending(p), make([]float64, len(p))
	running := 0.0
	for i, at := range order {
		running = math.Max(running, math.Min(1, float64(len(p)-i)*p[at]))
		out[at] = running
	}
	return out, nil
}

// BenjaminiHochberg returns p values adjusted so that among those up to q the
// expected share of false ones is at most q, for independent or positively
// dependent tests (Benjamini and Hochberg 1995, "Controlling the false discovery
// rate"). Order is kept.
func BenjaminiHochberg(p []float64) ([]float64, error) {
	if err := probabilities("benjamini-hochberg", p); err != nil {
		return nil, err
	}
	order, out := ascending(p), make([]float64, len(p))
	running := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		running = math.Min(running, p[order[i]]*float64(len(p))/float64(i+1))
		out[order[i]] = running
	}
	return out, nil
}
