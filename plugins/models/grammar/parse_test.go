package grammar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/internal/spm"
)

func TestBadGrammarsAreRefusedWithTheirLine(t *testing.T) {
	tok := testTokenizer(t)
	rows := []struct {
		name, text string
		want       []string
	}{
		{"empty file", "", []string{"no start symbol"}},
		{"no such start", "start s\nrule t\n  1 a\n", []string{":1", `"s" is not defined`}},
		{"a near name is suggested", "start story\nrule stroy\n  1 a\n", []string{`did you mean "stroy"`}},
		{"undefined rule", "start s\nrule s\n  1 <t>\n", []string{":3", `"t" is not defined`}},
		{"unreachable rule", "start s\nrule s\n  1 a\nrule t\n  1 b\n", []string{":4", "cannot be reached"}},
		{"unused set", "start s\nset k f\n  x: a\nrule s\n  1 a\n", []string{":2", "never used"}},
		{"two starts", "start s\nstart t\n", []string{":2", "already"}},
		{"rule defined twice", "start s\nrule s\n  1 a\nrule s\n  1 b\n", []string{":4", "already defined on line 2"}},
		{"set defined twice", "start s\nset k\n  x:\nset k\n  y:\n", []string{":4", "already defined on line 2"}},
		{"rule without alternatives", "start s\nrule s\n", []string{":2", "no alternative"}},
		{"weight zero", "start s\nrule s\n  0 a\n", []string{":3", "outside (0,"}},
		{"weight negative", "start s\nrule s\n  -1 a\n", []string{":3", "outside (0,"}},
		{"weight infinite", "start s\nrule s\n  Inf a\n", []string{":3", "outside (0,"}},
		{"weight not a number", "start s\nrule s\n  NaN a\n", []string{":3", "outside (0,"}},
		{"weight missing", "start s\nrule s\n  a b\n", []string{":3", "starts with its weight"}},
		{"left recursion", "start s\nrule s\n  1 <s> a\n  1 a\n", []string{":2", "left recursion"}},
		{"indirect left recursion", "start s\nrule s\n  1 <t> a\nrule t\n  1 <s> b\n  1 c\n", []string{"left recursion"}},
		{"left recursion behind the empty", "start s\nrule s\n  1 <o> <s> a\n  1 b\nrule o\n  1 c\n  1\n", []string{":2", "left recursion"}},
		{"left recursion into itself alone", "start s\nrule s\n  1 <s>\n", []string{"left recursion"}},
		{"never ends", "start s\nrule s\n  1 a <s>\n", []string{":2", "never ends"}},
		{"grows without end", "start s\nrule s\n  2 a <s> <s>\n  1 a\n", []string{":2", "go on for more than"}},
		{"grows at the border of ending", "start s\nrule s\n  1 a <s> <s>\n  1 a\n", []string{":2", "does not settle"}},
		{"a branch that never ends", "start s\nrule s\n  1 a\n  1 b <t>\nrule t\n  1 c <t>\n", []string{":5", `"t" never ends`}},
		{"indented line before a heading", "  1 a\n", []string{":1", "before any heading"}},
		{"unknown heading", "rules s\n", []string{":1", "a heading is"}},
		{"bad rule name", "start s\nrule S\n", []string{":2", `"S" is not a name`}},
		{"bad variable", "start s\nrule s k\n", []string{":2", "VARIABLE:SET"}},
		{"bad member", "set k f\n  x y\n", []string{":2", "NAME: VALUE"}},
		{"too few values", "set k f g\n  x: a\n", []string{":2", "1 values", "2 fields"}},
		{"member twice", "set k f\n  x: a\n  x: b\n", []string{":3", "already has a member"}},
		{"undefined set", "start s\nrule s\n  1 @v:k a\n", []string{":3", `set "k" is not defined`}},
		{"unknown field", "start s\nset k f\n  x: a\nrule s\n  1 @v:k {v.g}\n", []string{":5", `no field "g"`, "it has f"}},
		{"unknown variable", "start s\nrule s\n  1 {v.f}\n", []string{":3", `"v" is no variable`}},
		{"wrong number of arguments", "start s\nset k\n  x:\nrule s\n  1 <t>\nrule t v:k\n  1 a\n", []string{":5", "takes 1 arguments, not 0"}},
		{"argument that is nothing", "start s\nset k\n  x:\nrule s\n  1 <t y>\nrule t v:k\n  1 a\n", []string{":5", `"y" is neither`}},
		{"argument of another set", "start s\nset k\n  x:\nset m\n  x:\nrule s\n  1 @w:m <t w>\nrule t v:k\n  1 a\n", []string{":7", "wants a k"}},
		{"guard on no variable", "start s\nrule s\n  1 ?v=x a\n", []string{":3", "no variable"}},
		{"guard on no member", "start s\nset k\n  x:\nrule s\n  1 <t x>\nrule t v:k\n  1 ?v=z a\n", []string{":7", `"z"`}},
		{"guards that let nothing through", "start s\nset k\n  x:\n  y:\nrule s\n  1 <t x>\nrule t v:k\n  1 ?v=y a\n", []string{":7", "no alternative"}},
		{"bad clause", "start s\nrule s\n  1 @v a\n", []string{":3", "@VARIABLE:SET"}},
		{"open group", "start s\nrule s\n  1 ( a | b\n", []string{":3", "not closed"}},
		{"stray bracket", "start s\nrule s\n  1 a )\n", []string{":3", `")" stands outside`}},
		{"stray bar", "start s\nrule s\n  1 a | b\n", []string{":3", `"|" stands outside`}},
		{"bracket that touches a word", "start s\nrule s\n  1 a( b )\n", []string{":3", "touches"}},
		{"weight inside an alternative", "start s\nrule s\n  1 ( a *2 b | c )\n", []string{":3", "at the end of an alternative"}},
		{"open reference", "start s\nrule s\n  1 <t\n", []string{":3", "not closed"}},
		{"open field", "start s\nrule s\n  1 {v.f\n", []string{":3", "not closed"}},
		{"text that touches a reference", "start s\nrule s\n  1 <t>.\n", []string{":3", "text touches"}},
		{"backslash at the end", "start s\nrule s\n  1 a \\\\ b\\\n", []string{":3", "backslash"}},
		{"tilde before nothing", "start s\nrule s\n  1 a ~\n", []string{":3", "~ stands before nothing"}},
		{"tilde before an empty group", "start s\nrule s\n  1 a ~( b | )\n", []string{":3", "can be empty"}},
		{"tilde before a rule with an empty alternative", "start s\nrule s\n  1 a ~<t>\nrule t\n  1 b\n  1\n", []string{":6", "empty"}},
		{"document without its space", "start s\nrule s\n  1 ~a\n", []string{":1", "can start with 'a'"}},
		{"not UTF-8", "start s\nrule s\n  1 \xff\n", []string{"UTF-8"}},
		{"too large", strings.Repeat("#", maxSource+1), []string{"at most"}},
		{"too many items", "start s\nrule s\n  1" + strings.Repeat(" a", maxItems+1) + "\n", []string{":3", "more than"}},
		{"groups too deep", "start s\nrule s\n  1 " + strings.Repeat("( ", maxNesting+1) + "a" + strings.Repeat(" )", maxNesting+1) + "\n", []string{":3", "nested deeper"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Parse("x.pcfg", []byte(r.text), tok)
			checkError(t, err, append(r.want, "x.pcfg")...)
			if fault.KindOf(err) != fault.Data {
				t.Errorf("%v is a %v error", err, fault.KindOf(err))
			}
		})
	}
}

// members writes a set of n members.
func members(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "set %s f\n", name)
	for i := range n {
		fmt.Fprintf(&b, "  m%d: w%d\n", i, i)
	}
	return b.String()
}

func TestExplosionsAreRefusedInTime(t *testing.T) {
	tok := testTokenizer(t)
	deep := "start s\n" + members("k", 300) + "rule s\n  1 @a:k @b:k @c:k @d:k @e:k {a.f}\n"
	wide := "start s\n" + members("k", 100) + "rule s\n  1 @a:k @b:k <t a b>\nrule t a:k b:k\n  1 @c:k @d:k <u a b c d>\nrule u a:k b:k c:k d:k\n  1 {a.f} {b.f} {c.f} {d.f}\n"
	for name, text := range map[string]string{"iterations": deep, "combinations": wide} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.pcfg", []byte(text), tok)
			checkError(t, err, "more than", "productions")
		})
	}
}

func TestAmbiguityBeyondReasonIsALimit(t *testing.T) {
	tok := testTokenizer(t)
	l := mustParse(t, "start s\nrule s\n  3 a\n  1 b <s> <s>\n  1 b <s> c <s>\n", tok)
	s := l.Start()
	b := tok.Encode([]byte("b"))[0]
	for range 40 {
		var err error
		if s, err = s.Advance(b); err != nil {
			checkError(t, err, "derivations are open")
			if fault.KindOf(err) != fault.Limit {
				t.Errorf("%v is a %v error", err, fault.KindOf(err))
			}
			return
		}
	}
	t.Errorf("%d stacks are live and nothing was said", s.Stacks())
}

// A border inside a piece would make the tokens of a text depend on more than
// its words.
func TestBordersInsidePiecesAreRefused(t *testing.T) {
	v := testTokenizer(t).Vocab()
	v.Pieces, v.Scores, v.Types = append(v.Pieces, "a."), append(v.Scores, -1), append(v.Types, spm.Normal)
	tok, err := spm.New(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"start s\nrule s\n  1 a .\n",
		"start s\nrule s\n  1 <x> <o> <y>\nrule x\n  1 b a\nrule o\n  1 c\n  1\nrule y\n  1 . a\n",
	} {
		_, err := Parse("x.pcfg", []byte(text), tok)
		checkError(t, err, `"a."`, "border", ":3")
	}
	if _, err := Parse("x.pcfg", []byte("start s\nrule s\n  1 a b .\n"), tok); err != nil {
		t.Errorf("a border that no piece crosses is refused: %v", err)
	}
}

func TestTokenizerMustFit(t *testing.T) {
	v := testTokenizer(t).Vocab()
	v.EOS = -1
	noEOS, err := spm.New(v)
	if err != nil {
		t.Fatal(err)
	}
	v = testTokenizer(t).Vocab()
	v.AddSpacePrefix = false
	noSpace, err := spm.New(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*spm.Tokenizer{noEOS, noSpace} {
		_, err := Parse("x.pcfg", []byte("start s\nrule s\n  1 a\n"), tok)
		checkError(t, err, "the tokenizer")
	}
}

// texts returns every text of a finite grammar with its probability.
func texts(t *testing.T, grammar string) map[string]float64 {
	t.Helper()
	tok := testTokenizer(t)
	l := mustParse(t, grammar, tok)
	_, whole, sequences := prefixes(t, mustExpand(t, grammar), tok, 60)
	out := map[string]float64{}
	for k, p := range whole {
		text, err := l.tok.Decode(sequences[k])
		if err != nil {
			t.Fatal(err)
		}
		out[string(text)] += p
	}
	return out
}

func TestFormat(t *testing.T) {
	rows := []struct {
		name, text string
		want       map[string]float64
	}{
		{"weights count within their rule", "start s\nrule s\n  3 a\n  1 b\n", map[string]float64{"a": 0.75, "b": 0.25}},
		{"comments and empty lines", "# x\nstart s\n\n  # y\nrule s\n  # z\n  1 a\n", map[string]float64{"a": 1}},
		{"a line goes on", "start s\nrule s\n  1 a \\\n    b\n", map[string]float64{"a b": 1}},
		{"marks touch the word before", "start s\nrule s\n  1 a , b . c ! d ? e : f ;\n", map[string]float64{"a, b. c! d? e: f;": 1}},
		{"tilde takes the space away", "start s\nrule s\n  1 a ~b ~( c | d ) ~<t>\nrule t\n  1 e f\n", map[string]float64{"abce f": 0.5, "abde f": 0.5}},
		{"a line break", "start s\nrule s\n  1 a . \\n ~b\n", map[string]float64{"a.\nb": 1}},
		{"escapes", "start s\nrule s\n  1 \\( a \\) \\| \\~b \\\\\n", map[string]float64{`( a ) | ~b \`: 1}},
		{"groups with weights and the empty one", "start s\nrule s\n  1 a ( b *3 | c d | )\n", map[string]float64{"a b": 0.6, "a c d": 0.2, "a": 0.2}},
		{"groups in groups", "start s\nrule s\n  1 ( a ( b | c ) *2 | d )\n", map[string]float64{"a b": 1. / 3, "a c": 1. / 3, "d": 1. / 3}},
		{"fields and capitals", "start s\nset k f g\n  x: ab ç_d\nrule s\n  1 @v:k {v.F} {v.f}'s {v.G}\n", map[string]float64{"Ab ab's Ç d": 1}},
		{"iteration shares the weight", "start s\nset k f\n  x: a\n  y: b\nrule s\n  1 @v:k {v.f}\n  1 c\n", map[string]float64{"a": 0.25, "b": 0.25, "c": 0.5}},
		{"iteration over the others", "start s\nset k f\n  x: a\n  y: b\n  z: c\nrule s\n  1 <t y>\nrule t v:k\n  1 @w:k!=v {v.f} {w.f}\n", map[string]float64{"b a": 0.5, "b c": 0.5}},
		{"guards", "start s\nset k\n  x:\n  y:\n  z:\nrule s\n  1 @v:k <t v>\nrule t v:k\n  1 ?v=x,y a\n  3 ?v!=x b\n", map[string]float64{"a": 1./3 + 1./12, "b": 1./3 + 1./4}},
		{"a member as argument", "start s\nset k f\n  x: a\n  y: b\nrule s\n  1 <t y>\nrule t v:k\n  1 {v.f}\n", map[string]float64{"b": 1}},
		{"the empty document", "start s\nrule s\n  1\n  1 a\n", map[string]float64{"": 0.5, "a": 0.5}},
		{"a group sees the variables", "start s\nset k f\n  x: a\n  y: b\nrule s\n  1 @v:k ( {v.f} | c )\n", map[string]float64{"a": 0.25, "b": 0.25, "c": 0.5}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := texts(t, r.text)
			for text, p := range r.want {
				if !(math.Abs(got[text]-p) <= rounding) {
					t.Errorf("%q has probability %v, want %v", text, got[text], p)
				}
			}
			for text := range got {
				if _, ok := r.want[text]; !ok {
					t.Errorf("%q should not occur", text)
				}
			}
		})
	}
}

// Whatever is typed into a grammar file, reading it ends with a language or an
// error; and a language's documents parse.
func FuzzParse(f *testing.F) {
	for _, g := range smallGrammars {
		f.Add([]byte(g.text))
	}
	f.Add([]byte("start s\nset k f\n  x: é_b\nrule s v:k\n  1 @w:k!=v ?v=x ( {v.F} *2 | ~<s w> | \\n )\n"))
	f.Add([]byte("start s\nrule s\n  1 ( ( ( | ) | ) | )\n"))
	tok := testTokenizer(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 2000 {
			return
		}
		l, err := Parse("x.pcfg", text, tok)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is more than one line: %q", err)
			}
			return
		}
		for i := range uint64(3) {
			doc, err := l.Sample(rand.New(rand.NewPCG(1, i)))
			if err != nil || len(doc) > 200 {
				continue
			}
			for s, at := l.Start(), 0; at < len(doc) && s.Stacks() < 1000; at++ { // more would take seconds
				if s, err = s.Advance(doc[at]); err != nil {
					t.Fatalf("document %v, position %d: %v", doc, at, err)
				}
			}
			plain, err := tok.Decode(doc)
			if err != nil {
				t.Fatal(err)
			}
			if again := append(tok.Encode(plain), tok.Vocab().EOS); !slices.Equal(again, doc) {
				t.Errorf("%q is sampled as %v and tokenised as %v", plain, doc, again)
			}
		}
	})
}
