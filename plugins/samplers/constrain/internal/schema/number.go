package schema

import (
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/plugins/samplers/constrain/internal/bytegram"
)

func digits(lo, hi byte) *bytegram.Expr {
	return bytegram.Class("digit", bytegram.Range{Lo: rune(lo), Hi: rune(hi)})
}

func anyDigits(least, most int) *bytegram.Expr { return bytegram.Repeat(digits('0', '9'), least, most) }

// whole matches any whole number from 0.
func whole() *bytegram.Expr {
	return bytegram.Alt(text("0"), bytegram.Seq(digits('1', '9'), anyDigits(0, bytegram.Unlimited)))
}

func anyNumber() *bytegram.Expr {
	return bytegram.Seq(bytegram.Opt(text("-")), whole(), bytegram.Opt(bytegram.Seq(text("."), anyDigits(1, bytegram.Unlimited))),
		bytegram.Opt(bytegram.Seq(bytegram.Class("exponent", bytegram.Range{Lo: 'e', Hi: 'e'}, bytegram.Range{Lo: 'E', Hi: 'E'}),
			bytegram.Opt(bytegram.Class("sign", bytegram.Range{Lo: '+', Hi: '+'}, bytegram.Range{Lo: '-', Hi: '-'})), anyDigits(1, 3))))
}

// limit is a bound of a number; nil: none.
type limit struct {
	at   *big.Rat
	open bool // the bound itself is outside
}

// limits returns the bounds of a schema, the tighter where two are given.
func limits(s *jsonschema.Schema) (low, high *limit) {
	if s.Minimum != nil {
		low = &limit{s.Minimum, false}
	}
	if x := s.ExclusiveMinimum; x != nil && (low == nil || x.Cmp(low.at) >= 0) {
		low = &limit{x, true}
	}
	if s.Maximum != nil {
		high = &limit{s.Maximum, false}
	}
	if x := s.ExclusiveMaximum; x != nil && (high == nil || x.Cmp(high.at) <= 0) {
		high = &limit{x, true}
	}
	return low, high
}

// floor and ceil round to whole numbers.
func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) } // Euclidean: down, as denominators are positive
func ceil(r *big.Rat) *big.Int {
	return new(big.Int).Neg(floor(new(big.Rat).Neg(r)))
}

// least and most whole numbers within bounds; nil: no bound.
func wholeLimits(low, high *limit) (least, most *big.Int) {
	one := big.NewInt(1)
	if low != nil {
		least = ceil(low.at)
		if low.open && low.at.IsInt() {
			least.Add(least, one)
		}
	}
	if high != nil {
		most = floor(high.at)
		if high.open && high.at.IsInt() {
			most.Sub(most, one)
		}
	}
	return least, most
}

func (b *builder) integer(s *jsonschema.Schema) (*bytegram.Expr, error) {
	least, most := wholeLimits(limits(s))
	return signed(least, most), nil
}

// signed matches the whole numbers of a range; nil is no bound.
func signed(least, most *big.Int) *bytegram.Expr {
	zero, one := new(big.Int), big.NewInt(1)
	if least != nil && most != nil && most.Cmp(least) < 0 {
		return bytegram.None()
	}
	var list []*bytegram.Expr
	if most == nil || most.Sign() >= 0 {
		lo := zero
		if least != nil && least.Sign() > 0 {
			lo = least
		}
		list = append(list, between(lo, most))
	}
	if least == nil || least.Sign() < 0 {
		lo := one
		if most != nil && most.Sign() < 0 {
			lo = new(big.Int).Neg(most)
		}
		var hi *big.Int
		if least != nil {
			hi = new(big.Int).Neg(least)
		}
		list = append(list, bytegram.Seq(text("-"), between(lo, hi)))
	}
	return bytegram.Alt(list...)
}

// between matches the whole numbers lo to hi, both from 0, without leading
// zeros; hi nil is no bound.
func between(lo, hi *big.Int) *bytegram.Expr {
	if hi == nil {
		from := lo.String()
		nines := strings.Repeat("9", len(from))
		longer := bytegram.Seq(digits('1', '9'), anyDigits(len(from), bytegram.Unlimited))
		return bytegram.Alt(sameLength(from, nines), longer)
	}
	if hi.Cmp(lo) < 0 {
		return bytegram.None()
	}
	var list []*bytegram.Expr
	from, to := lo.String(), hi.String()
	for n := len(from); n <= len(to); n++ {
		a, z := "1"+strings.Repeat("0", n-1), strings.Repeat("9", n)
		if n == len(from) {
			a = from
		}
		if n == len(to) {
			z = to
		}
		list = append(list, sameLength(a, z))
	}
	return bytegram.Alt(list...)
}

// sameLength matches the numbers of one length from a to z.
func sameLength(a, z string) *bytegram.Expr {
	switch {
	case a == z:
		return text(a)
	case len(a) == 1:
		return digits(a[0], z[0])
	case a[0] == z[0]:
		return bytegram.Seq(text(a[:1]), sameLength(a[1:], z[1:]))
	}
	zeros, nines := strings.Repeat("0", len(a)-1), strings.Repeat("9", len(a)-1)
	var list []*bytegram.Expr
	lo, hi := a[0], z[0]
	if a[1:] != zeros {
		list = append(list, bytegram.Seq(text(a[:1]), sameLength(a[1:], nines)))
		lo++
	}
	if z[1:] != nines {
		list = append(list, bytegram.Seq(text(z[:1]), sameLength(zeros, z[1:])))
		hi--
	}
	if lo <= hi {
		list = append(list, bytegram.Seq(digits(lo, hi), anyDigits(len(a)-1, len(a)-1)))
	}
	return bytegram.Alt(list...)
}

// number returns the expression of a number. Bounded ones are written without an
// exponent and with at most mostFraction digits more after the point than their
// bounds have.
func (b *builder) number(s *jsonschema.Schema) (*bytegram.Expr, error) {
	low, high := limits(s)
	if low == nil && high == nil {
		return anyNumber(), nil
	}
	var list []*bytegram.Expr
	if high == nil || high.at.Sign() > 0 || high.at.Sign() == 0 && !high.open {
		from := low
		if low == nil || low.at.Sign() < 0 {
			from = &limit{at: new(big.Rat)}
		}
		list = append(list, magnitudes(from, high))
	}
	if low == nil || low.at.Sign() < 0 {
		from := &limit{at: new(big.Rat), open: true} // -0 is 0
		if high != nil && high.at.Sign() <= 0 {
			from = high.negated()
			from.open = from.open || high.at.Sign() == 0
		}
		list = append(list, bytegram.Seq(text("-"), magnitudes(from, low.negated())))
	}
	return bytegram.Alt(list...), nil
}
