package grammar

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
)

// Bounds on a grammar file, so that a wrong one ends with a message and not
// with the machine's memory.
const (
	maxSource      = 4 << 20
	maxProductions = 200_000
	maxItems       = 2_000       // of one alternative
	maxExpansions  = 1_000_000   // leftmost expansions of all nonterminals
	maxCells       = 20_000_000  // symbols in them
	maxSteps       = 300_000_000 // of the length check
	maxNesting     = 32          // groups inside groups
)

// source is a grammar file as written, before its features are expanded.
type source struct {
	name  string
	start string
	sets  map[string]*set
	rules map[string]*rule
	// setOrder and order list them as written.
	setOrder []*set
	order    []*rule
	at       int // line of the start heading
}

// set is a finite feature: members with one word list per field.
type set struct {
	name    string
	fields  []string
	keys    []string
	members map[string][]string
	line    int
	used    bool
}

// variable is a rule's parameter and the set it ranges over.
type variable struct{ name, set string }

type rule struct {
	name   string
	params []variable
	alts   []*alternative
	line   int
}

// alternative is one right side. Its iterations multiply it, its guards select
// the members for which it exists.
type alternative struct {
	weight float64
	iters  []iteration
	guards []guard
	items  []item
	line   int
}

type iteration struct {
	name, set string
	not       []string // variables or members it must differ from
}

type guard struct {
	name string
	keys []string
	not  bool
}

// item is a terminal, a reference to a rule, or a group.
type item struct {
	glue bool // no space before it
	word []part
	ref  *reference
	alts []*alternative
	line int
}

// part is a stretch of a terminal: literal text or a field of a variable.
type part struct {
	text       string
	name       string
	field      string
	capitalise bool
}

type reference struct {
	rule string
	args []string
}

type parser struct {
	src  *source
	line int
}

func (p *parser) wrong(format string, args ...any) *fault.Error {
	return fault.New(fault.Data, "grammar", fmt.Sprintf("%s:%d", p.src.name, p.line), format, args...)
}

// parseSource reads a grammar file; the format is described in the package
// comment.
func parseSource(name string, text []byte) (*source, error) {
	p := &parser{src: &source{name: name, sets: map[string]*set{}, rules: map[string]*rule{}}}
	if len(text) > maxSource {
		return nil, p.wrong("%d bytes; a grammar has at most %d", len(text), maxSource)
	}
	if !utf8.Valid(text) {
		return nil, p.wrong("the file is not UTF-8")
	}
	var into func(string) error
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		p.line = i + 1
		line := strings.TrimRight(lines[i], " \t\r")
		if s := strings.TrimSpace(line); s == "" || s[0] == '#' {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' {
			var err error
			if into, err = p.heading(strings.Fields(line)); err != nil {
				return nil, err
			}
			continue
		}
		if into == nil {
			return nil, p.wrong("an indented line stands before any heading").Fix("start with: start NAME, set NAME FIELD..., or rule NAME")
		}
		for strings.HasSuffix(line, " \\") && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, "\\") + strings.TrimSpace(lines[i])
		}
		if err := into(strings.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	if p.src.start == "" {
		return nil, p.wrong("no start symbol is named").Fix("add a line: start NAME")
	}
	return p.src, nil
}

// heading opens a section and returns the reader of its indented lines.
func (p *parser) heading(f []string) (func(string) error, error) {
	switch {
	case f[0] == "start" && len(f) == 2:
		if p.src.start != "" {
			return nil, p.wrong("the start symbol is already %q (line %d)", p.src.start, p.src.at)
		}
		p.src.start, p.src.at = f[1], p.line
		return nil, nil
	case f[0] == "set" && len(f) >= 2:
		return p.setHeading(f)
	case f[0] == "rule" && len(f) >= 2:
		return p.ruleHeading(f)
	}
	return nil, p.wrong("cannot read %q", strings.Join(f, " ")).Fix("a heading is: start NAME, set NAME FIELD..., or rule NAME VARIABLE:SET...")
}

func (p *parser) setHeading(f []string) (func(string) error, error) {
	s := &set{name: f[1], fields: f[2:], members: map[string][]string{}, line: p.line}
	for _, name := range f[1:] {
		if !isName(name) {
			return nil, p.wrong("%q is not a name (a-z, 0-9, _ and -, starting with a letter)", name)
		}
	}
	if old := p.src.sets[s.name]; old != nil {
		return nil, p.wrong("the set %q is already defined on line %d", s.name, old.line)
	}
	p.src.sets[s.name] = s
	p.src.setOrder = append(p.src.setOrder, s)
	return func(line string) error {
		key, rest, ok := strings.Cut(line, ":")
		values := strings.Fields(rest)
		if !ok || !isName(key) {
			return p.wrong("a member is written NAME: VALUE..., got %q", line)
		}
		if len(values) != len(s.fields) {
			return p.wrong("member %q has %d values; the set %q has %d fields", key, len(values), s.name, len(s.fields))
		}
		if _, twice := s.members[key]; twice {
			return p.wrong("the set %q already has a member %q", s.name, key)
		}
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, "_", " ")
		}
		s.keys = append(s.keys, key)
		s.members[key] = values
		return nil
	}, nil
}

func (p *parser) ruleHeading(f []string) (func(string) error, error) {
	r := &rule{name: f[1], line: p.line}
	if !isName(r.name) {
		return nil, p.wrong("%q is not a name (a-z, 0-9, _ and -, starting with a letter)", r.name)
	}
	if old := p.src.rules[r.name]; old != nil {
		return nil, p.wrong("the rule %q is already defined on line %d", r.name, old.line)
	}
	for _, s := range f[2:] {
		v, set, ok := strings.Cut(s, ":")
		if !ok || !isName(v) || !isName(set) {
			return nil, p.wrong("a rule's variable is written VARIABLE:SET, got %q", s)
		}
		r.params = append(r.params, variable{v, set})
	}
	p.src.rules[r.name] = r
	p.src.order = append(p.src.order, r)
	return func(line string) error {
		a, err := p.alternative(line)
		if err == nil {
			r.alts = append(r.alts, a)
		}
		return err
	}, nil
}
