package golden

import (
	"context"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// A file that says nothing, or not what it seems to, is refused where it can be
// named: file, case, field.
func TestReadNamesWhatIsWrong(t *testing.T) {
	answer := func(text string) string {
		return file(`{"id":"a","method":"dist","params":{},"answers":[{"systems":["x"],` + text + `}]}`)
	}
	rows := []struct{ name, text, want string }{
		{"the field of a wrong type", file(`{"id":"a","method":"m","history":"abc"}`), `"test.json": case 1 ("a"): its field history:`},
		{"a field inside another", file(`{"id":"a","method":"m","input":{"logits":[1,"x"]}}`), "its field input.logits[1]:"},
		{"a field of an answer", file(`{"id":"a","method":"m","answers":[{"systems":["x"],"kept":[0]},{"systems":["y"],"kept":0.5}]}`), "its field answers[1].kept:"},
		{"the case whose id comes last", file(`{"method":3,"id":"late"}`), `case 1 ("late"): its field method:`},
		{"a schema that is a number", `{"schema":1,"cases":[]}`, `its schema is "1"`},
		{"logits and a recipe", file(`{"id":"a","method":"m","input":{"logits":[1],"recipe":{"kind":"const","n":1}}}`), "both logits and a recipe"},
		{"an answer of nobody", file(`{"id":"a","method":"m","answers":[{"kept":[0],"probs":[1]}]}`), "its answer 1 names no system"},
		{"a system with two answers", file(`{"id":"a","method":"m","answers":[{"systems":["x"],"kept":[0]},{"systems":["x"],"kept":[1]}]}`), `two answers of "x"`},
		{"an answer that says nothing", answer(`"note":1`), "unknown field"},
		{"an answer with nothing to compare", answer(`"message":"m"`), "nothing to compare"},
		{"a reference with nothing to compare", file(`{"id":"a","method":"m","reference":{}}`), "its reference has no outcome"},
		{"no steps", answer(`"steps":[]`), "has no step"},
		{"a step that says nothing", answer(`"steps":[{"accepted":null}]`), "at step 0 not one of"},
		{"kept tokens out of order", answer(`"kept":[1,0],"probs":[0.5,0.5]`), "out of order: 0 after 1"},
		{"a kept token twice", answer(`"kept":[1,1],"probs":[0.5,0.5]`), "out of order: 1 after 1"},
		{"logits without tokens", answer(`"kept":[1],"probs":[1],"logits":[1,2]`), "2 logits for 1"},
		{"draws of a case that asks for none", answer(`"tokens":[1,2]`), "asks for one"},
		{"draws without end", file(`{"id":"a","method":"dist","params":{"steps":1000000000}}`), "steps is 1000000000, outside 1 to"},
		{"draws that count backwards", file(`{"id":"a","method":"dist","params":{"steps":-1}}`), "steps is -1"},
		{"fewer tokens than draws", file(`{"id":"a","method":"dist","params":{"steps":3},"answers":[{"systems":["x"],"tokens":[1]}]}`), "a list of 1 for 3 draws"},
		{"an input without logits", file(`{"id":"a","method":"m","input":{"logits":[]}}`), "its input has no logits"},
		{"a probe of no token", answer(`"n_kept":1,"probes":[[-5,0]]`), "a probe of the token -5"},
		{"a probe of half a token", answer(`"n_kept":1,"probes":[[0.5,0]]`), "a probe of the token 0.5"},
		{"a probe of what is no number", answer(`"n_kept":1,"probes":[["nan",0]]`), "a probe of the token NaN"},
		{"draws with nothing to compare", file(`{"id":"a","method":"dist","params":{"steps":3},"answers":[{"systems":["x"],"kept":[1]}]}`), "nothing to compare"},
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

// A linear recipe near its limits stays inside the row, on 32 bits too.
func TestRecipesOfManyTokens(t *testing.T) {
	r := recipe{Kind: "linear", N: mostVocab, Mul: mostVocab - 1, Add: mostVocab, Num: 1, Den: 1}
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	seen := make([]bool, mostVocab)
	for _, v := range r.build() {
		if seen[int(-v)] {
			t.Fatalf("rank %v is there twice", -v)
		}
		seen[int(-v)] = true
	}
}

func applying(f func(r *sampler.Row)) behaviour {
	return behaviour{sampler.Reshape, func(r *sampler.Row, _ param.Values) error { f(r); return nil }}
}

// What may not pass for the right answer does not.
func TestWhatMustNotHold(t *testing.T) {
	breaks := applying(func(*sampler.Row) { panic("oh no") })
	idle := applying(func(*sampler.Row) {})
	shifted := applying(func(r *sampler.Row) {
		for i := range r.Scores.Values {
			r.Scores.Values[i] += 3
		}
	})
	// It keeps the wanted tokens of a tie but moves one's probability.
	tilted := applying(func(r *sampler.Row) {
		r.Scores.Values[2]++
		r.Scores.Keep(func(i int) bool { return i != 1 }, nil)
	})
	full := behaviour{sampler.Reshape, func(*sampler.Row, param.Values) error {
		return fault.New(fault.Limit, "top_k", "", "too deep")
	}}
	const scored = `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"kept":[0,1],"probs":[0.7310586,0.2689414],"logits":[1,0]}]}`
	const border = `{"id":"a","method":"top_k","params":{},"input":{"logits":[3,2,1,0]},"borderline":{"n_kept_min":1,"n_kept_max":3},"reference":{"kept":[0,1],"probs":[0.7310586,0.2689414]}}`
	rows := []struct {
		name   string
		b      behaviour
		system string
		one    string
		want   Verdict
		why    string
	}{
		{"a panic where an error is wanted", breaks, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"outcome":"reject"}}`, Differs, "it breaks"},
		{"a panic where nothing is left", breaks, "llama.cpp", `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"kept":[],"probs":[]}]}`, Differs, "it breaks"},
		{"a stage at its own limit", full, Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0],"probs":[1]}}`, Differs, "too deep"},
		{"shifted scores under a system's rule", shifted, "llama.cpp", scored, Differs, "has score 4, want 1"},
		{"the same scores under a system's rule", idle, "llama.cpp", scored, Holds, ""},
		{"a borderline count of other tokens", keep(1, 2, 3), Reference, border, Differs, "though the count"},
		{"a borderline count with one more", keep(0, 1, 2), Reference, border, WithinTies, "within the borderline"},
		{"tied tokens with other probabilities", tilted, Reference, `{"id":"a","method":"top_k","params":{},"tags":["ties"],"input":{"logits":[1,1,1]},"reference":{"kept":[0,1],"probs":[0.5,0.5]}}`, Differs, "and a probability of"},
		{"another answer than the only one", keep(1), Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"kept":[0],"probs":[1]}]}`, Differs, "kept [1]"},
		{"an answer where the only system refuses", keep(1), Reference, `{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"outcome":"rejected"}]}`, NotCovered, "binds nobody else"},
		{"an answer that a seed decides", keep(0), Reference, `{"id":"a","method":"top_k","params":{"seed":1},"input":{"logits":[1,0]},"answers":[{"systems":["llama.cpp"],"kept":[0],"probs":[1]}]}`, NotCovered, "random numbers"},
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

// Where the catalogue is known to answer otherwise, the case is not covered; the
// same answer to any other case differs.
func TestDepartures(t *testing.T) {
	s, err := InProcess(biasing{})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]Verdict{"sequence_bias/[1, 2]": NotCovered, "sequence_bias/[1, 3]": Differs} {
		one := `{"id":"` + id + `","method":"sequence_bias","params":{"bias":[[[0],1.5],[[1,0],"-inf"]]},"input":{"logits":[1,0]},"answers":[{"systems":["transformers"],"kept":[0],"probs":[1]}]}`
		got, err := read(t, file(one)).Verify(t.Context(), s, Reference)
		if err != nil || got[0].Verdict != want || got[0].Against != "transformers" || !strings.Contains(got[0].Why, "kept [0 1]") {
			t.Errorf("%s: %+v, %v; want %s", id, got, err, want)
		}
	}
}

// biasing checks what it is given and does nothing.
type biasing struct{}

func (biasing) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "logit_bias", Kind: sampler.Reshape, Summary: "s", Source: "s",
		Params: param.Specs{{Name: "bias", Type: param.Tokens, Weighted: true, Default: "", Meaning: "m"}}}
}

func (biasing) Apply(_ *sampler.Row, set param.Values) error {
	l := set.Tokens("bias")
	if len(l) != 2 || l[0].Weight != 1.5 || len(l[1].IDs) != 2 || !math.IsInf(l[1].Weight, -1) {
		return fault.New(fault.Usage, "logit_bias", "", "it was given %v", l)
	}
	return nil
}

// normalising is logit_normalization, or a stage that forgets to do anything.
type normalising struct{ idle bool }

func (normalising) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "logit_normalization", Kind: sampler.Reshape, Summary: "s", Source: "s"}
}

func (n normalising) Apply(r *sampler.Row, _ param.Values) error {
	sum := 0.0
	for _, v := range r.Scores.Values {
		sum += math.Exp(float64(v))
	}
	for i := range r.Scores.Values {
		if !n.idle {
			r.Scores.Values[i] -= float32(math.Log(sum))
		}
	}
	return nil
}

func TestNormalisationIsItsShift(t *testing.T) {
	const one = `{"id":"a","method":"logit_normalization","params":{},"input":{"logits":[1,0]},"answers":[{"systems":["transformers"],"kept":[0,1],"probs":[0.7310586,0.2689414],"logits":[-0.3132617,-1.3132617]}]}`
	for idle, want := range map[bool]Verdict{false: Holds, true: Differs} {
		s, err := InProcess(normalising{idle})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t, file(one)).Verify(t.Context(), s, Reference)
		if err != nil || got[0].Verdict != want {
			t.Errorf("idle %v: %+v, %v; want %s", idle, got, err, want)
		}
	}
}

// dead is a subject whose plugin does not start.
type dead struct{ Subject }

func (dead) Lookup(string) (sampler.Declaration, error) {
	return sampler.Declaration{}, fault.New(fault.Plugin, "plugin", "mine", "it ended before the handshake")
}

func TestDeadPluginIsNoVerdict(t *testing.T) {
	s, err := InProcess(keep(0))
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, file(`{"id":"a","method":"top_k","params":{},"input":{"logits":[1,0]},"reference":{"kept":[0],"probs":[1]}}`))
	if got, err := f.Verify(t.Context(), dead{s}, Reference); fault.KindOf(err) != fault.Plugin {
		t.Errorf("%+v, %v; want the plugin's error", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := f.Verify(ctx, s, Reference); fault.KindOf(err) != fault.Interrupted || len(got) != 0 {
		t.Errorf("%+v, %v; want an interrupt", got, err)
	}
}

// Of several wrong parameters always the same is reported.
func TestReasonsAreRepeatable(t *testing.T) {
	first := ""
	for range 20 {
		got := verdict(t, keep(0), Reference, `{"id":"a","method":"top_k","params":{"z":1,"y":1,"x":1},"input":{"logits":[1,0]},"reference":{"kept":[0],"probs":[1]}}`).Why
		if first == "" {
			first = got
		}
		if got != first || !strings.Contains(got, `"x" has no setting`) {
			t.Fatalf("%q, then %q", first, got)
		}
	}
}
