package chat

import "strings"

// statements rewrites the statements of a template in their order.
type statements struct {
	filters []string // of the filter blocks that are open
	nest    int
}

// statement returns one with its expressions guarded. A form that the library
// would read as something else is refused.
func (s *statements) statement(text string) (string, error) {
	n := 0
	for n < len(text) && letter(text[n]) {
		n++
	}
	word, rest := text[:n], strings.TrimSpace(text[n:])
	if among(word, "if for macro call filter generation") {
		if s.nest++; s.nest > deepest {
			return "", wrong("its blocks nest more than %d deep", deepest)
		}
	} else if strings.HasPrefix(word, "end") {
		s.nest--
	}
	switch word {
	case "if", "elif":
		return expand("{% "+word+" (", rest, ") %}")
	case "for":
		return loop(rest)
	case "set":
		return s.assignment(rest)
	case "macro":
		return macro(rest)
	case "call":
		return call(rest)
	case "filter":
		s.filters = append(s.filters, rest)
		return "{% set lab_block %}", nil
	case "endfilter":
		if rest == "" && len(s.filters) > 0 {
			last := s.filters[len(s.filters)-1]
			s.filters = s.filters[:len(s.filters)-1]
			return filterBlock(last)
		}
	case "else", "endif", "endfor", "endmacro", "endcall", "endset", "break", "continue", "generation", "endgeneration":
		if rest == "" || word == "endmacro" || word == "endset" {
			return "{% " + word + " %}", nil
		}
	}
	return "", wrong("the statement %.60q is not known", text)
}

// expand guards an expression between two pieces.
func expand(before, expression, after string) (string, error) {
	guarded, err := guard(expression)
	return before + guarded + after, err
}

// loop rewrites `NAMES in LIST if CONDITION`.
func loop(rest string) (string, error) {
	words, err := lex(rest)
	if err != nil {
		return "", err
	}
	names, at := "", 0
	for words[at].kind == 'n' && words[at].text != "in" {
		if err := named(words[at].text); err != nil {
			return "", err
		}
		names += words[at].text
		if at++; words[at].text != "," {
			break
		}
		names += ", "
		at++
	}
	g := &guarder{words: words, at: at}
	if err := g.need("in"); err != nil || at == 0 {
		return "", wrong("a loop without names or without \"in\": %.60q", rest)
	}
	list, err := g.binary(0)
	if err != nil {
		return "", err
	}
	condition := ""
	if g.take("if") {
		c, err := g.choice()
		if err != nil {
			return "", err
		}
		condition = " if (" + c.text + ")"
	}
	if g.peek().kind != 0 {
		return "", wrong("a loop goes on with %.40q", g.peek().text)
	}
	return "{% for " + names + " in " + over + "(" + list.text + ")" + condition + " %}{% set lab_spent = " + tick + "() %}", nil
}

// identifier tells whether s is one name that a template may use.
func identifier(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) && (i == 0 || !digit(s[i])) {
			return false
		}
	}
	return s != "" && named(s) == nil
}

func (s *statements) assignment(rest string) (string, error) {
	target, expression, inline := strings.Cut(rest, "=")
	target = strings.TrimSpace(target)
	space, name, dotted := strings.Cut(target, ".")
	if !identifier(space) || dotted && !(identifier(name) && inline) {
		return "", wrong("it sets %.60q, which is not one name", target)
	}
	if !inline {
		if s.nest++; s.nest > deepest {
			return "", wrong("its blocks nest more than %d deep", deepest)
		}
		return "{% set " + target + " %}", nil
	}
	return expand("{% set "+target+" = ", expression, " %}")
}

// macro rewrites `NAME(PARAMETERS)`. The library evaluates a default before the
// macro's body, where nothing is charged, and reads no commas in one: it has to be
// a literal.
func macro(rest string) (string, error) {
	name, list, ok := strings.Cut(rest, "(")
	name = strings.TrimSpace(name)
	list, closed := strings.CutSuffix(list, ")")
	if !ok || !closed || !identifier(name) {
		return "", wrong("a macro without a name or parameters: %.60q", rest)
	}
	var out []string
	for _, p := range strings.Split(list, ",") {
		param, value, has := strings.Cut(strings.TrimSpace(p), "=")
		param, value = strings.TrimSpace(param), strings.TrimSpace(value)
		if param == "" && !has && len(out) == 0 && strings.TrimSpace(list) == "" {
			break
		}
		if !identifier(param) {
			return "", wrong("a macro has the parameter %.60q", p)
		}
		if has {
			words, err := lex(value)
			literal := err == nil && (len(words) == 2 && words[0].kind != 'o' || value == "[]" || value == "{}")
			if !literal {
				return "", wrong("the parameter %q of a macro has a default that is not a literal", param)
			}
			guarded, err := guard(value)
			if err != nil {
				return "", err
			}
			param += "=" + guarded
		}
		out = append(out, param)
	}
	return "{% macro " + name + "(" + strings.Join(out, ", ") + ") %}{% set lab_spent = " + tick + "() %}", nil
}

// call rewrites `(NAMES) MACRO(ARGUMENTS)`.
func call(rest string) (string, error) {
	names := ""
	if list, ok := strings.CutPrefix(rest, "("); ok {
		var closed bool
		if list, rest, closed = strings.Cut(list, ")"); !closed {
			return "", wrong("a call block is not closed")
		}
		for _, n := range strings.Split(list, ",") {
			if n = strings.TrimSpace(n); n != "" && !identifier(n) {
				return "", wrong("a call block names %.60q", n)
			}
		}
		names = "(" + list + ") "
	}
	guarded, err := guard(rest)
	if err == nil && !strings.HasPrefix(guarded, do+"(") && !strings.HasPrefix(guarded, method+"(") {
		err = wrong("a call block calls no macro: %.60q", rest)
	}
	return "{% call " + names + guarded + " %}", err
}

// filterBlock writes what ends a block that was gathered as a text.
func filterBlock(expression string) (string, error) {
	words, err := lex(expression)
	if err != nil {
		return "", err
	}
	g := &guarder{words: words}
	c, err := g.filtered(code{"lab_block", 1})
	for err == nil && g.take("|") {
		c, err = g.filtered(c)
	}
	if err == nil && g.peek().kind != 0 {
		err = wrong("a filter block goes on with %.40q", g.peek().text)
	}
	return "{% endset %}{{ " + see + "(" + c.text + ") }}", err
}
