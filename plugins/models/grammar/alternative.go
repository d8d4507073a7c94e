package grammar

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// alternative reads "WEIGHT [@v:set[!=x]]... [?v=a,b]... ITEMS".
func (p *parser) alternative(line string) (*alternative, error) {
	a := &alternative{line: p.line}
	head, rest, _ := strings.Cut(line, " ")
	var err error
	if a.weight, err = p.weight(head); err != nil {
		return nil, err
	}
	for {
		rest = strings.TrimSpace(rest)
		clause, after, _ := strings.Cut(rest, " ")
		if len(clause) < 2 || clause[0] != '@' && clause[0] != '?' {
			break
		}
		if err := p.clause(a, clause); err != nil {
			return nil, err
		}
		rest = after
	}
	words, err := p.lex(rest)
	if err != nil {
		return nil, err
	}
	items, left, err := p.items(words, 0)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return nil, p.wrong("%q stands outside any group", left[0]).Fix("write \\%s for the sign itself", left[0])
	}
	a.items = items
	return a, nil
}

func (p *parser) weight(s string) (float64, error) {
	w, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, p.wrong("an alternative starts with its weight, got %q", s)
	}
	if !(w > 0 && w <= 1e9) {
		return 0, p.wrong("the weight %s is outside (0, 1e9]", s).Fix("remove the alternative if it is never to be used")
	}
	return w, nil
}

func (p *parser) clause(a *alternative, s string) error {
	if s[0] == '@' {
		decl, not, has := strings.Cut(s[1:], "!=")
		v, set, ok := strings.Cut(decl, ":")
		if !ok || !isName(v) || !isName(set) || has && not == "" {
			return p.wrong("an iteration is written @VARIABLE:SET or @VARIABLE:SET!=OTHER, got %q", s)
		}
		it := iteration{name: v, set: set}
		if has {
			it.not = strings.Split(not, ",")
		}
		a.iters = append(a.iters, it)
		return nil
	}
	v, keys, ok := strings.Cut(s[1:], "=")
	g := guard{name: strings.TrimSuffix(v, "!"), keys: strings.Split(keys, ","), not: strings.HasSuffix(v, "!")}
	if !ok || !isName(g.name) {
		return p.wrong("a guard is written ?VARIABLE=MEMBER,... or ?VARIABLE!=MEMBER,..., got %q", s)
	}
	a.guards = append(a.guards, g)
	return nil
}

// lex splits an alternative into words, references in angle brackets and the
// signs ( | ).
func (p *parser) lex(s string) ([]string, error) {
	var out []string
	word := ""
	flush := func() {
		if word != "" {
			out = append(out, word)
			word = ""
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t':
			flush()
		case '(', '|', ')':
			if word != "" && word != "~" {
				return nil, p.wrong("%q touches %q", string(c), word).Fix("put a space between them")
			}
			flush()
			out = append(out, string(c))
		case '<', '{':
			closing := map[byte]string{'<': ">", '{': "}"}[c]
			end := strings.Index(s[i:], closing)
			if end < 0 {
				return nil, p.wrong("%q is not closed", s[i:])
			}
			word += s[i : i+end+1]
			i += end
		case '\\':
			if i+1 == len(s) {
				return nil, p.wrong("a backslash at the end escapes nothing")
			}
			word += s[i : i+2]
			i++
		default:
			word += s[i : i+1]
		}
	}
	flush()
	return out, nil
}

// items reads items up to a sign that belongs to the enclosing group, which is
// returned as the first of the words left.
func (p *parser) items(words []string, depth int) ([]item, []string, error) {
	var out []item
	for len(words) > 0 {
		w := words[0]
		if w == "|" || w == ")" || depth > 0 && isWeightMark(w) {
			return out, words, nil
		}
		words = words[1:]
		it := item{line: p.line}
		if strings.HasPrefix(w, "~") {
			it.glue = true
			w = w[1:]
			if w == "" && len(words) > 0 && words[0] == "(" {
				w, words = "(", words[1:]
			}
		}
		var err error
		switch {
		case w == "(":
			it.alts, words, err = p.group(words, depth+1)
		case strings.HasPrefix(w, "<"):
			it.ref, err = p.reference(w)
		default:
			it.word, err = p.word(w)
		}
		if err != nil {
			return nil, nil, err
		}
		if out = append(out, it); len(out) > maxItems {
			return nil, nil, p.wrong("an alternative has more than %d items", maxItems)
		}
	}
	if depth > 0 {
		return nil, nil, p.wrong("a group is not closed").Fix("add )")
	}
	return out, nil, nil
}

func isWeightMark(w string) bool { return len(w) > 1 && w[0] == '*' }

// group reads "a | b *3 | )" after its opening sign.
func (p *parser) group(words []string, depth int) ([]*alternative, []string, error) {
	if depth > maxNesting {
		return nil, nil, p.wrong("groups are nested deeper than %d", maxNesting)
	}
	var out []*alternative
	for {
		items, rest, err := p.items(words, depth)
		if err != nil {
			return nil, nil, err
		}
		a := &alternative{weight: 1, items: items, line: p.line}
		if isWeightMark(rest[0]) {
			if a.weight, err = p.weight(rest[0][1:]); err != nil {
				return nil, nil, err
			}
			rest = rest[1:]
		}
		out = append(out, a)
		if len(rest) == 0 || rest[0] != "|" && rest[0] != ")" {
			return nil, nil, p.wrong("a weight *N stands at the end of an alternative, before | or )")
		}
		words = rest[1:]
		if rest[0] == ")" {
			return out, words, nil
		}
	}
}

func (p *parser) reference(w string) (*reference, error) {
	if !strings.HasSuffix(w, ">") {
		return nil, p.wrong("text touches the reference %q", w).Fix("put a space between them, or ~ before the text")
	}
	f := strings.Fields(w[1 : len(w)-1])
	if len(f) == 0 || slices.ContainsFunc(f, func(s string) bool { return !isName(s) }) {
		return nil, p.wrong("a reference is written <RULE ARGUMENT...>, got %q", w)
	}
	return &reference{rule: f[0], args: f[1:]}, nil
}

// word reads a terminal with its escapes and fields.
func (p *parser) word(w string) ([]part, error) {
	var out []part
	text := ""
	for i := 0; i < len(w); i++ {
		switch c := w[i]; c {
		case '\\':
			i++
			if w[i] == 'n' {
				text += "\n"
			} else {
				text += w[i : i+1]
			}
		case '{':
			end := i + strings.Index(w[i:], "}")
			v, field, ok := strings.Cut(w[i+1:end], ".")
			pt := part{name: v, field: strings.ToLower(field), capitalise: field != strings.ToLower(field)}
			if !ok || !isName(v) || !isName(pt.field) {
				return nil, p.wrong("a field is written {VARIABLE.FIELD}, got %q", w[i:end+1])
			}
			if text != "" {
				out = append(out, part{text: text})
				text = ""
			}
			out = append(out, pt)
			i = end
		case '<', '~':
			return nil, p.wrong("%q inside the word %q", string(c), w).Fix("put a space before it, or write \\%s for the sign itself", string(c))
		default:
			text += w[i : i+1]
		}
	}
	if text != "" {
		out = append(out, part{text: text})
	}
	if len(out) == 0 {
		return nil, p.wrong("~ stands before nothing")
	}
	return out, nil
}

func isName(s string) bool {
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '_' || r == '-')) {
			return false
		}
	}
	return s != ""
}

// capitalise returns s with its first letter in upper case.
func capitalise(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
