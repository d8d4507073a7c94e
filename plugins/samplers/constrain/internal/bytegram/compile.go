package bytegram

import (
	"fmt"
	"math"
	"strings"

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
		for i := len(e.text) - 1; i >= 0; i-- {
			n := c.node(e.label)
			c.edge(n, edge{what: eByte, lo: e.text[i], hi: e.text[i], next: next})
			next = n
		}
		return next
	case kSeq:
		for i := len(e.subs) - 1; i >= 0; i-- {
			next = c.build(e.subs[i], next)
		}
		return next
	case kAlt:
		n := c.node(e.label)
		for _, sub := range e.subs {
			c.edge(n, edge{what: eStep, next: c.build(sub, next)})
		}
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

func (c *compiler) sequences(e *Expr) [][]span {
	list, ok := c.seqs[e]
	if !ok {
		for _, r := range normal(e.ranges) {
			for _, in := range c.a {
				if lo, hi := max(r.Lo, in.Lo), min(r.Hi, in.Hi); lo <= hi {
					list = sequences(list, lo, hi)
				}
			}
		}
		if len(list) == 0 && c.err == nil {
			c.err = fault.New(fault.Usage, "", e.label, "the class has no character that a text may hold")
		}
		c.seqs[e] = list
	}
	return list
}

func (c *compiler) class(e *Expr, next int32) int32 {
	return c.tree(c.sequences(e), e.label, next)
}

// tree builds a tree over sequences of byte ranges; equal ends share nodes.
func (c *compiler) tree(list [][]span, label string, next int32) int32 {
	var key strings.Builder
	fmt.Fprintf(&key, "%d\x00%s\x00", next, label)
	for _, s := range list {
		for _, b := range s {
			key.WriteByte(b.lo)
			key.WriteByte(b.hi)
		}
		key.WriteString("\xff\x00") // no span has lo above hi
	}
	if n, ok := c.byClass[key.String()]; ok {
		return n
	}
	n := c.node(label)
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j][0] == list[i][0] {
			j++
		}
		to := next
		if len(list[i]) > 1 {
			rest := make([][]span, 0, j-i)
			for _, s := range list[i:j] {
				rest = append(rest, s[1:])
			}
			to = c.tree(rest, label, next)
		}
		c.edge(n, edge{what: eByte, lo: list[i][0].lo, hi: list[i][0].hi, next: to})
		i = j
	}
	c.byClass[key.String()] = n
	return n
}

// classify groups the bytes that no edge of the program tells apart.
func (p *Program) classify() {
	var cut [257]bool
	for i := range p.nodes {
		for _, e := range p.nodes[i].edges {
			if e.what == eByte {
				cut[e.lo], cut[int(e.hi)+1] = true, true
			}
		}
	}
	class := uint8(0)
	p.reps = []byte{0}
	for b := range p.class {
		if b > 0 && cut[b] && class < math.MaxUint8 {
			class++
			p.reps = append(p.reps, byte(b))
		}
		p.class[b] = class
	}
	p.hash = fnvStart
	for i := range p.nodes {
		for _, e := range p.nodes[i].edges {
			p.hash = mix(mix(p.hash, uint64(i)<<32|uint64(e.next)), uint64(e.what)<<48|uint64(e.lo)<<40|uint64(e.hi)<<32|uint64(e.arg))
		}
	}
}
