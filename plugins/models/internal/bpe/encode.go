package bpe

import (
	"fmt"

	"lab/core/fault"
)

// encode returns the tokens of a plain text: user-defined tokens where they are
// written out, leftmost and longest first, and between them the merged bytes of
// every word. Time is O(n log n).
func (t *Tokenizer) encode(text []byte) ([]int32, error) {
	out := make([]int32, 0, len(text)/3+1)
	m := merger{merges: t.merges}
	for len(text) > 0 {
		at, id, n := t.user.Find(text)
		err := t.split.words(text[:at], func(word []byte) (err error) {
			out, err = t.word(out, &m, word)
			return err
		})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, id)
		}
		text = text[at+n:]
	}
	return out, nil
}

// word appends the tokens of one word.
func (t *Tokenizer) word(out []int32, m *merger, word []byte) ([]int32, error) {
	if id, ok := t.words[string(word)]; ok {
		return append(out, id), nil
	}
	m.start()
	for _, b := range word {
		if t.bytes[b] < 0 {
			return nil, fault.New(fault.Data, "encode", fmt.Sprintf("byte 0x%02X", b), "the vocabulary has no token for it")
		}
		m.add(t.bytes[b])
	}
	m.run()
	for i := range m.symbols {
		if s := &m.symbols[i]; s.token >= 0 {
			out = append(out, s.token)
		}
	}
	return out, nil
}

// merger merges the symbols of one word, again and again the two neighbours
// whose merge has the lowest rank, the leftmost of equals. It is used for one
// word after another, for the sake of its memory.
type merger struct {
	merges  map[pair]merge
	symbols []symbol
	queue   []candidate // a heap, the next merge first
}

// symbol is a stretch of the word that has become one token; symbols are a
// linked list, so that a merge costs no copying.
type symbol struct {
	token      int32 // -1: merged into the one before
	prev, next int32 // neighbours, -1 at the ends
}

// candidate is a possible merge; it is stale when one of the two has changed.
type candidate struct {
	rank        int32
	left, right int32 // symbols
	from        pair  // their tokens
	to          int32
}

func (c candidate) before(o candidate) bool {
	if c.rank != o.rank {
		return c.rank < o.rank
	}
	return c.left < o.left
}

func (m *merger) start() { m.symbols, m.queue = m.symbols[:0], m.queue[:0] }

// add puts one more token at the end.
func (m *merger) add(token int32) {
	n := int32(len(m.symbols))
	if n > 0 {
		m.symbols[n-1].next = n
	}
	m.symbols = append(m.symbols, symbol{token: token, prev: n - 1, next: -1})
}

// run merges until nothing is left to merge.
func (m *merger) run() {
	for i := range int32(len(m.symbols)) - 1 {
		m.consider(i, i+1)
	}
	for len(m.queue) > 0 {
		c := m.pop()
		left, right := &m.symbols[c.left], &m.symbols[c.right]
		if left.next != c.right || (pair{left.token, right.token}) != c.from {
			continue
		}
		left.token, left.next = c.to, right.next
		right.token, right.next = -1, -1
		if left.next >= 0 {
			m.symbols[left.next].prev = c.left
		}
		m.consider(left.prev, c.left)
		m.consider(c.left, left.next)
	}
}

// consider queues the merge of two neighbours if there is one.
func (m *merger) consider(left, right int32) {
	if left < 0 || right < 0 {
		return
	}
	p := pair{m.symbols[left].token, m.symbols[right].token}
	if to, ok := m.merges[p]; ok {
		m.push(candidate{rank: to.rank, left: left, right: right, from: p, to: to.token})
	}
}

func (m *merger) push(c candidate) {
	m.queue = append(m.queue, c)
	i := len(m.queue) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !m.queue[i].before(m.queue[parent]) {
			break
		}
		m.queue[i], m.queue[parent] = m.queue[parent], m.queue[i]
		i = parent
	}
}

func (m *merger) pop() candidate {
	top, last := m.queue[0], len(m.queue)-1
	m.queue[0] = m.queue[last]
	m.queue = m.queue[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && m.queue[child+1].before(m.queue[child]) {
			child++
		}
		if !m.queue[child].before(m.queue[i]) {
			return top
		}
		m.queue[i], m.queue[child] = m.queue[child], m.queue[i]
		i = child
	}
}
