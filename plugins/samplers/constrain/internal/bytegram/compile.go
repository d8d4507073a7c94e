package bytegram

import (
	"cmp"
	"slices"

	"lab/core/fault"
)

// What an edge does. In a finished program there are no empty steps.
const (
	eStep uint8 = iota // reads nothing
	eByte
	eToken
	eCall
)

type edge struct {
	what   uint8
	lo, hi byte
	arg    int32 // the rule of a call, the index of a token
	next   int32 // where to go on; of a call, where to return to
}

// node is a place in a rule.
type node struct {
	edges []edge
	end   bool // the rule may end here
	label int32
	rule  int32
}

// end is the place where every rule ends: what follows depends on the frame
// alone.
const end = int32(0)

// Program is a compiled grammar. It is immutable.
type Program struct {
	nodes  []node
	starts []int32 // by rule; -1 for a rule that is not reached
	names  []string
	labels []string
	tokens []Token
	root   int32
	class  [256]uint8 // bytes that no edge tells apart share a class
	reps   []byte     // one byte of each class
	hash   uint64     // of the nodes
}

// compiler turns expressions into nodes, last part first: build returns the
// node from which the expression leads to a given node.
type compiler struct {
	g       *Grammar
	p       *Program
	a       Alphabet
	rule    int32
	memo    map[place]int32
	byClass map[string]int32
	seqs    map[*Expr][][]span
	weights map[*Expr]int
	hoisted map[*Expr]*Expr
	labels  map[string]int32
	todo    []int
	err     error
}

type place struct {
	e    *Expr
	next int32
}

// Compile returns the program of the grammar whose texts are those of the rule
// root. A class stands for those of its code points that are in the alphabet. A
// grammar that is too large is a limit error; one with left recursion, with a
// class that has nothing of the alphabet, or whose root matches no text that
// ends, is a usage error. Compiling adds rules to the grammar.
func (g *Grammar) Compile(root int, a Alphabet) (*Program, error) {
	c := &compiler{
		g: g, a: a, p: &Program{root: int32(root)}, seqs: map[*Expr][][]span{}, weights: map[*Expr]int{},
		hoisted: map[*Expr]*Expr{}, labels: map[string]int32{},
	}
	c.p.nodes = append(c.p.nodes, node{end: true})
	c.label("")
	if err := c.buildAll(root); err != nil {
		return nil, err
	}
	for _, r := range g.rules {
		c.p.names = append(c.p.names, r.name)
	}
	if err := c.p.refuseLeftRecursion(); err != nil {
		return nil, err
	}
	if err := c.p.prune(); err != nil {
		return nil, err
	}
	if err := c.p.contract(); err != nil {
		return nil, err
	}
	c.p.classify()
	return c.p, nil
}

func tooLarge(format string, args ...any) *fault.Error {
	return fault.New(fault.Limit, "", "", format, args...).Fix("make the grammar smaller: fewer or shorter repetitions")
}

// buildAll builds the rules that root reaches.
func (c *compiler) buildAll(root int) error {
	c.need(root)
	for len(c.todo) > 0 && c.err == nil {
		r := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		c.rule, c.memo, c.byClass = int32(r), map[place]int32{}, map[string]int32{}
		body := c.g.rules[r].body
		if body == nil {
			return fault.New(fault.Internal, "", "", "rule %q has no body", c.g.rules[r].name)
		}
		// A start of its own, so that the node's edges are those of the start
		// and of nothing else.
		start := c.node("")
		c.p.starts[r] = start
		c.edge(start, edge{what: eStep, next: c.build(body, end)})
	}
	return c.err
}

// need marks a rule as reached.
func (c *compiler) need(r int) {
	for len(c.p.starts) < len(c.g.rules) {
		c.p.starts = append(c.p.starts, -1)
	}
	if c.p.starts[r] == -1 {
		c.p.starts[r] = -2 // queued
		c.todo = append(c.todo, r)
	}
}

func (c *compiler) label(s string) int32 {
	i, ok := c.labels[s]
	if !ok {
		i = int32(len(c.p.labels))
		c.labels[s] = i
		c.p.labels = append(c.p.labels, s)
	}
	return i
}

func (c *compiler) node(label string) int32 {
	if len(c.p.nodes) >= mostNodes {
		if c.err == nil {
			c.err = tooLarge("the grammar has more than %d places", mostNodes)
		}
		return end
	}
	c.p.nodes = append(c.p.nodes, node{label: c.label(label), rule: c.rule})
	return int32(len(c.p.nodes) - 1)
}

func (c *compiler) edge(from int32, e edge) {
	if c.err == nil {
		c.p.nodes[from].edges = append(c.p.nodes[from].edges, e)
	}
}

// build returns the node from which e leads to next.
func (c *compiler) build(e *Expr, next int32) int32 {
	if c.err != nil {
		return end
	}
	key := place{e, next}
	if n, ok := c.memo[key]; ok {
		return n
	}
	n := c.fresh(e, next)
	c.memo[key] = n
	return n
}

func (c *compiler) fresh(e *Expr, next int32) int32 {
	switch e.kind {
	case kEmpty:
		return next
	case kNone:
		return c.node(e.label)
	case kClass:
		return c.class(e, next)
	case kLiteral:
		return c.chain(e.text, e.label, next)
	case kSeq:
		for i := len(e.subs) - 1; i >= 0; i-- {
			next = c.build(e.subs[i], next)
		}
		return next
	case kAlt:
		n := c.node(e.label)
		var literals []*Expr
		for _, sub := range e.subs {
			if sub.kind == kLiteral {
				literals = append(literals, sub)
				continue
			}
			c.edge(n, edge{what: eStep, next: c.build(sub, next)})
		}
		slices.SortFunc(literals, func(a, b *Expr) int { return cmp.Compare(a.text, b.text) })
		c.shared(n, literals, 0, next)
		return n
	case kRepeat:
		return c.repeat(e, next)
	case kRef:
		c.need(e.rule)
		n := c.node(e.label)
		c.edge(n, edge{what: eCall, arg: int32(e.rule), next: next})
		return n
	case kToken:
		n := c.node(e.label)
		c.edge(n, edge{what: eToken, arg: int32(len(c.p.tokens)), next: next})
		c.p.tokens = append(c.p.tokens, e.token)
		return n
	}
	c.err = fault.New(fault.Internal, "", "", "unknown expression %d", e.kind)
	return end
}

// shared leads from n to next over any of the literals, which are in order and
// have their first at bytes in common: those that go on alike share places, so
// that a long list of words is one parse.
func (c *compiler) shared(n int32, literals []*Expr, at int, next int32) {
	for i := 0; i < len(literals) && c.err == nil; {
		first := literals[i]
		if len(first.text) == at {
			c.edge(n, edge{what: eStep, next: next})
			i++
			continue
		}
		j, b := i, first.text[at]
		for j < len(literals) && literals[j].text[at] == b {
			j++
		}
		to := next
		switch {
		case j == i+1 && len(first.text) > at+1:
			to = c.chain(first.text[at+1:], first.label, next)
		case j > i+1:
			to = c.node(first.label)
			c.shared(to, literals[i:j], at+1, next)
		}
		c.edge(n, edge{what: eByte, lo: b, hi: b, next: to})
		i = j
	}
}

// chain returns the node from which the bytes of text lead to next.
func (c *compiler) chain(text, label string, next int32) int32 {
	for i := len(text) - 1; i >= 0; i-- {
		n := c.node(label)
		c.edge(n, edge{what: eByte, lo: text[i], hi: text[i], next: next})
		next = n
	}
	return next
}

// repeat builds x{min,max}: the optional copies are nested, x(x(x)?)?, so that
// no place has more than two empty steps.
func (c *compiler) repeat(e *Expr, next int32) int32 {
	x := e.subs[0]
	copies := max(e.min, e.max)
	if copies > mostNodes {
		c.err = tooLarge("a repetition of %d is more than %d places", copies, mostNodes)
		return end
	}
	if copies > 4 && c.weight(x) > 16 {
		x = c.hoist(x)
	}
	if e.max == Unlimited {
		loop := c.node(e.label)
		c.edge(loop, edge{what: eStep, next: next})
		c.edge(loop, edge{what: eStep, next: c.build(x, loop)})
		next = loop
	} else {
		after := next
		for range e.max - e.min {
			n := c.node(e.label)
			c.edge(n, edge{what: eStep, next: after})
			c.edge(n, edge{what: eStep, next: c.build(x, next)})
			next = n
		}
	}
	for range e.min {
		next = c.build(x, next)
	}
	return next
}

// hoist makes a rule of an expression that is repeated often.
func (c *compiler) hoist(x *Expr) *Expr {
	ref, ok := c.hoisted[x]
	if !ok {
		if len(c.g.rules) >= mostRules {
			c.err = tooLarge("the grammar has more than %d rules", mostRules)
			return x
		}
		ref = Ref(c.g.Add(c.g.rules[c.rule].name, x))
		c.hoisted[x] = ref
	}
	return ref
}

// weight is about how many nodes an expression needs.
func (c *compiler) weight(e *Expr) int {
	if w, ok := c.weights[e]; ok {
		return w
	}
	w := 1
	switch e.kind {
	case kClass:
		w = len(c.sequences(e))
	case kLiteral:
		w = len(e.text)
	case kSeq, kAlt, kRepeat:
		for _, s := range e.subs {
			w = min(w+c.weight(s), mostNodes)
		}
		if e.kind == kRepeat {
			w = int(min(int64(w)*int64(max(e.min, e.max, 1)), mostNodes))
		}
	}
	c.weights[e] = w
	return w
}
