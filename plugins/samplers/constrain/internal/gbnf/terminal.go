package gbnf

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"lab/plugins/samplers/constrain/internal/bytegram"
)

func (p *parser) literal() (*bytegram.Expr, error) {
	start := p.at
	var b strings.Builder
	for p.at++; ; {
		if p.end() || p.peek() == '\n' {
			return nil, p.wrong(start, "the literal does not end").Fix(`close it with "`)
		}
		if p.peek() == '"' {
			p.at++
			return bytegram.Literal(p.position(start), b.String()), nil
		}
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		b.WriteRune(r)
	}
}

// char reads one character or escape.
func (p *parser) char() (rune, error) {
	start := p.at
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	if r != '\\' {
		return r, nil
	}
	c := p.peek()
	p.at++
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 {
		if p.at+digits > len(p.text) {
			return 0, p.wrong(start, "the escape \\%c wants %d digits", c, digits)
		}
		v, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
		if err != nil || v > utf8.MaxRune || v >= 0xD800 && v < 0xE000 {
			return 0, p.wrong(start, "the escape \\%c%s is no character", c, p.text[p.at:p.at+digits])
		}
		p.at += digits
		return rune(v), nil
	}
	switch c {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case '\\', '"', '[', ']', '-', '^':
		return rune(c), nil
	}
	return 0, p.wrong(start, "the escape \\%s is unknown", string(c)).Fix(`known are \n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH`)
}

func (p *parser) class() (*bytegram.Expr, error) {
	start := p.at
	p.at++
	negated := p.peek() == '^'
	if negated {
		p.at++
	}
	var ranges []bytegram.Range
	for p.peek() != ']' {
		if p.end() || p.peek() == '\n' {
			return nil, p.wrong(start, "the class does not end").Fix("close it with ]")
		}
		at := p.at
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.peek() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			p.at++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, p.wrong(at, "the range from %q to %q is empty", lo, hi)
		}
		ranges = append(ranges, bytegram.Range{Lo: lo, Hi: hi})
	}
	p.at++
	if negated {
		ranges = bytegram.Negate(ranges)
	}
	if len(ranges) == 0 {
		return nil, p.wrong(start, "the class is empty: no character is in it")
	}
	return bytegram.Class(p.position(start), ranges...), nil
}

// token reads <text>, <[id]>, and either after !.
func (p *parser) token() (*bytegram.Expr, error) {
	start := p.at
	t := bytegram.Token{ID: -1}
	if p.peek() == '!' {
		t.Not = true
		p.at++
	}
	if p.peek() != '<' {
		return nil, p.wrong(start, "! is not followed by a token").Fix("write !<text> or !<[id]>")
	}
	end := strings.IndexByte(p.text[p.at:], '>')
	if end < 2 {
		return nil, p.wrong(start, "the token is empty or does not end").Fix("write <text> or <[id]>")
	}
	inside := p.text[p.at+1 : p.at+end]
	p.at += end + 1
	if strings.HasPrefix(inside, "[") && strings.HasSuffix(inside, "]") {
		id, err := strconv.ParseInt(inside[1:len(inside)-1], 10, 32)
		if err != nil || id < 0 {
			return nil, p.wrong(start, "<%s> is no token", inside)
		}
		t.ID = int32(id)
	} else {
		t.Text = "<" + inside + ">"
	}
	return bytegram.OneToken(p.position(start), t), nil
}
