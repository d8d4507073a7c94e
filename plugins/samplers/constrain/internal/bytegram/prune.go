package bytegram

import (
	"strings"

	"lab/core/fault"
)

// settle finds the nodes that can be marked: end is, and so is a node with an
// edge of one of the kinds to a marked node, where a call also needs the start
// of its rule to be marked.
func (p *Program) settle(counts func(e edge) bool) []bool {
	type use struct {
		node int32
		edge int32
	}
	uses := make([][]use, len(p.nodes))
	for i := range p.nodes {
		for k, e := range p.nodes[i].edges {
			if !counts(e) {
				continue
			}
			uses[e.next] = append(uses[e.next], use{int32(i), int32(k)})
			if e.what == eCall {
				s := p.starts[e.arg]
				uses[s] = append(uses[s], use{int32(i), int32(k)})
			}
		}
	}
	marked := make([]bool, len(p.nodes))
	marked[end] = true
	work := []int32{end}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for _, u := range uses[n] {
			e := p.nodes[u.node].edges[u.edge]
			if marked[u.node] || !marked[e.next] || e.what == eCall && !marked[p.starts[e.arg]] {
				continue
			}
			marked[u.node] = true
			work = append(work, u.node)
		}
	}
	return marked
}

// prune removes the edges that lead to no end: from what is left, every place
// that is reached can be completed.
func (p *Program) prune() error {
	live := p.settle(func(edge) bool { return true })
	if !live[p.starts[p.root]] {
		return fault.New(fault.Usage, "", "", "rule %q matches no text that ends", p.names[p.root]).
			Fix("give it an alternative that does not lead back to itself")
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		kept := n.edges[:0]
		for _, e := range n.edges {
			if live[e.next] && (e.what != eCall || live[p.starts[e.arg]]) {
				kept = append(kept, e)
			}
		}
		n.edges = kept
	}
	return nil
}

// refuseLeftRecursion returns a usage error when a rule can call itself before
// it has read anything.
func (p *Program) refuseLeftRecursion() error {
	empty := p.settle(func(e edge) bool { return e.what == eStep || e.what == eCall })
	const unseen, open, done = 0, 1, 2
	mark := make([]uint8, len(p.starts))
	var path []int32
	var visit func(r int32) error
	visit = func(r int32) error {
		mark[r] = open
		path = append(path, r)
		for _, callee := range p.corners(r, empty) {
			switch mark[callee] {
			case open:
				return p.leftRecursion(path, callee)
			case unseen:
				if err := visit(callee); err != nil {
					return err
				}
			}
		}
		path = path[:len(path)-1]
		mark[r] = done
		return nil
	}
	for r, s := range p.starts {
		if s >= 0 && mark[r] == unseen {
			if err := visit(int32(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// corners returns the rules that r can call before it has read anything.
func (p *Program) corners(r int32, empty []bool) []int32 {
	var out []int32
	seen := map[int32]bool{p.starts[r]: true}
	called := map[int32]bool{}
	work := []int32{p.starts[r]}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for _, e := range p.nodes[n].edges {
			if e.what == eCall && !called[e.arg] {
				called[e.arg] = true
				out = append(out, e.arg)
			}
			if (e.what == eStep || e.what == eCall && empty[p.starts[e.arg]]) && !seen[e.next] {
				seen[e.next] = true
				work = append(work, e.next)
			}
		}
	}
	return out
}

func (p *Program) leftRecursion(path []int32, again int32) error {
	at := 0
	for path[at] != again {
		at++
	}
	var names []string
	for _, r := range path[at:] {
		// A repetition may be a rule of its own under the same name.
		if n := p.names[r]; len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	names = append(names, p.names[again])
	if len(names) > 8 {
		names = append(append(names[:4:4], "…"), names[len(names)-3:]...)
	}
	return fault.New(fault.Usage, "", "", "rule %q is left-recursive: it calls itself before a character is read (%s)",
		p.names[again], strings.Join(names, " → ")).
		Fix("write the repetition with * or +, or put what is read first in front")
}

// contract replaces empty steps by the edges that they lead to, and drops the
// edges of places that nothing else leads to.
func (p *Program) contract() error {
	keep := make([]bool, len(p.nodes))
	keep[end] = true
	var work []int32
	reach := func(n int32) {
		if !keep[n] {
			keep[n] = true
			work = append(work, n)
		}
	}
	reach(p.starts[p.root])
	out := make([]node, len(p.nodes))
	out[end] = p.nodes[end]
	seen := make([]int32, len(p.nodes)) // by which closure a node was seen last
	total := 0
	var closure []int32
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		o := node{label: p.nodes[n].label, rule: p.nodes[n].rule}
		closure = append(closure[:0], n)
		seen[n] = n
		for i := 0; i < len(closure); i++ {
			at := closure[i]
			o.end = o.end || at == end
			for _, e := range p.nodes[at].edges {
				if e.what != eStep {
					if o.label == 0 {
						o.label = p.nodes[at].label
					}
					o.edges = append(o.edges, e)
				} else if seen[e.next] != n {
					seen[e.next] = n
					closure = append(closure, e.next)
				}
			}
		}
		if total += len(o.edges) + len(closure)/8; total > mostEdges {
			return tooLarge("the grammar has more than %d steps between its places", mostEdges)
		}
		out[n] = o
		for _, e := range o.edges {
			reach(e.next)
			if e.what == eCall {
				reach(p.starts[e.arg])
			}
		}
	}
	p.nodes = out
	return nil
}
