package grammar

import (
	"fmt"
	"slices"
	"strings"

	"lab/core/fault"
)

// expanded is a grammar without features: plain nonterminals and terminals.
type expanded struct {
	nts   []nonterminal // nts[0] is the start symbol
	terms []string      // terminals with their preceding space
}

type nonterminal struct {
	name  string
	line  int
	prods []production
}

// production is one right side. Symbols below zero are terminals, ^index into
// terms; others index nts.
type production struct {
	prob float64
	syms []int32
	line int
	alt  int // number of the written alternative it comes from
}

// binding maps a rule's variables to members of sets.
type binding map[string]bound

type bound struct{ set, key string }

// job is a nonterminal whose productions are still to be written.
type job struct {
	id   int32
	alts []*alternative
	env  binding
	glue bool
}

type expander struct {
	src   *source
	out   *expanded
	ids   map[string]int32
	terms map[string]int32
	jobs  []job
	used  map[string]bool
	count int
	alts  map[*alternative]int // number of a written alternative; a group goes by its first
}

// expand writes out every combination of features that the start symbol can
// reach.
func expand(src *source) (*expanded, error) {
	x := &expander{src: src, out: &expanded{}, ids: map[string]int32{}, terms: map[string]int32{},
		used: map[string]bool{}, alts: map[*alternative]int{}}
	if _, err := x.instance(&reference{rule: src.start}, nil, false, src.at); err != nil {
		return nil, err
	}
	for len(x.jobs) > 0 {
		if len(x.out.nts) > maxProductions {
			return nil, src.tooMany(x.out.nts[len(x.out.nts)-1].line)
		}
		j := x.jobs[len(x.jobs)-1]
		x.jobs = x.jobs[:len(x.jobs)-1]
		if err := x.write(j); err != nil {
			return nil, err
		}
	}
	for _, r := range src.order {
		if !x.used[r.name] {
			return nil, src.wrongAt(r.line, "the rule %q cannot be reached from %q", r.name, src.start).Fix("refer to it or remove it")
		}
	}
	for _, s := range src.setOrder {
		if !s.used {
			return nil, src.wrongAt(s.line, "the set %q is never used", s.name).Fix("use it or remove it")
		}
	}
	return x.out, nil
}

func (s *source) tooMany(line int) error {
	return s.wrongAt(line, "the grammar expands to more than %d productions", maxProductions).Fix("use fewer variables at once")
}

func (s *source) wrongAt(line int, format string, args ...any) *fault.Error {
	return fault.New(fault.Data, "grammar", fmt.Sprintf("%s:%d", s.name, line), format, args...)
}

// instance returns the nonterminal of a rule with its arguments filled in.
func (x *expander) instance(ref *reference, env binding, glue bool, line int) (int32, error) {
	r := x.src.rules[ref.rule]
	if r == nil {
		names := make([]string, 0, len(x.src.order))
		for _, r := range x.src.order {
			names = append(names, r.name)
		}
		e := x.src.wrongAt(line, "the rule %q is not defined", ref.rule)
		if near := fault.Suggest(ref.rule, names); near != "" {
			return 0, e.Fix("did you mean %q?", near)
		}
		return 0, e
	}
	x.used[r.name] = true
	if len(ref.args) != len(r.params) {
		return 0, x.src.wrongAt(line, "the rule %q takes %d arguments, not %d", r.name, len(r.params), len(ref.args))
	}
	inner := binding{}
	name := r.name
	for i, arg := range ref.args {
		want := r.params[i]
		s, err := x.set(want.set, r.line)
		if err != nil {
			return 0, err
		}
		key := arg
		if b, ok := env[arg]; ok {
			if b.set != want.set {
				return 0, x.src.wrongAt(line, "%q is a %s; the rule %q wants a %s", arg, b.set, r.name, want.set)
			}
			key = b.key
		}
		if s.members[key] == nil {
			return 0, x.src.wrongAt(line, "%q is neither a variable nor a member of the set %q", arg, want.set)
		}
		inner[want.name] = bound{want.set, key}
		name += " " + key
	}
	return x.nonterminal(name, r.alts, inner, glue, r.line), nil
}

// nonterminal returns the id for a name, and queues its productions when it is
// new.
func (x *expander) nonterminal(name string, alts []*alternative, env binding, glue bool, line int) int32 {
	if glue {
		name = "~" + name
	}
	if id, ok := x.ids[name]; ok {
		return id
	}
	id := int32(len(x.out.nts))
	x.ids[name] = id
	x.out.nts = append(x.out.nts, nonterminal{name: name, line: line})
	x.jobs = append(x.jobs, job{id, alts, env, glue})
	return id
}

func (x *expander) set(name string, line int) (*set, error) {
	s := x.src.sets[name]
	if s == nil {
		return nil, x.src.wrongAt(line, "the set %q is not defined", name)
	}
	s.used = true
	return s, nil
}

// write fills in the productions of one nonterminal and normalises their
// weights.
func (x *expander) write(j job) error {
	var prods []production
	total := 0.0
	for _, a := range j.alts {
		envs, err := x.iterate(a, j.env)
		if err != nil {
			return err
		}
		for _, env := range envs {
			syms, err := x.symbols(a.items, env, j.glue, a.line)
			if err != nil {
				return err
			}
			w := a.weight / float64(len(envs))
			prods = append(prods, production{w, syms, a.line, x.number(a)})
			total += w
		}
		if x.count += len(envs); x.count > maxProductions {
			return x.src.tooMany(a.line)
		}
	}
	nt := &x.out.nts[j.id]
	if len(prods) == 0 {
		return x.src.wrongAt(nt.line, "%q has no alternative", nt.name).Fix("add one whose guards let it through")
	}
	for i := range prods {
		prods[i].prob /= total
	}
	nt.prods = prods
	return nil
}

// number returns the number of a written alternative.
func (x *expander) number(a *alternative) int {
	n, ok := x.alts[a]
	if !ok {
		n = len(x.alts)
		x.alts[a] = n
	}
	return n
}

// iterate returns the bindings under which an alternative exists: one for each
// choice of its iterations that passes its guards.
func (x *expander) iterate(a *alternative, env binding) ([]binding, error) {
	envs := []binding{env}
	for _, it := range a.iters {
		s, err := x.set(it.set, a.line)
		if err != nil {
			return nil, err
		}
		var next []binding
		for _, e := range envs {
			for _, key := range s.keys {
				if slices.ContainsFunc(it.not, func(n string) bool { return n == key || e[n].key == key }) {
					continue
				}
				if len(next) >= maxProductions {
					return nil, x.src.tooMany(a.line)
				}
				inner := binding{it.name: {it.set, key}}
				for k, v := range e {
					if k != it.name {
						inner[k] = v
					}
				}
				next = append(next, inner)
			}
		}
		envs = next
	}
	for _, g := range a.guards {
		var kept []binding
		for _, e := range envs {
			b, ok := e[g.name]
			if !ok {
				return nil, x.src.wrongAt(a.line, "the guard asks for %q, which is no variable here", g.name)
			}
			for _, key := range g.keys {
				if x.src.sets[b.set].members[key] == nil {
					return nil, x.src.wrongAt(a.line, "the guard asks for %q, which is no member of the set %q", key, b.set)
				}
			}
			if slices.Contains(g.keys, b.key) != g.not {
				kept = append(kept, e)
			}
		}
		envs = kept
	}
	return envs, nil
}

// symbols writes the items of an alternative. With glue, the first of them
// loses its space.
func (x *expander) symbols(items []item, env binding, glue bool, line int) ([]int32, error) {
	if glue && len(items) == 0 {
		return nil, x.src.wrongAt(line, "~ is put before this alternative, which is empty").Fix("write both cases out where the ~ stands")
	}
	out := make([]int32, 0, len(items))
	for i, it := range items {
		g := it.glue || glue && i == 0
		switch {
		case it.ref != nil:
			id, err := x.instance(it.ref, env, g, it.line)
			if err != nil {
				return nil, err
			}
			out = append(out, id)
		case it.alts != nil:
			if g && slices.ContainsFunc(it.alts, func(a *alternative) bool { return len(a.items) == 0 }) {
				return nil, x.src.wrongAt(it.line, "~ stands before a group that can be empty").Fix("move the ~ inside the group and write both cases out")
			}
			out = append(out, x.group(it, env, g))
		default:
			text, err := x.text(it, env)
			if err != nil {
				return nil, err
			}
			if !g && !strings.ContainsRune(".,?!:;\n", rune(text[0])) {
				text = " " + text
			}
			out = append(out, ^x.terminal(text))
		}
	}
	return out, nil
}

// group returns the nonterminal of a group; groups are told apart by the
// variables in scope.
func (x *expander) group(it item, env binding, glue bool) int32 {
	used := map[string]bool{}
	freeIn(it.alts, used)
	name := fmt.Sprintf("group %d on line %d", x.number(it.alts[0]), it.line)
	inner := binding{}
	for _, v := range sortedKeys(env) {
		if used[v] {
			inner[v] = env[v]
			name += " " + v + "=" + env[v].key
		}
	}
	return x.nonterminal(name, it.alts, inner, glue, it.line)
}

// freeIn notes every name that may be a variable in the alternatives.
func freeIn(alts []*alternative, into map[string]bool) {
	for _, a := range alts {
		for _, it := range a.items {
			for _, p := range it.word {
				into[p.name] = true
			}
			if it.ref != nil {
				for _, arg := range it.ref.args {
					into[arg] = true
				}
			}
			freeIn(it.alts, into)
		}
	}
}

func sortedKeys(env binding) []string {
	out := make([]string, 0, len(env))
	for k := range env {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// text fills in the fields of a terminal.
func (x *expander) text(it item, env binding) (string, error) {
	var b strings.Builder
	for _, p := range it.word {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		v, ok := env[p.name]
		if !ok {
			return "", x.src.wrongAt(it.line, "%q is no variable here", p.name)
		}
		s := x.src.sets[v.set]
		i := slices.Index(s.fields, p.field)
		if i < 0 {
			return "", x.src.wrongAt(it.line, "the set %q has no field %q (it has %s)", v.set, p.field, strings.Join(s.fields, ", "))
		}
		value := s.members[v.key][i]
		if p.capitalise {
			value = capitalise(value)
		}
		b.WriteString(value)
	}
	if b.Len() == 0 {
		return "", x.src.wrongAt(it.line, "a terminal is empty")
	}
	return b.String(), nil
}

func (x *expander) terminal(text string) int32 {
	if id, ok := x.terms[text]; ok {
		return id
	}
	id := int32(len(x.out.terms))
	x.terms[text] = id
	x.out.terms = append(x.out.terms, text)
	return id
}
