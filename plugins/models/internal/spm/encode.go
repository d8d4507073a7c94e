package spm

import (
	"container/heap"
	"strings"
	"unicode/utf8"
)

// symbol is a stretch of the text being merged. Symbols form a linked list, so
// that a merge costs no copying.
type symbol struct {
	start, end int // bytes of the escaped text
	prev, next int // neighbours, -1 at the ends
	token      int32
}

const (
	loose  int32 = -1 // may still merge; its token is found at the end
	frozen int32 = -2 // never merges and is written as byte tokens
)

// pair is a possible merge of two neighbours; it is stale when either of them
// has changed since, which its width tells.
type pair struct {
	score       float32
	left, right int
	width       int
}

type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	if p[i].score != p[j].score {
		return p[i].score > p[j].score
	}
	return p[i].left < p[j].left
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	old := *p
	x := old[len(old)-1]
	*p = old[:len(old)-1]
	return x
}

// merger is the work of one Encode call.
type merger struct {
	t     *Tokenizer
	text  string // spaces written as the space sign
	syms  []symbol
	queue pairs
	split map[string]int // where each unused piece was put together
}

// Encode returns the tokens of a plain text, without BOS. With AddSpacePrefix
// one space goes in front of any text that is not empty, also of one that
// starts with a space; the empty text has no tokens. It starts from single
// characters and merges, again and again, the two neighbours whose
// concatenation is the piece of the highest score, the leftmost of equals; what
// is no piece in the end becomes byte tokens. A literal U+2581 and bytes that
// are not UTF-8 are byte tokens from the start, which keeps the encoding
// lossless. Time is O(n log n).
//
// Source: Kudo and Richardson, "SentencePiece" (EMNLP 2018), BPE with byte
// fallback.
func (t *Tokenizer) Encode(text []byte) []int32 {
	if len(text) == 0 {
		return []int32{}
	}
	m := &merger{t: t}
	m.start(text)
	for i := 1; i < len(m.syms); i++ {
		m.consider(i-1, i)
	}
	for m.queue.Len() > 0 {
		m.merge(heap.Pop(&m.queue).(pair))
	}
	out := make([]int32, 0, len(text)/2+1)
	for i := 0; i >= 0; i = m.syms[i].next {
		out = m.emit(out, m.syms[i])
	}
	return out
}

// start fills the list with the text's first symbols: characters, whole
// user-defined pieces, and stretches that only byte tokens can write.
func (m *merger) start(text []byte) {
	var b strings.Builder
	b.Grow(len(text) + 2*len(Space))
	m.syms = make([]symbol, 0, len(text)+1)
	put := func(s string, token int32) {
		n := len(m.syms)
		m.syms = append(m.syms, symbol{start: b.Len(), end: b.Len() + len(s), prev: n - 1, next: n + 1, token: token})
		b.WriteString(s)
	}
	if m.t.vocab.AddSpacePrefix {
		text = append([]byte{' '}, text...)
	}
	for len(text) > 0 {
		if id, n := m.t.matchUser(text); n > 0 {
			put(string(text[:n]), id)
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch s := string(text[:size]); {
		case s == " ":
			put(Space, loose)
		case s == Space || r == utf8.RuneError && size == 1:
			put(s, frozen)
		default:
			put(s, loose)
		}
		text = text[size:]
	}
	m.syms[len(m.syms)-1].next = -1
	m.text = b.String()
}

// matchUser returns the longest user-defined token that text starts with, and
// its length in bytes of text; the length is 0 when there is none.
func (t *Tokenizer) matchUser(text []byte) (int32, int) {
	first := text[0]
	if first == ' ' {
		first = Space[0]
	}
	for _, n := range t.userLens[first] {
		if id, used, ok := t.matchUserLen(text, n); ok {
			return id, used
		}
	}
	return 0, 0
}

// matchUserLen looks for a user-defined piece of n bytes, in which a space of
// the text counts as the three bytes of the space sign.
func (t *Tokenizer) matchUserLen(text []byte, n int) (int32, int, bool) {
	used, width, spaces := 0, 0, false
	for used < len(text) && width < n {
		if text[used] == ' ' {
			width += len(Space)
			spaces = true
		} else {
			width++
		}
		used++
	}
	if width != n {
		return 0, 0, false
	}
	key := string(text[:used])
	if strings.Contains(key, Space) {
		return 0, 0, false // a literal space sign is not a space
	}
	if spaces {
		key = strings.ReplaceAll(key, " ", Space)
	}
	id, ok := t.user[key]
	return id, used, ok
}

// consider queues the merge of two neighbours if their concatenation is a
// piece.
func (m *merger) consider(left, right int) {
	if left < 0 || right < 0 {
		return
	}
	a, b := m.syms[left], m.syms[right]
	width := b.end - a.start
	if a.token != loose || b.token != loose || width > m.t.longest {
		return
	}
	if id, ok := m.t.mergeable(m.text[a.start:b.end]); ok {
		if m.t.vocab.Types[id] == Unused {
			if m.split == nil {
				m.split = make(map[string]int)
			}
			m.split[m.text[a.start:b.end]] = a.end - a.start
		}
		heap.Push(&m.queue, pair{score: m.t.vocab.Scores[id], left: left, right: right, width: width})
	}
}

// merge joins the pair into its left symbol unless it is stale.
func (m *merger) merge(p pair) {
	a, b := &m.syms[p.left], &m.syms[p.right]
	if a.start == a.end || b.start == b.end || b.end-a.start != p.width || a.next != p.right {
		return
	}
	a.end, a.next = b.end, b.next
	if b.next >= 0 {
		m.syms[b.next].prev = p.left
	}
	b.start = b.end
	m.consider(a.prev, p.left)
	m.consider(p.left, a.next)
}

// emit appends the tokens of one symbol.
func (m *merger) emit(out []int32, s symbol) []int32 {
	if s.token >= 0 {
		return append(out, s.token)
	}
	text := m.text[s.start:s.end]
	if s.token == loose {
		if id, ok := m.t.mergeable(text); ok {
			if m.t.vocab.Types[id] != Unused {
				return append(out, id)
			}
			if at, ok := m.split[text]; ok {
				out = m.emit(out, symbol{start: s.start, end: s.start + at, token: loose})
				return m.emit(out, symbol{start: s.start + at, end: s.end, token: loose})
			}
		}
		if text == Space {
			text = " "
		}
	}
	for i := 0; i < len(text); i++ {
		out = append(out, m.t.bytes[text[i]])
	}
	return out
}
