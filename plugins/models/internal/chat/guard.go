package chat

import "strings"

// Bounds of an expression. Known templates nest a tenth as deep.
const deepest = 200

// The functions through which a guarded template works; they are in cost.go.
const (
	see    = "lab_see"    // its argument, after what it takes to print is charged
	number = "lab_number" // its argument, which must be a number
	times  = "lab_times"  // a * b
	slice  = "lab_slice"  // a[b:c:d]
	item   = "lab_item"   // its argument, charged for a subscript
	over   = "lab_over"   // its argument, charged for a loop over it
	made   = "lab_made"   // its argument, a new list or dict, charged
	plain  = "lab_plain"  // its argument, which must not be a method
	hold   = "lab_hold"   // its argument, remembered for method
	method = "lab_method" // calls a method of what was held
	do     = "lab_do"     // calls a function or a macro
	filter = "lab_filter" // calls a filter
)

// code is a guarded expression and how deep it nests.
type code struct {
	text  string
	depth int
}

// guard rewrites one expression so that whatever could take memory or time goes
// through a function of ours, which charges it first. The library evaluates the
// rest: names, literals, choices.
func guard(expression string) (string, error) {
	words, err := lex(expression)
	if err != nil {
		return "", err
	}
	g := &guarder{words: words}
	c, err := g.choice()
	if err != nil {
		return "", err
	}
	if g.peek().kind != 0 {
		return "", wrong("an expression goes on with %.40q", g.peek().text)
	}
	return c.text, nil
}

type guarder struct {
	words []word
	at    int
	depth int
}

func (g *guarder) peek() word { return g.words[g.at] }

// take steps over a sign or a keyword when it comes next.
func (g *guarder) take(text string) bool {
	w := g.peek()
	if (w.kind == 'o' || w.kind == 'n') && w.text == text {
		g.at++
		return true
	}
	return false
}

func (g *guarder) need(text string) error {
	if !g.take(text) {
		return wrong("an expression has %.40q where %q is due", g.peek().text, text)
	}
	return nil
}

// join puts pieces together; parts are those of them that nest.
func join(parts []code, pieces ...string) (code, error) {
	c := code{text: strings.Join(pieces, "")}
	for _, p := range parts {
		c.depth = max(c.depth, p.depth)
	}
	c.depth++
	if c.depth > deepest {
		return c, wrong("an expression nests more than %d deep", deepest)
	}
	return c, nil
}

// choice reads `a if b else c`.
func (g *guarder) choice() (code, error) {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > deepest {
		return code{}, wrong("an expression nests more than %d deep", deepest)
	}
	a, err := g.binary(0)
	if err != nil || !g.take("if") {
		return a, err
	}
	b, err := g.binary(0)
	if err != nil {
		return b, err
	}
	if !g.take("else") {
		return join([]code{a, b}, "(", a.text, " if ", b.text, ")")
	}
	c, err := g.choice()
	if err != nil {
		return c, err
	}
	return join([]code{a, b, c}, "(", a.text, " if ", b.text, " else ", c.text, ")")
}

// levels are the binary signs from loose to tight, as in jinja2, where ~ is
// tighter than +, unlike in the library. Between "and" and the comparisons stands
// "not".
func levels() []string {
	return []string{"or", "and", "== != < > <= >= in not is", "+ -", "~", "* / % //", "**"}
}

func (g *guarder) binary(level int) (code, error) {
	if level == len(levels()) {
		return g.unary()
	}
	if level == 2 && g.take("not") {
		return g.sign("not ", func() (code, error) { return g.binary(2) }, "")
	}
	left, err := g.binary(level + 1)
	for err == nil && g.binds(level) {
		sign := g.peek().text
		g.at++
		if sign == "is" {
			left, err = g.test(left)
			continue
		}
		if sign == "not" {
			g.at++
			sign = "not in"
		}
		var right code
		if right, err = g.binary(level + 1); err != nil {
			return right, err
		}
		left, err = operate(left, sign, right)
	}
	return left, err
}

// binds tells whether a sign of a level comes next.
func (g *guarder) binds(level int) bool {
	w := g.peek()
	if w.kind != 'o' && w.kind != 'n' || !among(w.text, levels()[level]) {
		return false
	}
	return w.text != "not" || g.words[g.at+1] == word{'n', "in"}
}

func operate(a code, sign string, b code) (code, error) {
	look := see
	switch sign {
	case "or", "and":
		look = ""
	case "*":
		return join([]code{a, b}, times, "(", a.text, ", ", b.text, ")")
	case "-", "/", "//", "%", "**":
		look = number
	}
	return join([]code{a, b}, "(", look, "(", a.text, ") ", sign, " ", look, "(", b.text, "))")
}

// sign reads what a leading sign stands before; look wraps it.
func (g *guarder) sign(sign string, read func() (code, error), look string) (code, error) {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > deepest {
		return code{}, wrong("an expression nests more than %d deep", deepest)
	}
	c, err := read()
	if err != nil {
		return c, err
	}
	return join([]code{c}, "(", sign, look, "(", c.text, "))")
}

func (g *guarder) unary() (code, error) {
	for _, s := range []string{"-", "+"} {
		if g.take(s) {
			return g.sign(s, g.unary, number)
		}
	}
	return g.postfix()
}

// test reads what follows "is".
func (g *guarder) test(left code) (code, error) {
	is := " is "
	if g.take("not") {
		is = " is not "
	}
	name, look := g.peek(), see
	switch {
	case name.kind != 'n':
		return left, wrong("an expression has %.40q where a test is due", name.text)
	case among(name.text, "defined undefined none boolean integer float number string mapping iterable sequence callable true false odd even"):
		look = ""
	case !among(name.text, "eq equalto ne gt greaterthan ge lt lessthan le in upper lower sameas"):
		return left, wrong("the test %q is not known", name.text)
	}
	g.at++
	args, parts := "", []code{left}
	if g.take("(") {
		list, more, err := g.list(")")
		if err != nil {
			return left, err
		}
		args, parts = "("+list+")", append(parts, more...)
	}
	return join(parts, "(", look, "(", left.text, ")", is, name.text, args, ")")
}

// list reads expressions up to a closing sign; each is charged.
func (g *guarder) list(closing string) (string, []code, error) {
	var texts []string
	var parts []code
	for !g.take(closing) {
		if len(parts) > 0 {
			if err := g.need(","); err != nil {
				return "", nil, err
			}
			if g.take(closing) {
				break
			}
		}
		c, err := g.choice()
		if err != nil {
			return "", nil, err
		}
		texts, parts = append(texts, see+"("+c.text+")"), append(parts, c)
	}
	return strings.Join(texts, ", "), parts, nil
}

// arguments reads those of a call up to its closing sign, each with a comma
// before it.
func (g *guarder) arguments() (string, []code, error) {
	var out strings.Builder
	var parts []code
	for !g.take(")") {
		if len(parts) > 0 {
			if err := g.need(","); err != nil {
				return "", nil, err
			}
			if g.take(")") {
				break
			}
		}
		out.WriteString(", ")
		if w := g.peek(); w.kind == 'n' && g.words[g.at+1] == (word{'o', "="}) {
			if err := named(w.text); err != nil {
				return "", nil, err
			}
			out.WriteString(w.text + "=")
			g.at += 2
		}
		c, err := g.choice()
		if err != nil {
			return "", nil, err
		}
		out.WriteString(c.text)
		parts = append(parts, c)
	}
	return out.String(), parts, nil
}

// postfix reads an atom and the attributes, subscripts, calls and filters
// behind it.
func (g *guarder) postfix() (code, error) {
	c, err := g.atom()
	for err == nil {
		switch {
		case g.take("."):
			c, err = g.attribute(c)
		case g.take("["):
			c, err = g.subscript(c)
		case g.take("("):
			var args string
			var parts []code
			if args, parts, err = g.arguments(); err == nil {
				c, err = join(append(parts, c), do, "(", c.text, args, ")")
			}
		case g.take("|"):
			c, err = g.filtered(c)
		default:
			return c, nil
		}
	}
	return c, err
}

func (g *guarder) attribute(c code) (code, error) {
	name := g.peek()
	if name.kind != 'n' && name.kind != 'i' {
		return c, wrong("an expression has %.40q where an attribute is due", name.text)
	}
	g.at++
	if !g.take("(") {
		return join([]code{c}, plain, "((", c.text, ").", name.text, ")")
	}
	args, parts, err := g.arguments()
	if err != nil {
		return c, err
	}
	return join(append(parts, c), method, "(", hold, "(", c.text, ").", name.text, args, ")")
}

func (g *guarder) subscript(c code) (code, error) {
	at, parts, colons := []string{"none", "none", "none"}, []code{c}, 0
	for !g.take("]") {
		if g.take(":") {
			if colons++; colons > 2 {
				return c, wrong("a slice has more than three numbers")
			}
			continue
		}
		part, err := g.choice()
		if err != nil {
			return c, err
		}
		if next := g.peek().text; next != ":" && next != "]" || at[colons] != "none" {
			return c, wrong("a subscript is not closed before %.40q", next)
		}
		at[colons], parts = "("+part.text+")", append(parts, part)
	}
	switch {
	case colons > 0:
		return join(parts, slice, "(", c.text, ", ", strings.Join(at, ", "), ")")
	case len(parts) == 1:
		return c, wrong("a subscript is empty")
	}
	return join(parts, plain, "(", item, "(", c.text, ")[", see, at[0], "])")
}

func (g *guarder) filtered(c code) (code, error) {
	name := g.peek()
	if name.kind != 'n' || !among(name.text, filters) {
		return c, wrong("the filter %.40q is not known", name.text)
	}
	g.at++
	args, parts := "", []code(nil)
	if g.take("(") {
		var err error
		if args, parts, err = g.arguments(); err != nil {
			return c, err
		}
	}
	return join(append(parts, c), filter, "(__filter_", name.text, ", '", name.text, "', ", c.text, args, ")")
}
