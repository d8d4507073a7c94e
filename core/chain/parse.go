package chain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// File is the value of a setting that was written @path: the text of that file.
// Parse reads no files. Whoever may read them calls [ReadFiles], and a chain
// cannot be built from requests that still have one.
type File string

// ReadFiles returns requests with every [File] replaced by what read returns for
// its path. Errors are read's own, with the stage and the setting.
func ReadFiles(requests []Request, read func(path string) (string, error)) ([]Request, error) {
	out := slices.Clone(requests)
	for i, r := range out {
		out[i].Settings = slices.Clone(r.Settings)
		for j, set := range out[i].Settings {
			path, ok := set.Value.(File)
			if !ok {
				continue
			}
			subject := fmt.Sprintf("stage %d (%s), value @%s", i+1, r.Name, path)
			text, err := read(string(path))
			if err != nil {
				return nil, fault.Wrap(err, fault.Usage, opParse, subject)
			}
			if !utf8.ValidString(text) { // plugins are sent texts, not bytes
				return nil, fault.New(fault.Usage, opParse, subject, "the file is not UTF-8 text")
			}
			out[i].Settings[j].Value = text
			out[i].Settings[j].Origin += " @" + string(path)
		}
	}
	return out, nil
}

// noFiles refuses settings that name a file nobody has read.
func noFiles(subject string, settings []param.Setting) error {
	for _, set := range settings {
		if path, ok := set.Value.(File); ok {
			return fault.New(fault.Usage, opParse, subject, "its value @%s names a file, and files are read for chains on the command line only", string(path)).
				Fix("give the text itself, or quote a value that begins with @")
		}
	}
	return nil
}

// Parse reads a chain: stages separated by "|", each "name", "name:value" (its
// first setting) or "name:key=value,key=value". Blanks around any part are
// ignored. A value with one of | , = : or a blank in it goes in double quotes
// with Go's escapes, or in single or back quotes without escapes. An unquoted
// @path is a [File]. origin is recorded with every stage and value. An empty
// text is a chain without stages. Errors are usage errors with the column,
// counted in bytes from 1.
func Parse(text, origin string) ([]Request, error) {
	p := parser{text: text, origin: origin}
	if !utf8.ValidString(text) {
		return nil, fault.New(fault.Usage, opParse, fault.Quote(text, 60), "it is not UTF-8 text")
	}
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
	name, named := word.(string)
	if named && !p.end() && p.text[p.at] == '=' {
		p.at++
		p.blanks()
		v, err := p.value()
		if err != nil {
			return param.Setting{}, err
		}
		return param.Setting{Name: name, Value: v, Origin: p.origin}, nil
	}
	if !first {
		return param.Setting{}, p.wrong(start, "%q is a second value without a name", word).
			Fix("name it: key=%v", word)
	}
	return param.Setting{Value: word, Origin: p.origin}, nil
}

// value reads a quoted value, a file, or a bare value up to the next separator.
// It is a string or a File.
func (p *parser) value() (any, error) {
	start := p.at
	if !p.end() {
		switch q := p.text[p.at]; q {
		case '"':
			quoted, err := strconv.QuotedPrefix(p.text[p.at:])
			if err != nil {
				return nil, p.wrong(start, "a quoted value does not end").Fix(`close it with "`)
			}
			p.at += len(quoted)
			v, err := strconv.Unquote(quoted)
			if err != nil || !utf8.ValidString(v) {
				return nil, p.wrong(start, "a quoted value is not UTF-8 text").Fix("write bytes of a character by the character, or as \\u")
			}
			return v, nil
		case '\'', '`':
			end := strings.IndexByte(p.text[p.at+1:], q)
			if end < 0 {
				return nil, p.wrong(start, "a quoted value does not end").Fix("close it with %c", q)
			}
			p.at += end + 2
			return p.text[start+1 : p.at-1], nil
		}
	}
	v := p.until("|,=:\"")
	if v == "" {
		return nil, p.wrong(start, "a value is missing")
	}
	if path, ok := strings.CutPrefix(v, "@"); ok {
		if path == "" {
			return nil, p.wrong(start, "@ is not followed by the path of a file").Fix(`quote a value that begins with @: "@"`)
		}
		return File(path), nil
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
	if v == "" || v[0] == '@' || v[0] == '\'' || strings.ContainsAny(v, "|,=:\" `\t\r\n") || strconv.Quote(v) != `"`+v+`"` {
		return strconv.Quote(v)
	}
	return v
}
