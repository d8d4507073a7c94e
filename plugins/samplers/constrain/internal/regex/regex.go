// Package regex reads regular expressions as expressions of package bytegram.
//
// The notation is that of Go's regexp (RE2): no look-around and no references to
// groups, neither of which a finite automaton can follow. A whole text is
// matched, as if the expression stood between ^ and $; anchors at the two ends
// may be written, elsewhere they are refused, and so are word boundaries. Start
// with [Parse].
package regex

import (
	"fmt"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

const (
	mostBytes = 1 << 16
	// Surrogates are no characters.
	surrogateMin, surrogateMax = 0xD800, 0xDFFF
)

// Options change how an expression is read.
type Options struct {
	// Search lets any text stand before and after the match, as the patterns of
	// JSON Schema do; anchors at the ends then take it away.
	Search bool
	// Char returns the expression for one character of a class; nil: the
	// character itself.
	Char func(label string, ranges []bytegram.Range) *bytegram.Expr
}

// Parse returns the expression that matches what the regular expression does.
// Errors are usage errors that quote the part that is wrong.
func Parse(text string, opt Options) (*bytegram.Expr, error) {
	if len(text) > mostBytes {
		return nil, fault.New(fault.Limit, "regex", "", "it has %d bytes, more than %d", len(text), mostBytes)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fault.New(fault.Usage, "regex", fault.Quote(text, 60), "%v", err).
			Fix("it is written as Go's regexp reads it: no look-around and no references to groups")
	}
	p := &parser{opt: opt, text: text}
	if p.opt.Char == nil {
		p.opt.Char = func(label string, ranges []bytegram.Range) *bytegram.Expr { return bytegram.Class(label, ranges...) }
	}
	p.label = fault.Quote(text, 40)
	return p.whole(parsed)
}

type parser struct {
	opt   Options
	text  string
	label string
}

// Any are the ranges of all characters.
func Any() []bytegram.Range {
	return []bytegram.Range{{Lo: 0, Hi: surrogateMin - 1}, {Lo: surrogateMax + 1, Hi: unicode.MaxRune}}
}

// whole takes the anchors off the ends of an expression, of each alternative
// when it has several.
func (p *parser) whole(re *syntax.Regexp) (*bytegram.Expr, error) {
	if re.Op == syntax.OpCapture {
		return p.whole(re.Sub[0])
	}
	if re.Op == syntax.OpAlternate {
		var list []*bytegram.Expr
		for _, sub := range re.Sub {
			x, err := p.whole(sub)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		return bytegram.Alt(list...), nil
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	left, right := p.opt.Search, p.opt.Search
	for len(parts) > 0 && (parts[0].Op == syntax.OpBeginText || parts[0].Op == syntax.OpBeginLine) {
		left, parts = false, parts[1:]
	}
	for n := len(parts); n > 0 && (parts[n-1].Op == syntax.OpEndText || parts[n-1].Op == syntax.OpEndLine); n = len(parts) {
		right, parts = false, parts[:n-1]
	}
	var out []*bytegram.Expr
	if left {
		out = append(out, p.anything())
	}
	for _, part := range parts {
		x, err := p.expr(part)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	if right {
		out = append(out, p.anything())
	}
	if len(out) == 0 {
		return bytegram.Empty(), nil
	}
	return bytegram.Seq(out...), nil
}

func (p *parser) anything() *bytegram.Expr {
	return bytegram.Repeat(p.opt.Char(p.label, Any()), 0, bytegram.Unlimited)
}

func (p *parser) all(list []*syntax.Regexp) ([]*bytegram.Expr, error) {
	out := make([]*bytegram.Expr, len(list))
	for i, re := range list {
		var err error
		if out[i], err = p.expr(re); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *parser) expr(re *syntax.Regexp) (*bytegram.Expr, error) {
	subs, err := p.all(re.Sub)
	if err != nil {
		return nil, err
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return bytegram.None(), nil
	case syntax.OpEmptyMatch:
		return bytegram.Empty(), nil
	case syntax.OpLiteral:
		return p.literal(re), nil
	case syntax.OpCharClass:
		var ranges []bytegram.Range
		for i := 0; i < len(re.Rune); i += 2 {
			ranges = append(ranges, noSurrogates(re.Rune[i], re.Rune[i+1])...)
		}
		if len(ranges) == 0 {
			return bytegram.None(), nil
		}
		return p.opt.Char(p.label, ranges), nil
	case syntax.OpAnyChar:
		return p.opt.Char(p.label, Any()), nil
	case syntax.OpAnyCharNotNL:
		return p.opt.Char(p.label, append([]bytegram.Range{{Lo: 0, Hi: '\n' - 1}, {Lo: '\n' + 1, Hi: surrogateMin - 1}}, Any()[1])), nil
	case syntax.OpCapture:
		return subs[0], nil
	case syntax.OpStar:
		return bytegram.Repeat(subs[0], 0, bytegram.Unlimited), nil
	case syntax.OpPlus:
		return bytegram.Repeat(subs[0], 1, bytegram.Unlimited), nil
	case syntax.OpQuest:
		return bytegram.Opt(subs[0]), nil
	case syntax.OpRepeat:
		return bytegram.Repeat(subs[0], re.Min, re.Max), nil // -1 is no bound in both
	case syntax.OpConcat:
		return bytegram.Seq(subs...), nil
	case syntax.OpAlternate:
		return bytegram.Alt(subs...), nil
	}
	if re.Op == syntax.OpWordBoundary || re.Op == syntax.OpNoWordBoundary {
		return nil, fault.New(fault.Usage, "regex", fault.Quote(p.text, 60), "word boundaries (\\b, \\B) cannot be followed").
			Fix("name the characters that may stand there")
	}
	return nil, fault.New(fault.Usage, "regex", fault.Quote(p.text, 60), "an anchor (^, $) stands inside").
		Fix("anchors belong to the two ends; a whole text is matched anyway")
}

func (p *parser) literal(re *syntax.Regexp) *bytegram.Expr {
	var parts []*bytegram.Expr
	for _, r := range re.Rune {
		ranges := []bytegram.Range{{Lo: r, Hi: r}}
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				ranges = append(ranges, bytegram.Range{Lo: f, Hi: f})
			}
		}
		parts = append(parts, p.opt.Char(fmt.Sprintf("%q of %s", r, p.label), ranges))
	}
	return bytegram.Seq(parts...)
}

// noSurrogates returns a range without the numbers that are no characters.
func noSurrogates(lo, hi rune) []bytegram.Range {
	var out []bytegram.Range
	if lo < surrogateMin {
		out = append(out, bytegram.Range{Lo: lo, Hi: min(hi, surrogateMin-1)})
	}
	if hi > surrogateMax {
		out = append(out, bytegram.Range{Lo: max(lo, surrogateMax+1), Hi: min(hi, utf8.MaxRune)})
	}
	return out
}
