package chain

import (
	"fmt"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/core/plugin/param"
)

// Request is one stage as a user wrote it: a name and settings that nobody has
// checked yet.
type Request struct {
	Name     string
	Settings []param.Setting
	Origin   string // who asked for the stage: "chain", "script run.tengo:3", "default"
}

const opParse = "chain"

// Parse reads a chain: stages separated by "|", each "name", "name:value" (its
// first setting) or "name:key=value,key=value". Blanks around any part are
// ignored. A value with one of | , = : or a blank in it goes in double quotes
// with Go's escapes. origin is recorded with every stage and value. An empty
// text is a chain without stages. Errors are usage errors with the column,
// counted in bytes from 1.
func Parse(text, origin string) ([]Request, error) {
	p := parser{text: text, origin: origin}
	p.blanks()
	if p.end() {
		return nil, nil
	}
	var out []Request
	for {
		r, err := p.stage()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
		if p.end() {
			return out, nil
		}
		p.at++ // the bar: stage stops at a bar or the end only
	}
}

type parser struct {
	text, origin string
	at           int
}

func (p *parser) end() bool { return p.at >= len(p.text) }

func (p *parser) blanks() {
	for !p.end() && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
}

func (p *parser) wrong(at int, format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, opParse, fmt.Sprintf("%s column %d", fault.Quote(p.text, 60), at+1), format, args...)
}

func (p *parser) stage() (Request, error) {
	p.blanks()
	start := p.at
	name := p.until("|:,=")
	if name == "" {
		return Request{}, p.wrong(start, "a stage has no name").
			Fix(`write "name", "name:value" or "name:key=value", with | between stages`)
	}
	if strings.ContainsAny(name, " \t\"") {
		return Request{}, p.wrong(start, "%q is not a stage name", name).Fix("put | between stages")
	}
	r := Request{Name: name, Origin: p.origin}
	if p.end() || p.text[p.at] == '|' {
		return r, nil
	}
	if p.text[p.at] != ':' {
		return Request{}, p.wrong(p.at, "%q after the stage name", p.text[p.at:p.at+1]).
			Fix("put : between a stage and its settings: %s:key=value", name)
	}
	for {
		p.at++ // the colon or comma
		s, err := p.setting(len(r.Settings) == 0)
		if err != nil {
			return Request{}, err
		}
		r.Settings = append(r.Settings, s)
		p.blanks()
		if p.end() || p.text[p.at] == '|' {
			return r, nil
		}
		if p.text[p.at] != ',' {
			return Request{}, p.wrong(p.at, "%q after a value", p.text[p.at:p.at+1]).
				Fix("put , between settings and | between stages")
		}
	}
}

// setting reads "key=value", or a bare value where first allows it.
func (p *parser) setting(first bool) (param.Setting, error) {
	p.blanks()
	start := p.at
	word, err := p.value()
	if err != nil {
		return param.Setting{}, err
	}
	p.blanks()
	if !p.end() && p.text[p.at] == '=' {
		p.at++
		p.blanks()
		v, err := p.value()
		if err != nil {
			return param.Setting{}, err
		}
		return param.Setting{Name: word, Value: v, Origin: p.origin}, nil
	}
	if !first {
		return param.Setting{}, p.wrong(start, "%q is a second value without a name", word).
			Fix("name it: key=%s", word)
	}
	return param.Setting{Value: word, Origin: p.origin}, nil
}

// value reads a quoted value, or a bare one up to the next separator.
func (p *parser) value() (string, error) {
	start := p.at
	if !p.end() && p.text[p.at] == '"' {
		quoted, err := strconv.QuotedPrefix(p.text[p.at:])
		if err != nil {
			return "", p.wrong(start, "a quoted value does not end").Fix(`close it with "`)
		}
		p.at += len(quoted)
		return strconv.Unquote(quoted)
	}
	v := p.until("|,=:\"")
	if v == "" {
		return "", p.wrong(start, "a value is missing")
	}
	return v, nil
}

// until returns the text up to the next byte of stop, without blanks at either
// end, and stands on that byte.
func (p *parser) until(stop string) string {
	start := p.at
	for !p.end() && !strings.ContainsRune(stop, rune(p.text[p.at])) {
		p.at++
	}
	return strings.TrimSpace(p.text[start:p.at])
}

// quote returns v so that Parse reads it back.
func quote(v string) string {
	if v == "" || strings.ContainsAny(v, "|,=:\" \t\r\n") || strconv.Quote(v) != `"`+v+`"` {
		return strconv.Quote(v)
	}
	return v
}
