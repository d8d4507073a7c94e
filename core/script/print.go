package script

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/d5/tengo/v2"

	"lab/core/fault"
)

// number formats a float as the shortest text that reads back as the same
// value, with an exponent outside 1e-6 to 1e21.
func number(v float64) string {
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(v, format, -1, 64)
}

// text returns how a value prints: strings bare, keys of maps sorted so that
// output repeats, a value inside itself as "...". It fails when the text would
// pass tengo.MaxStringLen.
func text(o tengo.Object) (string, error) {
	if s, ok := o.(*tengo.String); ok {
		return s.Value, nil
	}
	p := printer{limit: tengo.MaxStringLen}
	p.value(o, false)
	if p.err != nil {
		return "", p.err
	}
	return p.b.String(), nil
}

// brief is text for messages: never fails, at most 60 characters or so.
func brief(o tengo.Object) string {
	p := printer{limit: 400}
	p.value(o, false)
	return shorten(p.b.String(), 200)
}

// describe names a value in a message: `string "abc"`, "list of 3 elements".
func describe(o tengo.Object) string {
	switch o := o.(type) {
	case *tengo.String:
		return "string " + fault.Quote(o.Value, 40)
	case *tengo.Int:
		return "int " + o.String()
	case *tengo.Float:
		return "float " + number(o.Value)
	case *tengo.Bool:
		return o.String()
	}
	if e, ok := elements(o); ok {
		return fmt.Sprintf("a list of %d elements", len(e))
	}
	if e, ok := entries(o); ok {
		return fmt.Sprintf("a map of %d keys", len(e))
	}
	return typeName(o)
}

// typeName is the name of a value's type in the words of this package.
func typeName(o tengo.Object) string {
	switch o.(type) {
	case *tengo.Array, *tengo.ImmutableArray:
		return "list"
	case *tengo.Map, *tengo.ImmutableMap:
		return "map"
	case *tengo.CompiledFunction, *tengo.BuiltinFunction, *tengo.UserFunction, *bound:
		return "function"
	}
	return o.TypeName()
}

// printer writes values; path holds the containers it is inside of.
type printer struct {
	b     strings.Builder
	path  []tengo.Object
	limit int
	err   error
}

func (p *printer) put(s string) {
	if p.err == nil && p.b.Len()+len(s) > p.limit {
		p.err = tooLong("the text of a value is", p.limit)
	}
	if p.err == nil {
		p.b.WriteString(s)
	}
}

func (p *printer) value(o tengo.Object, inside bool) {
	if p.err != nil {
		return
	}
	if e, ok := elements(o); ok {
		p.container(o, "[", "]", len(e), func(i int) { p.value(e[i], true) })
		return
	}
	if e, ok := entries(o); ok {
		keys := sortedKeys(e)
		p.container(o, "{", "}", len(keys), func(i int) {
			p.put(keys[i] + ": ")
			p.value(e[keys[i]], true)
		})
		return
	}
	switch o := o.(type) {
	case nil, *tengo.Undefined:
		p.put("undefined")
	case *tengo.Float:
		p.put(number(o.Value))
	case *tengo.String:
		if inside {
			p.put(strconv.Quote(o.Value))
		} else {
			p.put(o.Value)
		}
	case *tengo.Error:
		p.put("error: ")
		p.container(o, "", "", 1, func(int) { p.value(o.Value, inside) })
	case *tengo.CompiledFunction, *tengo.BuiltinFunction, *tengo.UserFunction:
		p.put("<function>")
	default:
		p.put(o.String())
	}
}

func (p *printer) container(o tengo.Object, open, shut string, n int, item func(int)) {
	if slices.Contains(p.path, o) {
		p.put("...")
		return
	}
	if len(p.path) >= maxNesting {
		p.err = tooDeep()
		return
	}
	p.path = append(p.path, o)
	p.put(open)
	for i := 0; i < n && p.err == nil; i++ {
		if i > 0 {
			p.put(", ")
		}
		item(i)
	}
	p.put(shut)
	p.path = p.path[:len(p.path)-1]
}

// shorten cuts s to about n characters with a mark.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
