package script

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/d5/tengo/v2"
)

// maxWidth bounds the width and precision in a format.
const maxWidth = 1000

// fill returns format with each {} replaced by the next value. A specification
// after a colon is [<>^][+][0][width][.precision][d f e g x s %], as in Python
// but without its rarer parts; {{ and }} stand for braces. Too many or too few
// values, and a specification that does not fit its value, are errors.
func fill(format string, args []tengo.Object) (string, error) {
	var b strings.Builder
	next := 0
	for i := 0; i < len(format); i++ {
		switch c := format[i]; {
		case c != '{' && c != '}':
			b.WriteByte(c)
		case i+1 < len(format) && format[i+1] == c:
			b.WriteByte(c)
			i++
		case c == '}':
			return "", badFormat("a } without its {; write }} for a brace")
		default:
			n := strings.IndexByte(format[i:], '}')
			if n < 0 {
				return "", badFormat("a { without its }; write {{ for a brace")
			}
			spec := format[i+1 : i+n]
			i += n
			if next == len(args) {
				return "", badFormat("%q has more {} than values", format)
			}
			t, err := formatted(spec, args[next])
			if err != nil {
				return "", err
			}
			b.WriteString(t)
			next++
		}
		if b.Len() > tengo.MaxStringLen {
			return "", tooLong("text", tengo.MaxStringLen)
		}
	}
	if next < len(args) {
		return "", badFormat("%q has %s for %s", format, plural(next, "{}"), plural(len(args), "value"))
	}
	return b.String(), nil
}

// layout is a parsed specification.
type layout struct {
	align     byte // '<', '>', '^', or 0: numbers right, others left
	plus      bool
	zero      bool
	width     int
	precision int  // -1: as many as needed
	verb      byte // 0: as print does
}

func parseLayout(spec string) (layout, bool) {
	l := layout{precision: -1}
	rest := spec
	take := func(set string) byte {
		if rest == "" || !strings.Contains(set, rest[:1]) {
			return 0
		}
		c := rest[0]
		rest = rest[1:]
		return c
	}
	count := func() (int, bool) {
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(rest[:n])
		rest = rest[n:]
		return v, err == nil && v <= maxWidth
	}
	l.align = take("<>^")
	l.plus = take("+") != 0
	l.zero = take("0") != 0
	if rest != "" && rest[0] >= '1' && rest[0] <= '9' {
		n, ok := count()
		if !ok {
			return l, false
		}
		l.width = n
	}
	if take(".") != 0 {
		n, ok := count()
		if !ok {
			return l, false
		}
		l.precision = n
	}
	l.verb = take("dfegxs%")
	return l, rest == ""
}

func formatted(spec string, o tengo.Object) (string, error) {
	if spec == "" {
		return text(o)
	}
	l, ok := parseLayout(strings.TrimPrefix(spec, ":"))
	if spec[0] != ':' || !ok {
		return "", badFormat("{%s} is not a format; write {} or, for instance, {:.3f} {:8d} {:<10}", spec)
	}
	t, numeric, err := l.value(o)
	if err != nil {
		return "", err
	}
	if t == "" && !numeric {
		return "", badFormat("{%s} does not fit %s", spec, describe(o))
	}
	return l.pad(t, numeric), nil
}

// value returns the digits or text of o, empty when the verb does not fit it.
func (l layout) value(o tengo.Object) (t string, numeric bool, err error) {
	var f float64
	whole, isInt := o.(*tengo.Int)
	switch n := o.(type) {
	case *tengo.Int:
		f, numeric = float64(n.Value), true
	case *tengo.Float:
		f, numeric = n.Value, true
	}
	verb := l.verb
	switch {
	case verb == 0 && numeric && l.precision >= 0 && !isInt:
		verb = 'g'
	case verb == 0 && numeric && !isInt:
		return l.sign(number(f), f), true, nil
	case verb == 0 && numeric:
		verb = 'd'
	}
	switch verb {
	case 0, 's':
		if t, err = text(o); err == nil && l.precision >= 0 {
			r := []rune(t)
			t = string(r[:min(len(r), l.precision)])
		}
		if t == "" {
			t = strings.Repeat(" ", l.width) // an empty text is a text
		}
		return t, numeric, err
	case 'd', 'x':
		if !isInt {
			return "", false, nil
		}
		base := 10
		if verb == 'x' {
			base = 16
		}
		return l.sign(strconv.FormatInt(whole.Value, base), f), true, nil
	}
	if !numeric {
		return "", false, nil
	}
	precision := l.precision
	if precision < 0 && verb != 'g' {
		precision = 6
	}
	if verb == '%' {
		return l.sign(strconv.FormatFloat(100*f, 'f', precision, 64), f) + "%", true, nil
	}
	return l.sign(strconv.FormatFloat(f, verb, precision, 64), f), true, nil
}

func (l layout) sign(digits string, v float64) string {
	if l.plus && v >= 0 && !strings.HasPrefix(digits, "+") {
		return "+" + digits
	}
	return digits
}

func (l layout) pad(t string, numeric bool) string {
	missing := l.width - utf8.RuneCountInString(t)
	if missing <= 0 {
		return t
	}
	align := l.align
	if align == 0 {
		align = '<'
		if numeric {
			align = '>'
		}
	}
	switch {
	case l.zero && numeric && l.align == 0:
		signs := 0
		if t != "" && (t[0] == '-' || t[0] == '+') {
			signs = 1
		}
		return t[:signs] + strings.Repeat("0", missing) + t[signs:]
	case align == '<':
		return t + strings.Repeat(" ", missing)
	case align == '^':
		return strings.Repeat(" ", missing/2) + t + strings.Repeat(" ", missing-missing/2)
	}
	return strings.Repeat(" ", missing) + t
}
