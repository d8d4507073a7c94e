package watermark

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// golden is ../testdata/golden/watermark.json: answers of transformers, from the project's
// set of reference cases for samplers.
type golden struct {
	Cases []struct {
		ID, Method string
		Params     map[string]json.RawMessage
		Input      struct {
			Recipe struct {
				Seed  uint64
				N     int
				Scale float64
			}
		}
		History   []int32
		GreenList []int32
		Answers   []struct {
			Probs, Logits []float64
			Steps         []struct{ Probs []float64 }
		}
	}
}

// gaussian is the recipe ih12: twelve 16-bit numbers of SplitMix64 added up.
func gaussian(seed uint64, n int, scale float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		sum := int64(0)
		for range 3 {
			seed += 0x9E3779B97F4A7C15
			z := (seed ^ seed>>30) * 0xBF58476D1CE4E5B9
			z = (z ^ z>>27) * 0x94D049BB133111EB
			z ^= z >> 31
			for ; z > 0; z >>= 16 {
				sum += int64(z & 0xFFFF)
			}
		}
		out[i] = float32(float64(sum-393210) * scale / 65536)
	}
	return out
}

// settings turns the parameters of a case into a stage's, which have the same
// names but for the list of keys.
func settings(t *testing.T, params map[string]json.RawMessage) param.Values {
	t.Helper()
	var out param.Values
	for name, data := range params {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		if list, ok := v.([]any); ok {
			text := ""
			for _, x := range list {
				text += " " + param.Format(x)
			}
			v = text
		}
		if x, ok := v.(float64); ok && name != "ratio" && name != "bias" {
			v = int64(x)
		}
		if name != "vocab" {
			out = append(out, param.Value{Name: name, Value: v, Origin: "golden"})
		}
	}
	return out
}

func newSet(t testing.TB) *sampler.Set {
	t.Helper()
	set, err := sampler.NewSet(NewGreenList(), NewSynthID(), Gumbel{}, NewKeyed())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// run applies one stage to a row through the contract, with its ledger.
func run(t testing.TB, set *sampler.Set, it *sampler.Item, name string, values ...param.Value) error {
	t.Helper()
	return set.Run(context.Background(), &sampler.Call{
		Stages: []sampler.Stage{{Sampler: name, Values: values}}, Items: []*sampler.Item{it}, Ledger: true,
	})
}

// The tolerances are those of the reference cases: their answers were computed in
// float32.
func TestAnswersOfTransformers(t *testing.T) {
	data, err := os.ReadFile("../testdata/golden/watermark.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) != 8 {
		t.Fatalf("%d cases, want 8", len(g.Cases))
	}
	set := newSet(t)
	for _, c := range g.Cases {
		t.Run(c.ID, func(t *testing.T) {
			logits := gaussian(c.Input.Recipe.Seed, c.Input.Recipe.N, c.Input.Recipe.Scale)
			answer := c.Answers[0]
			steps := [][]float64{answer.Probs}
			if len(answer.Steps) > 0 {
				steps = nil
				for _, s := range answer.Steps {
					steps = append(steps, s.Probs)
				}
			}
			for i, want := range steps {
				// SynthID was called once for every prefix of the history, of which the first
				// token is a prompt; the green list once, for all of it.
				history, prompt := c.History, len(c.History)
				if len(answer.Steps) > 0 {
					history, prompt = history[:i+1], 1
				}
				row := dist.NewDense(append([]float32(nil), logits...))
				it := &sampler.Item{Scores: row, History: history, Prompt: prompt, Step: i}
				if err := run(t, set, it, c.Method, settings(t, c.Params)...); err != nil {
					t.Fatal(err)
				}
				after, err := dist.Softmax(&it.Scores)
				if err != nil {
					t.Fatal(err)
				}
				for id, p := range want {
					if got := after.P(int32(id)); !(math.Abs(got-p) <= 2e-5*p+2e-6) {
						t.Fatalf("step %d: token %d has probability %v, want %v", i, id, got, p)
					}
				}
				for id, l := range answer.Logits {
					if got := float64(it.Scores.Values[id]); !(math.Abs(got-l) <= 2e-6*math.Abs(l)+2e-6) {
						t.Fatalf("token %d has score %v, want %v", id, got, l)
					}
				}
				green := map[int32]bool{}
				for _, id := range c.GreenList {
					green[id] = true
				}
				for id, v := range it.Scores.Values {
					if len(green) > 0 && green[int32(id)] != (v != logits[id]) {
						t.Errorf("token %d: green is %v in the case, its score went from %v to %v", id, green[int32(id)], logits[id], v)
					}
				}
			}
		})
	}
}
