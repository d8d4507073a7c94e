package std

import (
	"testing"

	"lab/core/fault"
	"lab/core/script/scripttest"
)

func TestScoresInScripts(t *testing.T) {
	r := scripttest.Run(t, `
m := import("toy").m
s := m.score("bad", {prompt: "a", top: 2})
sum := 0.0
for t in s.tokens { sum += t.surprisal_bits }
print(s.count, s.bytes, near(sum, s.bits, 0), near(s.bits, m.surprisal_bits("a", "bad"), 0), near(s.mean_bits, sum/3, 1e-12))
print(len(s.tokens[0].top), s.tokens[0].text, s.tokens[0].rank > 0, near(s.tokens[1].surprisal_bits, m.next("ab").surprisal_bits("a"), 1e-12))
texts := ["bad", "bag", "b", "cab"]
for i, x in m.score(texts, {prompt: "a"}) { assert(x.bits == m.score(texts[i], {prompt: "a"}).bits, texts[i]) }
p := m.perplexity("abcdefghijk", {window: 4, stride: 2})
print(p.count, len(p.tokens), p.window, p.stride, near(p.perplexity, 12, 11))
print(m.usage.flops, len(m.score([])))
`, toyModules(t)...)
	r.Printed(t, "3 3 true true true\n2 b true true\n10 0 4 2 true\n0 0\n")
}

func TestScoreRefusesInScripts(t *testing.T) {
	for _, code := range []string{`m.score("")`, `m.score("ab")`, `m.score(["a", 1], {prompt: "a"})`, `m.score("a", {prompt: "a", topp: 1})`,
		`m.score("a", {prompt: "a", top: -1})`, `m.perplexity("abc", {window: 2, stride: 2})`, `m.perplexity("a")`} {
		r := scripttest.Run(t, `m := import("toy").m
`+code, toyModules(t)...)
		if k := fault.KindOf(r.Err); r.Err == nil || k != fault.Usage && k != fault.Script {
			t.Errorf("%s: got %v", code, r.Err)
		}
	}
}
