package std

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
	"lab/core/script"
	"lab/core/script/scripttest"
)

// A preamble of every script here: the toy, a selector, and a sampler r whose
// rule is what the test gives.
const (
	preamble = `lab := import("lab"); m := import("toy").m; inf := lab.infinity; pick := lab.sampler({name: "pick", kind: "select", uniforms: 1, apply: func(r, t) { return r.draw(t.uniforms[0]) }})
`
	next = `d := m.next("abc")
`
)

func rule(body string) string {
	return preamble + next + "s := lab.sampler({name: \"mine\", params: [{name: \"k\", default: 2}, {name: \"x\", default: 0.5, min: 0, max: 1}], apply: func(r, t) {\n" +
		body + "\n}})\nq := d.apply([s, pick])\n"
}

// What a rule makes of the row, compared with the script's own arithmetic on the
// model distribution.
func TestRowMethods(t *testing.T) {
	rows := []struct{ name, body, check string }{
		{"the row unchanged", `return r`, `q.kl(d) == 0.0 && q.support == 12`},
		{"its own scores", `return r.scores`, `q.kl(d) == 0.0`},
		{"lists have one entry per token", `assert(len(r.ids) == r.size && len(r.scores) == 12 && len(r.probabilities) == 12 && len(r.order) == r.support); return r`, `true`},
		{"probabilities are the model's", `for i, id in r.ids { assert(near(r.probabilities[i], d.p(id), 1e-15)) }; return r`, `true`},
		{"entropy is the distribution's", `assert(r.entropy_bits == d.entropy_bits); return r`, `true`},
		{"best, max_p and max_score are those of the first in order", `i := r.order[0]; assert(r.ids[i] == r.best && r.probabilities[i] == r.max_p && r.scores[i] == r.max_score); return r`, `true`},
		{"top lists what the distribution lists", `for i, e in r.top(4) { b := d.top(4)[i]; assert(e.token == b.token && e.rank == b.rank && near(e.p, b.p, 1e-15) && e.score == r.score(e.token)) }; return r`, `true`},
		{"rank and p of a token", `assert(r.rank(3) == d.rank(3) && near(r.p(3), d.p(3), 1e-15)); return r`, `true`},
		{"keep a list", `return r.keep([5, 2, 5])`, `q.support == 2 && q.p(2) > 0 && q.p(5) > 0`},
		{"keep by a function", `return r.keep(func(id, score, p) { return id % 2 == 0 })`, `q.support == 6 && q.p(3) == 0.0`},
		{"a function that keeps all changes nothing", `return r.keep(func(id, score, p) { return true })`, `q.support == 12 && q.ledger[0].tv == 0.0`},
		{"remove", `return r.remove([0, 1])`, `q.support == 10 && q.p(0) == 0.0`},
		{"remove nothing", `return r.remove([])`, `q.support == 12`},
		{"keep_top", `return r.keep_top(t.params.k)`, `q.support == 2 && q.top(1)[0].token == d.top(1)[0].token`},
		{"keep_top of more than there are", `return r.keep_top(99)`, `q.support == 12`},
		{"keep_mass is the nucleus", `return r.keep_mass(t.params.x)`, `q.ledger[0].kept_mass >= 0.5 && q.ledger[0].kept_mass - d.p(q.top(99)[q.support-1].token) < 0.5`},
		{"keep_mass 0 keeps the likeliest", `return r.keep_mass(0)`, `q.support == 1`},
		{"keep_mass with min_keep", `return r.keep_mass(0, {min_keep: 3})`, `q.support == 3`},
		{"keep_mass 1 keeps all", `return r.keep_mass(1)`, `q.support == 12`},
		{"keep_p keeps what is at the floor", `return r.keep_p(r.top(3)[2].p)`, `q.support == 3`},
		{"keep_p above the largest keeps min_keep", `return r.keep_p(1.0, {min_keep: 2})`, `q.support == 2`},
		{"keep_scores", `return r.keep_scores(r.max_score - 0.0001)`, `q.support == 1`},
		{"temperature", `return r.temperature(2)`, `near(q.p(1)/q.p(2), import("math").sqrt(d.p(1)/d.p(2)), 1e-6)`},
		{"temperature 1 changes nothing", `return r.temperature(1)`, `q.kl(d) == 0.0`},
		{"scale is the inverse of temperature", `return r.scale(0.5).temperature(0.5)`, `near(q.kl(d), 0, 1e-9)`},
		{"with_scores removes at -infinity", `s := r.scores; s[4] = -inf; return r.with_scores(s)`, `q.support == 11 && q.p(4) == 0.0`},
		{"a list is with_scores", `s := r.scores; s[4] = -inf; return s`, `q.support == 11 && q.p(4) == 0.0`},
		{"with_probabilities", `w := []; for id in r.ids { w = append(w, id) }; return r.with_probabilities(w)`, `q.support == 11 && near(q.p(4), 4.0/66, 1e-7)`},
		{"map", `return r.map(func(id, score, p) { return id == 3 ? 20.0 : score })`, `q.top(1)[0].token == 3`},
		{"map removes at -infinity", `return r.map(func(id, score, p) { return id == 3 ? -inf : score })`, `q.p(3) == 0.0`},
		{"methods of a sparse row", `s := r.keep([1, 4, 7]); assert(s.size == 3 && s.ids[1] == 4 && s.p(2) == 0.0 && s.score(2) == -inf && s.rank(2) == 0); return s.remove([4]).temperature(0.5)`, `q.support == 2`},
		{"entries at -infinity are no support", `s := r.map(func(id, score, p) { return id < 4 ? -inf : score }); assert(s.support == 8 && s.size == 12); return s.keep_top(8)`, `q.support == 8`},
		{"a map with a row", `return {row: r.keep_top(3)}`, `q.support == 3`},
		{"a script's own list does not change the row", `a := r.scores; a[0] = 99.0; assert(r.scores[0] != 99.0); return r`, `true`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, rule(r.body)+"print("+r.check+")", toyModules(t)...).Printed(t, "true\n")
		})
	}
}

// What is wrong with a rule is an error of the script, at the rule, that names
// the stage and its settings.
func TestRuleErrors(t *testing.T) {
	rows := []struct{ name, body, want string }{
		{"no result", `r.size`, "test.tengo:3:118: stage 1 (mine): k=2,x=0.5: the result of a function is undefined, expected a row, its scores, a token, or a map of row, token and state; is a return missing, or a member misspelt?"},
		{"a result of another kind", `return "x"`, `stage 1 (mine): k=2,x=0.5: result: its row is "x", neither a row nor a list of scores`},
		{"a real number", `return 1.5`, `its row is 1.5, neither`},
		{"a function", `return func() {}`, `its row is a function, neither`},
		{"a model", `return m`, `its row is <model toy>, neither`},
		{"an error value", `return error("no luck")`, `its row is an error value (no luck), neither`},
		{"setting the state", `t.state = 1; return r`, "not index-assignable: turn; it cannot be changed: make and return a new value"},
		{"a map without anything", `return {}`, `result: it has no row`},
		{"a token in a map", `return {row: r, token: 3}`, `the sampler reshapes`},
		{"a list that holds a text", `s := r.scores; s[3] = "hot"; return s`, `its score 3 is "hot", not a number`},
		{"too few scores", `return [1.0, 2.0]`, "stage 1 (mine): k=2,x=0.5: result: 2 scores for a row of 12 listed tokens"},
		{"NaN", `s := r.scores; s[3] = inf - inf; return s`, "token 3 has score NaN"},
		{"+Inf", `s := r.scores; s[3] = inf; return s`, "token 3 has score +Inf"},
		{"beyond float32", `s := r.scores; s[3] = 1e39; return s`, "token 3 has score 1e+39, beyond"},
		{"nothing left", `return r.with_scores(r.map(func(i, s, p) { return -inf }).scores)`, "no token is left: all 12 scores"},
		{"nothing kept", `return r.keep([])`, "test.tengo:4:8: stage 1 (mine): k=2,x=0.5: row: no token is left of 12"},
		{"a predicate that forgets its return", `return r.keep(func(i, s, p) { p > 0 })`, "the result of a function is undefined, expected true or false"},
		{"a token from a reshaping sampler", `return r.best`, "the sampler reshapes"},
		{"a row that is none", `return {row: 7}`, `its row is 7, neither`},
		{"an unknown key", `return {rows: r}`, `unknown key "rows"; did you mean "row"?`},
		{"a setting that was not declared", `return r.keep_top(t.params.kk)`, `params: unknown member "kk"; did you mean "k"?`},
		{"a member that the row does not have", `return r.keep_tops(3)`, `row: unknown member "keep_tops"; did you mean "keep_top"?`},
		{"an argument out of range", `return r.temperature(0)`, "test.tengo:4:8: stage 1 (mine): k=2,x=0.5: row.temperature: argument 1 (temperature) = 0 is outside (0, ∞)"},
		{"a token outside the vocabulary", `return r.keep([12])`, "12 is outside the vocabulary, 0 to 11"},
		{"its own arithmetic", "x := 0\nreturn 1 / x", "test.tengo:5:8: stage 1 (mine): k=2,x=0.5: integer division by zero"},
		{"negative probabilities", `w := r.probabilities; w[2] = -0.1; return r.with_probabilities(w)`, "element 2 is -0.1"},
		{"a host object as state", `return {row: r, state: r}`, "its state holds <row: 12 tokens of 12>, which cannot be kept"},
		{"a function as state", `return {row: r, state: [func() {}]}`, "its state holds a function, which cannot be kept"},
		{"a state that holds itself", `x := {}; x.x = x; return {row: r, state: x}`, "nested deeper than"},
		{"a token that is undefined", `return {row: r, token: undefined}`, "it is a token (undefined), and the sampler reshapes"},
		{"asking a model", `return m.next("a")`, `model.next: it cannot be called inside the apply function of sampler "mine"`},
		{"generating", `return m.generate("a")`, "cannot be called inside the apply function"},
		{"applying a chain", `return d.apply([pick])`, "cannot be called inside the apply function"},
		{"defining another", `lab.sampler({name: "z", apply: func(r, t) { return r }})`, "cannot be called inside the apply function"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			res := scripttest.Run(t, rule(r.body), toyModules(t)...)
			res.Failed(t, r.want)
			if fault.KindOf(res.Err) != fault.Script && fault.KindOf(res.Err) != fault.Usage {
				t.Errorf("kind %v", fault.KindOf(res.Err))
			}
			at := script.Positions(res.Err)
			if len(at) < 2 || at[0].Line < 3 || at[len(at)-1].Line < 6 {
				t.Errorf("frames %v, want the rule's first and the call of apply last", at)
			}
		})
	}
}

// The result of a sampler that selects is a token of the row it leaves.
func TestSelectErrors(t *testing.T) {
	rows := []struct{ name, body, want string }{
		{"no token", `return r`, "it has no token, and the sampler selects"},
		{"a token outside the vocabulary", `return 12`, "its token 12 is none of the 12 tokens"},
		{"a negative token", `return -1`, "its token -1 is none"},
		{"a token that it removes", `return {row: r.keep([3]), token: 4}`, "its token 4 is none of the 1 tokens of the row it leaves"},
		{"a token that is no number", `return {token: "a"}`, `its token "a" is none`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			src := "lab := import(\"lab\")\ns := lab.sampler({name: \"mine\", kind: \"select\", apply: func(r, t) {\n" + r.body +
				"\n}})\nimport(\"toy\").m.next(\"a\").apply(s)"
			scripttest.Run(t, src, toyModules(t)...).Failed(t, "test.tengo:3:", "stage 1 (mine): result: "+r.want)
		})
	}
}

// A token that an earlier stage removed cannot come back by any road.
func TestRevivalIsRefused(t *testing.T) {
	rows := []struct{ name, body, want string }{
		{"with a score", `s := r.scores; s[0] = 1.0; return s`, "token 0 has score 1, and was removed before"},
		{"with another step's row", `if is_undefined(kept) { kept = r }; return kept`, "its row is that of another step"},
		{"with a probability", `w := r.probabilities; w[0] = 0.5; return r.with_probabilities(w)`, "and was removed before"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			src := preamble + "kept := undefined\ncut := lab.sampler({name: \"cut\", apply: func(r, t) { return r.map(func(i, s, p) { return i == 0 ? -inf : s }) }})\n" +
				"mine := lab.sampler({name: \"mine\", apply: func(r, t) {\n" + r.body + "\n}})\n" +
				"m.generate(\"abc\", {chain: [cut, mine, pick], max_tokens: 3})"
			res := scripttest.Run(t, src, toyModules(t)...)
			res.Failed(t, "test.tengo:5:", "stage 2 (mine)", r.want)
		})
	}
}

// A turn is over when its function has returned.
func TestATurnEnds(t *testing.T) {
	src := preamble + `old := undefined
mine := lab.sampler({name: "mine", apply: func(r, t) { if is_undefined(old) { old = t } else { print(old.step) }; return r }})
m.generate("abc", {chain: [mine, pick], max_tokens: 2})`
	scripttest.Run(t, src, toyModules(t)...).Failed(t, "turn: step: its step is over")
}

func TestDeclarationErrors(t *testing.T) {
	rows := []struct{ name, options, want string }{
		{"no name", `{apply: func(r, t) { return r }}`, "option name is missing"},
		{"no rule", `{name: "a"}`, "option apply is missing"},
		{"a rule of one argument", `{name: "a", apply: func(r) { return r }}`, "expected func(row, turn), got a function of 1 argument"},
		{"a rule that no script wrote", `{name: "a", apply: print}`, "its apply is no function of the script"},
		{"a name that is none", `{name: "A b", apply: func(r, t) { return r }}`, "not snake_case"},
		{"a kind that is none", `{name: "a", kind: "cut", apply: func(r, t) { return r }}`, "not one of reshape, select"},
		{"an unknown option", `{name: "a", aply: 1, apply: func(r, t) { return r }}`, `unknown option "aply"; did you mean "apply"?`},
		{"the name of another one", `{name: "pick", apply: func(r, t) { return r }}`, `sampler: "pick": it is defined already, in script test.tengo:1:`},
		{"a setting without a default", `{name: "a", params: [{name: "x"}], apply: func(r, t) { return r }}`, "params[0]: x: its default is missing"},
		{"a default outside its range", `{name: "a", params: [{name: "x", default: 2.0, max: 1}], apply: func(r, t) { return r }}`, `x = 2 is outside (-∞, 1]`},
		{"a default at an open bound", `{name: "a", params: [{name: "x", default: 0.0, above: 0}], apply: func(r, t) { return r }}`, `x = 0 is outside (0, ∞)`},
		{"an unknown key of a setting", `{name: "a", params: [{name: "x", default: 2.0, minimum: 1}], apply: func(r, t) { return r }}`, `unknown key "minimum"`},
		{"a whole default that was meant as a number", `{name: "a", params: [{name: "x", default: 1, max: 1.5}], apply: func(r, t) { return r }}`, "write the default with a point: 1.0"},
		{"two settings of one name", `{name: "a", params: [{name: "x", default: 1}, {name: "x", default: 1}], apply: func(r, t) { return r }}`, "declared twice"},
		{"the reserved setting", `{name: "a", params: [{name: "compat", default: "x"}], apply: func(r, t) { return r }}`, "reserved"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			res := scripttest.Run(t, preamble+"lab.sampler("+r.options+")", toyModules(t)...)
			res.Failed(t, "script: test.tengo:2:1: ", r.want)
		})
	}
}

// A file that two others import runs twice, and so does what it defines.
func TestADefinitionThatRunsTwice(t *testing.T) {
	res := scripttest.RunFiles(t, "main.tengo", map[string]string{
		"main.tengo": "a := import(\"./lib\").cut\nb := import(\"./lib\").cut",
		"lib.tengo":  "export {cut: import(\"lab\").sampler({name: \"cut\", apply: func(r, t) { return r }})}",
	}, toyModules(t)...)
	res.Failed(t, "lib.tengo:1:", `"cut": it is defined already, in script lib.tengo:1:`, "as a file does that is imported twice: import it once and hand on what it defines")
}

// A setting is checked where the chain is built.
func TestSettingsAreChecked(t *testing.T) {
	for name, r := range map[string][2]string{
		"out of range":  {`lab.chain([[s, {x: 2}], pick])`, "stage 1 (mine): x = 2 is outside [0, 1]"},
		"undefined":     {`lab.chain([[s, {k: undefined}], pick])`, `setting "k" of element 0 (mine) is undefined`},
		"unknown":       {`lab.chain([[s, {z: 2}], pick])`, `unknown setting "z"`},
		"of a text":     {`lab.chain([[s, {k: "many"}], pick])`, "is not a whole number"},
		"after the end": {`lab.chain([pick, s])`, `it comes after "pick", which already selects a token`},
		"compat":        {`lab.chain([s, pick], {compat: "vllm"})`, "no other system's rule for it is known"},
	} {
		t.Run(name, func(t *testing.T) {
			scripttest.Run(t, rule("return r")+r[0], toyModules(t)...).Failed(t, r[1])
		})
	}
}

// A chain knows the sampler as a value, with settings, and by its names.
func TestFormsOfAStage(t *testing.T) {
	for form, want := range map[string]string{
		`[s, pick]`:                         "mine | pick",
		`[[s, {k: 3}], pick]`:               "mine:3 | pick",
		`[[s, {x: 1.0}], [pick]]`:           "mine:x=1 | pick",
		`"mine:3 | pick"`:                   "mine:3 | pick",
		`["mine:x=0.25", pick]`:             "mine:x=0.25 | pick",
		`[["script/mine", {k: 3}], pick]`:   "script/mine:3 | pick",
		`lab.chain([s, [s, {k: 4}], pick])`: "mine | mine:4 | pick",
		`["script/mine:k=1 | script/pick"]`: "script/mine:1 | script/pick",
		`pick`:                              "pick",
		`[s, lab.chain([pick]).stages[0]]`:  "mine | pick",
		`[[s.name, {k: 7}], pick.name]`:     "mine:7 | pick",
	} {
		t.Run(form, func(t *testing.T) {
			scripttest.Run(t, rule("return r")+"print(lab.chain("+form+").text)", toyModules(t)...).Printed(t, want+"\n")
		})
	}
}

// mu counts its steps in its state and cuts harder at each.
const stateful = `mu := lab.sampler({name: "mu", apply: func(r, t) {
	n := is_undefined(t.state) ? 0 : t.state.n
	assert(n == t.step && len(t.history) == t.prompt + t.step)
	return {row: r.keep_top(12 - n % 10), state: {n: n + 1, note: ["x", 1.5, true, undefined]}}
}})
`

// Same seed, same bytes: at any batch size, alone or among others, with states
// of their own; and a search, which forks sequences, works too.
func TestBatchesChangeNothing(t *testing.T) {
	src := preamble + stateful + `one := m.generate("abc", {chain: [mu, pick], samples: 20, max_tokens: 24, seed: 3, batch: 1})
all := m.generate("abc", {chain: [mu, pick], samples: 20, max_tokens: 24, seed: 3, batch: 64})
last := m.generate("abc", {chain: [mu, pick], first_sample: 19, max_tokens: 24, seed: 3})[0]
texts := {}
for i, s in one {
	assert(s.text == all[i].text && s.sampling_bits == all[i].sampling_bits)
	assert(s.steps[3].stages[0].support_after == 9)
	texts[s.text] = true
}
assert(one[19].text == last.text)
for strategy in ["best_of:n=3", "beam:width=3", "enumerate:sequences=5,expand=60"] {
	assert(len(m.search(strategy, "abc", {chain: [mu, pick], max_tokens: 3}).sequences) > 0)
}
print(len(texts))`
	scripttest.Run(t, src, toyModules(t)...).Printed(t, "20\n")
}

// Further passes are rows too; their numbers can be used, not returned.
func TestPasses(t *testing.T) {
	src := preamble + `g := lab.sampler({name: "guide", passes: 1, uniforms: 2, apply: func(r, t) {
	assert(len(t.passes) == 1 && len(t.uniforms) == 2 && t.uniforms[0] < 1.0 && len(t.end_of_text) == 0)
	other := t.passes[0]
	if t.step == 3 { return other }
	a := r.scores
	b := other.scores
	for i, x in b { a[i] = 2.0 * a[i] - x }
	return a
}})
d := m.next("abc"); o := m.next("k")
q := d.apply([g, pick], {negative_prompt: "k"})
for i := 0; i < 12; i++ { assert(near(q.p(i) / q.p(3) * o.p(i) / o.p(3), d.p(i) * d.p(i) / d.p(3) / d.p(3), 1e-5)) }
m.generate("abc", {chain: [g, pick], negative_prompt: "k", max_tokens: 5})`
	scripttest.Run(t, src, toyModules(t)...).Failed(t, "test.tengo:3:", "stage 1 (guide): result: its row is that of another model pass")
}

// Where a backend lists its likeliest tokens only, a rule is exact or refused.
func TestUnlistedTail(t *testing.T) {
	rows := []struct{ name, body, want string }{
		{"unchanged", `return r`, "[2 7 9] 0.2"},
		{"keep_top within the list", `return r.keep_top(2)`, "[2 7] 0"},
		{"keep_top of all listed", `return r.keep_top(3)`, "[2 7 9] 0"},
		{"keep_top beyond", `return r.keep_top(4)`, "row.keep_top: a mass of 0.2 is unlisted"},
		{"keep_mass within", `return r.keep_mass(0.6)`, "[2 7] 0"},
		{"keep_mass of all that is listed", `return r.keep_mass(0.8)`, "[2 7 9] 0"},
		{"keep_mass beyond", `return r.keep_mass(0.9)`, "row.keep_mass: a mass of 0.2 is unlisted"},
		{"a floor that a listed token fails", `return r.keep_p(0.15)`, "[2 7] 0"},
		{"a floor that all reach", `return r.keep_p(0.01)`, "row.keep_p: a mass of 0.2 is unlisted"},
		{"a list", `return r.keep([9, 4])`, "[9] 0"},
		{"a function", `return r.keep(func(i, s, p) { return true })`, "row.keep: a mass of 0.2 is unlisted"},
		{"remove", `return r.remove([2])`, "row.remove: a mass of 0.2 is unlisted"},
		{"temperature", `return r.temperature(2)`, "row.temperature: a mass of 0.2 is unlisted"},
		{"entropy", `r.entropy_bits; return r`, "unlisted"},
		{"draw", `r.draw(0.5); return r`, "row.draw: a mass of 0.2 is unlisted"},
		{"new scores", `return r.scores`, "result: a mass of 0.2 is unlisted"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			tail := script.Module{Name: "tail", Doc: "d", Members: []script.Member{{Name: "run", Doc: "d",
				Params: []script.Param{{Name: "s", Type: script.Host[*Sampler]()}},
				Func: func(c *script.Call) (any, error) {
					item := &sampler.Item{Scores: dist.Scores{Vocab: 12, IDs: []int32{2, 7, 9}, Unlisted: 0.2,
						Values: []float32{float32(math.Log(0.5)), float32(math.Log(0.2)), float32(math.Log(0.1))}}}
					err := script.Arg[*Sampler](c, "s").Run(c.Context(), &sampler.Call{Ledger: true,
						Stages: []sampler.Stage{{Sampler: "mine"}}, Items: []*sampler.Item{item}})
					return fmt.Sprint(item.Scores.IDs, " ", item.Scores.Unlisted), err
				}}}}
			res := scripttest.Run(t, "s := import(\"lab\").sampler({name: \"mine\", apply: func(r, t) {\n"+r.body+"\n}})\nprint(import(\"tail\").run(s))",
				append(toyModules(t), tail)...)
			if strings.HasPrefix(r.want, "[") {
				res.Printed(t, r.want+"\n")
				return
			}
			res.Failed(t, "test.tengo:2:", "stage 1 (mine)", r.want)
		})
	}
}

// The ledger of a script's sampler obeys the identities of every truncation.
func TestLedger(t *testing.T) {
	r := scripttest.Run(t, rule("return r.keep_top(5)")+`l := q.ledger[0]
math := import("math")
assert(l.stage == "mine" && l.plugin == "script" && l.truncation && l.support_after == 5)
assert(near(l.kl_bits, -math.log2(l.kept_mass), 1e-12) && near(l.tv, 1 - l.kept_mass, 1e-12))
assert(q.drawn.rank == l.chosen_rank_after && q.ledger[1].stage == "pick")
print("ok")`, toyModules(t)...)
	r.Printed(t, "ok\n")
}

// A rule that assigns to a variable outside of it is warned of, once: its results
// depend on the batch.
func TestARuleThatAssignsOutsideOfIt(t *testing.T) {
	const global, captured = `sampler "mine" assigns to n, a variable outside of it;`, `sampler "mine" assigns to a variable outside of it;`
	for name, r := range map[string]struct{ define, want string }{
		"a variable of the script":  {`n := 0; f := func(r, t) { n += 1; return r }`, global},
		"through another function":  {`n := []; g := func() { n = [n] }; f := func(r, t) { g(); return r }`, global},
		"in a predicate":            {`n := 0; f := func(r, t) { return r.keep(func(i, s, p) { n++; return true }) }`, global},
		"a variable that it caught": {`f := func() { n := 0; return func(r, t) { n += 1; return r } }()`, captured},
		"its own variables only":    {`f := func(r, t) { n := 0; g := func() { n += 1 }; g(); return r }`, ""},
		"none":                      {`n := 0; f := func(r, t) { return n == 0 ? r : r.keep_top(1) }`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := scripttest.Run(t, preamble+r.define+"\n"+`s := lab.sampler({name: "mine", apply: f})
m.generate("abc", {chain: [s, pick], samples: 3, max_tokens: 4})`, toyModules(t)...)
			res.Printed(t, "")
			switch w := res.Warnings; {
			case r.want == "" && len(w) == 0:
			case len(w) != 1 || r.want == "" || !strings.HasPrefix(w[0].Text, r.want) || w[0].At.Line != 2:
				t.Errorf("warnings %v, want %q in line 2", w, r.want)
			}
		})
	}
}

// Deadlines and interrupts end a rule in mid-step.
func TestStops(t *testing.T) {
	rows := []struct {
		name string
		kind fault.Kind
		stop func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"deadline", fault.Limit, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		}},
		{"interrupt", fault.Interrupted, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(300*time.Millisecond, cancel)
			return ctx, cancel
		}},
	}
	for _, r := range rows {
		for what, body := range map[string]string{"a loop": "for {}", "a predicate": "return r.keep(func(i, s, p) { for {} })"} {
			t.Run(r.name+" in "+what, func(t *testing.T) {
				ctx, cancel := r.stop(t.Context())
				defer cancel()
				begun := time.Now()
				res := scripttest.RunContext(t, ctx, rule(body), toyModules(t)...)
				if res.Err == nil || fault.KindOf(res.Err) != r.kind || time.Since(begun) > 10*time.Second {
					t.Errorf("after %v: kind %v, %v", time.Since(begun), fault.KindOf(res.Err), res.Err)
				}
				if at := script.Positions(res.Err); len(at) < 2 || at[0].Line != 4 || at[len(at)-1].Line != 6 {
					t.Errorf("frames %v, want the rule's line 4 first and the call of apply last: %v", at, res.Err)
				}
			})
		}
	}
}

// Places are ranked by score, then by id; zeros of either sign are equal, and
// what is removed has no rank.
func TestRanked(t *testing.T) {
	negative, gone := float32(math.Copysign(0, -1)), float32(math.Inf(-1))
	r := &row{s: dist.NewDense([]float32{1, negative, 3, gone, 0, -2, 3, math.MaxFloat32, -math.MaxFloat32, negative, 1e-45, -1e-45})}
	want := []int32{7, 2, 6, 0, 10, 1, 4, 9, 11, 5, 8}
	if got := r.ranked(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
