package samplers

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// identity is one item of testdata/identities.json.
type identity struct {
	ID               string
	Inputs, Expected json.RawMessage
	AbsTol           float64 `json:"abs_tol"`
}

func identities(t *testing.T) []identity {
	t.Helper()
	data, err := os.ReadFile("testdata/identities.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Items []identity }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Items
}

// held are the identities that a test of this file holds, by id.
var held = map[string]func(t *testing.T, it identity){
	"ID-01": shiftAndSize, "ID-02": entropyRises, "ID-03": temperaturesMultiply, "ID-04": coldLimit,
	"ID-05": truncationDivergence, "ID-06": truncationDistance, "ID-07": entropySplits, "ID-08": headCutRaisesEntropy,
	"ID-09": orderChangesSupport, "ID-10": cutsThatIgnoreTemperature, "ID-11": typicalOrder, "ID-12": etaThreshold,
	"ID-13": distinctOutcomes, "ID-14": threeRuns, "ID-15": greedyCycles,
	"ID-21": greenScore, "ID-22": greenBias, "ID-23": mirostatTelescopes, "ID-28": divergenceIsBounded,
	"ID-31": signAwarePenalty, "ID-32": countedPenalties, "ID-38": goodnessOfFit, "ID-39": guidance, "ID-40": renormalising,
}

// elsewhere are the identities about something that is no stage: the file whose
// tests hold them, or, where the product has no such part yet, what part it is.
var elsewhere = map[string]string{
	"ID-16": "../../core/search/speculative_test.go", "ID-17": "../../core/search/speculative_test.go",
	"ID-33": "../../core/search/search_test.go", "ID-34": "../../core/search/search_test.go",
}

var notYet = map[string]string{
	"ID-18": "cost of speculative decoding", "ID-19": "best-of-n statistics", "ID-20": "pass@k", "ID-24": "Zipf fit",
	"ID-25": "distinct-n", "ID-26": "repetition rates", "ID-27": "perplexity of texts", "ID-29": "intervals of rates",
	"ID-30": "statistics of sweeps", "ID-35": "cost model", "ID-36": "cost model", "ID-37": "cost model",
}

// Every identity is held here, held elsewhere, or about a part that does not
// exist yet; none is forgotten.
func TestIdentities(t *testing.T) {
	seen := map[string]bool{}
	for _, it := range identities(t) {
		seen[it.ID] = true
		where, there := elsewhere[it.ID]
		_, later := notYet[it.ID]
		test, here := held[it.ID]
		switch {
		case here && !there && !later:
			t.Run(it.ID, func(t *testing.T) { test(t, it) })
		case there && !here && !later:
			if data, err := os.ReadFile(where); err != nil || !strings.Contains(string(data), it.ID) {
				t.Errorf("%s should be held in %s, which does not name it (%v)", it.ID, where, err)
			}
		case !later || here || there:
			t.Errorf("%s: it must be in exactly one of the lists", it.ID)
		}
	}
	if len(seen) != 40 || len(held)+len(elsewhere)+len(notYet) != len(seen) {
		t.Errorf("%d identities, of which %d are held here, %d elsewhere, %d later", len(seen), len(held), len(elsewhere), len(notYet))
	}
}

// read decodes inputs and expected values.
func (it identity) read(t *testing.T, inputs, expected any) {
	t.Helper()
	if err := json.Unmarshal(it.Inputs, inputs); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(it.Expected, expected); err != nil {
		t.Fatal(err)
	}
}

// rounding is what scores of magnitude up to 4, rounded to float32 once or twice,
// may move a probability or a divergence by.
const rounding = 1e-6

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %.17g, want %.17g within %g", what, got, want, tol)
	}
}

// stage is a stage with settings given as name and value in turn.
func stage(name string, set ...any) sampler.Stage {
	st := sampler.Stage{Sampler: name}
	for i := 0; i < len(set); i += 2 {
		st.Values = append(st.Values, param.Value{Name: set[i].(string), Value: set[i+1], Origin: "test"})
	}
	return st
}

func logits(v []float64) dist.Scores {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return dist.NewDense(out)
}

// logs returns the row of a distribution: scores are natural logarithms.
func logs(p []float64) dist.Scores {
	l := make([]float64, len(p))
	for i, x := range p {
		l[i] = math.Log(x)
	}
	return logits(l)
}

// after runs stages over a row and returns what is left and the ledger.
func after(t *testing.T, row dist.Scores, stages ...sampler.Stage) (dist.Sampling, []dist.Change) {
	t.Helper()
	it := &sampler.Item{Scores: row}
	if err := newSet(t).Run(t.Context(), &sampler.Call{Stages: stages, Items: []*sampler.Item{it}, Ledger: true}); err != nil {
		t.Fatal(err)
	}
	d, err := dist.NewSampling(&it.Scores)
	if err != nil {
		t.Fatal(err)
	}
	return d, it.Changes
}

func probs(t *testing.T, what string, d dist.Sampling, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		if got := d.P(int32(i)); !(math.Abs(got-w) <= tol) {
			t.Errorf("%s: token %d has %.17g, want %.17g within %g", what, i, got, w, tol)
		}
	}
}

func kept(d dist.Sampling) (ids []int32) {
	d.Each(func(id int32, _ float64) bool { ids = append(ids, id); return true })
	return ids
}

func entropyNats(t *testing.T, d dist.Sampling) float64 {
	t.Helper()
	h, err := d.EntropyBits()
	if err != nil {
		t.Fatal(err)
	}
	return h * math.Ln2
}

func shiftAndSize(t *testing.T, it identity) {
	var in struct {
		Logits, Large []float64
		Shift         float64
	}
	var want struct {
		P       []float64
		Shifted []float64 `json:"p_shifted"`
		Large   []float64 `json:"p_large"`
	}
	it.read(t, &in, &want)
	for what, shift := range map[string]float64{"as given": 0, "up": in.Shift, "down": -in.Shift} {
		l := slices.Clone(in.Logits)
		for i := range l {
			l[i] += shift
		}
		d, _ := after(t, logits(l), stage("temperature"))
		probs(t, what, d, want.P, it.AbsTol)
		probs(t, what, d, want.Shifted, it.AbsTol)
	}
	d, _ := after(t, logits(in.Large), stage("temperature"))
	probs(t, "large", d, want.Large, it.AbsTol)
	if h := entropyNats(t, d); !(h > 0 && h < 1) {
		t.Errorf("entropy %v", h)
	}
}

func entropyRises(t *testing.T, it identity) {
	var in struct{ Logits, T []float64 }
	var want struct {
		H   []float64 `json:"H_nats"`
		Hot float64   `json:"H_limit_hot"`
	}
	it.read(t, &in, &want)
	last := 0.0
	for i, temperature := range in.T {
		d, _ := after(t, logits(in.Logits), stage("temperature", "temperature", temperature))
		h := entropyNats(t, d)
		near(t, "entropy", h, want.H[i], it.AbsTol) // these scores and temperatures divide exactly
		if h <= last {
			t.Errorf("T = %v: the entropy falls from %v to %v", temperature, last, h)
		}
		last = h
	}
	d, _ := after(t, logits(in.Logits), stage("temperature", "temperature", 1e6))
	near(t, "hot entropy", entropyNats(t, d), want.Hot, 1e-9)
}

func temperaturesMultiply(t *testing.T, it identity) {
	var in struct {
		Logits  []float64
		T       float64
		Compose [2]float64
	}
	var want struct {
		Power    []float64 `json:"power_form"`
		Composed []float64
	}
	it.read(t, &in, &want)
	at := func(v float64) sampler.Stage { return stage("temperature", "temperature", v) }
	d, _ := after(t, logits(in.Logits), at(in.T))
	probs(t, "power form", d, want.Power, it.AbsTol)
	d, _ = after(t, logits(in.Logits), at(in.Compose[0]), at(in.Compose[1]))
	probs(t, "two stages", d, want.Composed, rounding)
	d, _ = after(t, logits(in.Logits), at(in.Compose[0]*in.Compose[1]))
	probs(t, "one stage", d, want.Composed, rounding)
}

func coldLimit(t *testing.T, it identity) {
	var in struct {
		Logits []float64
		T      float64
	}
	var want struct{ P []float64 }
	it.read(t, &in, &want)
	d, _ := after(t, logits(in.Logits), stage("temperature", "temperature", in.T))
	probs(t, "cold", d, want.P, it.AbsTol)
	d, _ = after(t, logits(in.Logits), stage("temperature", "temperature", 0.0))
	probs(t, "zero is greedy, lowest id", d, []float64{1, 0, 0}, 0)
}
