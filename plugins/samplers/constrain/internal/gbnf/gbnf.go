// Package gbnf reads grammars in the notation of llama.cpp (GBNF) as expressions
// of package bytegram.
//
// A grammar is a list of rules "name ::= body". A body is alternatives of
// sequences of "literals", [classes], rule names, (groups), . for any character
// and, for a token of the vocabulary as a whole, <text> or <[id]>, negated by !;
// each may be repeated by *, +, ?, {m}, {m,} or {m,n}. A body ends with its line,
// except inside a group or after |. # begins a comment. Start with [Parse].
package gbnf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

// Limits of a grammar's text.
const (
	mostBytes  = 1 << 20
	mostDepth  = 256     // of groups
	mostRepeat = 1 << 15 // of a bound
)

// Parse returns the grammar in text and the number of its root rule. Errors are
// usage errors with line and column, both from 1, the column in bytes.
func Parse(text, root string) (*bytegram.Grammar, int, error) {
	if len(text) > mostBytes {
		return nil, 0, fault.New(fault.Limit, "grammar", "", "its text has %d bytes, more than %d", len(text), mostBytes)
	}
	if !utf8.ValidString(text) {
		return nil, 0, fault.New(fault.Usage, "grammar", "", "its text is not UTF-8")
	}
	p := &parser{text: text, g: &bytegram.Grammar{}, rules: map[string]int{}, used: map[string]int{}, defined: map[string]bool{}}
	if err := p.all(); err != nil {
		return nil, 0, err
	}
	for _, name := range p.order {
		if !p.defined[name] {
			return nil, 0, p.wrong(p.used[name], "the rule %q is not defined", name).Fix("add %s ::= ...", name)
		}
	}
	n, ok := p.rules[root]
	if !ok || !p.defined[root] {
		return nil, 0, fault.New(fault.Usage, "grammar", "", "there is no rule %q to start with", root).
			Fix("name one of the grammar's rules with root=")
	}
	return p.g, n, nil
}

type parser struct {
	text  string
	at    int
	depth int

	g       *bytegram.Grammar
	rules   map[string]int
	order   []string
	used    map[string]int // where a rule was first named
	defined map[string]bool
}

func (p *parser) wrong(at int, format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "grammar", p.position(at), format, args...)
}

func (p *parser) position(at int) string {
	before := p.text[:min(at, len(p.text))]
	line := 1 + strings.Count(before, "\n")
	column := len(before) - strings.LastIndexByte(before, '\n')
	return fmt.Sprintf("line %d, column %d", line, column)
}

func (p *parser) end() bool { return p.at >= len(p.text) }

func (p *parser) peek() byte {
	if p.end() {
		return 0
	}
	return p.text[p.at]
}

// blanks skips blanks and comments, and line ends where lines says so.
func (p *parser) blanks(lines bool) {
	for !p.end() {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			for !p.end() && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *parser) all() error {
	for p.blanks(true); !p.end(); p.blanks(true) {
		if err := p.rule(); err != nil {
			return err
		}
	}
	return nil
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (p *parser) name() string {
	start := p.at
	for !p.end() && isName(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

// number returns the number of a rule, which need not be defined yet.
func (p *parser) number(name string, at int) int {
	n, ok := p.rules[name]
	if !ok {
		n = p.g.Rule(name)
		p.rules[name], p.used[name] = n, at
		p.order = append(p.order, name)
	}
	return n
}

func (p *parser) rule() error {
	start := p.at
	name := p.name()
	if name == "" {
		return p.wrong(start, "%s is not the name of a rule", p.found()).Fix("write name ::= body")
	}
	p.blanks(false)
	if !strings.HasPrefix(p.text[p.at:], "::=") {
		return p.wrong(p.at, "%s follows the name %q, where ::= is wanted", p.found(), name)
	}
	p.at += 3
	p.blanks(true)
	if p.defined[name] {
		return p.wrong(start, "the rule %q is defined twice", name)
	}
	n := p.number(name, start)
	p.defined[name] = true
	body, err := p.alternatives(false)
	if err != nil {
		return err
	}
	if c := p.peek(); !p.end() && c != '\n' && c != '\r' {
		return p.wrong(p.at, "%s does not belong into the rule %q", p.found(), name)
	}
	p.g.Define(n, body)
	return nil
}

// found shows what stands at the current place.
func (p *parser) found() string {
	if p.end() {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return strconv.QuoteRune(r)
}

// alternatives reads a body, or the inside of a group.
func (p *parser) alternatives(group bool) (*bytegram.Expr, error) {
	var list []*bytegram.Expr
	for {
		s, err := p.sequence(group)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		if p.peek() != '|' {
			return bytegram.Alt(list...), nil
		}
		p.at++
		p.blanks(true)
	}
}

func (p *parser) sequence(group bool) (*bytegram.Expr, error) {
	var parts []*bytegram.Expr
	for {
		x, err := p.item()
		if err != nil {
			return nil, err
		}
		if x == nil {
			if len(parts) == 0 {
				return bytegram.Empty(), nil
			}
			return bytegram.Seq(parts...), nil
		}
		if x, err = p.repeated(x); err != nil {
			return nil, err
		}
		parts = append(parts, x)
		p.blanks(group)
	}
}

// item reads one element, or nil where none begins.
func (p *parser) item() (*bytegram.Expr, error) {
	start := p.at
	switch c := p.peek(); {
	case c == '"':
		return p.literal()
	case c == '[':
		return p.class()
	case c == '.':
		p.at++
		return bytegram.Class(p.position(start), bytegram.Range{Lo: 0, Hi: bytegram.MostRune}), nil
	case c == '<' || c == '!':
		return p.token()
	case c == '(':
		if p.depth++; p.depth > mostDepth {
			return nil, p.wrong(start, "groups lie more than %d deep", mostDepth)
		}
		p.at++
		p.blanks(true)
		x, err := p.alternatives(true)
		if err != nil {
			return nil, err
		}
		if p.peek() != ')' {
			return nil, p.wrong(start, "the group does not end").Fix("close it with )")
		}
		p.at++
		p.depth--
		return x, nil
	case isName(c):
		return bytegram.Ref(p.number(p.name(), start)), nil
	}
	return nil, nil
}

// repeated reads the repetitions after an element.
func (p *parser) repeated(x *bytegram.Expr) (*bytegram.Expr, error) {
	for {
		switch p.peek() {
		case '*':
			p.at++
			x = bytegram.Repeat(x, 0, bytegram.Unlimited)
		case '+':
			p.at++
			x = bytegram.Repeat(x, 1, bytegram.Unlimited)
		case '?':
			p.at++
			x = bytegram.Opt(x)
		case '{':
			least, most, err := p.bounds()
			if err != nil {
				return nil, err
			}
			x = bytegram.Repeat(x, least, most)
		default:
			return x, nil
		}
	}
}

func (p *parser) bounds() (least, most int, err error) {
	start := p.at
	bad := func() (int, int, error) {
		return 0, 0, p.wrong(start, "the repetition is not {m}, {m,} or {m,n}")
	}
	read := func() (int, bool) {
		p.blanks(false)
		from := p.at
		for !p.end() && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		n, err := strconv.Atoi(p.text[from:p.at])
		p.blanks(false)
		return n, err == nil
	}
	p.at++
	least, ok := read()
	if !ok {
		return bad()
	}
	most = least
	if p.peek() == ',' {
		p.at++
		if most, ok = read(); !ok {
			most = bytegram.Unlimited
		}
	}
	if p.peek() != '}' {
		return bad()
	}
	p.at++
	if least > mostRepeat || most > mostRepeat {
		return 0, 0, p.wrong(start, "a repetition has the bound %d, more than %d", max(least, most), mostRepeat)
	}
	if most != bytegram.Unlimited && most < least {
		return 0, 0, p.wrong(start, "the repetition {%d,%d} ends before it begins", least, most)
	}
	return least, most, nil
}
