package script

import (
	"errors"
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"
)

// Completeness says whether a text can be run, or wants more lines first.
type Completeness uint8

// A text is complete when it parses, incomplete when more lines can make it
// parse, and invalid when none can.
const (
	Complete Completeness = iota
	Incomplete
	Invalid
)

// String returns "complete", "incomplete" or "invalid".
func (c Completeness) String() string { return [...]string{"complete", "incomplete", "invalid"}[c] }

// CompletenessOf returns whether src can be run and, when it is incomplete, how
// many brackets are open at its end. It parses and does not compile, so a
// complete text may still name something unknown.
func CompletenessOf(src string) (c Completeness, open int) {
	if len(src) > MaxSource {
		return Invalid, 0
	}
	text := plain([]byte(src))
	if _, bad := tooNested(text); bad {
		return Invalid, 0
	}
	file := parser.NewFileSet().AddFile("", -1, len(text))
	_, err := parseFile(file, text)
	if err == nil {
		return Complete, 0
	}
	var list parser.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return Invalid, 0
	}
	first := list[0] // they come in the order of the text
	end := len(strings.TrimRight(string(text), " \t\r\n"))
	switch {
	case strings.Contains(first.Msg, "comment not terminated"), strings.Contains(first.Msg, "raw string literal not terminated"):
	case first.Pos.Offset >= end, strings.Contains(first.Msg, "found 'EOF'"):
	default:
		return Invalid, 0
	}
	return Incomplete, openBrackets(text)
}

// openBrackets counts the brackets that text opens and does not close.
func openBrackets(text []byte) int {
	file := parser.NewFileSet().AddFile("", -1, len(text))
	scan := parser.NewScanner(file, text, func(parser.SourceFilePos, string) {}, 0)
	open := 0
	for {
		switch tok, _, _ := scan.Scan(); tok {
		case token.LParen, token.LBrack, token.LBrace:
			open++
		case token.RParen, token.RBrack, token.RBrace:
			open = max(0, open-1)
		case token.EOF:
			return open
		}
	}
}
