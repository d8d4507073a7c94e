package schema

import (
	"math/big"
	"strings"

	"lab/plugins/samplers/constrain/internal/bytegram"
)

// mostFraction is how many digits may follow those that a bound decides.
const mostFraction = 16

// negated returns the bound on the other side of 0.
func (l *limit) negated() *limit {
	if l == nil {
		return nil
	}
	return &limit{new(big.Rat).Neg(l.at), l.open}
}

// magnitudes matches the decimal numbers between two bounds from 0 on; high nil
// is none.
func magnitudes(low, high *limit) *bytegram.Expr {
	n, from := parts(low)
	if high == nil {
		return bytegram.Alt(
			bytegram.Seq(text(n.String()), fraction(from, nil)),
			bytegram.Seq(between(new(big.Int).Add(n, big.NewInt(1)), nil), fraction(nil, nil)))
	}
	m, to := parts(high)
	switch n.Cmp(m) {
	case 1:
		return bytegram.None()
	case 0:
		return bytegram.Seq(text(n.String()), fraction(from, to))
	}
	one := big.NewInt(1)
	return bytegram.Alt(
		bytegram.Seq(text(n.String()), fraction(from, nil)),
		bytegram.Seq(between(new(big.Int).Add(n, one), new(big.Int).Sub(m, one)), fraction(nil, nil)),
		bytegram.Seq(text(m.String()), fraction(nil, to)))
}

// edge is a bound of the digits after the point: those of the bound itself,
// without zeros at the end.
type edge struct {
	digits string
	open   bool
}

func (e *edge) digit(i int) byte {
	if e == nil || i >= len(e.digits) {
		return '0'
	}
	return e.digits[i]
}

// parts splits a bound at its point. It was written in JSON, so its digits end.
func parts(l *limit) (*big.Int, *edge) {
	places, _ := l.at.FloatPrec()
	whole, digits, _ := strings.Cut(l.at.FloatString(places), ".")
	n, _ := new(big.Int).SetString(whole, 10)
	return n, &edge{strings.TrimRight(digits, "0"), l.open}
}

// fraction matches what follows the digits before the point: nothing, or a point
// and digits between two edges, nil for one that does not bind.
func fraction(low, high *edge) *bytegram.Expr {
	none, some := after(0, low, high)
	if some = bytegram.Seq(text("."), some); none {
		return bytegram.Alt(bytegram.Empty(), some)
	}
	return some
}

// after says whether the digits may end before the one at place i, and which
// ones may follow. low and high are edges that all digits so far equal.
func after(i int, low, high *edge) (none bool, some *bytegram.Expr) {
	if low != nil && !low.open && i >= len(low.digits) {
		low = nil // what follows can only add
	}
	if high != nil && i >= len(high.digits) { // what follows can only be zeros
		if high.open || low != nil {
			return false, bytegram.None()
		}
		return true, bytegram.Repeat(digits('0', '0'), 1, mostFraction)
	}
	switch {
	case low == nil && high == nil:
		return true, anyDigits(1, mostFraction)
	case high == nil && i >= len(low.digits): // more than zeros must follow
		return false, bytegram.Seq(bytegram.Repeat(digits('0', '0'), 0, mostFraction-1), digits('1', '9'), anyDigits(0, mostFraction-1))
	}
	least, most := low.digit(i), byte('9')
	if high != nil {
		most = high.digit(i)
	}
	if least > most {
		return false, bytegram.None()
	}
	var list []*bytegram.Expr
	step := func(d byte, low, high *edge) {
		none, some := after(i+1, low, high)
		if none {
			some = bytegram.Opt(some)
		}
		list = append(list, bytegram.Seq(text(string(d)), some))
	}
	switch {
	case low != nil && high != nil && least == most:
		step(least, low, high)
		return false, bytegram.Alt(list...)
	case low != nil:
		step(least, low, nil)
		least++
	}
	if high != nil {
		step(most, nil, high)
		most--
	}
	if least <= most {
		list = append(list, bytegram.Seq(digits(least, most), anyDigits(0, mostFraction)))
	}
	return low == nil, bytegram.Alt(list...)
}
