package cells

import (
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

// lexeme is one token of a text that may not parse.
type lexeme struct {
	tok  token.Token
	text string
	at   int // byte offset
}

// lex returns the tokens of src, and whether it ends inside a string or comment.
func lex(src string) (out []lexeme, inside bool) {
	file := parser.NewFileSet().AddFile("", -1, len(src))
	scan := parser.NewScanner(file, []byte(src), func(_ parser.SourceFilePos, text string) {
		inside = inside || strings.Contains(text, "not terminated")
	}, parser.DontInsertSemis)
	for {
		tok, text, pos := scan.Scan()
		if tok == token.EOF {
			return out, inside
		}
		out = append(out, lexeme{tok, text, file.Offset(pos)})
	}
}

// thing is what is known of an expression without running it.
type thing struct {
	script.Meaning
	variable *script.Variable // a plain value of the session
}

// scope answers what names mean at one place of a text.
type scope struct {
	s        *Session
	tokens   []lexeme // before the place
	declared *script.Declarations
	depth    int // of assignments followed
}

func (s *Session) scopeOf(tokens []lexeme) *scope {
	return &scope{s: s, tokens: tokens, declared: script.Declared(s.script.Modules())}
}

// opening returns the index of the bracket that the one at i closes, or -1.
func opening(tokens []lexeme, i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch tokens[i].tok {
		case token.RParen, token.RBrack, token.RBrace:
			depth++
		case token.LParen, token.LBrack, token.LBrace:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// before returns what the expression that ends before token end is, or nil: a
// name or an import followed by members, calls and indices.
func (sc *scope) before(tokens []lexeme, end int) *thing {
	i := end - 1
	for i >= 0 {
		switch tokens[i].tok {
		case token.Ident:
			if i < 2 || tokens[i-1].tok != token.Period {
				return sc.from(tokens[i:end], tokens[:i])
			}
			i -= 2
		case token.RParen, token.RBrack:
			i = opening(tokens, i) - 1
		case token.Import:
			return sc.from(tokens[i:end], tokens[:i])
		default:
			return nil
		}
	}
	return nil
}

// from follows an expression from its first token.
func (sc *scope) from(e, earlier []lexeme) *thing {
	var at *thing
	i := 1
	if e[0].tok == token.Import {
		if len(e) < 4 || e[2].tok != token.String {
			return nil
		}
		at, i = sc.moduleNamed(strings.Trim(e[2].text, "\"`")), 4
	} else {
		at = sc.name(e[0].text, earlier)
	}
	for i < len(e) && at != nil {
		switch e[i].tok {
		case token.Period:
			if i+1 >= len(e) {
				return at
			}
			at = sc.memberOf(at, e[i+1].text)
			i += 2
		case token.LParen, token.LBrack:
			depth, j := 0, i
			for ; j < len(e); j++ {
				switch e[j].tok {
				case token.LParen, token.LBrack, token.LBrace:
					depth++
				case token.RParen, token.RBrack, token.RBrace:
					depth--
				}
				if depth == 0 {
					break
				}
			}
			if e[i].tok == token.LParen {
				at = sc.called(at)
			} else {
				at = at.element()
			}
			i = j + 1
		default:
			return nil
		}
	}
	return at
}

func (sc *scope) moduleNamed(name string) *thing {
	return known(sc.declared.Import(name))
}

// known returns a thing of which something is known, or nil.
func known(m script.Meaning) *thing {
	if m == (script.Meaning{}) {
		return nil
	}
	return &thing{Meaning: m}
}

// name returns what a name means: what the text assigned to it last, and else
// what the session knows.
func (sc *scope) name(name string, earlier []lexeme) *thing {
	for i := len(earlier) - 2; i >= 0 && sc.depth < 8; i-- {
		tok := earlier[i+1].tok
		if earlier[i].tok != token.Ident || earlier[i].text != name || tok != token.Define && tok != token.Assign {
			continue
		}
		end := i + 2
		for end < len(earlier) && follows(earlier, i+2, end) {
			switch earlier[end].tok {
			case token.LParen, token.LBrack, token.LBrace:
				end = closing(earlier, end)
			default:
				end++
			}
		}
		sc.depth++
		defer func() { sc.depth-- }()
		return sc.before(earlier[:end], end)
	}
	v, ok := sc.s.script.Look(name)
	if !ok {
		return nil
	}
	switch {
	case v.Module != "":
		if m := sc.moduleNamed(v.Module); m != nil {
			return m
		}
	case v.Func != nil:
		return &thing{script.Meaning{Member: v.Func}, &v}
	case v.Class != nil:
		return &thing{script.Meaning{Class: v.Class}, &v}
	}
	return &thing{variable: &v}
}

// follows reports whether token i continues the expression that began at start.
func follows(t []lexeme, start, i int) bool {
	if i == start {
		return t[i].tok == token.Ident || t[i].tok == token.Import
	}
	switch t[i].tok {
	case token.Period, token.LParen, token.LBrack:
		return true
	case token.Ident:
		return t[i-1].tok == token.Period
	}
	return false
}

// closing returns the index after the bracket that closes the one at i.
func closing(t []lexeme, i int) int {
	depth := 0
	for ; i < len(t); i++ {
		switch t[i].tok {
		case token.LParen, token.LBrack, token.LBrace:
			depth++
		case token.RParen, token.RBrack, token.RBrace:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

func find(members []script.Member, name string) *script.Member {
	for i := range members {
		if members[i].Name == name {
			return &members[i]
		}
	}
	return nil
}

func (sc *scope) memberOf(at *thing, name string) *thing {
	owner, members := at.members(sc.s)
	m := find(members, name)
	if m == nil {
		return nil
	}
	return &thing{Meaning: sc.declared.Read(owner, m)}
}

// members returns what can follow a dot.
func (at *thing) members(s *Session) (owner string, members []script.Member) {
	if owner, members = at.Members(); members == nil && at.variable != nil {
		return at.variable.Name, s.script.Members(at.variable.Name)
	}
	return owner, members
}

func (sc *scope) called(at *thing) *thing {
	if at.Member == nil || at.Member.Func == nil {
		return nil
	}
	return &thing{Meaning: sc.declared.Called(at.Meaning)}
}

func (at *thing) element() *thing { return known(at.Element()) }

// callAt returns the function whose arguments are being written at the end of
// tokens; nil when there is none.
func (sc *scope) callAt(tokens []lexeme) *thing {
	closed := 0 // brackets that end before the place
	for i := len(tokens) - 1; i > 0; i-- {
		switch tokens[i].tok {
		case token.RParen, token.RBrack, token.RBrace:
			closed++
		case token.LParen, token.LBrack, token.LBrace:
			if closed > 0 {
				closed--
				break
			}
			if tokens[i].tok == token.LParen {
				if at := sc.before(tokens, i); at != nil && at.Member != nil {
					return at
				}
			}
		}
	}
	return nil
}
