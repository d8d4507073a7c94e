package chat

import "github.com/ardanlabs/jinja"

// slice is x[from:to:step] with Python's rules. A text is cut by characters.
func (b *budget) slice(args []value, _ keywords) (value, error) {
	x := args[0]
	if !x.IsString() && !x.IsList() {
		return jinja.Undefined(), wrong("it takes a slice of what is neither a text nor a list")
	}
	if err := b.charge(element + top(x)*8); err != nil {
		return x, err
	}
	runes, items := []rune(nil), []value(nil)
	if x.IsString() {
		runes = []rune(x.AsString())
	} else {
		items = x.AsList().Items
	}
	picked, err := places(int64(len(runes)+len(items)), args[1:])
	if err == nil {
		err = b.charge(int64(len(picked)) * element)
	}
	if err != nil {
		return x, err
	}
	if x.IsList() {
		out := make([]value, len(picked))
		for i, at := range picked {
			out[i] = items[at]
		}
		return jinja.NewList(out), nil
	}
	out := make([]rune, len(picked))
	for i, at := range picked {
		out[i] = runes[at]
	}
	return jinja.NewString(string(out)), nil
}

// places are those of n that from, to and step pick; none stands for one that
// is not given.
func places(n int64, bounds []value) ([]int64, error) {
	for _, a := range bounds {
		if !a.IsInt() && !a.IsNone() {
			return nil, wrong("a slice has a bound that is not a whole number")
		}
	}
	step := int64(1)
	if bounds[2].IsInt() {
		step = min(max(bounds[2].AsInt(), -n-1), n+1)
	}
	if step == 0 {
		return nil, wrong("a slice with a step of 0")
	}
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	bound := func(a value, otherwise int64) int64 {
		if a.IsNone() {
			return otherwise
		}
		at := a.AsInt()
		if at < 0 {
			at += n
		}
		return min(max(at, low), high)
	}
	from, to := bound(bounds[0], low), bound(bounds[1], high)
	if step < 0 {
		from, to = bound(bounds[0], high), bound(bounds[1], low)
	}
	var picked []int64
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		picked = append(picked, i)
	}
	return picked, nil
}
