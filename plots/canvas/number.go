package canvas

import (
	"math"
	"strconv"
	"strings"
)

// Number returns v in the shortest form that keeps it: plain decimals between
// 1e-4 and 1000, an SI letter from 1000 to below 1e15, an exponent outside. NaN
// is "undefined" and infinities are "∞" and "−∞".
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "undefined"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	a := math.Abs(v)
	if a != 0 && (a < 1e-4 || a >= 1e15) {
		return exponent(strconv.FormatFloat(v, 'e', -1, 64))
	}
	for _, s := range letters() {
		if a >= s.of {
			return minus(strconv.FormatFloat(v/s.of, 'f', -1, 64)) + s.letter
		}
	}
	return minus(strconv.FormatFloat(v, 'f', -1, 64))
}

// Significant returns v rounded to n significant digits, written as [Number]
// does.
func Significant(v float64, n int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return Number(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', max(n, 1)-1, 64), 64)
	if err != nil {
		return Number(v)
	}
	return Number(rounded)
}

// Count returns an integer with commas between groups of three digits.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Digits returns v with n significant digits, trailing zeros included, as a
// measured value is written: 0.40, 0.0049, 3.0e-5, 1.10.
func Digits(v float64, n int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return Number(v)
	}
	n = max(n, 1)
	text := strconv.FormatFloat(v, 'e', n-1, 64)
	mantissa, exp, _ := strings.Cut(text, "e")
	e, err := strconv.Atoi(exp)
	switch {
	case err != nil:
		return Number(v)
	case e >= -4 && e < n:
		return minus(strconv.FormatFloat(v, 'f', n-1-e, 64))
	case e < -4:
		return minus(mantissa) + "e" + strconv.Itoa(e)
	}
	return Significant(v, n)
}

// Fraction returns a share or a probability with two significant digits, and
// more where two would claim a certainty that is not there: 1 and 0 are written
// only for exactly 1 and 0.
func Fraction(p float64) string {
	if p == 0 || p == 1 || math.IsNaN(p) || p < 0 || p > 1 {
		return Significant(p, 3)
	}
	for digits := 2; digits <= 15; digits++ {
		text := Digits(p, digits)
		if back, err := strconv.ParseFloat(text, 64); err == nil && back < 1 {
			return text
		}
	}
	return "<1"
}

// unitPercent keeps the sign on the line of its number.
const unitPercent = "\u00a0%"

// Percent returns a share as a percentage with the rule of [Fraction]: 100 and 0
// are written only for exactly 1 and 0.
func Percent(p float64) string {
	switch {
	case math.IsNaN(p) || p < 0 || p > 1:
		return Significant(100*p, 3) + unitPercent
	case p == 0 || p == 1:
		return strconv.Itoa(int(100*p)) + unitPercent
	}
	v := 100 * p
	for decimals := 0; decimals <= 12; decimals++ {
		text := strconv.FormatFloat(v, 'f', decimals, 64)
		if v >= 1 && decimals == 0 && v < 10 {
			continue // below ten, one decimal
		}
		back, err := strconv.ParseFloat(text, 64)
		if err == nil && back > 0 && back < 100 {
			return text + unitPercent
		}
	}
	return Significant(v, 3) + unitPercent
}
