package cells

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/d5/tengo/v2/parser"
	"github.com/d5/tengo/v2/token"

	"lab/core/fault"
	"lab/core/script"
)

// parameter is a variable that a cell gives a value at its top level.
type parameter struct {
	name  string
	value []lexeme // of the right side
}

// parametersOf returns the variables of "name := value" lines of src, in order.
func parametersOf(src string) []parameter {
	file := parser.NewFileSet().AddFile("", -1, len(src))
	scan := parser.NewScanner(file, []byte(src), func(parser.SourceFilePos, string) {}, 0)
	var out []parameter
	var line []lexeme
	depth := 0
	for {
		tok, text, pos := scan.Scan()
		switch tok {
		case token.LParen, token.LBrack, token.LBrace:
			depth++
		case token.RParen, token.RBrack, token.RBrace:
			depth--
		}
		if tok != token.EOF && (tok != token.Semicolon || depth > 0) {
			line = append(line, lexeme{tok, text, file.Offset(pos)})
			continue
		}
		if len(line) > 2 && line[0].tok == token.Ident && line[1].tok == token.Define {
			out = append(out, parameter{line[0].text, line[2:]})
		}
		line = nil
		if tok == token.EOF {
			return out
		}
	}
}

// Assign returns the source of a cell that gives parameters other values: those of
// settings, by name, in the order in which src, the cell with their defaults,
// defines them. A default decides how a value is read: a number, true or false,
// or text as it stands; where the default is something else the value is an
// expression. It refuses names that src does not define.
func Assign(src string, settings map[string]string) (string, error) {
	known := parametersOf(src)
	var names []string
	for _, p := range known {
		names = append(names, p.name)
	}
	wanted := make([]string, 0, len(settings))
	for name := range settings {
		wanted = append(wanted, name)
	}
	slices.Sort(wanted)
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return "", fault.Unknown("notebook", "parameter", name, names)
		}
	}
	var b strings.Builder
	done := map[string]bool{}
	for _, p := range known {
		text, ok := settings[p.name]
		if !ok || done[p.name] {
			continue
		}
		done[p.name] = true
		value, err := p.read(text)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s := %s\n", p.name, value)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// read returns text as an expression of the kind of the default.
func (p parameter) read(text string) (string, error) {
	wrong := func(want string) error {
		return fault.New(fault.Usage, "notebook", "parameter "+p.name, "%s is not %s, as its default is", fault.Quote(text, 60), want)
	}
	value := p.value
	if len(value) == 2 && (value[0].tok == token.Sub || value[0].tok == token.Add) {
		value = value[1:]
	}
	if len(value) != 1 {
		value = []lexeme{{tok: token.Illegal}}
	}
	switch value[0].tok {
	case token.String:
		return strconv.Quote(text), nil
	case token.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", wrong("a whole number")
		}
		return strconv.FormatInt(n, 10), nil
	case token.Float:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v-v != 0 {
			return "", wrong("a finite number")
		}
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s, nil
	case token.True, token.False:
		if text != "true" && text != "false" {
			return "", wrong("true or false")
		}
		return text, nil
	}
	if !isExpression(text) {
		return "", wrong("an expression")
	}
	return text, nil
}

// isExpression reports whether text is one expression on one line.
func isExpression(text string) bool {
	tokens, _ := lex(text)
	depth := 0
	for _, t := range tokens {
		switch t.tok {
		case token.LParen, token.LBrack, token.LBrace:
			depth++
		case token.RParen, token.RBrack, token.RBrace:
			depth--
		case token.Semicolon:
			if depth == 0 {
				return false
			}
		}
		if depth < 0 {
			return false
		}
	}
	c, _ := script.CompletenessOf("x := " + text)
	return len(tokens) > 0 && !strings.Contains(text, "\n") && c == script.Complete
}
