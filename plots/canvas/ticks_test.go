package canvas

import (
	"math"
	"strings"
	"testing"
)

func labelsOf(ticks []Tick) string {
	var out []string
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return strings.Join(out, " ")
}

func TestLinearTicks(t *testing.T) {
	rows := []struct {
		name   string
		lo, hi float64
		want   int
		labels string
	}{
		{"fifths", 0, 1, 6, "0 0.2 0.4 0.6 0.8 1.0"},
		{"quarters", 0, 1, 4, "0 0.25 0.50 0.75 1.00"},
		{"512 without decimals", 0, 512, 5, "0 100 200 300 400 500"},
		{"2.7 with one", 0, 2.7, 5, "0 0.5 1.0 1.5 2.0 2.5"},
		{"thousands take a letter", 0, 50000, 5, "0 10k 20k 30k 40k 50k"},
		{"millions with a half", 0, 2.5e6, 5, "0 0.5M 1.0M 1.5M 2.0M 2.5M"},
		{"across zero", -0.4, 0.4, 4, "−0.4 −0.2 0 0.2 0.4"},
		{"negative", -30, -10, 3, "−30 −20 −10"},
		{"tiny", 0, 3e-9, 3, "0 1e-9 2e-9 3e-9"},
		{"small steps", 0, 1.2e-4, 3, "0 5e-5 1e-4"},
		{"far from zero", 1000.1, 1000.4, 3, "1000.1 1000.2 1000.3 1000.4"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := labelsOf(LinearTicks(r.lo, r.hi, r.want)); got != r.labels {
				t.Errorf("got %q, want %q", got, r.labels)
			}
		})
	}
}

func TestLogTicks(t *testing.T) {
	rows := []struct {
		name   string
		lo, hi float64 // values
		want   int
		labels string
	}{
		{"decades", 1, 1000, 4, "1 10 100 1k"},
		{"a vocabulary", 1, 262144, 6, "1 10 100 1k 10k 100k"},
		{"many decades", 1e-12, 1, 4, "1e-12 1e-9 1e-6 0.001 1"},
		{"one decade and a bit", 1, 20, 4, "1 2 5 10 20"},
		{"inside one decade", 3, 9, 4, "4 6 8"},
		{"FR-44: 0.30 to 0.35", 0.30, 0.35, 5, "0.30 0.31 0.32 0.33 0.34 0.35"},
		{"both sides of one", 0.5, 2, 3, "0.5 1 2"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := labelsOf(LogTicks(math.Log10(r.lo), math.Log10(r.hi), r.want)); got != r.labels {
				t.Errorf("got %q, want %q", got, r.labels)
			}
		})
	}
}

func TestTicksOfHopelessRanges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, r := range [][2]float64{{nan, 1}, {0, nan}, {nan, nan}, {0, inf}, {-inf, 0}, {1, 1}, {2, 1}, {1, 1 + 1e-16}, {-math.MaxFloat64, math.MaxFloat64}} {
		if got := LinearTicks(r[0], r[1], 5); got != nil {
			t.Errorf("linear %v: %v", r, got)
		}
		if got := LogTicks(r[0], r[1], 5); got != nil {
			t.Errorf("log %v: %v", r, got)
		}
	}
}

// checkTicks asserts the laws of any axis: at least two labels, all different,
// ticks in order and inside the range.
func checkTicks(t *testing.T, ticks []Tick, lo, hi float64) {
	t.Helper()
	seen := map[string]bool{}
	slack := 1e-6 * (hi - lo) // of the range, far below a pixel
	for i, k := range ticks {
		if !(k.At >= lo-slack && k.At <= hi+slack) {
			t.Errorf("[%g, %g]: a tick at %g", lo, hi, k.At)
		}
		if i > 0 && !(k.At > ticks[i-1].At) {
			t.Errorf("[%g, %g]: ticks out of order at %g", lo, hi, k.At)
		}
		if k.Label != "" && seen[k.Label] {
			t.Errorf("[%g, %g]: label %q twice", lo, hi, k.Label)
		}
		seen[k.Label] = true
	}
	if n := labelled(ticks); n < 2 || n > 24 {
		t.Errorf("[%g, %g]: %d labels %q", lo, hi, n, labelsOf(ticks))
	}
}

func FuzzTicks(f *testing.F) {
	f.Add(0.0, 1.0, 5)
	f.Add(-3e-7, 4.5e12, 2)
	f.Add(123456.0, 0.001, 6)
	f.Add(0.47, 0.05, 3)
	f.Fuzz(func(t *testing.T, lo, width float64, want int) {
		hi := lo + math.Abs(width)
		want = 2 + int(uint(want)%5)
		// Ranges narrower than a 1e-10 of their numbers have labels too long to
		// tell apart; axes pad such ranges.
		if ok := usable(lo, hi) && hi-lo > 1e-10*math.Max(math.Abs(lo), math.Abs(hi)) && math.Abs(lo) < 1e200 && math.Abs(hi) < 1e200 && hi-lo > 1e-200; !ok {
			return
		}
		checkTicks(t, LinearTicks(lo, hi, want), lo, hi)
		if lo > -250 && hi < 250 && hi-lo > 1e-6 {
			checkTicks(t, LogTicks(lo, hi, want), lo, hi)
		}
	})
}

func TestAxisFitPads(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := []struct {
		name   string
		axis   Axis
		values []float64
		lo, hi float64
		ok     bool
	}{
		{"range", Axis{}, []float64{3, 1, 2}, 1, 3, true},
		{"all equal", Axis{}, []float64{4, 4}, 3.8, 4.2, true},
		{"all zero", Axis{}, []float64{0}, -1, 1, true},
		{"all equal on a log axis", Axis{Log: true}, []float64{10}, 0.5, 1.5, true},
		{"undefined values do not count", Axis{}, []float64{nan, inf, 1, 2, -inf}, 1, 2, true},
		{"zero and negative on a log axis do not count", Axis{Log: true}, []float64{0, -1, 1, 100}, 0, 2, true},
		{"nothing", Axis{Min: 5, Max: 6}, []float64{nan}, 5, 6, false},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ok := r.axis.Fit(r.values...)
			if ok != r.ok || !(math.Abs(r.axis.Min-r.lo) <= 1e-12) || !(math.Abs(r.axis.Max-r.hi) <= 1e-12) { // one rounding
				t.Errorf("got %v, %g to %g", ok, r.axis.Min, r.axis.Max)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	rows := []struct{ got, want string }{
		{Number(0), "0"}, {Number(0.25), "0.25"}, {Number(-1.5), "−1.5"}, {Number(1000), "1k"}, {Number(262144), "262.144k"},
		{Number(1e-9), "1e-9"}, {Number(2.5e-10), "2.5e-10"}, {Number(1e15), "1e15"}, {Number(math.NaN()), "undefined"},
		{Number(math.Inf(1)), "∞"}, {Number(math.Inf(-1)), "−∞"},
		{Significant(0.123456, 2), "0.12"}, {Significant(1234.5, 3), "1.23k"}, {Significant(0, 2), "0"},
		{Digits(0.4, 2), "0.40"}, {Digits(0.0049, 2), "0.0049"}, {Digits(3e-5, 2), "3.0e-5"}, {Digits(1.1, 3), "1.10"}, {Digits(12.34, 2), "12"}, {Digits(1234, 2), "1.2k"},
		{Digits(0.999, 2), "1.0"},
		{Count(7), "7"}, {Count(1234), "1,234"}, {Count(262144), "262,144"}, {Count(-1234567), "−1,234,567"},
		{Fraction(0), "0"}, {Fraction(1), "1"}, {Fraction(0.5), "0.50"}, {Fraction(0.9999), "0.9999"}, {Fraction(0.996), "0.996"}, {Fraction(math.Nextafter(1, 0)), "<1"}, {Fraction(1e-12), "1.0e-12"},
		{Percent(0), "0\u00a0%"}, {Percent(1), "100\u00a0%"}, {Percent(0.77), "77\u00a0%"}, {Percent(0.9996), "99.96\u00a0%"}, {Percent(0.031), "3.1\u00a0%"}, {Percent(0.0004), "0.04\u00a0%"},
	}
	for _, r := range rows {
		if r.got != r.want {
			t.Errorf("got %q, want %q", r.got, r.want)
		}
	}
}
