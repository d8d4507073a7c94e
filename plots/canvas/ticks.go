package canvas

import (
	"math"
	"strconv"
	"strings"
)

// Tick is a mark on an axis, in the axis's own coordinate (log10 of the value on
// a log axis). A tick without a label is a minor one.
type Tick struct {
	At    float64
	Label string
	// Second is a second line below Label, on a vertical axis alone; the ticks have
	// to be 2.2 lines apart.
	Second string
}

// usable reports whether a range can be given ticks: finite, and wider than the
// numbers can resolve.
func usable(lo, hi float64) bool {
	width := hi - lo
	return width > 0 && !math.IsInf(width, 0) && width > 8*math.Max(math.Abs(lo), math.Abs(hi))*epsilon
}

// epsilon is the distance from 1 to the next float64.
const epsilon = 0x1p-52

// LinearTicks returns labelled ticks at steps of 1, 2, 2.5 or 5 times a power of
// ten inside [lo, hi], about want of them and never fewer than two, with the
// fewest decimals that tell them apart; thousands and up carry an SI letter. A
// range that is empty, not finite or too narrow for its numbers gives nil.
func LinearTicks(lo, hi float64, want int) []Tick {
	if !usable(lo, hi) {
		return nil
	}
	want = max(want, 2)
	best, bestScore := 0.0, math.Inf(1)
	exp := int(math.Floor(math.Log10((hi - lo) / float64(want))))
	for e := exp - 1; e <= exp+1; e++ {
		for _, m := range []float64{1, 2, 2.5, 5} {
			step := times10(m, e)
			n := count(lo, hi, step)
			if score := math.Abs(float64(n - want)); n >= 2 && score < bestScore {
				best, bestScore = step, score
			}
		}
	}
	if !(best > 0) {
		return nil
	}
	// Multiples of the step are formed by multiplication, and zero is exact.
	first := math.Ceil(lo/best - 1e-9)
	var ticks []Tick
	var values []float64
	for i := range count(lo, hi, best) {
		k := first + float64(i)
		ticks = append(ticks, Tick{At: k * best})
		values = append(values, k*best)
	}
	for i, label := range labels(values, best) {
		ticks[i].Label = label
	}
	return ticks
}

// count returns how many multiples of step lie in [lo, hi], at most 1000.
func count(lo, hi, step float64) int {
	n := math.Floor(hi/step+1e-9) - math.Ceil(lo/step-1e-9) + 1
	return int(min(max(n, 0), 1000))
}

// times10 returns m·10^e without the error of a power.
func times10(m float64, e int) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(m, 'g', -1, 64)+"e"+strconv.Itoa(e), 64)
	if err != nil {
		return 0 // outside the range of float64
	}
	return v
}

// labels writes multiples of step with a common number of decimals, and with a
// common SI letter where that is shorter. More than four decimals are harder to
// read than an exponent: 0.00002 becomes 2e-5.
func labels(values []float64, step float64) []string {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	div, letter := 1.0, ""
	for _, si := range letters() {
		if (largest >= 10*si.of || largest >= si.of && math.Mod(step, si.of/10) == 0) && decimalsOf(step/si.of) <= 4 {
			div, letter = si.of, si.letter
			break
		}
	}
	decimals := decimalsOf(step / div)
	out := make([]string, len(values))
	for i, v := range values {
		switch {
		case v == 0:
			out[i] = "0"
		case largest >= 1e15 || decimals > 4:
			out[i] = scientific(v, step)
		default:
			out[i] = minus(strconv.FormatFloat(v/div, 'f', decimals, 64)) + letter
		}
	}
	return out
}

type si struct {
	of     float64
	letter string
}

func letters() []si { return []si{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} }

// decimalsOf returns how many decimals show a multiple of step exactly, at most
// 12. step is 1, 2, 2.5 or 5 times a power of ten, up to rounding.
func decimalsOf(step float64) int {
	const rounding = 1e-6 // of the step
	for d := range 12 {
		scaled := step * math.Pow10(d)
		if whole := math.Round(scaled); whole >= 1 && math.Abs(scaled-whole) < rounding*scaled {
			return d
		}
	}
	return 12
}

func scientific(v, step float64) string {
	if v == 0 {
		return "0"
	}
	digits := max(0, int(math.Floor(math.Log10(math.Abs(v))+1e-9))-int(math.Floor(math.Log10(step)+1e-9))+1)
	return exponent(strconv.FormatFloat(v, 'e', min(digits, 15), 64))
}

// exponent shortens Go's exponent form: 1.500e-09 becomes 1.5e-9.
func exponent(s string) string {
	mantissa, exp, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	sign := ""
	if exp[0] == '-' {
		sign = "-"
	}
	exp = strings.TrimLeft(exp[1:], "0")
	if exp == "" {
		return minus(mantissa)
	}
	return minus(mantissa) + "e" + sign + exp
}

// minus writes a leading hyphen as the sign it stands for.
func minus(s string) string {
	if strings.HasPrefix(s, "-") {
		return "−" + s[1:]
	}
	return s
}

// LogTicks returns ticks for an axis whose coordinate is log10 of the value,
// from lo to hi: decades, every k-th labelled when there are many; 1, 2 and 5
// times a decade when the range holds fewer than one and a half, or than two
// decades' ticks; linear steps when even that labels fewer than two. At least two are labelled. A range that
// is empty or not finite gives nil.
func LogTicks(lo, hi float64, want int) []Tick {
	if !usable(lo, hi) || hi-lo > 600 { // float64 spans 632 decades
		return nil
	}
	want = max(want, 2)
	var ticks []Tick
	if hi-lo >= 1.5 {
		ticks = decades(lo, hi, want)
	}
	if labelled(ticks) < 2 { // fewer than two decades may lie inside
		ticks = oneTwoFive(lo, hi)
	}
	if labelled(ticks) >= 2 {
		return ticks
	}
	from, to := math.Pow(10, lo), math.Pow(10, hi)
	ticks = nil
	for _, t := range LinearTicks(from, to, want) {
		if t.At > 0 {
			ticks = append(ticks, Tick{At: math.Log10(t.At), Label: t.Label})
		}
	}
	return ticks
}

func labelled(ticks []Tick) int {
	n := 0
	for _, t := range ticks {
		if t.Label != "" {
			n++
		}
	}
	return n
}

// decades returns one tick a decade, and unlabelled ones at 2..9 when there are
// few decades.
func decades(lo, hi float64, want int) []Tick {
	first, last := int(math.Ceil(lo-1e-9)), int(math.Floor(hi+1e-9))
	every := 1
	for (last-first)/every+1 > want+2 {
		every++
	}
	if last-first < every && last > first {
		every = last - first
	}
	var ticks []Tick
	for e := first - 1; e <= last; e++ {
		if e >= first {
			t := Tick{At: float64(e)}
			if (e-first)%every == 0 {
				t.Label = power(e)
			}
			ticks = append(ticks, t)
		}
		if last-first > 6 {
			continue
		}
		for m := 2; m <= 9; m++ {
			at := float64(e) + math.Log10(float64(m))
			if at >= lo-1e-9 && at <= hi+1e-9 {
				ticks = append(ticks, Tick{At: at})
			}
		}
	}
	return ticks
}

// oneTwoFive returns labelled ticks at 1, 2 and 5 times each decade.
func oneTwoFive(lo, hi float64) []Tick {
	var ticks []Tick
	for e := int(math.Floor(lo)); e <= int(math.Ceil(hi)); e++ {
		for m := 1; m <= 9; m++ {
			at := float64(e) + math.Log10(float64(m))
			if at < lo-1e-9 || at > hi+1e-9 {
				continue
			}
			t := Tick{At: at}
			if m == 1 || m == 2 || m == 5 {
				t.Label = Number(times10(float64(m), e))
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// power returns the label of 10^e.
func power(e int) string {
	if e >= -4 && e < 15 {
		return Number(times10(1, e))
	}
	return "1e" + strconv.Itoa(e)
}
