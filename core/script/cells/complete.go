package cells

import (
	"slices"
	"strings"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

// Completion is one text that can stand at the cursor.
type Completion struct {
	Text      string
	Kind      string // "function", "property", "option", "module", "keyword" or "variable"
	Signature string // "generate(prompt, {samples})"; empty when it is none
}

// Completions are the texts that can replace bytes Start to End of the source,
// sorted.
type Completions struct {
	Start, End int
	List       []Completion
}

var keywords = []string{"break", "continue", "else", "error", "export", "false", "for", "func", "if", "immutable", "import", "in", "return", "true", "undefined"}

// Complete returns what can stand at byte cursor of src: members after a dot, of
// what the expression in front returns by its declaration; the options of the
// function that is being called; modules within import; and names. It runs
// nothing. A cursor outside src is moved to its end.
func (s *Session) Complete(src string, cursor int) Completions {
	if cursor < 0 || cursor > len(src) {
		cursor = len(src)
	}
	start, end := wordAt(src, cursor)
	prefix := src[start:cursor]
	out := Completions{Start: start, End: end}
	head := src[:start]
	if quote := strings.TrimRight(head, "`\""); len(quote) == len(head)-1 && strings.HasSuffix(quote, "import(") {
		for _, name := range s.script.ModuleNames() {
			out.add(prefix, Completion{Text: name, Kind: "module"})
		}
		return out
	}
	tokens, inside := lex(head)
	if inside {
		return out
	}
	sc := s.scopeOf(tokens)
	n := len(tokens)
	if n > 0 && tokens[n-1].tok == token.Period {
		if at := sc.before(tokens, n-1); at != nil {
			_, members := at.members(s)
			for _, m := range members {
				out.addMember(prefix, m)
			}
		}
		return out
	}
	if n > 0 && tokens[n-1].tok == token.Float && start == tokens[n-1].at+len(tokens[n-1].text) {
		return out // a number and its point
	}
	if options := sc.optionsAt(tokens); options != nil {
		for _, o := range options {
			out.add(prefix, Completion{Text: o.Name, Kind: "option", Signature: o.Name + ": " + o.Type.String()})
		}
		return out
	}
	s.names(&out, prefix, src)
	return out
}

// names adds what an expression can begin with.
func (s *Session) names(out *Completions, prefix, src string) {
	for _, k := range keywords {
		out.add(prefix, Completion{Text: k, Kind: "keyword"})
	}
	for _, f := range tengo.GetAllBuiltinFunctions() {
		out.add(prefix, Completion{Text: f.Name, Kind: "function"})
	}
	for _, m := range script.Globals() {
		out.addMember(prefix, m)
	}
	for _, name := range s.script.Names() {
		out.add(prefix, Completion{Text: name, Kind: "variable"})
	}
	all, _ := lex(src)
	for i := range all {
		if all[i].tok == token.Ident && i+1 < len(all) && all[i+1].tok == token.Define {
			out.add(prefix, Completion{Text: all[i].text, Kind: "variable"})
		}
	}
}

func (c *Completions) addMember(prefix string, m script.Member) {
	item := Completion{Text: m.Name, Kind: "property"}
	if m.Func != nil {
		item.Kind, item.Signature = "function", m.Signature()
	}
	c.add(prefix, item)
}

// add keeps the list sorted, and the first of two that are spelt alike.
func (c *Completions) add(prefix string, item Completion) {
	if !strings.HasPrefix(item.Text, prefix) {
		return
	}
	at, found := slices.BinarySearchFunc(c.List, item.Text, func(e Completion, text string) int { return strings.Compare(e.Text, text) })
	if !found {
		c.List = slices.Insert(c.List, at, item)
	}
}

// optionsAt returns the options whose name can stand at the end of tokens: right
// after the { or a comma of a map that is an argument of a call.
func (sc *scope) optionsAt(tokens []lexeme) []script.Param {
	n := len(tokens)
	if n == 0 || tokens[n-1].tok != token.LBrace && tokens[n-1].tok != token.Comma {
		return nil
	}
	depth := 0
	for i := n - 1; i > 0; i-- {
		switch tokens[i].tok {
		case token.RParen, token.RBrack, token.RBrace:
			depth++
		case token.LParen, token.LBrack:
			if depth--; depth < 0 {
				return nil
			}
		case token.LBrace:
			if depth--; depth < 0 {
				if before := tokens[i-1].tok; before != token.LParen && before != token.Comma {
					return nil
				}
				at := sc.callAt(tokens[:i])
				if at == nil {
					return nil
				}
				return at.Member.Options
			}
		}
	}
	return nil
}

// wordAt returns the bounds of the name around byte at.
func wordAt(src string, at int) (start, end int) {
	start, end = at, at
	for start > 0 && isWord(src[start-1]) {
		start--
	}
	for end < len(src) && isWord(src[end]) {
		end++
	}
	return start, end
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
