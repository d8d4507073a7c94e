package compat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// randomValues returns legal settings.
func randomValues(t *testing.T, r *rand.Rand, specs param.Specs, vocab int) param.Values {
	t.Helper()
	var given []param.Setting
	for _, s := range specs {
		if r.IntN(4) == 0 {
			continue
		}
		var v any
		low, high := max(s.Min, -3), min(s.Max, 3)
		switch s.Type {
		case param.Float:
			if v = low + (high-low)*r.Float64(); low > high || s.Check(v) != nil {
				continue
			}
		case param.Int:
			if v = int64(low) + r.Int64N(int64(max(high-low, 0))+1); s.Check(v) != nil {
				continue
			}
		case param.Text:
			if len(s.Choices) == 0 {
				continue
			}
			v = s.Choices[r.IntN(len(s.Choices))]
		case param.Tokens:
			text := fmt.Sprint(r.IntN(vocab))
			if s.Weighted {
				text += fmt.Sprintf("=%g", r.NormFloat64())
			}
			v = text
		default:
			continue
		}
		given = append(given, param.Setting{Name: s.Name, Value: v, Origin: "test"})
	}
	values, err := specs.Resolve("test", "test", given)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// randomScores returns scores of a vocabulary, some of them removed or tied.
func randomScores(r *rand.Rand, vocab int) []float32 {
	x := make([]float32, vocab)
	for i := range x {
		switch r.IntN(6) {
		case 0:
			x[i] = float32(math.Inf(-1))
		case 1:
			x[i] = float32(r.IntN(3))
		default:
			x[i] = float32(3 * r.NormFloat64())
		}
	}
	x[r.IntN(vocab)] = 1
	return x
}

// listedOnly is the sparse twin of a dense row.
func listedOnly(x []float32) dist.Scores {
	s := dist.Scores{Vocab: len(x), IDs: []int32{}}
	for i, v := range x {
		if dist.Finite(v) {
			s.IDs, s.Values = append(s.IDs, int32(i)), append(s.Values, v)
		}
	}
	return s
}

// The rules keep the contract of a stage, do not depend on the form of a row,
// and fail with a data or usage error if at all.
func TestTorchRulesKeepTheContract(t *testing.T) {
	set, err := sampler.NewSet(torchSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	rules := 0
	for _, d := range set.Declarations() {
		for _, system := range torchSystems {
			if _, ok := d.System(system); !ok || torchOwn(system, d.Name) {
				continue
			}
			rules++
			specs, err := d.ParamsFor(system)
			if err != nil {
				t.Fatal(err)
			}
			for range 150 {
				vocab := []int{1, 2, 3, 9, 40}[r.IntN(5)]
				x, history := randomScores(r, vocab), make([]int32, r.IntN(12))
				for i := range history {
					history[i] = int32(r.IntN(vocab))
				}
				item := func(s dist.Scores) *sampler.Item {
					it := &sampler.Item{Scores: s, History: history, Prompt: len(history) / 2, Uniforms: [][]float64{make([]float64, d.Needs.Uniforms)}}
					for range d.Needs.Passes {
						it.Passes = append(it.Passes, dist.NewDense(slices.Repeat([]float32{1}, vocab)))
					}
					return it
				}
				stage := sampler.Stage{Sampler: d.Name, System: system, Values: randomValues(t, r, specs, vocab)}
				dense, sparse := item(dist.NewDense(slices.Clone(x))), item(listedOnly(x))
				sparseErr := set.Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage}, Items: []*sampler.Item{sparse}, Ledger: true})
				err := set.Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage}, Items: []*sampler.Item{dense}, Ledger: true})
				if err != nil || sparseErr != nil {
					kind := fault.KindOf(err)
					if err == nil || sparseErr == nil || kind != fault.Data && kind != fault.Usage {
						t.Fatalf("%s of %s (%v) over %v: %v, and the sparse row %v", d.Name, system, stage.Values, x, err, sparseErr)
					}
					continue
				}
				if !slices.Equal(support(&dense.Scores), support(&sparse.Scores)) || dense.Chosen != sparse.Chosen {
					t.Fatalf("%s of %s (%v) over %v: the dense row leaves %v (chose %d), the sparse one %v (chose %d)", d.Name, system, stage.Values, x,
						support(&dense.Scores), dense.Chosen, support(&sparse.Scores), sparse.Chosen)
				}
			}
		}
	}
	if rules < 50 {
		t.Errorf("only %d rules were tried", rules)
	}
}

// torchOwn reports whether a system's rule is the sampler's own.
func torchOwn(system, name string) bool {
	list := map[string]func() []Rule{Transformers: transformers, VLLM: vllm, WebUI: webUI, Aphrodite: aphrodite}[system]()
	for _, r := range list {
		if r.Sampler == name {
			return r.Apply == nil
		}
	}
	return true
}

type tokenScore struct {
	ID    int32
	Score float32
}

func support(s *dist.Scores) (out []tokenScore) {
	for i, v := range s.Values {
		if dist.Finite(v) {
			out = append(out, tokenScore{s.ID(i), v})
		}
	}
	return out
}

// A rule over the whole vocabulary has no answer for a row that lists a part.
func TestTorchRulesRefuseAnUnlistedTail(t *testing.T) {
	set, err := sampler.NewSet(torchSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	row := dist.Scores{Vocab: 9, IDs: []int32{1, 4}, Values: []float32{float32(math.Log(0.5)), float32(math.Log(0.3))}, Unlisted: 0.2}
	for _, system := range torchSystems {
		it := &sampler.Item{Scores: row.Clone()}
		err := set.Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{{Sampler: "top_p", System: system}}, Items: []*sampler.Item{it}})
		if system == WebUI { // 1, the default, is off there
			if err != nil {
				t.Errorf("%s: %v", system, err)
			}
			continue
		}
		if err == nil || fault.KindOf(err) != fault.Data {
			t.Errorf("%s: %v, want a data error", system, err)
		}
	}
}

func TestTorchRulesAreListedOnceAndSayWhatTheyAre(t *testing.T) {
	for _, list := range []struct {
		system string
		rules  []Rule
	}{{Transformers, transformers()}, {VLLM, vllm()}, {WebUI, webUI()}, {Aphrodite, aphrodite()}} {
		seen := map[string]bool{}
		for _, r := range list.rules {
			if seen[r.Sampler] {
				t.Errorf("%s has two rules for %s", list.system, r.Sampler)
			}
			seen[r.Sampler] = true
			if r.Term == "" || r.Apply != nil && r.Differs == "" {
				t.Errorf("%s: the rule for %s does not say what it is called (%q) or how it differs (%q)", list.system, r.Sampler, r.Term, r.Differs)
			}
			for _, s := range r.Params {
				if err := s.Validate(); err != nil {
					t.Errorf("%s: %s: %v", list.system, r.Sampler, err)
				}
			}
		}
	}
}
