package table

import (
	"go/token"
	"math"
	"math/bits"

	"lab/core/fault"
)

func unary(op token.Token, v *Column) (*Column, error) {
	switch t := v.Type(); {
	case op == token.NOT && t == Bool:
		in := must[bool](v)
		out := make([]bool, len(in))
		for i, b := range in {
			out[i] = !b
		}
		return nullable(out, v.null), nil
	case op == token.SUB && t == Float:
		in := must[float64](v)
		out := make([]float64, len(in))
		for i, x := range in {
			out[i] = -x
		}
		return nullable(out, v.null), nil
	case op == token.SUB && t == Int:
		in := must[int64](v)
		out := make([]int64, len(in))
		for i, x := range in {
			if x == math.MinInt64 {
				return nil, unfit("row %d: -(%d) does not fit an int of 64 bits", i, x)
			}
			out[i] = -x
		}
		return nullable(out, v.null), nil
	case op == token.ADD && t.numeric():
		return v, nil
	}
	return nil, unfit("%s of type %s", op, v.Type())
}

func (e evaluation) binary(op token.Token, a, b *Column) (*Column, error) {
	ta, tb := a.Type(), b.Type()
	n := e.rows(a, b)
	switch op {
	case token.LAND, token.LOR:
		if ta != Bool || tb != Bool {
			return nil, unfit("%s of types %s and %s, both must be bool", op, ta, tb)
		}
		return logic(op == token.LAND, a, b, n), nil
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return comparison(op.String(), a, b, n)
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		switch {
		case ta == String && tb == String && op == token.ADD:
			x, y, out := must[string](a), must[string](b), make([]string, n)
			for i := range out {
				out[i] = x[at(a, i)] + y[at(b, i)]
			}
			return nullable(out, nullsOf(n, a, b)), nil
		case ta == Int && tb == Int && op != token.QUO:
			return intArithmetic(op, a, b, n)
		case ta.numeric() && tb.numeric():
			return floatArithmetic(op, toFloat(a), toFloat(b), n), nil
		}
		return nil, unfit("%s of types %s and %s", op, ta, tb).Fix("convert with float(x), int(x) or string(x)")
	}
	return nil, unfit("the operator %s is not known", op).Fix("use + - * / %% == != < <= > >= && || !")
}

// logic is && and || of three values: a null is decided by the other side when
// that alone decides.
func logic(and bool, a, b *Column, n int) *Column {
	x, y, out, null := must[bool](a), must[bool](b), make([]bool, n), newBitmap(n)
	for i := range out {
		j, k := at(a, i), at(b, i)
		decided := !a.Null(j) && x[j] != and || !b.Null(k) && y[k] != and
		switch {
		case decided:
			out[i] = !and
		case a.Null(j) || b.Null(k):
			null.set(i)
		default:
			out[i] = and
		}
	}
	return nullable(out, null)
}

// comparison compares numbers as numbers and other values with their like.
func comparison(op string, a, b *Column, n int) (*Column, error) {
	var order func(j, k int) int
	switch x := a.data.(type) {
	case values[float64]:
		switch y := b.data.(type) {
		case values[float64]:
			order = func(j, k int) int { return numberOrder(x.v[j], y.v[k]) }
		case values[int64]:
			order = func(j, k int) int {
				if o := intFloatOrder(y.v[k], x.v[j]); o != unordered {
					return -o
				}
				return unordered
			}
		}
	case values[int64]:
		switch y := b.data.(type) {
		case values[float64]:
			order = func(j, k int) int { return intFloatOrder(x.v[j], y.v[k]) }
		case values[int64]:
			order = func(j, k int) int { return ints.compare(x.v[j], y.v[k]) }
		}
	case values[string]:
		if y, ok := b.data.(values[string]); ok {
			order = func(j, k int) int { return texts.compare(x.v[j], y.v[k]) }
		}
	case values[bool]:
		if y, ok := b.data.(values[bool]); ok {
			order = func(j, k int) int { return compareBools(x.v[j], y.v[k]) }
		}
	case values[[]byte]:
		if y, ok := b.data.(values[[]byte]); ok {
			order = func(j, k int) int { return blobs.compare(x.v[j], y.v[k]) }
		}
	}
	if order == nil {
		return nil, unfit("%s of types %s and %s", op, a.Type(), b.Type())
	}
	out := make([]bool, n)
	for i := range out {
		out[i] = satisfies(op, order(at(a, i), at(b, i)))
	}
	return nullable(out, nullsOf(n, a, b)), nil
}

func floatArithmetic(op token.Token, a, b *Column, n int) *Column {
	x, y, out := must[float64](a), must[float64](b), make([]float64, n)
	for i := range out {
		u, v := x[at(a, i)], y[at(b, i)]
		switch op {
		case token.ADD:
			out[i] = u + v
		case token.SUB:
			out[i] = u - v
		case token.MUL:
			out[i] = u * v
		case token.QUO:
			out[i] = u / v
		default:
			out[i] = math.Mod(u, v)
		}
	}
	return nullable(out, nullsOf(n, a, b))
}

func intArithmetic(op token.Token, a, b *Column, n int) (*Column, error) {
	x, y, out, null := must[int64](a), must[int64](b), make([]int64, n), nullsOf(n, a, b)
	for i := range out {
		if null != nil && null.get(i) {
			continue
		}
		u, v := x[at(a, i)], y[at(b, i)]
		r, ok := intOperation(op, u, v)
		if !ok {
			e := unfit("row %d: %d %s %d does not fit an int of 64 bits", i, u, op, v)
			if op == token.REM {
				e = unfit("row %d: %d %% 0", i, u)
			}
			return nil, e.Fix("convert with float(x)")
		}
		out[i] = r
	}
	return nullable(out, null), nil
}

func intOperation(op token.Token, u, v int64) (r int64, ok bool) {
	switch op {
	case token.ADD:
		r = u + v
		return r, (r > u) == (v > 0) || v == 0
	case token.SUB:
		r = u - v
		return r, (r < u) == (v > 0) || v == 0
	case token.REM:
		if v == 0 {
			return 0, false
		}
		return u % v, true
	}
	r = u * v
	high, low := bits.Mul64(magnitude(u), magnitude(v))
	limit := uint64(math.MaxInt64)
	if (u < 0) != (v < 0) {
		limit++
	}
	return r, high == 0 && low <= limit
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// wrongCall says how a function is called.
func wrongCall(name, usage string, args []*Column) error {
	kinds := make([]string, len(args))
	for i, a := range args {
		kinds[i] = a.Type().String()
	}
	return fault.New(fault.Usage, "", "", "%s is called with %s", name, list(kinds)).Fix("call %s", usage)
}
