package samplers

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func stage(name string, value any) sampler.Stage {
	return sampler.Stage{Sampler: name, Values: param.Values{{Name: name, Value: value, Origin: "test"}}}
}

func TestDeclarationsAreComplete(t *testing.T) {
	set := newSet(t)
	var names []string
	for _, d := range set.Declarations() {
		names = append(names, d.Name)
		if d.Kind == sampler.Reshape && len(d.Params) == 0 {
			t.Errorf("%s has no settings", d.Name)
		}
	}
	if want := []string{"temperature", "top_k", "top_p", "sample", "greedy"}; !slices.Equal(names, want) {
		t.Errorf("samplers %v, want %v", names, want)
	}
}

// law reads one identity from testdata/identities.json, whose note says where
// it is from.
func law(t *testing.T, id string, inputs, expected any) (tol float64) {
	t.Helper()
	data, err := os.ReadFile("testdata/identities.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Items []struct {
			ID               string
			Inputs, Expected json.RawMessage
			AbsTol           float64 `json:"abs_tol"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, it := range file.Items {
		if it.ID == id {
			if err := json.Unmarshal(it.Inputs, inputs); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(it.Expected, expected); err != nil {
				t.Fatal(err)
			}
			return it.AbsTol
		}
	}
	t.Fatalf("no identity %s", id)
	return 0
}

func sampling(t *testing.T, logits []float64, stages ...sampler.Stage) dist.Sampling {
	t.Helper()
	v := make([]float32, len(logits))
	for i, l := range logits {
		v[i] = float32(l)
	}
	out, err := apply(newSet(t), dist.NewDense(v), stages...)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dist.NewSampling(&out)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantProbs(t *testing.T, what string, d dist.Sampling, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		if got := d.P(int32(i)); !(math.Abs(got-w) <= tol) {
			t.Errorf("%s: token %d has %.17g, want %.17g within %g", what, i, got, w, tol)
		}
	}
}

func TestTemperaturesMultiply(t *testing.T) {
	var in struct {
		Logits  []float64
		T       float64
		Compose [2]float64
	}
	var want struct {
		Power    []float64 `json:"power_form"`
		Composed []float64
	}
	tol := law(t, "ID-03", &in, &want)
	wantProbs(t, "power form", sampling(t, in.Logits, stage("temperature", in.T)), want.Power, tol)
	// Scores between stages are float32: each rounding moves a score of
	// magnitude 4 by at most 2.4e-7, and a probability by less than that.
	const rounding = 5e-7
	wantProbs(t, "two stages", sampling(t, in.Logits, stage("temperature", in.Compose[0]), stage("temperature", in.Compose[1])), want.Composed, rounding)
	wantProbs(t, "one stage", sampling(t, in.Logits, stage("temperature", in.Compose[0]*in.Compose[1])), want.Composed, rounding)
}

func TestColdLimitSharesMassAmongTies(t *testing.T) {
	var in struct {
		Logits []float64
		T      float64
	}
	var want struct{ P []float64 }
	tol := law(t, "ID-04", &in, &want)
	wantProbs(t, "cold", sampling(t, in.Logits, stage("temperature", in.T)), want.P, tol)
	wantProbs(t, "zero is greedy, lowest id", sampling(t, in.Logits, stage("temperature", 0.0)), []float64{1, 0, 0}, 0)
}

func TestOrderOfStagesChangesTheSupport(t *testing.T) {
	var in struct {
		Logits []float64
		TopP   float64 `json:"top_p"`
		T      float64
	}
	var want struct {
		Raw, Tempered []float64
		TruncateFirst []int32   `json:"support_truncate_first"`
		TemperFirst   []int32   `json:"support_temper_first"`
		FinalTruncate []float64 `json:"final_truncate_first"`
		FinalTemper   []float64 `json:"final_temper_first"`
	}
	tol := law(t, "ID-09", &in, &want)
	cut, temper := stage("top_p", in.TopP), stage("temperature", in.T)
	wantProbs(t, "raw", sampling(t, in.Logits), want.Raw, tol)
	wantProbs(t, "tempered", sampling(t, in.Logits, temper), want.Tempered, tol)
	a, b := sampling(t, in.Logits, cut, temper), sampling(t, in.Logits, temper, cut)
	wantProbs(t, "truncate first", a, want.FinalTruncate, tol)
	wantProbs(t, "temper first", b, want.FinalTemper, tol)
	if a.Support() != len(want.TruncateFirst) || b.Support() != len(want.TemperFirst) {
		t.Errorf("supports %d and %d, want %d and %d", a.Support(), b.Support(), len(want.TruncateFirst), len(want.TemperFirst))
	}
}

func TestTopKCommutesWithTemperature(t *testing.T) {
	var in struct {
		Logits []float64
		T      []float64
	}
	var want struct{}
	law(t, "ID-10", &in, &want)
	for _, temperature := range in.T {
		a := sampling(t, in.Logits, stage("top_k", int64(4)), stage("temperature", temperature))
		b := sampling(t, in.Logits, stage("temperature", temperature), stage("top_k", int64(4)))
		for id := range in.Logits {
			if a.P(int32(id)) != b.P(int32(id)) {
				t.Errorf("T = %g: token %d has %v or %v", temperature, id, a.P(int32(id)), b.P(int32(id)))
			}
		}
	}
}

// A tail cut never raises entropy (ID-08), and extreme settings approach greedy
// without a non-finite number (FR-03).
func TestTailCutsNeverRaiseEntropy(t *testing.T) {
	set := newSet(t)
	for s := range uint64(40) {
		g := splitmix(s)
		v := make([]float32, 2+g.next()%200)
		for i := range v {
			v[i] = float32(g.next()%4096) / 300
		}
		for _, st := range []sampler.Stage{
			stage("top_k", int64(1+g.next()%20)), stage("top_p", float64(g.next()%1000)/1000), stage("top_p", 1e-4), stage("temperature", 1e-4),
		} {
			it := &sampler.Item{Scores: dist.NewDense(slices.Clone(v))}
			call := &sampler.Call{Stages: []sampler.Stage{st}, Items: []*sampler.Item{it}, Ledger: true}
			if err := set.Run(context.Background(), call); err != nil {
				t.Fatal(err)
			}
			// Slack for rounding of two entropies below 8 bits.
			if c := it.Changes[0]; !(c.EntropyAfter <= c.EntropyBefore+1e-12) {
				t.Errorf("%v raises the entropy from %v to %v", st, c.EntropyBefore, c.EntropyAfter)
			}
		}
	}
}
