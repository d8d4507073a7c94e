package bytegram

import (
	"fmt"
	"math"
	"strings"

	"lab/core/fault"
)

// sequences returns the byte sequences of a class, computed once.
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
