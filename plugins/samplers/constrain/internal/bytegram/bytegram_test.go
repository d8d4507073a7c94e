package bytegram

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"lab/core/fault"
)

func matcherOf(t testing.TB, g *Grammar, a Alphabet, texts ...string) (*Matcher, error) {
	t.Helper()
	p, err := g.Compile(0, a)
	if err != nil {
		return nil, err
	}
	trie, err := NewTrie(len(texts), func(id int32) []byte { return []byte(texts[id]) })
	if err != nil {
		t.Fatal(err)
	}
	return NewMatcher(p, trie, []int32{0})
}

func single(body *Expr) *Grammar {
	g := &Grammar{}
	g.Add("root", body)
	return g
}

// bytesAnd is a vocabulary of an end, all bytes and further texts.
func bytesAnd(texts ...string) []string {
	out := []string{""}
	for b := range 256 {
		out = append(out, string([]byte{byte(b)}))
	}
	return append(out, texts...)
}

// A class reads the UTF-8 of its own characters, all of them, and nothing else.
func TestClassesReadTheirCharacters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	interesting := []rune{0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF}
	for range 12 {
		var ranges []Range
		for range 1 + r.IntN(3) {
			lo := interesting[r.IntN(len(interesting))] + rune(r.IntN(200)) - 100
			lo = min(max(lo, 0), 0x10FFFF)
			ranges = append(ranges, Range{lo, min(lo+rune(r.IntN(3000)), 0x10FFFF)})
		}
		p, err := single(Class("", ranges...)).Compile(0, Characters())
		if err != nil {
			if strings.Contains(err.Error(), "no character") {
				continue // surrogates only
			}
			t.Fatal(err)
		}
		m := newMachine(p)
		start, _ := m.start()
		whole := func(text []byte) bool {
			s, n, err := m.read(start, text)
			return err == nil && n == len(text) && s.complete
		}
		for c := rune(0); c <= utf8.MaxRune; c++ {
			if utf8.ValidRune(c) && whole(utf8.AppendRune(nil, c)) != in(ranges, c) {
				t.Fatalf("%x: character %U is read: %v", ranges, c, !in(ranges, c))
			}
		}
		for range 20000 {
			b := make([]byte, 1+r.IntN(4))
			for i := range b {
				b[i] = byte(0x80 + r.IntN(0x80))
			}
			if c, n := utf8.DecodeRune(b); whole(b) && (c == utf8.RuneError || n != len(b)) {
				t.Fatalf("%x: % x is read", ranges, b)
			}
		}
	}
}

func TestNegate(t *testing.T) {
	for _, r := range []struct{ in, want []Range }{
		{nil, []Range{{0, MostRune}}},
		{[]Range{{0, MostRune}}, nil},
		{[]Range{{5, 9}, {0, 4}}, []Range{{10, MostRune}}},
		{[]Range{{20, 30}, {10, 25}}, []Range{{0, 9}, {31, MostRune}}},
	} {
		if got := Negate(r.in); !slices.Equal(got, r.want) {
			t.Errorf("all but %v is %v, want %v", r.in, got, r.want)
		}
	}
}

// Of random grammars and vocabularies, the tokens allowed after a text are those
// with which it still begins a text of the grammar, and it may end exactly when
// it is one; by the judgement of a search over the expressions.
func TestMasksAgainstSearch(t *testing.T) {
	const seeds = 500
	compiled, allowed, refused := 0, 0, 0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := randomGrammar(r)
		texts := []string{"", "a", "b", "é", "é"[:1], "é"[1:]}
		for range 6 {
			var s string
			for range 1 + r.IntN(4) {
				s += []string{"a", "b", "é", "ê", "é"[:1], "é"[1:], "c"}[r.IntN(7)]
			}
			texts = append(texts, s)
		}
		search := newOracle(&Grammar{rules: slices.Clone(g.rules)}, "") // compiling may add rules
		x, err := matcherOf(t, g, Characters(), texts...)
		if err != nil {
			if search.live[0] {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		compiled++
		var tokens []int32
		var memo []byte
		text := ""
		for range 6 {
			next, err := x.Next(tokens, memo)
			if err != nil {
				t.Fatalf("seed %d after %q: %v", seed, text, err)
			}
			if want := newOracle(search.g, text).matches(search.g.rules[0].body, 0)[len(text)]; next.Ends != want {
				t.Fatalf("seed %d: %q is complete: %v", seed, text, next.Ends)
			}
			var can []int32
			for id := int32(1); int(id) < len(texts); id++ {
				want := newOracle(search.g, text+texts[id]).begins(search.g.rules[0].body, 0)
				if next.Tokens.Has(id) != want {
					t.Fatalf("seed %d: %q after %q is allowed: %v", seed, texts[id], text, !want)
				}
				if want {
					can = append(can, id)
				}
			}
			allowed, refused = allowed+len(can), refused+len(texts)-1-len(can)
			if !slices.Equal(next.Tokens.Append(nil), can) || next.Tokens.Count() != len(can) {
				t.Fatalf("seed %d: the set lists %v, want %v", seed, next.Tokens.Append(nil), can)
			}
			if len(can) == 0 {
				break
			}
			id := can[r.IntN(len(can))]
			tokens, memo, text = append(tokens, id), next.Memo, text+texts[id]
		}
	}
	if compiled < seeds/2 || allowed < 2000 || refused < 2000 {
		t.Errorf("%d grammars, %d tokens allowed and %d refused: too few to tell", compiled, allowed, refused)
	}
}

func TestStrike(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, share := range []int{0, 1, 50, 99, 100} {
		words := make([]uint64, 4)
		for id := range 200 {
			if r.IntN(100) < share {
				words[id>>6] |= 1 << (id & 63)
			}
		}
		k := newMask(words)
		values := make([]float32, 200)
		k.Strike(values, []int32{7, 199})
		for id, v := range values {
			if keep := k.Has(int32(id)) || id == 7 || id == 199; (v == 0) != keep {
				t.Fatalf("%d of 100: token %d has %v, kept %v", share, id, v, keep)
			}
		}
	}
}

func next(t *testing.T, x *Matcher, tokens []int32, memo []byte) Next {
	t.Helper()
	n, err := x.Next(tokens, memo)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTokens(t *testing.T) {
	texts := bytesAnd("<think>", "ab", "")
	tok := func(s string, id int32, not bool) *Expr { return OneToken("", Token{ID: id, Text: s, Not: not}) }
	g := single(Seq(tok("<think>", -1, false), Repeat(tok("<think>", -1, true), 0, Unlimited), tok("", 259, false), Literal("", "x")))
	x, err := matcherOf(t, g, Characters(), texts...)
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, x, nil, nil).Tokens.Append(nil); !slices.Equal(got, []int32{257}) {
		t.Errorf("at the start %v", got)
	}
	n := next(t, x, []int32{257, 258}, nil)
	if n.Tokens.Has(257) || !n.Tokens.Has(258) || !n.Tokens.Has(259) || n.Tokens.Has(0) || n.Ends || n.Tokens.Count() != 258 {
		t.Errorf("inside: %d tokens", n.Tokens.Count())
	}
	n = next(t, x, []int32{257, 258, 1 + 'q', 259, 1 + 'x'}, n.Memo)
	if !n.Ends || n.Tokens.Count() != 0 {
		t.Errorf("at the end: %d tokens, complete %v", n.Tokens.Count(), n.Ends)
	}
	n = next(t, x, []int32{257, 259, 1 + 'x', 0, 0}, nil)
	if !n.Ends || n.Tokens.Count() != 0 {
		t.Errorf("after the end: %d tokens, complete %v", n.Tokens.Count(), n.Ends)
	}
	for _, bad := range [][]int32{{258}, {257, 257}, {257, 0}, {257, 259, 1 + 'x', 0, 1 + 'x'}} {
		if _, err := x.Next(bad, nil); err == nil || fault.KindOf(err) != fault.Data {
			t.Errorf("%v: got %v, want a data error", bad, err)
		}
	}
}

func TestTrie(t *testing.T) {
	texts := []string{"b", "", "abc", "ab", "abc", "\x00", "abd", "b"}
	trie, err := NewTrie(len(texts), func(id int32) []byte { return []byte(texts[id]) })
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{5, 3, 2, 4, 6, 0, 7}; !slices.Equal(trie.order, want) {
		t.Errorf("order %v, want %v", trie.order, want)
	}
	if len(trie.nodes) != 1+1+4+1+1 { // root, NUL, a-b-c-d, b, closing
		t.Errorf("%d points", len(trie.nodes))
	}
	for id, text := range texts {
		if string(trie.Text(int32(id))) != text {
			t.Errorf("token %d is %q", id, trie.Text(int32(id)))
		}
	}
	if trie.find("abc") != 2 || trie.find("abx") != -1 || trie.Text(-1) != nil || trie.Text(8) != nil {
		t.Error("a text is found wrongly")
	}
}

// A memo reads back to the same state and the same bytes, in another matcher
// too.
func TestMemosReadBack(t *testing.T) {
	build := func() *Matcher {
		g := &Grammar{}
		g.Define(g.Rule("root"), Alt(Seq(Literal("", "a"), Ref(0), Literal("", "b")), Seq(Literal("", "a"), Ref(0), Literal("", "c")), Literal("", "a")))
		x, err := matcherOf(t, g, Characters(), bytesAnd()...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x, y := build(), build()
	next(t, y, []int32{1 + 'a', 1 + 'b'}[:1], nil) // another history of states
	tokens := slices.Repeat([]int32{1 + 'a'}, 9)
	a := next(t, x, tokens, nil)
	for _, memo := range [][]byte{nil, a.Memo, next(t, x, tokens[:4], nil).Memo} {
		if b := next(t, y, tokens, memo); !bytes.Equal(a.Memo, b.Memo) {
			t.Errorf("memos differ:\n%x\n%x", a.Memo, b.Memo)
		}
	}
	// As many tokens, but others: the memo is not theirs.
	other := append(slices.Clone(tokens[:8]), 1+'b')
	if b, c := next(t, y, other, a.Memo), next(t, y, other, nil); !bytes.Equal(b.Memo, c.Memo) || bytes.Equal(b.Memo[17:], a.Memo[17:]) {
		t.Error("a memo of other tokens was used")
	}
}

// A branch that never ends is not entered.
func TestDeadEndsAreNotEntered(t *testing.T) {
	g := &Grammar{}
	g.Rule("root")
	g.Rule("endless")
	g.Define(0, Alt(Literal("", "a"), Seq(Literal("", "b"), Ref(1)), Seq(Literal("", "c"), None()), Repeat(Ref(1), 0, 2)))
	g.Define(1, Seq(Literal("", "d"), Ref(1)))
	x, err := matcherOf(t, g, Characters(), bytesAnd("ab")...)
	if err != nil {
		t.Fatal(err)
	}
	if n := next(t, x, nil, nil); !n.Ends || !slices.Equal(n.Tokens.Append(nil), []int32{1 + 'a'}) {
		t.Errorf("tokens %v, complete %v", n.Tokens.Append(nil), n.Ends)
	}
}

// Whatever stands in a memo behind its hashes, nothing breaks and nothing is
// reached that is no place of the grammar.
func FuzzMemo(f *testing.F) {
	g := &Grammar{}
	g.Define(g.Rule("root"), Alt(Seq(Literal("", "a"), Ref(0), Literal("", "b")), OneToken("", Token{ID: 5}), Class("", Range{'a', 'ÿ'})))
	x, err := matcherOf(f, g, Characters(), bytesAnd("ab", "aab")...)
	if err != nil {
		f.Fatal(err)
	}
	tokens := []int32{1 + 'a', 1 + 'a'}
	n, err := x.Next(tokens, nil)
	if err != nil {
		f.Fatal(err)
	}
	head := len(x.header(tokens))
	f.Add(n.Memo[head:])
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{0, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, body []byte) {
		memo := append(slices.Clone(n.Memo[:head]), body...)
		got, err := x.Next(tokens, memo)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := x.decode(memo, tokens); !ok && !bytes.Equal(got.Memo, n.Memo) {
			t.Errorf("bytes that are no memo change the answer")
		}
		for _, id := range got.Tokens.Append(nil)[:min(got.Tokens.Count(), 5)] {
			if _, err := x.Next(append(slices.Clone(tokens), id), got.Memo); err != nil && fault.KindOf(err) == fault.Internal {
				t.Error(err)
			}
		}
		if len(got.Where())+len(got.Expected()) > 1000 {
			t.Errorf("a message of %d bytes", len(got.Where())+len(got.Expected()))
		}
	})
}
