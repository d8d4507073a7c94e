package grammar

import (
	"fmt"
	"strings"
	"testing"

	"lab/plugins/models/internal/spm"
)

// This file computes by other means what the engine computes: it rewrites
// sentential forms one production at a time, and it fills an inside chart. It
// shares the parsing of grammar files with the engine and nothing after that.

// testTokenizer knows the words a to h as one token each; every other word is
// several.
func testTokenizer(t testing.TB) *spm.Tokenizer {
	t.Helper()
	v := spm.Vocab{BOS: 1, EOS: 2, Unknown: 0, AddBOS: true, AddSpacePrefix: true}
	put := func(piece string, typ spm.Type) {
		v.Pieces, v.Scores, v.Types = append(v.Pieces, piece), append(v.Scores, -float32(len(v.Pieces))), append(v.Types, typ)
	}
	put("<unk>", spm.Unknown)
	put("<s>", spm.Control)
	put("</s>", spm.Control)
	for b := range 256 {
		put(fmt.Sprintf("<0x%02X>", b), spm.Byte)
	}
	for _, c := range "abcdefgh" {
		put("▁"+string(c), spm.Normal)
	}
	for _, c := range "▁abcdefgh." {
		put(string(c), spm.Normal)
	}
	tok, err := spm.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// smallGrammars are ambiguous, recursive, share prefixes and use empty
// alternatives in every place.
var smallGrammars = []struct{ name, text string }{
	{"one word", "start s\nrule s\n  1 a\n"},
	{"a choice", "start s\nrule s\n  3 a\n  1 b\n  0.5 a b\n"},
	{"shared prefixes", "start s\nrule s\n  2 a b c\n  3 a b d\n  1 a c\n  1 <x> d\nrule x\n  1 a b\n  1 a\n"},
	{"ambiguous", "start s\nrule s\n  1 <x> <y>\nrule x\n  1 a\n  1 a a\n  2 a a a\nrule y\n  1 a\n  3 a a\n"},
	{"right recursion", "start s\nrule s\n  2 a <s>\n  1 b\n  1 a\n"},
	{"nested", "start s\nrule s\n  1 a <s> b\n  2 c\n  1 a b\n"},
	{"two recursions", "start s\nrule s\n  3 a\n  1 b <s> <s>\n  1 b <s> c <s>\n"},
	{"empty in front", "start s\nrule s\n  1 <o> <o> a\nrule o\n  1 b\n  2\n  1 b b\n"},
	{"empty at the end", "start s\nrule s\n  1 a <o> <p>\nrule o\n  1 b\n  1\nrule p\n  1 b <p>\n  1 c\n  1 <o> d\n  2\n"},
	{"all empty", "start s\nrule s\n  1 <o> <o>\nrule o\n  1 ( a | ( b | ) *2 | )\n  1\n"},
	{"empty before recursion", "start s\nrule s\n  1 <o> a <s>\n  2 <o> c\nrule o\n  1 b\n  1\n"},
	{"words of several tokens", "start s\nrule s\n  1 ab <s>\n  1 abc\n  2 a xyz .\n  1 ab .\n"},
	{"features", "start s\nset k one\n  x: a\n  y: b\n  z: c\nrule s\n  1 @v:k <t v>\nrule t v:k\n  2 {v.one} d\n  1 @w:k!=v {v.one} {w.one}\n  1 ?v=x,y {v.one} <t v>\n  1 ?v!=y e\n"},
	{"glue", "start s\nrule s\n  1 a ~<x>\n  1 b <x>\nrule x\n  1 b\n  1 ( c | d ) e\n  1 <y> a\nrule y\n  1 ~b\n  1 c\n"},
}

func mustParse(t testing.TB, text string, tok *spm.Tokenizer) *Language {
	t.Helper()
	l, err := Parse("test.pcfg", []byte(text), tok)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustExpand(t testing.TB, text string) *expanded {
	t.Helper()
	src, err := parseSource("test.pcfg", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	g, err := expand(src)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// bareTokens encodes a terminal as it stands inside a text.
func bareTokens(t testing.TB, tok *spm.Tokenizer, term string) []int32 {
	t.Helper()
	v := tok.Vocab()
	v.AddSpacePrefix = false
	b, err := spm.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return b.Encode([]byte(term))
}

// key is a token sequence as a map key.
func key(tokens []int32) string { return fmt.Sprint(tokens) }

// form is a sentential form: tokens produced, symbols left, probability.
type form struct {
	done []int32
	left []int32 // symbols of the expanded grammar, the next one first
	p    float64
}

// prefixes returns the probability of every token sequence of at most limit
// tokens as the beginning of a document, and of every whole document that
// short (with EOS), by rewriting.
func prefixes(t testing.TB, g *expanded, tok *spm.Tokenizer, limit int) (prefix, whole map[string]float64, sequences map[string][]int32) {
	t.Helper()
	terms := make([][]int32, len(g.terms))
	for i, s := range g.terms {
		terms[i] = bareTokens(t, tok, s)
	}
	prefix, whole, sequences = map[string]float64{}, map[string]float64{}, map[string][]int32{}
	queue := []form{{left: []int32{0}, p: 1}}
	steps := 0
	for len(queue) > 0 {
		f := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if steps++; steps > 5_000_000 {
			t.Fatal("the enumeration does not end")
		}
		if len(f.left) == 0 {
			whole[key(f.done)] += f.p
			sequences[key(f.done)] = f.done
			continue
		}
		s, rest := f.left[0], f.left[1:]
		if s >= 0 {
			for _, p := range g.nts[s].prods {
				queue = append(queue, form{f.done, append(append([]int32{}, p.syms...), rest...), f.p * p.prob})
			}
			continue
		}
		done := f.done
		for _, token := range terms[^s] {
			if len(done) == limit {
				break
			}
			done = append(append([]int32{}, done...), token)
			prefix[key(done)] += f.p
			sequences[key(done)] = done
		}
		if len(done) < limit {
			queue = append(queue, form{done, rest, f.p})
		}
	}
	return prefix, whole, sequences
}

// inside returns the probability that the start symbol produces exactly
// tokens, from an inside chart over spans (Baker 1979; Jelinek, Lafferty and
// Mercer 1992), with empty symbols allowed.
func inside(t testing.TB, g *expanded, tok *spm.Tokenizer, tokens []int32) float64 {
	t.Helper()
	type item struct{ nt, prod, dot, from, to int }
	memo := map[item]float64{}
	terms := make([]string, len(g.terms))
	for i, s := range g.terms {
		terms[i] = key(bareTokens(t, tok, s))
	}
	var symbol func(s int32, from, to int) float64
	var dotted func(x item) float64
	symbol = func(s int32, from, to int) float64 {
		if s < 0 {
			if key(tokens[from:to]) != terms[^s] {
				return 0
			}
			return 1
		}
		sum := 0.0
		for i, p := range g.nts[s].prods {
			sum += p.prob * dotted(item{int(s), i, 0, from, to})
		}
		return sum
	}
	dotted = func(x item) float64 {
		syms := g.nts[x.nt].prods[x.prod].syms
		if x.dot == len(syms) {
			if x.from == x.to {
				return 1
			}
			return 0
		}
		if v, ok := memo[x]; ok {
			return v
		}
		sum := 0.0
		for mid := x.from; mid <= x.to; mid++ {
			// The first symbol first: without left recursion it never asks for
			// itself over the same span, and where it is empty neither does the
			// rest.
			if p := symbol(syms[x.dot], x.from, mid); p > 0 {
				rest := x
				rest.dot, rest.from = x.dot+1, mid
				sum += p * dotted(rest)
			}
		}
		memo[x] = sum
		return sum
	}
	return symbol(0, 0, len(tokens))
}

func spell(tok *spm.Tokenizer, tokens []int32) string {
	var parts []string
	v := tok.Vocab()
	for _, id := range tokens {
		parts = append(parts, v.Pieces[id])
	}
	return strings.Join(parts, " ")
}
