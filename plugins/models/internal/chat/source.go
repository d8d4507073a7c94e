package chat

import (
	"regexp"
	"strings"
	"unicode"

	"lab/core/fault"
)

var endRaw = regexp.MustCompile(`\{%[-+]?\s*endraw\s*[-+]?%\}`)

// part is a stretch of a template: text, or a tag without its signs.
type part struct {
	kind          byte // 0 text, else '{', '%' or '#'
	text          string
	before, after byte // '-' or '+' of a tag, else 0
}

// prepare returns a template that renders the same in the library, whose own
// ways with white space are not those of jinja2, and whose every operation is
// charged. Every text becomes an expression, in which nothing is trimmed, after it
// was trimmed here with trim_blocks and lstrip_blocks set, as the transformers
// library has it.
func prepare(source string) (string, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	parts, err := cut(strings.TrimSuffix(source, "\n"))
	if err != nil {
		return "", err
	}
	trim(parts)
	var out strings.Builder
	w := statements{}
	for _, p := range parts {
		text := ""
		switch p.kind {
		case 0:
			if p.text != "" {
				text = "{{ " + see + "(" + quote(p.text) + ") }}"
			}
		case '{':
			if text, err = guard(p.text); err != nil {
				return "", err
			}
			text = "{{ " + see + "(" + text + ") }}"
		case '%':
			if p.text == "raw" || p.text == "endraw" {
				continue // the text between is a part of its own
			}
			if text, err = w.statement(p.text); err != nil {
				return "", err
			}
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// cut returns the parts of a template, text and tags by turns.
func cut(source string) ([]part, error) {
	var parts []part
	for rest := source; ; {
		at := opening(rest)
		parts = append(parts, part{text: rest[:at]})
		if at == len(rest) {
			return parts, nil
		}
		end := tagEnd(rest[at:])
		if end < 0 {
			return nil, wrong("a tag is not closed: %s", fault.Quote(rest[at:], 60))
		}
		tag := rest[at : at+end]
		p := part{kind: tag[1], text: tag[2 : len(tag)-2]}
		if p.text != "" && strings.ContainsRune("-+", rune(p.text[0])) {
			p.before, p.text = p.text[0], p.text[1:]
		}
		if n := len(p.text); n > 0 && (p.text[n-1] == '-' || p.text[n-1] == '+' && p.kind != '{') {
			p.after, p.text = p.text[n-1], p.text[:n-1]
		}
		p.text = strings.TrimSpace(p.text)
		parts = append(parts, p)
		rest = rest[at+end:]
		if p.kind == '%' && p.text == "raw" {
			stop := endRaw.FindStringIndex(rest)
			if stop == nil {
				return nil, wrong("a raw block is not closed")
			}
			parts = append(parts, part{text: rest[:stop[0]]})
			end := rest[stop[0]:stop[1]]
			p = part{kind: '%', text: "endraw", before: end[2], after: end[len(end)-3]}
			parts = append(parts, p)
			rest = rest[stop[1]:]
		}
	}
}

// opening returns where the first tag of a text begins, or the text's length.
func opening(text string) int {
	for at := 0; at+1 < len(text); at++ {
		if text[at] == '{' && strings.IndexByte("{%#", text[at+1]) >= 0 {
			return at
		}
	}
	return len(text)
}

// trim takes from the texts the white space that their tags take: all of it at a
// tag with a minus; else the line end behind a statement or comment, and the
// blanks before one that stands first in its line.
func trim(parts []part) {
	fresh := true // whether the text begins at the beginning of a line
	for i := range parts {
		if parts[i].kind != 0 {
			continue
		}
		text := parts[i].text
		if i > 0 {
			p := parts[i-1]
			block := p.kind != '{' && p.after != '+' && p.text != "raw"
			rest := text
			switch {
			case p.after == '-':
				rest = strings.TrimLeftFunc(text, unicode.IsSpace)
			case block:
				rest = strings.TrimPrefix(text, "\n")
			}
			fresh = strings.HasSuffix(text[:len(text)-len(rest)], "\n")
			text = rest
		}
		if i+1 < len(parts) {
			p := parts[i+1]
			line := strings.LastIndexByte(text, '\n') + 1
			switch {
			case p.before == '-':
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			case p.kind != '{' && p.before != '+' && (line > 0 || fresh) && strings.TrimSpace(text[line:]) == "":
				text = text[:line]
			}
		}
		parts[i].text = text
	}
}

// tagEnd returns the length of the tag that a text starts with, -1 when it is
// not closed.
func tagEnd(text string) int {
	if text[1] == '#' {
		if end := strings.Index(text[2:], "#}"); end >= 0 {
			return end + 4
		}
		return -1
	}
	closing := "}}"
	if text[1] == '%' {
		closing = "%}"
	}
	quote := byte(0)
	depth := 0 // of braces: a dict may end in }}
	for i := 2; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case depth == 0 && strings.HasPrefix(text[i:], closing):
			return i + 2
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		}
	}
	return -1
}
