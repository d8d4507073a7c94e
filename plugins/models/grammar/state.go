package grammar

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
)

// node is the top of a stack of symbols still to be produced. Stacks share
// their tails and never change. hash covers the whole stack.
type node struct {
	sym  int32
	size int32 // symbols from here down
	hash uint64
	next *node
}

// push returns the stack with sym on top.
func push(next *node, sym int32) *node {
	n := &node{sym: sym, size: 1, next: next}
	h := uint64(14695981039346656037) // FNV-1a offset, so that the empty stack is not zero
	if next != nil {
		n.size, h = next.size+1, next.hash
	}
	h = (h ^ uint64(uint32(sym))) * 0x9E3779B97F4A7C15
	n.hash = h ^ h>>29
	return n
}

// same tells whether two stacks hold the same symbols.
func same(a, b *node) bool {
	for a != b {
		if a == nil || b == nil || a.hash != b.hash || a.size != b.size || a.sym != b.sym {
			return false
		}
		a, b = a.next, b.next
	}
	return true
}

// weighted is a stack and its share of the probability of the prefix.
type weighted struct {
	stack *node
	p     float64
}

// maxStacks bounds how many stacks may be live. Most grammars stay below a
// hundred; one whose recursive alternatives begin alike, x = b x x and
// x = b x c x, doubles them at every level.
const maxStacks = 1 << 15

// State is a prefix of a document: every stack of symbols that a leftmost
// derivation of the prefix can have left, with its probability given the
// prefix. The zero State is not usable. States are immutable values: keeping
// one costs nothing and a fork is an assignment. Safe for concurrent use.
type State struct {
	lang  *Language
	live  []weighted
	log2  float64
	last  float64 // log2 probability of the last token
	count int
}

// Ended tells whether the prefix ends with EOS, so that nothing follows.
func (s State) Ended() bool { return len(s.live) == 1 && s.live[0].stack == nil }

// Len returns how many tokens the prefix has, without BOS.
func (s State) Len() int { return s.count }

// Stacks returns how many distinct stacks are live: how ambiguous the prefix
// is.
func (s State) Stacks() int { return len(s.live) }

// LogProb2 returns log2 of the probability that a document begins with the
// prefix; once EOS is in, of the whole document.
func (s State) LogProb2() float64 { return s.log2 }

// Distribution writes the exact probability of every next token into dst,
// which must be as long as the vocabulary: dst[i] is token i, and the sum is 1
// up to rounding (below 1e-12). After EOS there is no next token, which is a
// model error.
//
// It sums over the live stacks, weighted, the distribution of the first token
// that each can produce; where the top of a stack can be empty, the rest of its
// weight goes on to the symbol below.
func (s State) Distribution(dst []float64) error {
	if len(dst) != int(s.lang.symbols) {
		return fault.New(fault.Usage, "grammar", s.lang.name, "a row of %d values for a vocabulary of %d", len(dst), s.lang.symbols)
	}
	if s.Ended() {
		return fault.New(fault.Model, "grammar", s.lang.name, "the document has ended; no token follows %s", s.lang.show(s.lang.tok.Vocab().EOS)).
			Fix("cut the end off or start a new document")
	}
	s.fill(dst)
	return nil
}

// fill is Distribution without its checks; it returns how many probabilities it
// added up.
func (s State) fill(dst []float64) (added int) {
	clear(dst)
	for _, w := range s.live {
		p := w.p
		for n := w.stack; n != nil && p > 0; n = n.next {
			if n.sym < s.lang.symbols {
				dst[n.sym] += p
				added++
				break
			}
			c := &s.lang.nts[n.sym-s.lang.symbols]
			for i, token := range c.tokens {
				dst[token] += p * c.probs[i]
			}
			added += len(c.tokens)
			p *= c.eps
		}
	}
	return added
}

// Advance returns the state after one more token. It is a usage error for a
// token outside the vocabulary and a model error for one that cannot follow
// here; the message names its position and the most likely tokens instead. A
// grammar too ambiguous to follow is a limit error.
func (s State) Advance(token int32) (State, error) {
	if token < 0 || token >= s.lang.symbols {
		return State{}, fault.New(fault.Usage, "grammar", s.lang.name, "token %d is outside 0 to %d", token, s.lang.symbols-1)
	}
	m := merging{lang: s.lang}
	for _, w := range s.live {
		if m.step(w, token); len(m.out) > maxStacks {
			return State{}, fault.New(fault.Limit, "grammar", fmt.Sprintf("token %d", s.count+1),
				"more than %d derivations are open at once", maxStacks).Fix("make the grammar less ambiguous; the alternatives of a recursion should begin differently")
		}
	}
	sum := 0.0
	for _, w := range m.out {
		sum += w.p
	}
	if !(sum > 0) {
		return State{}, s.refuse(token)
	}
	live := m.out[:0]
	for _, w := range m.out {
		if w.p /= sum; w.p > 0 { // a share below the smallest float64 is lost
			live = append(live, w)
		}
	}
	last := math.Log2(sum)
	return State{lang: s.lang, live: slices.Clip(live), log2: s.log2 + last, last: last, count: s.count + 1}, nil
}

// merging collects the stacks after a token and adds up equal ones.
type merging struct {
	lang  *Language
	out   []weighted
	index map[uint64][]int32 // by hash, once there are many
}

const linear = 12 // stacks up to which a search beats a map

// step adds what is left of one stack after it has produced token.
func (m *merging) step(w weighted, token int32) {
	p := w.p
	for n := w.stack; n != nil && p > 0; n = n.next {
		if n.sym < m.lang.symbols {
			if n.sym == token {
				m.add(n.next, p)
			}
			return
		}
		c := &m.lang.nts[n.sym-m.lang.symbols]
		for _, e := range c.starting(token) {
			stack := n.next
			for i := len(e.rest) - 1; i >= 0; i-- {
				stack = push(stack, e.rest[i])
			}
			m.add(stack, p*e.prob)
		}
		p *= c.eps
	}
}

func (m *merging) add(stack *node, p float64) {
	if m.index == nil {
		for i := range m.out {
			if same(m.out[i].stack, stack) {
				m.out[i].p += p
				return
			}
		}
		m.out = append(m.out, weighted{stack, p})
		if len(m.out) > linear {
			m.index = make(map[uint64][]int32, 4*linear)
			for i, w := range m.out {
				h := hashOf(w.stack)
				m.index[h] = append(m.index[h], int32(i))
			}
		}
		return
	}
	h := hashOf(stack)
	for _, i := range m.index[h] {
		if same(m.out[i].stack, stack) {
			m.out[i].p += p
			return
		}
	}
	m.index[h] = append(m.index[h], int32(len(m.out)))
	m.out = append(m.out, weighted{stack, p})
}

func hashOf(n *node) uint64 {
	if n == nil {
		return 0
	}
	return n.hash
}

// refuse is the error for a token that cannot follow.
func (s State) refuse(token int32) error {
	const shown = 5
	where := fmt.Sprintf("token %d", s.count+1)
	if s.Ended() {
		return fault.New(fault.Model, "grammar", where, "%s stands after the end of the document", s.lang.show(token)).
			Fix("cut it off or start a new document")
	}
	dist := make([]float64, s.lang.symbols)
	s.fill(dist)
	var likely []int32
	for i, p := range dist {
		if p > 0 {
			likely = append(likely, int32(i))
		}
	}
	slices.SortStableFunc(likely, func(a, b int32) int {
		switch {
		case dist[a] > dist[b]:
			return -1
		case dist[a] < dist[b]:
			return 1
		}
		return 0
	})
	var names []string
	for _, id := range likely[:min(shown, len(likely))] {
		names = append(names, s.lang.show(id))
	}
	cure := "most likely here: " + strings.Join(names, ", ")
	if more := len(likely) - len(names); more > 0 {
		cure += fmt.Sprintf(" and %d more", more)
	}
	if p, err := s.lang.tok.Piece(token); err == nil && string(p) == " " {
		cure = "remove the space at that place (words carry their own); " + cure
	}
	return fault.New(fault.Model, "grammar", where, "%s cannot follow in this language", s.lang.show(token)).Fix("%s", cure)
}
