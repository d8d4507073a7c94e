package statsmod

import (
	"fmt"
	"strings"
	"testing"

	"lab/core/script"
	"lab/core/script/scripttest"
	"lab/core/script/std"
	"lab/core/trace"
)

// source is a module that hands a script samples, without a model.
func source() script.Module {
	get := func(name string, v func() any) script.Member {
		return script.Member{Name: name, Doc: "d", Returns: "r", Get: func(*script.Call) (any, error) { return v(), nil }}
	}
	sample := func(text string, reason string, bits float64, tokens ...int32) *std.Sample {
		s := &trace.Sample{Text: text, Tokens: tokens, Stop: trace.Stop{Reason: reason}}
		for i, token := range tokens {
			m, d := trace.NewSide(0.5, 2, bits, 9), trace.NewSide(0.25, 1, 1, 3)
			s.Steps = append(s.Steps, trace.Step{Step: i, Token: token, Piece: []byte("x"), Model: &m, Sampling: &d})
		}
		return &std.Sample{Sample: s}
	}
	return script.Module{Name: "given", Doc: "d", Members: []script.Member{
		get("samples", func() any {
			return []any{sample("a b a b", "max_tokens", 2, 1, 2, 1, 2), sample("a b c", "end_of_text", 3, 1, 2, 3, 0), sample("a a a", "max_tokens", 4, 1, 1, 1)}
		}),
		get("bare", func() any {
			s := sample("a b", "max_tokens", 1, 1, 2)
			s.Steps = nil
			return []any{s}
		}),
	}}
}

func run(t *testing.T, body string) scripttest.Result {
	t.Helper()
	return scripttest.Run(t, "stats := import(\"stats\")\ngiven := import(\"given\")\n"+body, Module(), source())
}

func TestTheDeclarationIsSound(t *testing.T) {
	if err := Module().Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestFunctionsOfTheModule(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"distinct of words":    {`print(stats.distinct("the cat sat on the mat", 1))`, "0.8333333333333334"},
		"distinct of tokens":   {`print(stats.distinct([1, 2, 1, 2], 2))`, "0.6666666666666666"},
		"a token is no word":   {`print(stats.distinct([1, "1"], 1))`, "1"},
		"distinct of a sample": {`print(stats.distinct(given.samples[1], 1))`, "1"},
		"repetition":           {`print(stats.seq_rep([1, 1, 1, 1], 2), stats.once([1, 2, 2], 1), stats.rep([1, 2, 1], 2), stats.type_token([4, 4]), stats.diversity([1, 2, 3, 4]))`, "0.6666666666666667 0.3333333333333333 0.3333333333333333 0.5 1"},
		"loop":                 {`l := stats.loop("x a b a b a b"); print(l.period, l.repeats, l.start)`, "2 3 1"},
		"no loop":              {`print(stats.loop([1, 2, 1, 2]).period, stats.loop([1, 2, 1, 2], {repeats: 2}).period)`, "0 2"},
		"zipf":                 {`s := "a a a a a a a a a a a a b b b b b b c c c c d d d"; print(near(stats.zipf([s]), 1, 1e-12), near(stats.zipf([s], {method: "mle"}), 1, 0.05))`, "true true"},
		"self-BLEU":            {`print(stats.self_bleu(["a b c", "a b c", "d e f"], {n: 2}))`, "[1, 1, 0]"},
		"unique":               {`print(stats.unique(["a", "b", "a"]), stats.unique(given.samples))`, "2 3"},
		"coverage and chao1":   {`o := ["a", "a", "b", "c", "c", "c"]; print(near(stats.coverage(o).value, 5.0/6, 1e-12), stats.chao1(o).value)`, "true 3"},
		"scores":               {`print(stats.exact_match([" a", "b"], "a").value, stats.regex_score(given.samples, "^a b").value, near(stats.pass_at_k(10, 3, 1), 0.3, 1e-12))`, "0.5 0.6666666666666666 true"},
		"mean":                 {`m := stats.mean([1, 2.0, 3, 6]); print(m.value, m.n, m.method, m.level, m.lo < 3, m.hi > 3)`, "3 4 t 0.95 true true"},
		"an estimate prints":   {`print(stats.proportion([true, false]), stats.mean([2], {level: 0.9}))`, "0.5 [0.09453, 0.9055] (95% wilson, n = 2) 2 no interval (90% t, n = 1; one value: nothing tells how far others would lie from it)"},
		"a test prints":        {`print(stats.mcnemar([true, true], [false, false]), stats.mcnemar([true], [true]))`, "mcnemar exact: p = 0.5 (n = 2) mcnemar exact: p = NaN (n = 0; no pair differs: there is nothing to test)"},
		"bootstrap has a seed": {`o := {interval: "bca", seed: 4, resamples: 99}; x := [1, 2, 3, 6, 9]; print(stats.mean(x, o).lo == stats.mean(x, o).lo)`, "true"},
		"clusters":             {`m := stats.mean([1, 2, 3, 7], {by: ["a", "a", "b", "b"]}); print(m.method, m.clusters, m.design_effect > 1)`, "cluster 2 true"},
		"median and quantile":  {`print(stats.median([3, 1, 2]).value, stats.quantile([1, 2, 3, 4, 5], 0.25).value)`, "2 2"},
		"proportion":           {`p := stats.proportion([true, false, true]); print(p.method, p.value > 0.6, near(stats.proportion([true], {interval: "exact"}).lo, 0.025, 1e-12))`, "wilson true true"},
		"ratio and perplexity": {`print(stats.ratio([2, 6], [1, 3]).value, stats.perplexity([10, 6], [4, 4]).value)`, "2 4"},
		"clustering":           {`print(stats.clustering([1, 1, 2, 2], ["a", "a", "b", "b"]).icc)`, "1"},
		"each":                 {`print(stats.each("length_tokens", given.samples), stats.each("distinct_4", given.samples)[2])`, "[4, 4, 3] NaN"},
		"measure":              {`m := stats.measure("surprisal_bits", given.samples); print(m.value, m.n, m.missing)`, "1 3 0"},
		"measure of a set":     {`print(stats.measure("unique_outputs", given.samples).value)`, "3"},
		"a share":              {`print(stats.measure("ended", given.samples).method)`, "wilson"},
		"summary":              {`s := stats.summary(given.samples, ["perplexity", "repetition"]); print(s.perplexity.value, s.repetition.missing)`, "2 2"},
		"groups in order":      {`for g in stats.groups({b: given.samples, a: [given.samples[0]]}, ["length_tokens"]) { print(g.group, g.n, g.length_tokens.value) }`, "a 1 4\nb 3 3.6666666666666665"},
		"names":                {`print(len(stats.measures) > 40, stats.measures[0].name)`, "true length_tokens"},
		"paired":               {`c := stats.paired([1, 2, 4], [0, 1, 2]); print(near(c.difference.value, 4.0/3, 1e-12), c.variance_reduction > 0.89, c.test.name, c.test.n)`, "true true paired t 3"},
		"paired by key":        {`c := stats.paired({x: 1, y: 2, z: 5}, {z: 3, x: 0, w: 1}, {test: "sign"}); print(c.difference.value, c.only_a, c.only_b, c.test.p)`, "1.5 1 1 0.5"},
		"compare":              {`c := stats.compare([1, 2, 3], [4, 5, 6], {test: "mann_whitney"}); print(c.difference.value, c.test.p, c.test.exact)`, "-3 0.1 true"},
		"mcnemar":              {`print(stats.mcnemar([true, true, false], [false, false, false]).p)`, "0.5"},
		"many":                 {`print(stats.holm([0.01, 0.5]), stats.benjamini_hochberg([0.02, 0.04]))`, "[0.02, 0.5] [0.04, 0.04]"},
		"best":                 {`b := stats.best([[1, 2, 1, 2], [5, 6, 5, 6]]); print(b.cell, b.naive.value, b.cells, b.by_chance > 0)`, "1 5.5 2 true"},
		"planning":             {`print(stats.needed_n(0.5, 1), stats.needed_n(0.5, 1, {paired: true, correlation: 0.5}), near(stats.power(0.5, 1, 64), 0.8, 0.01))`, "64 34 true"},
		"until significant":    {`l := stats.until_significant([1, 2, 1, 2, 1, 2, 1, 2], [0, 0, 1, 0, 0, 0, 1, 0], {first: 2}); print(l.n, l.naive > 0, l.threshold < 0.05)`, "[2, 4, 8] true true"},
	} {
		t.Run(name, func(t *testing.T) { run(t, c.body).Printed(t, c.want+"\n") })
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"an unknown option":        {`stats.mean([1], {levl: 0.9})`, "level"},
		"a level in percent":       {`stats.mean([1], {level: 95})`, "outside (0, 1)"},
		"NaN":                      {`m := import("math"); stats.mean([1, m.sqrt(-1)])`, "value 1 is NaN"},
		"text among numbers":       {`stats.mean([1, "2"])`, "element 1"},
		"an unknown measure":       {`stats.measure("distict_2", given.samples)`, `did you mean "distinct_2"`},
		"an unknown interval":      {`stats.mean([1, 2], {interval: "bootstrp"})`, `did you mean "bootstrap"`},
		"wilson of numbers":        {`stats.mean([1, 2], {interval: "wilson"})`, "0 or 1"},
		"a set's value per sample": {`stats.each("self_bleu", given.samples)`, "whole set"},
		"no steps":                 {`stats.measure("perplexity", given.bare)`, "ledger: true"},
		"a group's name":           {`stats.groups({hot: given.bare}, ["perplexity"])`, `group "hot"`},
		"too short":                {`stats.distinct("a", 2)`, "not enough tokens"},
		"a list and a map":         {`stats.paired([1, 2], {a: 1})`, "one side is a list"},
		"pairs of other lengths":   {`stats.paired([1, 2], [1])`, "are no pairs"},
		"numbers as truth":         {`stats.proportion([1, 0])`, "element 0"},
		"a float as a count":       {`stats.pass_at_k(10.0, 1, 1)`, "whole number"},
		"k above n":                {`stats.pass_at_k(3, 1, 5)`, "outside [1, n = 3]"},
		"no difference":            {`stats.needed_n(0, 1)`, "difference = 0"},
		"writing to a result":      {`e := stats.mean([1, 2]); e.value = 3`, ""},
		"an unknown member":        {`print(stats.mean([1, 2]).valu)`, "value"},
	} {
		t.Run(name, func(t *testing.T) { run(t, c.body).Failed(t, c.want) })
	}
}

func TestEveryShortNameInTheDocIsKnown(t *testing.T) {
	doc := ""
	for _, m := range Module().Members {
		if m.Name == "measures" {
			doc = m.Doc
		}
	}
	for _, short := range []string{"repetition", "entropy_bits", "support", "surprisal_bits", "perplexity", "rank", "self_bleu", "zipf"} {
		if !strings.Contains(doc, short) {
			t.Errorf("%s is not documented", short)
		}
		run(t, fmt.Sprintf("stats.measure(%q, given.samples)", short)).Printed(t, "")
	}
}
