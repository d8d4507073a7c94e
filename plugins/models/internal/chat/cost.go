package chat

import (
	"slices"
	"strings"

	"github.com/ardanlabs/jinja"
)

type (
	value    = jinja.Value
	keywords = map[string]jinja.Value
	function = func([]value, keywords) (value, error)
)

// What the parts of a value take, in bytes, rounded up.
const (
	node     = 16  // of anything printed
	element  = 64  // one of a list, or one character that becomes one
	entry    = 256 // one of a dict
	mostWide = 64  // of an indent, or of the characters to strip
	mostNest = 32  // lists in lists, which ends one that holds itself
)

// guards are the functions that guarded expressions call.
func (b *budget) guards() map[string]function {
	return map[string]function{
		see: b.see, number: b.number, times: b.times, slice: b.slice, item: b.item, over: b.over, made: b.made,
		plain: b.plain, hold: b.hold, method: b.method, do: b.do, filter: b.filter,
	}
}

// size is what printing a value takes; it charges as it goes, since a value may
// hold another many times.
func (b *budget) size(v value, depth int) (int64, error) {
	if depth > mostNest {
		return 0, b.spent("it has lists that nest more than %d deep", mostNest)
	}
	sum := int64(node)
	switch {
	case v.IsString():
		if len(v.AsString()) > mostText {
			return 0, b.spent("a text has %d bytes; the most is %d", len(v.AsString()), mostText)
		}
		sum += int64(len(v.AsString()))
	case v.IsList():
		for _, e := range v.AsList().Items {
			n, err := b.size(e, depth+1)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, b.charge(node)
	case v.IsDict():
		for k, e := range v.AsDict().Data {
			n, err := b.size(e, depth+1)
			if err != nil {
				return 0, err
			}
			sum += n + int64(len(k)) + node
		}
		return sum, b.charge(node)
	}
	return sum, b.charge(sum)
}

// top is what a value holds, in characters, elements or entries.
func top(v value) int64 {
	switch {
	case v.IsString():
		return int64(len(v.AsString()))
	case v.IsList():
		return int64(v.AsList().Len())
	case v.IsDict():
		return int64(v.AsDict().Len())
	}
	return 0
}

func (b *budget) see(args []value, _ keywords) (value, error) {
	_, err := b.size(args[0], 0)
	return args[0], err
}

func (b *budget) number(args []value, _ keywords) (value, error) {
	if v := args[0]; !v.IsNumber() && !v.IsBool() {
		return v, wrong("it calculates with what is not a number")
	}
	return args[0], b.charge(node)
}

func (b *budget) times(args []value, _ keywords) (value, error) {
	x, y := args[0], args[1]
	if x.IsInt() && y.IsString() {
		x, y = y, x
	}
	switch {
	case x.IsString() && y.IsInt():
		n := max(y.AsInt(), 0)
		if n > 0 && int64(len(x.AsString())) > mostText/n {
			return x, b.spent("a text of %d bytes is repeated %d times; the most is %d bytes", len(x.AsString()), n, mostText)
		}
		if err := b.charge(node + top(x)*n); err != nil {
			return x, err
		}
		return jinja.NewString(strings.Repeat(x.AsString(), int(n))), nil
	case x.IsInt() && y.IsInt():
		return jinja.NewInt(x.AsInt() * y.AsInt()), b.charge(node)
	case x.IsNumber() && y.IsNumber():
		return jinja.NewFloat(real64(x) * real64(y)), b.charge(node)
	}
	return x, wrong("it multiplies what is neither numbers nor a text by a whole number")
}

func real64(v value) float64 {
	if v.IsInt() {
		return float64(v.AsInt())
	}
	return v.AsFloat()
}

func (b *budget) item(args []value, _ keywords) (value, error) {
	if args[0].IsString() {
		return args[0], b.charge(node + 4*top(args[0]))
	}
	return args[0], b.charge(node)
}

func (b *budget) over(args []value, _ keywords) (value, error) {
	return args[0], b.charge(node + 8*element*top(args[0]))
}

func (b *budget) made(args []value, _ keywords) (value, error) {
	if args[0].IsDict() {
		return args[0], b.charge(entry * (1 + top(args[0])))
	}
	return args[0], b.charge(element * (1 + top(args[0])))
}

// boundMethod tells whether a value is a method with the value it belongs to.
func boundMethod(v value) bool {
	if !v.IsCallable() {
		return false
	}
	kind, _, has := strings.Cut(v.AsCallable().Name, ".")
	return has && among(kind, "str list dict")
}

func (b *budget) plain(args []value, _ keywords) (value, error) {
	if boundMethod(args[0]) {
		return jinja.Undefined(), wrong("it keeps a method instead of calling it")
	}
	return args[0], b.charge(node)
}

func (b *budget) hold(args []value, _ keywords) (value, error) {
	b.held = append(b.held, args[0])
	return args[0], b.charge(node)
}

// method calls a method of the value held last. Only one that is looked up there
// and then can be a text's, list's or dict's own, because plain keeps others from
// being stored.
func (b *budget) method(args []value, named keywords) (value, error) {
	x := b.held[len(b.held)-1]
	b.held = b.held[:len(b.held)-1]
	if !boundMethod(args[0]) {
		return b.do(args, named)
	}
	f := args[0].AsCallable()
	args = args[1:]
	for _, a := range args {
		if _, err := b.size(a, 0); err != nil {
			return jinja.Undefined(), err
		}
	}
	kind, name, _ := strings.Cut(f.Name, ".")
	if name == "format" {
		return b.format(x.AsString(), args)
	}
	var err error
	switch kind {
	case "str":
		err = b.textMethod(name, x.AsString(), args)
	case "dict":
		err = b.charge(entry * (1 + top(x)))
		if err == nil && name == "update" && len(args) > 0 {
			err = b.charge(entry * top(args[0]))
		}
	default:
		err = b.charge(element * (2 + top(x)))
	}
	if err != nil {
		return jinja.Undefined(), err
	}
	return f.Fn(args, named)
}

func (b *budget) textMethod(name, s string, args []value) error {
	first, n := "", int64(len(s))
	if len(args) > 0 {
		first = printed(args[0])
	}
	switch {
	case strings.HasSuffix(name, "strip") && len(first) > mostWide:
		return b.spent("it strips more than %d characters", mostWide)
	case name == "replace" && len(args) > 1:
		return b.replaced(s, first, printed(args[1]))
	case name == "split" && len(args) > 0:
		if err := b.charge(node + n); err != nil {
			return err
		}
		return b.charge(int64(strings.Count(s, first)+1) * element)
	case name == "split":
		return b.charge(node + n*element)
	}
	return b.charge(node + 12*n + int64(len(first)))
}

// printed is a value as text.
func printed(v value) string {
	if v.IsString() {
		return v.AsString()
	}
	if v.IsUndefined() || v.IsNone() || v.IsCallable() {
		return ""
	}
	return v.String()
}

func (b *budget) replaced(s, old, by string) error {
	if err := b.charge(node + int64(len(s))); err != nil {
		return err
	}
	n, size := int64(strings.Count(s, old)), int64(len(by))
	if n*size > mostText {
		return b.spent("a text of %d bytes comes in %d places; the most is %d bytes", size, n, mostText)
	}
	return b.charge(node + int64(len(s)) + n*size)
}

// format is the text's method, which the library leaves to grow as it likes.
func (b *budget) format(s string, args []value) (value, error) {
	for i, a := range args {
		by := printed(a)
		for j, mark := range []string{"{" + jinja.NewInt(int64(i)).String() + "}", "{}"} {
			if err := b.replaced(s, mark, by); err != nil {
				return jinja.Undefined(), err
			}
			s = strings.Replace(s, mark, by, []int{-1, 1}[j])
		}
	}
	return jinja.NewString(s), nil
}

// do calls a function or a macro, which may call others.
func (b *budget) do(args []value, named keywords) (value, error) {
	if !args[0].IsCallable() || boundMethod(args[0]) {
		return jinja.Undefined(), wrong("it calls what is not a function")
	}
	if b.calls++; b.calls > mostCalls {
		return jinja.Undefined(), b.spent("its macros call each other more than %d deep", mostCalls)
	}
	defer func() { b.calls-- }()
	if err := b.charge(element * int64(8+len(args))); err != nil {
		return jinja.Undefined(), err
	}
	for _, a := range args[1:] {
		if _, err := b.size(a, 0); err != nil { // the library's own print theirs
			return jinja.Undefined(), err
		}
	}
	return args[0].AsCallable().Fn(args[1:], named)
}

// fields is namespace and dict. The library's know no order, so that a template
// could print one of many texts.
func (b *budget) fields(args []value, named keywords) (value, error) {
	if len(args) > 0 {
		return jinja.Undefined(), wrong("a namespace takes only NAME=VALUE")
	}
	keys := make([]string, 0, len(named))
	for k := range named {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	d := jinja.NewDict()
	for _, k := range keys {
		d.AsDict().Set(k, named[k])
	}
	return d, b.charge(entry * int64(1+len(keys)))
}
