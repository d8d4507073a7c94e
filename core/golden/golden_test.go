package golden

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

const head = `{"schema":"golden-samplers/1","group":"top_k","systems":{"llama.cpp":"v"},"cases":[`

func file(cases ...string) string { return head + strings.Join(cases, ",") + "]}" }

func read(t *testing.T, text string) *File {
	t.Helper()
	f, err := Read(strings.NewReader(text), "test.json")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadRefuses(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"no JSON", "x", "no JSON object"},
		{"another schema", `{"schema":"golden-samplers/2"}`, `its schema is "golden-samplers/2"`},
		{"an unknown field", `{"schema":"golden-samplers/1","grup":"x"}`, "grup"},
		{"no cases", head + "]}", "0 cases"},
		{"an unknown field of a case", file(`{"id":"a","method":"m","inptu":{}}`), `case 1 ("a")`},
		{"no id", file(`{"method":"m"}`), "its id"},
		{"an id twice", file(`{"id":"a","method":"m"}`, `{"id":"a","method":"m"}`), "there twice"},
		{"no method", file(`{"id":"a"}`), "names no method"},
		{"a word for a number", file(`{"id":"a","method":"m","input":{"logits":["many"]}}`), "neither a number nor nan"},
		{"probabilities without tokens", file(`{"id":"a","method":"m","answers":[{"systems":["x"],"kept":[1],"probs":[1,2]}]}`), "2 probabilities"},
		{"a recipe without a kind", file(`{"id":"a","method":"m","input":{"recipe":{"n":4}}}`), "unknown kind"},
		{"a recipe of no tokens", file(`{"id":"a","method":"m","input":{"recipe":{"kind":"const","n":0}}}`), "n = 0"},
		{"a recipe beyond memory", file(`{"id":"a","method":"m","input":{"recipe":{"kind":"const","n":2000000000}}}`), "outside 1 to"},
		{"a recipe that divides by zero", file(`{"id":"a","method":"m","input":{"recipe":{"kind":"linear","n":4,"mul":1,"den":0}}}`), "den 0"},
		{"ranks that meet", file(`{"id":"a","method":"m","input":{"recipe":{"kind":"linear","n":4,"mul":2,"den":1}}}`), "share the factor 2"},
		{"a set beyond the row", file(`{"id":"a","method":"m","input":{"recipe":{"kind":"const","n":4,"set":[[4,1]]}}}`), "sets the token 4"},
		{"half a token set", file(`{"id":"a","method":"m","input":{"recipe":{"kind":"const","n":4,"set":[[0.5,1]]}}}`), "sets the token 0.5"},
		{"a history with a bad token", file(`{"id":"a","method":"m","history":[-1]}`), "the token -1"},
		{"a tolerance that allows all", file(`{"id":"a","method":"m","tolerance":{"prob_rel":7}}`), "tolerance is 7"},
		{"a vocabulary out of order", `{"schema":"golden-samplers/1","group":"g","systems":{},"vocab":[{"id":1,"text":"a"}],"cases":[{"id":"a","method":"m"}]}`, "has the id 1"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(r.text), "test.json")
			if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a data error with %q", err, r.want)
			}
		})
	}
}

// The first sum of twelve 16-bit values of seed 0 begins with the known first
// output of splitmix64, 16294208416658607535.
func TestRecipes(t *testing.T) {
	sum := func(words ...uint64) float64 {
		s := 0.0
		for _, w := range words {
			for k := range 4 {
				s += float64(w >> (16 * k) & 0xffff)
			}
		}
		return s
	}
	first := sum(16294208416658607535, 7960286522194355700, 487617019471545679)
	rows := []struct {
		name string
		r    recipe
		want []float32
	}{
		{"ih12", recipe{Kind: "ih12", N: 1, Scale: 2, Offset: 1}, []float32{float32((first-393210)*2/65536 + 1)}},
		{"linear", recipe{Kind: "linear", N: 3, Mul: 2, Add: 1, Num: 1, Den: 2}, []float32{-0.5, 0, -1}},
		{"const", recipe{Kind: "const", N: 2, Value: 3}, []float32{3, 3}},
		{"two_level", recipe{Kind: "two_level", N: 3, High: 5, Low: 1, HighN: 1}, []float32{5, 1, 1}},
		{"set comes last", recipe{Kind: "const", N: 2, Set: [][2]number{{1, number(math.Inf(-1))}}}, []float32{0, float32(math.Inf(-1))}},
	}
	for _, r := range rows {
		if err := r.r.check(); err != nil {
			t.Fatal(err)
		}
		if got := r.r.build(); !slices.Equal(got, r.want) {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
	}
}

// subjects have one sampler each, whose behaviour a test chooses.
type behaviour struct {
	kind  sampler.Kind
	apply func(r *sampler.Row, set param.Values) error
}

func (b behaviour) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "top_k", Kind: b.kind, Summary: "s", Source: "s", Needs: sampler.Needs{History: -1},
		Params:  param.Specs{{Name: "k", Type: param.Int, Default: int64(1), Min: 0, Max: 100, Meaning: "m"}},
		Systems: []sampler.System{{Name: "llama.cpp", Term: "k"}}}
}

func (b behaviour) Apply(r *sampler.Row, set param.Values) error { return b.apply(r, set) }

func keep(ids ...int32) behaviour {
	return behaviour{sampler.Reshape, func(r *sampler.Row, _ param.Values) error {
		r.Scores.Keep(func(i int) bool { return slices.Contains(ids, r.Scores.ID(i)) }, nil)
		return nil
	}}
}

func verdict(t *testing.T, b behaviour, system, one string) Result {
	t.Helper()
	s, err := InProcess(b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := read(t, file(one)).Verify(t.Context(), s, system)
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// Each kind of answer is compared: the right one holds, and a wrong one is
// caught with a reason.
func TestVerdicts(t *testing.T) {
	const two = `"input":{"logits":[2,1,1,0]},"reference":{"kept":[0,1],"probs":[0.7310586,0.2689414]},` +
		`"answers":[{"systems":["llama.cpp"],"kept":[0,2],"probs":[0.7310586,0.2689414]}]`
	scaled := behaviour{sampler.Reshape, func(r *sampler.Row, _ param.Values) error {
		for i := range r.Scores.Values {
			r.Scores.Values[i] *= 2
		}
		return nil
	}}
	shifted := behaviour{sampler.Reshape, func(r *sampler.Row, _ param.Values) error {
		for i := range r.Scores.Values {
			r.Scores.Values[i] += 3
		}
		return nil
	}}
	draw := func(tokens ...int32) behaviour {
		return behaviour{sampler.Select, func(r *sampler.Row, _ param.Values) error {
			r.Chosen = tokens[len(r.State)%len(tokens)]
			r.State = append(r.State, 0)
			return nil
		}}
	}
	picky := behaviour{sampler.Reshape, func(*sampler.Row, param.Values) error { return fault.New(fault.Usage, "top_k", "", "no") }}
	large := `{"id":"a","method":"top_k","params":{},"input":{"recipe":{"kind":"two_level","n":100,"high":5,"low":0,"high_n":2}},` +
		`"reference":{"n_kept":%d,"sum_ids":1,"min_kept_input_logit":5,"n_kept_at_min":2,"n_input_at_min":2,"entropy_nats":%v,"probes":[[0,0.5],[7,%v]]}}`
	rows := []struct {
		name   string
		b      behaviour
		system string
		one    string
		want   Verdict
		why    string
	}{
		{"the reference", keep(0, 1), Reference, `{"id":"a","method":"top_k","params":{"k":2},` + two + `}`, Holds, ""},
		{"another token", keep(0, 2), Reference, `{"id":"a","method":"top_k","params":{"k":2},` + two + `}`, Differs, "kept [0 2], want [0 1]"},
		{"the system's answer", keep(0, 2), "llama.cpp", `{"id":"a","method":"top_k","params":{"k":2},` + two + `}`, Holds, ""},
		{"not the system's answer", keep(0, 1), "llama.cpp", `{"id":"a","method":"top_k","params":{"k":2},` + two + `}`, Differs, ""},
		{"tied tokens where the file allows it", keep(0, 2), Reference, `{"id":"a","method":"top_k","params":{"k":2},"tags":["ties"],` + two + `}`, WithinTies, "same scores"},
		{"other scores where it allows ties", keep(0, 3), Reference, `{"id":"a","method":"top_k","params":{"k":2},"tags":["ties"],` + two + `}`, Differs, ""},
		{"a borderline count", keep(0), Reference, `{"id":"a","method":"top_k","params":{"k":2},"borderline":{"n_kept_min":1,"n_kept_max":2},` + two + `}`, WithinTies, "borderline"},
		{"a system without an answer", keep(0), "vllm", `{"id":"a","method":"top_k","params":{"k":2},` + two + `}`, NotCovered, "no answer of vllm"},
		{"wrong probabilities", scaled, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0,1],"probs":[0.7310586,0.2689414]}}`, Differs, "token 0 has probability"},
		{"wrong logits", scaled, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0,1],"probs":[0.880797,0.119203],"logits":[2,0.5]}}`, Differs, "has score"},
		{"logits with another zero", shifted, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0,1],"probs":[0.7310586,0.2689414],"logits":[1,0]}}`, Holds, ""},
		{"a refusal that is right", picky, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"outcome":"reject"}}`, Holds, ""},
		{"a value out of range is one", keep(0), Reference, `{"id":"a","method":"top_k","params":{"k":101},"input":{"logits":[1,0]},"reference":{"outcome":"reject"}}`, Holds, ""},
		{"a refusal that is missing", keep(0), Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"outcome":"reject"}}`, Differs, "an error is wanted"},
		{"a refusal that is wrong", picky, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0]}}`, Differs, "it is refused"},
		{"degenerate input is refused by design", keep(0), "llama.cpp", `{"id":"a","method":"top_k","params":{},"input":{"logits":["nan",0]},"answers":[{"systems":["llama.cpp"],"kept":[0]}]}`, Refused, "NaN"},
		{"an answer of a broken harness", keep(0), "llama.cpp", `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"outcome":"raised","message":"NameError: x"}]}`, NotCovered, "NameError"},
		{"an unknown method", keep(0), Reference, `{"id":"a","method":"top_q","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0]}}`, NotCovered, `no sampler "top_q"`},
		{"an unknown parameter", keep(0), Reference, `{"id":"a","method":"top_k","params":{"q":1},"input":{"logits":[1,0]},"reference":{"kept":[0]}}`, NotCovered, `"q" has no setting`},
		{"many tokens", keep(0, 1), Reference, fmt.Sprintf(large, 2, math.Ln2, 0), Holds, ""},
		{"many tokens, one too few", keep(0), Reference, fmt.Sprintf(large, 2, math.Ln2, 0), Differs, "kept 1 tokens, want 2"},
		{"many tokens, another entropy", keep(0, 1), Reference, fmt.Sprintf(large, 2, 0.7, 0), Differs, "entropy"},
		{"many tokens, another probe", keep(0, 1), Reference, fmt.Sprintf(large, 2, math.Ln2, 0.1), Differs, "token 7"},
		{"a chosen token", draw(1), "llama.cpp", `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"token":1}]}`, Holds, ""},
		{"another chosen token", draw(0), "llama.cpp", `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"token":1}]}`, Differs, "token 0 was chosen"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := verdict(t, r.b, r.system, r.one)
			if got.Verdict != r.want || !strings.Contains(got.Why, r.why) {
				t.Errorf("%+v, want %s with %q", got, r.want, r.why)
			}
		})
	}
}

// dist is what a golden draw asks for: sample, with the state carried on.
type drawing struct{ tokens []int32 }

func (d drawing) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "sample", Kind: sampler.Select, Summary: "s", Source: "s",
		Systems: []sampler.System{{Name: "llama.cpp", Term: "dist", Params: param.Specs{{Name: "seed", Type: param.Int, Default: int64(0), Min: 0, Max: 9, Meaning: "m"}}}}}
}

func (d drawing) Apply(r *sampler.Row, _ param.Values) error {
	r.Chosen = d.tokens[len(r.State)]
	r.State = append(r.State, 0)
	return nil
}

func TestDrawsCarryTheState(t *testing.T) {
	const one = `{"id":"a","method":"dist","params":{"seed":3,"steps":3},"input":{"logits":[1,0]},"tags":[%s],"answers":[{"systems":["llama.cpp"],"tokens":[0,1,0]}]}`
	for _, r := range []struct {
		tokens []int32
		tags   string
		want   Verdict
	}{{[]int32{0, 1, 0}, "", Holds}, {[]int32{0, 0, 0}, "", Differs}, {[]int32{0, 0, 0}, `"tie-order-unspecified"`, WithinTies}} {
		s, err := InProcess(drawing{r.tokens})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t, file(fmt.Sprintf(one, r.tags))).Verify(t.Context(), s, "llama.cpp")
		if err != nil || got[0].Verdict != r.want {
			t.Errorf("%v %s: %+v, %v; want %s", r.tokens, r.tags, got, err, r.want)
		}
	}
}

// texted keeps the tokens whose text begins with what the history did not use
// up of "ab".
type texted struct{ wrong bool }

func (texted) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "grammar", Kind: sampler.Reshape, Summary: "s", Source: "s", Needs: sampler.Needs{History: -1, TokenTexts: true}}
}

func (x texted) Apply(r *sampler.Row, _ param.Values) error {
	rest := "ab"
	for _, id := range r.History {
		rest = strings.TrimPrefix(rest, string(r.Texts(id)))
	}
	r.Scores.Keep(func(i int) bool {
		if rest == "" || x.wrong {
			return slices.Contains(r.EndOfText, r.Scores.ID(i))
		}
		text := string(r.Texts(r.Scores.ID(i)))
		return text != "" && strings.HasPrefix(rest, text)
	}, nil)
	return nil
}

func TestGrammarStepsGrowTheHistory(t *testing.T) {
	const text = `{"schema":"golden-samplers/1","group":"grammar","systems":{"llama.cpp":"v"},` +
		`"vocab":[{"id":0,"text":"</s>","control":true,"end_of_generation":true},{"id":1,"text":"a"},{"id":2,"hex":"62"},{"id":3,"text":"ab"}],` +
		`"cases":[{"id":"a","method":"grammar_gbnf","params":{},"answers":[{"systems":["llama.cpp"],` +
		`"steps":[{"accepted":null,"allowed":[1,3]},{"accepted":1,"allowed":[2]},{"accepted":2,"allowed":[0]}]}]}]}`
	for wrong, want := range map[bool]Verdict{false: Holds, true: Differs} {
		s, err := InProcess(texted{wrong})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t, text).Verify(t.Context(), s, Reference)
		if err != nil || got[0].Verdict != want {
			t.Errorf("wrong %v: %+v, %v", wrong, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(`{"id":"a","method":"top_k","params":{"k":2},"input":{"logits":[2,1]},"reference":{"kept":[0,1],"probs":[0.5,0.5]}}`))
	f.Add(file(`{"id":"a","method":"top_k","params":{"steps":[{"method":"top_k"}]},"history":{"prompt":[1],"output":[0]},"input":{"recipe":{"kind":"ih12","n":3}},"reference":{"n_kept":2}}`))
	s, err := InProcess(keep(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Read(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		for _, c := range g.Cases {
			if c.Input.Recipe != nil && c.Input.Recipe.N > 1<<12 {
				return
			}
		}
		for _, system := range []string{Reference, "llama.cpp"} {
			if _, err := g.Verify(t.Context(), s, system); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
}
