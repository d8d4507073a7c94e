package chat

import "strings"

func (g *guarder) atom() (code, error) {
	w := g.peek()
	g.at++
	switch {
	case w.kind == 's':
		return code{quote(w.text), 1}, nil
	case w.kind == 'i' || w.kind == 'f':
		return code{w.text, 1}, nil
	case w.kind == 'n':
		return code{w.text, 1}, named(w.text)
	case w.kind == 'o' && w.text == "[":
		list, parts, err := g.list("]")
		if err != nil {
			return code{}, err
		}
		return join(parts, made, "([", list, "])")
	case w.kind == 'o' && w.text == "{":
		return g.dict()
	case w.kind == 'o' && w.text == "(":
		return g.parenthesis()
	}
	g.at-- // the end must stay the last
	return code{}, wrong("an expression has %.40q where a value is due", w.text)
}

func (g *guarder) parenthesis() (code, error) {
	if g.take(")") {
		return code{made + "([])", 1}, nil
	}
	c, err := g.choice()
	if err != nil || g.take(")") {
		return c, err
	}
	if err := g.need(","); err != nil {
		return c, err
	}
	list, parts, err := g.list(")")
	if err != nil {
		return c, err
	}
	return join(append(parts, c), made, "([", see, "(", c.text, "), ", list, "])")
}

func (g *guarder) dict() (code, error) {
	var texts []string
	var parts []code
	for !g.take("}") {
		if len(parts) > 0 {
			if err := g.need(","); err != nil {
				return code{}, err
			}
			if g.take("}") {
				break
			}
		}
		key, err := g.choice()
		if err != nil {
			return key, err
		}
		if err := g.need(":"); err != nil {
			return key, err
		}
		value, err := g.choice()
		if err != nil {
			return value, err
		}
		texts = append(texts, see+"("+key.text+"): "+value.text)
		parts = append(parts, key, value)
	}
	return join(parts, made, "({", strings.Join(texts, ", "), "})")
}

// named refuses a name that a template may not use: keywords and what is ours or
// the library's own.
func named(name string) error {
	if among(name, "if else or and not in is") {
		return wrong("%q stands where a name is due", name)
	}
	if strings.HasPrefix(name, "lab_") || strings.HasPrefix(name, "__") {
		return wrong("the name %.40q is not for templates", name)
	}
	return nil
}
