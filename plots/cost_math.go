package plots

import (
	"math"
	"slices"
	"time"

	"lab/core/fault"
	"lab/plots/canvas"
)

// meets returns the x at which y first reaches a level, with y interpolated
// between neighbours along the logarithm of both (exact for a power of x):
// −Inf when it is there at the first point already, +Inf when it never is.
// Undefined points are passed over; without a point the result is NaN.
func meets(x, y []float64, level float64) float64 {
	if !defined(level) {
		return math.NaN()
	}
	last := -1
	for k := range x {
		if !defined(x[k]) || !defined(y[k]) || x[k] <= 0 || y[k] <= 0 {
			continue
		}
		if y[k] >= level {
			switch {
			case y[k] == level:
				return x[k]
			case last < 0:
				return math.Inf(-1)
			}
			return interpolate(y[last], x[last], y[k], x[k], level)
		}
		last = k
	}
	if last < 0 {
		return math.NaN()
	}
	return math.Inf(1)
}

// valueAt returns y at x by interpolation along the logarithm of both; NaN
// outside the points and next to an undefined one.
func valueAt(x, y []float64, at float64) float64 {
	for k := range x {
		switch {
		case x[k] == at:
			return y[k]
		case k > 0 && x[k-1] < at && at < x[k]:
			if x[k-1] <= 0 || y[k-1] <= 0 || y[k] <= 0 {
				return y[k-1] + (y[k]-y[k-1])*(at-x[k-1])/(x[k]-x[k-1])
			}
			return interpolate(x[k-1], y[k-1], x[k], y[k], at)
		}
	}
	return math.NaN()
}

// interpolate returns the value at `at` on the power law through (a, va) and
// (b, vb), all above zero.
func interpolate(a, va, b, vb, at float64) float64 {
	if a == b {
		return vb
	}
	t := math.Log(at/a) / math.Log(b/a)
	return va * math.Exp(t*math.Log(vb/va))
}

// lowest returns the index of the smallest defined value, the first on ties;
// −1 without any.
func lowest(v []float64) int {
	at := -1
	for k, y := range v {
		if defined(y) && (at < 0 || y < v[at]) {
			at = k
		}
	}
	return at
}

// tradeOff is a point of a trade-off: less of Cost and more of Gain is better.
type tradeOff struct {
	Cost, Gain    float64
	series, point int
}

// front returns which points no other one beats: a point is dominated when
// another one costs no more and gains no less, and is better in one of the two.
// Undefined points are dominated. Equal points do not dominate each other.
func front(points []tradeOff) []bool {
	order := make([]int, 0, len(points))
	for i, p := range points {
		if defined(p.Cost) && defined(p.Gain) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := compareFloats(points[a].Cost, points[b].Cost); c != 0 {
			return c
		}
		return compareFloats(points[b].Gain, points[a].Gain)
	})
	out := make([]bool, len(points))
	best := -1 // the last point on the front
	for _, i := range order {
		p := points[i]
		if best < 0 || p.Gain > points[best].Gain || p.Gain == points[best].Gain && p.Cost == points[best].Cost {
			out[i] = true
			best = i
		}
	}
	return out
}

const dateForm = "2006-01-02"

// day reads a date; "" is none.
func day(figure, what, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(dateForm, s)
	if err != nil {
		return t, fault.New(fault.Usage, "figure "+figure, what, "%s is no date", fault.Quote(s, 40)).Fix("write it as in 2026-12-31")
	}
	return t, nil
}

// dateAfter returns the date that many days after a start, "" when it is far
// beyond any plan.
func dateAfter(start time.Time, days float64) string {
	const most = 365 * 200
	if start.IsZero() || !(days >= 0 && days <= most) {
		return ""
	}
	return start.Add(time.Duration(days * 24 * float64(time.Hour))).Format("2 Jan 2006")
}

// sortBy sorts indices by a key, ties as they were.
func sortBy(list []int, key func(int) float64) {
	slices.SortStableFunc(list, func(a, b int) int { return compareFloats(key(a), key(b)) })
}

// daysWords returns a number of days: "268 days", "0.4 days".
func daysWords(days float64) string {
	if days < 10 || days > 1e9 {
		return canvas.Significant(days, 2) + " days"
	}
	return canvas.Count(int(math.Round(days))) + " days"
}
