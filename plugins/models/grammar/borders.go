package grammar

import (
	"math/bits"
	"unicode/utf8"
)

// chars is a set of the characters that stand at the edge of some terminal, by
// their number.
type chars []uint64

func (c chars) add(i int)      { c[i/64] |= 1 << (i % 64) }
func (c chars) has(i int) bool { return c[i/64]>>(i%64)&1 == 1 }

// join adds all of o and tells whether that changed anything.
func (c chars) join(o chars) bool {
	changed := false
	for i, w := range o {
		if c[i]|w != c[i] {
			c[i] |= w
			changed = true
		}
	}
	return changed
}

// meet returns the number of a common character.
func (c chars) meet(o chars) (int, bool) {
	for i, w := range o {
		if both := c[i] & w; both != 0 {
			return 64*i + bits.TrailingZeros64(both), true
		}
	}
	return 0, false
}

// borders checks where one terminal ends and the next begins.
type borders struct {
	g           *expanded
	can         []bool // which nonterminals can be empty
	runes       []rune // by number
	number      map[rune]int
	termFirst   []int
	termLast    []int
	first, last []chars // of each nonterminal
	joined      []chars // by number: the characters that follow it inside a piece
}

// checkBorders makes sure that the tokenizer, given a whole document, splits it
// exactly as the terminals are split one by one. That holds when no piece
// contains two neighbouring characters that can stand on either side of a
// border between terminals: then no merge crosses a border. pieces are the
// texts of all mergeable tokens. A document must start with a space too, the
// one that the tokenizer puts there.
func checkBorders(g *expanded, src *source, can []bool, pieces []string) error {
	b := &borders{g: g, can: can, number: map[rune]int{}}
	for _, t := range g.terms {
		r, _ := utf8.DecodeRuneInString(t)
		b.termFirst = append(b.termFirst, b.numberOf(r))
		r, _ = utf8.DecodeLastRuneInString(t)
		b.termLast = append(b.termLast, b.numberOf(r))
	}
	b.joined = b.sets(len(b.runes))
	for _, p := range pieces {
		r := []rune(p)
		for i := 1; i < len(r); i++ {
			x, okX := b.number[r[i-1]]
			y, okY := b.number[r[i]]
			if okX && okY {
				b.joined[x].add(y)
			}
		}
	}
	b.solve()
	for _, nt := range g.nts {
		for _, p := range nt.prods {
			if x, y, bad := b.unsafe(p.syms); bad {
				return src.wrongAt(p.line, "the tokenizer has a piece with %q inside, which here is the border of two words",
					string([]rune{b.runes[x], b.runes[y]})).Fix("join the two words, or build the vocabulary again")
			}
		}
	}
	for i, r := range b.runes {
		if r != ' ' && b.first[0].has(i) {
			return src.wrongAt(src.at, "a document can start with %q instead of a word with its space", r)
		}
	}
	return nil
}

func (b *borders) numberOf(r rune) int {
	n, ok := b.number[r]
	if !ok {
		n = len(b.runes)
		b.number[r] = n
		b.runes = append(b.runes, r)
	}
	return n
}

func (b *borders) sets(n int) []chars {
	words := (len(b.runes) + 63) / 64
	all := make(chars, n*words)
	out := make([]chars, n)
	for i := range out {
		out[i] = all[i*words : (i+1)*words : (i+1)*words]
	}
	return out
}

// solve computes the edges of every nonterminal as a fixed point.
func (b *borders) solve() {
	b.first, b.last = b.sets(len(b.g.nts)), b.sets(len(b.g.nts))
	for changed := true; changed; {
		changed = false
		for a := len(b.g.nts) - 1; a >= 0; a-- {
			for _, p := range b.g.nts[a].prods {
				for _, s := range p.syms {
					if s < 0 {
						b.first[a].add(b.termFirst[^s])
					} else if b.first[a].join(b.first[s]) {
						changed = true
					}
					if s < 0 || !b.can[s] {
						break
					}
				}
				for i := len(p.syms) - 1; i >= 0; i-- {
					s := p.syms[i]
					if s < 0 {
						b.last[a].add(b.termLast[^s])
					} else if b.last[a].join(b.last[s]) {
						changed = true
					}
					if s < 0 || !b.can[s] {
						break
					}
				}
			}
		}
	}
}

// unsafe returns the characters of a border in a production that a piece could
// cross. Symbols that can be empty let their neighbours touch.
func (b *borders) unsafe(syms []int32) (x, y int, bad bool) {
	for i, s := range syms {
		for _, next := range syms[i+1:] {
			if x, y, bad = b.crossed(s, next); bad {
				return x, y, true
			}
			if next < 0 || !b.can[next] {
				break
			}
		}
	}
	return 0, 0, false
}

func (b *borders) crossed(left, right int32) (x, y int, bad bool) {
	follows := func(x int) (int, int, bool) {
		if right < 0 {
			return x, b.termFirst[^right], b.joined[x].has(b.termFirst[^right])
		}
		y, bad := b.joined[x].meet(b.first[right])
		return x, y, bad
	}
	if left < 0 {
		return follows(b.termLast[^left])
	}
	for i, w := range b.last[left] {
		for ; w != 0; w &= w - 1 {
			if x, y, bad = follows(64*i + bits.TrailingZeros64(w)); bad {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}
