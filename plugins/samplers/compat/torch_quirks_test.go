package compat

import (
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// quirk is a rule's answer to a small row, worked out by hand.
type quirk struct {
	name, system, sampler string
	settings              map[string]any
	scores                []float32
	history               []int32
	prompt                int
	pass                  []float32
	end                   []int32
	want                  []float32 // -Inf: removed
	err                   string    // part of the error, when one is wanted
}

var gone = float32(math.Inf(-1))

func quirks() []quirk {
	return []quirk{
		{name: "a forced end loses its score", system: Transformers, sampler: "forced_eos", settings: map[string]any{"max_length": 3, "end": "1"},
			scores: []float32{1, 2, 3}, history: []int32{0, 0}, want: []float32{gone, 0, gone}},
		{name: "nothing is forced elsewhere", system: Transformers, sampler: "forced_eos", settings: map[string]any{"max_length": 4, "end": "1"},
			scores: []float32{1, 2, 3}, history: []int32{0, 0}, want: []float32{1, 2, 3}},
		{name: "a forced beginning loses its score", system: Transformers, sampler: "forced_bos", settings: map[string]any{"token": "2"},
			scores: []float32{1, 2, 3}, history: []int32{0}, want: []float32{gone, gone, 0}},
		{name: "a bias of -inf is refused", system: Transformers, sampler: "logit_bias", settings: map[string]any{"bias": "0=-inf"},
			scores: []float32{1, 2}, err: "-inf is not allowed"},
		{name: "a sequence longer than the context biases nothing", system: Transformers, sampler: "logit_bias", settings: map[string]any{"bias": "0+1+2=5"},
			scores: []float32{1, 2, 3}, history: []int32{0, 1}, want: []float32{1, 2, 3}},
		{name: "one as long as the context does", system: Transformers, sampler: "logit_bias", settings: map[string]any{"bias": "0+1+2=5"},
			scores: []float32{1, 2, 3}, history: []int32{2, 0, 1}, want: []float32{1, 2, 8}},
		{name: "a bad sequence longer than the context bans nothing", system: Transformers, sampler: "bad_words", settings: map[string]any{"bad_words": "0+1"},
			scores: []float32{1, 2}, history: []int32{0}, want: []float32{1, 2}},
		{name: "one as long as the context does ban", system: Transformers, sampler: "bad_words", settings: map[string]any{"bad_words": "0+1"},
			scores: []float32{1, 2}, history: []int32{1, 0}, want: []float32{1, gone}},
		{name: "batched guidance takes no scale of 1", system: Transformers, sampler: "cfg", settings: map[string]any{"scale": 1.0, "form": "logits"},
			scores: []float32{1, 2}, pass: []float32{0, 0}, err: "scale = 1 is outside (1, ∞)"},
		{name: "batched guidance works on scores", system: Transformers, sampler: "cfg", settings: map[string]any{"scale": 2.0, "form": "logits"},
			scores: []float32{1, 2}, pass: []float32{0, 4}, want: []float32{2, 0}},
		{name: "a temperature just above 0 is raised", system: VLLM, sampler: "temperature", settings: map[string]any{"temperature": 0.001},
			scores: []float32{1, 2}, want: []float32{100, 200}},
		{name: "frequency counts generated tokens", system: VLLM, sampler: "penalties", settings: map[string]any{"frequency": 1.0},
			scores: []float32{1, 2}, history: []int32{0, 1, 1}, prompt: 2, want: []float32{1, 1}},
		{name: "repetition counts the prompt", system: VLLM, sampler: "repetition_penalty", settings: map[string]any{"repetition_penalty": 2.0},
			scores: []float32{1, -2}, history: []int32{0, 1}, prompt: 2, want: []float32{0.5, -4}},
		{name: "a window of 0 is all", system: WebUI, sampler: "presence_penalty", settings: map[string]any{"presence_penalty": 1.0, "last_n": 0},
			scores: []float32{1, 2}, history: []int32{0, 1}, want: []float32{0, 1}},
		{name: "a window of -1 leaves out the oldest", system: WebUI, sampler: "presence_penalty", settings: map[string]any{"presence_penalty": 1.0, "last_n": -1},
			scores: []float32{1, 2}, history: []int32{0, 1}, want: []float32{1, 1}},
		{name: "top choices go", system: WebUI, sampler: "xtc", settings: map[string]any{"probability": 1.0, "threshold": 0.2},
			scores: []float32{1, 1.5, -3}, want: []float32{1, gone, -3}},
		{name: "an end token calls it off", system: WebUI, sampler: "xtc", settings: map[string]any{"probability": 1.0, "threshold": 0.2},
			scores: []float32{1, 1.5, -3}, end: []int32{1}, want: []float32{1, 1.5, -3}},
		{name: "a protected token calls it off", system: WebUI, sampler: "xtc", settings: map[string]any{"probability": 1.0, "threshold": 0.2, "protect": "1"},
			scores: []float32{1, 1.5, -3}, want: []float32{1, 1.5, -3}},
		{name: "it knows no protected tokens", system: Aphrodite, sampler: "xtc", settings: map[string]any{"protect": "1"},
			scores: []float32{1, 2}, err: "no protected tokens"},
		{name: "0 is no special typical_p", system: WebUI, sampler: "typical", settings: map[string]any{"typical": 1.0},
			scores: []float32{1, 2}, want: []float32{1, 2}},
		{name: "low and high are taken", system: WebUI, sampler: "dynatemp", settings: map[string]any{"low": 0.5, "high": 2.0},
			scores: []float32{1, 1}, want: []float32{0.5, 0.5}},
		{name: "low alone is refused", system: Aphrodite, sampler: "dynatemp", settings: map[string]any{"low": 0.5},
			scores: []float32{1, 1}, err: "are no limits"},
		{name: "no frequency penalty", system: Transformers, sampler: "frequency_penalty", scores: []float32{1}, err: "no such method"},
		{name: "no min_keep", system: VLLM, sampler: "top_p", settings: map[string]any{"min_keep": 2}, scores: []float32{1}, err: "outside [1, 1]"},
		{name: "an empty context crashes", system: WebUI, sampler: "dry", settings: map[string]any{"multiplier": 1.0, "breakers": ""}, scores: []float32{1}, err: "empty context"},
		{name: "one token crashes", system: Aphrodite, sampler: "tfs", scores: []float32{1}, err: "vocabulary of one"},
		{name: "removed tokens count as 0", system: WebUI, sampler: "top_n_sigma", settings: map[string]any{"top_n_sigma": 1.0},
			// The deviation of 4, 2, 0 is 2.
			scores: []float32{4, 2, gone}, want: []float32{4, 2, gone}},
		{name: "a removed token stops the cut", system: Aphrodite, sampler: "top_n_sigma", settings: map[string]any{"top_n_sigma": 0.1},
			scores: []float32{4, 2, gone}, want: []float32{4, 2, gone}},
	}
}

func TestTorchQuirks(t *testing.T) {
	set, err := sampler.NewSet(torchSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range quirks() {
		t.Run(q.system+": "+q.name, func(t *testing.T) {
			got, err := q.run(t, set)
			if q.err != "" {
				if err == nil || !strings.Contains(err.Error(), q.err) || fault.KindOf(err) == fault.Plugin {
					t.Errorf("got %v, want an error with %q", err, q.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, q.want) {
				t.Errorf("got %v, want %v", got, q.want)
			}
		})
	}
}

// run returns the scores of the whole vocabulary after the rule.
func (q *quirk) run(t *testing.T, set *sampler.Set) ([]float32, error) {
	t.Helper()
	d, err := set.Lookup(q.sampler)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := d.ParamsFor(q.system)
	if err != nil {
		return nil, err
	}
	var given []param.Setting
	for name, v := range q.settings {
		given = append(given, param.Setting{Name: name, Value: v, Origin: "test"})
	}
	values, err := specs.Resolve("sampler", q.sampler, given)
	if err != nil {
		return nil, err
	}
	it := &sampler.Item{Scores: dist.NewDense(slices.Clone(q.scores)), History: q.history, Prompt: q.prompt, Uniforms: [][]float64{make([]float64, d.Needs.Uniforms)}}
	if q.pass != nil {
		it.Passes = []dist.Scores{dist.NewDense(q.pass)}
	}
	stage := sampler.Stage{Sampler: q.sampler, System: q.system, Values: values}
	if err := set.Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage}, Items: []*sampler.Item{it}, EndOfText: q.end}); err != nil {
		return nil, err
	}
	return wholeRow("test", &sampler.Row{Scores: &it.Scores})
}

// The draw follows the bent running sum over ids: with exp(ln 2) = 2 the sums
// 0.25, 0.5, 0.75, 1 become their squares, 0.0625, 0.25, 0.5625, 1.
func TestAphroditeSkewGoesByID(t *testing.T) {
	for _, c := range []struct {
		u    float64
		want int32
	}{{0, 0}, {0.06, 0}, {0.07, 1}, {0.26, 2}, {0.57, 3}, {0.999, 3}} {
		scores := dist.NewDense([]float32{1, 1, 1, 1})
		row := &sampler.Row{Scores: &scores, Uniforms: []float64{c.u}, System: Aphrodite, Chosen: -1}
		if err := aphroditeSkew(row, param.Values{{Name: "skew", Value: math.Ln2}}); err != nil {
			t.Fatal(err)
		}
		if row.Chosen != c.want {
			t.Errorf("u = %g chose %d, want %d", c.u, row.Chosen, c.want)
		}
		d, err := dist.NewSampling(row.Scores)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.P(3); !(math.Abs(got-0.4375) <= 1e-6) { // float32
			t.Errorf("the last token has the chance %g, want 0.4375", got)
		}
	}
}
