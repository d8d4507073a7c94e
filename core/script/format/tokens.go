package format

import (
	"bytes"
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

// piece is a token or comment.
type piece struct {
	tok        token.Token
	text       string // as it is written, without carriage returns
	role       role
	start, end int // bytes in the source
	breaks     int // line breaks between the piece before and this one
}

// role is what the syntax tree knows of a token and the token does not.
type role uint8

const (
	plain     role = iota
	sign           // + - ^ ! in front of its only operand
	mapBrace       // { and } of a map
	bodyBrace      // the { of if, else and for
	keyColon       // between key and value
	condColon      // of a ? b : c
	wideSlice      // [ of a slice whose colon stands between blanks
)

// isBreak reports whether a piece is the end of a statement that a line break, or
// the end of the text, made.
func (p *piece) isBreak() bool { return p.tok == token.Semicolon && p.text == "\n" }

// scan returns the pieces of a text that parses. The last one is the end.
func scan(src []byte) []piece {
	file := parser.NewFileSet().AddFile("", -1, len(src))
	s := parser.NewScanner(file, src, nil, parser.ScanComments)
	var out []piece
	last := 0 // the end of the piece before
	for {
		tok, text, pos := s.Scan()
		p := piece{tok: tok, text: text, start: file.Offset(pos)}
		switch {
		case tok == token.EOF:
			p.text = ""
		case p.isBreak():
			p.end = p.start // the line break is counted before the next piece
		case tok == token.Comment:
			p.text = trimLines(text)
			p.end = p.start + commentLength(src[p.start:])
		case tok == token.String && text[0] == '`':
			p.end = p.start + 2 + bytes.IndexByte(src[p.start+1:], '`')
		default:
			if text == "" {
				p.text = tok.String()
			}
			p.end = p.start + len(p.text)
		}
		if !p.isBreak() {
			p.breaks = bytes.Count(src[min(last, p.start):p.start], []byte("\n"))
			last = p.end
		}
		out = append(out, p)
		if tok == token.EOF {
			return out
		}
	}
}

// commentLength returns the length of the comment at the start of src.
func commentLength(src []byte) int {
	if src[1] == '*' {
		return 4 + bytes.Index(src[2:], []byte("*/"))
	}
	if n := bytes.IndexByte(src, '\n'); n >= 0 {
		return n
	}
	return len(src)
}

// trimLines takes the blanks from the ends of the lines of a comment.
func trimLines(text string) string {
	if !strings.ContainsAny(text, " \t\r") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.Join(lines, "\n")
}

// mark gives the pieces the roles that the tree has for them.
func mark(pieces []piece, tree *parser.File) {
	roles := map[int]role{}
	set := func(at parser.Pos, r role) { roles[tree.InputFile.Offset(at)] = r }
	script.Walk(tree, func(n parser.Node) bool {
		switch n := n.(type) {
		case *parser.UnaryExpr:
			set(n.TokenPos, sign)
		case *parser.MapLit:
			set(n.LBrace, mapBrace)
			set(n.RBrace, mapBrace)
		case *parser.MapElementLit:
			set(n.ColonPos, keyColon)
		case *parser.CondExpr:
			set(n.ColonPos, condColon)
		case *parser.ForStmt:
			set(n.Body.LBrace, bodyBrace)
		case *parser.ForInStmt:
			set(n.Body.LBrace, bodyBrace)
		case *parser.IfStmt:
			set(n.Body.LBrace, bodyBrace)
			if b, ok := n.Else.(*parser.BlockStmt); ok {
				set(b.LBrace, bodyBrace)
			}
		case *parser.SliceExpr:
			if n.Low != nil && n.High != nil && (isWide(n.Low) || isWide(n.High)) {
				set(n.LBrack, wideSlice)
			}
		}
		return true
	})
	for i := range pieces {
		if !pieces[i].isBreak() {
			pieces[i].role = roles[pieces[i].start]
		}
	}
}

// isWide reports whether an expression has blanks outside of brackets.
func isWide(e parser.Expr) bool {
	switch e.(type) {
	case *parser.BinaryExpr, *parser.CondExpr:
		return true
	}
	return false
}
