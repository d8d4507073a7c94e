package samplers

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
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
	"ID-16": "../../core/search/search_test.go", "ID-17": "../../core/search/search_test.go",
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

// cuts are the two truncations of ID-05 and ID-06.
type cuts struct {
	P    []float64
	TopK int     `json:"topk"`
	TopP float64 `json:"topp"`
}

func (c cuts) run(t *testing.T) (k, p dist.Sampling, changes [2]dist.Change) {
	k, a := after(t, logs(c.P), stage("top_k", "top_k", int64(c.TopK)))
	p, b := after(t, logs(c.P), stage("top_p", "top_p", c.TopP))
	return k, p, [2]dist.Change{a[0], b[0]}
}

func truncationDivergence(t *testing.T, it identity) {
	var in cuts
	type cut struct {
		Mass, KL float64
		Q        []float64
	}
	var want struct{ TopK, TopP cut }
	it.read(t, &in, &want)
	k, p, changes := in.run(t)
	for i, w := range []cut{want.TopK, want.TopP} {
		probs(t, "kept", []dist.Sampling{k, p}[i], w.Q, rounding)
		near(t, "mass", changes[i].KeptMass, w.Mass, rounding)
		near(t, "KL", changes[i].KL*math.Ln2, w.KL, rounding)
		// Exact, whatever the row: one logarithm of one sum.
		near(t, "KL + ln mass", changes[i].KL+math.Log2(changes[i].KeptMass), 0, 1e-12)
	}
}

func truncationDistance(t *testing.T, it identity) {
	var in cuts
	var want struct {
		K float64 `json:"tv_topk"`
		P float64 `json:"tv_topp"`
	}
	it.read(t, &in, &want)
	_, _, changes := in.run(t)
	near(t, "top_k", changes[0].TV, want.K, rounding)
	near(t, "top_p", changes[1].TV, want.P, rounding)
	for _, c := range changes {
		near(t, "TV + mass", c.TV+c.KeptMass, 1, 1e-12)
	}
}

func entropySplits(t *testing.T, it identity) {
	var in struct {
		P    []float64
		Keep []int32
	}
	var want struct {
		P       float64 `json:"H_p"`
		M       float64 `json:"H_m"`
		Kept    float64 `json:"H_kept"`
		Dropped float64 `json:"H_dropped"`
	}
	it.read(t, &in, &want)
	whole, _ := after(t, logs(in.P), stage("temperature"))
	head, changes := after(t, logs(in.P), stage("top_k", "top_k", int64(len(in.Keep))))
	if !slices.Equal(kept(head), in.Keep) {
		t.Fatalf("%v is kept", kept(head))
	}
	rest, _ := after(t, logs(in.P), stage("suppress_tokens", "suppress_tokens", "0 1"))
	m := changes[0].KeptMass
	binary := -m*math.Log(m) - (1-m)*math.Log(1-m)
	near(t, "H(p)", entropyNats(t, whole), want.P, rounding)
	near(t, "h(m)", binary, want.M, rounding)
	near(t, "H(kept)", entropyNats(t, head), want.Kept, rounding)
	near(t, "H(dropped)", entropyNats(t, rest), want.Dropped, rounding)
	near(t, "the sum", binary+m*entropyNats(t, head)+(1-m)*entropyNats(t, rest), entropyNats(t, whole), 1e-12)
}

func headCutRaisesEntropy(t *testing.T, it identity) {
	var in struct{ P []float64 }
	var want struct {
		Before float64 `json:"H_before"`
		After  float64 `json:"H_after_head_removed"`
	}
	it.read(t, &in, &want)
	d, changes := after(t, logs(in.P), stage("suppress_tokens", "suppress_tokens", "0"))
	near(t, "before", changes[0].EntropyBefore*math.Ln2, want.Before, rounding)
	near(t, "after", entropyNats(t, d), want.After, 1e-12)
	// XTC is the cut that does it by rule.
	row := logs([]float64{0.5, 0.3, 0.1, 0.05, 0.05})
	it2 := &sampler.Item{Scores: row, Uniforms: [][]float64{{0}}}
	call := &sampler.Call{Stages: []sampler.Stage{stage("xtc", "probability", 1.0, "threshold", 0.2)}, Items: []*sampler.Item{it2}, Ledger: true}
	if err := newSet(t).Run(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if c := it2.Changes[0]; !(c.EntropyAfter > c.EntropyBefore-0.5) || it2.Scores.Has(0) || !it2.Scores.Has(1) {
		t.Errorf("xtc leaves %+v: %+v", it2.Scores, c)
	}
}

// A tail cut never raises entropy (ID-08), and extreme settings approach greedy
// without a non-finite number (FR-03).
func TestTailCutsNeverRaiseEntropy(t *testing.T) {
	for s := range uint64(40) {
		g := rand.New(rand.NewPCG(s, 8))
		v := make([]float64, 2+g.IntN(200))
		for i := range v {
			v[i] = float64(g.IntN(4096)) / 300
		}
		for _, st := range []sampler.Stage{
			stage("top_k", "top_k", int64(1+g.IntN(20))), stage("top_p", "top_p", float64(g.IntN(1000))/1000), stage("top_p", "top_p", 1e-4),
			stage("min_p", "min_p", g.Float64()), stage("epsilon", "epsilon", 0.1*g.Float64()), stage("eta", "epsilon", 0.1*g.Float64()),
			stage("top_a", "top_a", g.Float64()), stage("top_n_sigma", "top_n_sigma", 3*g.Float64()), stage("p_less"),
			stage("temperature", "temperature", 1e-4),
		} {
			// Slack for rounding of two entropies below 8 bits.
			if _, c := after(t, logits(v), st); !(c[0].EntropyAfter <= c[0].EntropyBefore+1e-12) {
				t.Errorf("%v raises the entropy from %v to %v", st, c[0].EntropyBefore, c[0].EntropyAfter)
			}
		}
	}
}

func orderChangesSupport(t *testing.T, it identity) {
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
	it.read(t, &in, &want)
	cut, temper := stage("top_p", "top_p", in.TopP), stage("temperature", "temperature", in.T)
	raw, _ := after(t, logits(in.Logits))
	probs(t, "raw", raw, want.Raw, it.AbsTol)
	tempered, _ := after(t, logits(in.Logits), temper)
	probs(t, "tempered", tempered, want.Tempered, it.AbsTol)
	a, _ := after(t, logits(in.Logits), cut, temper)
	b, _ := after(t, logits(in.Logits), temper, cut)
	probs(t, "truncate first", a, want.FinalTruncate, it.AbsTol)
	probs(t, "temper first", b, want.FinalTemper, it.AbsTol)
	if !slices.Equal(kept(a), want.TruncateFirst) || !slices.Equal(kept(b), want.TemperFirst) {
		t.Errorf("supports %v and %v, want %v and %v", kept(a), kept(b), want.TruncateFirst, want.TemperFirst)
	}
}

func cutsThatIgnoreTemperature(t *testing.T, it identity) {
	var in struct {
		Logits, T []float64
		N         float64
	}
	var want struct {
		Mean       float64
		Population float64 `json:"sd_population"`
		T1         []int32 `json:"kept_T1"`
		T3         []int32 `json:"kept_T3"`
	}
	it.read(t, &in, &want)
	for i, temperature := range in.T {
		temper := stage("temperature", "temperature", temperature)
		for _, k := range []int64{1, 4, 9} {
			a, _ := after(t, logits(in.Logits), stage("top_k", "top_k", k), temper)
			b, _ := after(t, logits(in.Logits), temper, stage("top_k", "top_k", k))
			for id := range in.Logits {
				if a.P(int32(id)) != b.P(int32(id)) {
					t.Errorf("T = %g, k = %d: token %d has %v or %v", temperature, k, id, a.P(int32(id)), b.P(int32(id)))
				}
			}
		}
		d, _ := after(t, logits(in.Logits), temper, stage("top_n_sigma", "top_n_sigma", in.N))
		if w := [][]int32{want.T1, want.T3}[i]; !slices.Equal(kept(d), w) {
			t.Errorf("T = %g: %v is kept, want %v", temperature, kept(d), w)
		}
	}
	// The deviation is the population's, over the tokens that are left: the score
	// at the cut stays, the next one below goes.
	sd, mean := 0.0, 0.0
	for _, x := range in.Logits {
		mean += x / float64(len(in.Logits))
	}
	for _, x := range in.Logits {
		sd += (x - mean) * (x - mean) / float64(len(in.Logits))
	}
	near(t, "mean", mean, want.Mean, it.AbsTol)
	near(t, "deviation", math.Sqrt(sd), want.Population, it.AbsTol)
	third := (in.Logits[0] - in.Logits[2]) / want.Population // n at which the third token enters
	for n, count := range map[float64]int{third * (1 + 1e-6): 3, third * (1 - 1e-6): 2} {
		if d, _ := after(t, logits(in.Logits), stage("top_n_sigma", "top_n_sigma", n)); d.Support() != count {
			t.Errorf("n = %v keeps %d tokens, want %d", n, d.Support(), count)
		}
	}
}

func typicalOrder(t *testing.T, it identity) {
	var in struct {
		P   []float64
		Tau float64
	}
	var want struct {
		H, Mass   float64
		Deviation []float64
		Order     []int32
		Kept      []int32
	}
	it.read(t, &in, &want)
	d, changes := after(t, logs(in.P), stage("typical", "typical", in.Tau))
	got := kept(d)
	slices.Sort(want.Kept)
	if !slices.Equal(got, want.Kept) {
		t.Errorf("%v is kept, want %v", got, want.Kept)
	}
	near(t, "mass", changes[0].KeptMass, want.Mass, rounding)
	near(t, "H", changes[0].EntropyBefore*math.Ln2, want.H, rounding)
	// Growing masses let the tokens in one by one, in the stated order.
	sum := 0.0
	for i, id := range want.Order {
		d, _ := after(t, logs(in.P), stage("typical", "typical", sum+in.P[id]/2))
		if in := kept(d); len(in) != i+1 || !slices.Contains(in, id) {
			t.Errorf("at a mass of %v %v is kept, and token %d should be the one that entered", sum+0.001, in, id)
		}
		sum += in.P[id]
		near(t, "deviation", math.Abs(-math.Log(in.P[id])-want.H), want.Deviation[id], it.AbsTol)
	}
}

func etaThreshold(t *testing.T, it identity) {
	var in struct {
		P   []float64
		Eps float64
	}
	var want struct {
		Eta  float64
		Sqrt float64 `json:"sqrt_term"`
	}
	it.read(t, &in, &want)
	whole, _ := after(t, logs(in.P))
	near(t, "the second term", math.Sqrt(in.Eps)*math.Exp(-entropyNats(t, whole)), want.Sqrt, rounding)
	near(t, "eta", min(in.Eps, want.Sqrt), want.Eta, it.AbsTol)
	// A token below the threshold goes and one above it stays, without moving the
	// entropy by more than its own share.
	for name, p := range map[string]float64{"above": want.Eta * 1.02, "below": want.Eta * 0.98} {
		row := append(slices.Clone(in.P), p)
		row[0] -= p
		d, _ := after(t, logs(row), stage("eta", "epsilon", in.Eps))
		if stays := d.P(int32(len(in.P))) > 0; stays != (name == "above") {
			t.Errorf("a token just %s the threshold: stays = %v", name, stays)
		}
	}
	// On a flat row of 50,000 tokens the second term is the smaller one, and below
	// every probability; epsilon alone would leave the lowest id only.
	flat := dist.NewDense(make([]float32, 50000))
	d, _ := after(t, flat.Clone(), stage("eta", "epsilon", in.Eps))
	if d.Support() != 50000 {
		t.Errorf("eta keeps %d of a flat row", d.Support())
	}
	d, _ = after(t, flat.Clone(), stage("epsilon", "epsilon", in.Eps))
	if !slices.Equal(kept(d), []int32{0}) {
		t.Errorf("epsilon keeps %d of a flat row", d.Support())
	}
}

// triples draws n times three tokens by the sampler and counts by the number of
// distinct ones.
func triples(t *testing.T, p []float64, n int) (byDistinct [4]float64) {
	t.Helper()
	l := newLaboratory(t)
	q := &question{item: &sampler.Item{Scores: logs(p)}}
	q.decl, _ = l.set.Lookup("sample")
	g := random("triples")
	for range n {
		seen := map[int32]bool{}
		for range 3 {
			q.item.Uniforms = [][]float64{{g.Float64()}}
			a := l.run(q)[0]
			if a.err != nil {
				t.Fatal(a.err)
			}
			seen[a.chosen] = true
		}
		byDistinct[len(seen)]++
	}
	return byDistinct
}

// Within 4 standard errors over 6,000 triples under a fixed seed.
func distinctOutcomes(t *testing.T, it identity) {
	const n = 6000
	var in struct {
		P []float64
		N []float64
	}
	var want struct {
		E []float64 `json:"E_distinct"`
	}
	it.read(t, &in, &want)
	for i, draws := range in.N {
		e := 0.0
		for _, p := range in.P {
			e += 1 - math.Pow(1-p, draws)
		}
		near(t, "the formula", e, want.E[i], it.AbsTol)
	}
	c := triples(t, in.P, n)
	three := want.E[slices.Index(in.N, 3)]
	// Var(D) = 0.16 + 0.66·4 + 0.18·9 - 2.02² = 0.3396
	near(t, "the mean of distinct tokens", (c[1]+2*c[2]+3*c[3])/n, three, 4*math.Sqrt(0.3396/n))
}

func threeRuns(t *testing.T, it identity) {
	const n = 6000
	var in struct{ P []float64 }
	var want struct {
		Same      float64 `json:"all_same"`
		Different float64 `json:"all_different"`
		Two       float64 `json:"two_alike"`
	}
	it.read(t, &in, &want)
	c := triples(t, in.P, n)
	for i, p := range []float64{want.Same, want.Two, want.Different} {
		near(t, "the share", c[i+1]/n, p, 4*math.Sqrt(p*(1-p)/n))
	}
}

func greedyCycles(t *testing.T, it identity) {
	var in struct {
		Next  map[string]int32
		Start int32
	}
	var want struct {
		Path  []int32
		Tail  int `json:"tail_length"`
		Cycle int `json:"cycle_length"`
	}
	it.read(t, &in, &want)
	order := map[int32]int32{}
	for from, to := range in.Next {
		order[int32(from[0]-'0')] = to
	}
	v := len(in.Next)
	path, first := []int32{in.Start}, map[int32]int{in.Start: 0}
	tail, cycle := 0, 0
	for cycle == 0 && len(path) <= v+1 { // V^1 steps at most
		row := make([]float64, v)
		row[order[path[len(path)-1]]] = 1
		item := &sampler.Item{Scores: logits(row)}
		if err := newSet(t).Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage("greedy")}, Items: []*sampler.Item{item}}); err != nil {
			t.Fatal(err)
		}
		if at, again := first[item.Chosen]; again {
			tail, cycle = at, len(path)-at
		}
		first[item.Chosen] = len(path)
		path = append(path, item.Chosen)
	}
	if !slices.Equal(path, want.Path) || tail != want.Tail || cycle != want.Cycle {
		t.Errorf("path %v, tail %d, cycle %d; want %+v", path, tail, cycle, want)
	}
}

func greenScore(t *testing.T, it identity) {
	var in struct{ Cases [][3]float64 }
	var want struct {
		Z, P []float64
		Tail float64 `json:"exact_tail_75_100"`
	}
	it.read(t, &in, &want)
	for i, c := range in.Cases {
		z := watermark.GreenZ(int(c[0]), int(c[1]), c[2])
		near(t, "z", z, want.Z[i], it.AbsTol)
		near(t, "p", math.Exp(watermark.NormalTail(z)), want.P[i], it.AbsTol)
	}
	near(t, "the exact tail", math.Exp(watermark.BinomialTail(75, 100, 0.5)), want.Tail, it.AbsTol)
}

func greenBias(t *testing.T, it identity) {
	var in struct {
		Gamma []float64
		Delta float64
	}
	var want struct {
		P []float64 `json:"p_green"`
	}
	it.read(t, &in, &want)
	for i, gamma := range in.Gamma {
		item := &sampler.Item{Scores: dist.NewDense(make([]float32, 400)), History: []int32{7}, Prompt: 1}
		call := &sampler.Call{Stages: []sampler.Stage{stage("watermark_green_list", "ratio", gamma, "bias", in.Delta)}, Items: []*sampler.Item{item}}
		if err := newSet(t).Run(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		d, err := dist.NewSampling(&item.Scores)
		if err != nil {
			t.Fatal(err)
		}
		green := 0.0
		for id, v := range item.Scores.Values {
			if v > 0 {
				green += d.P(int32(id))
			}
		}
		near(t, "the mass of the green tokens", green, want.P[i], it.AbsTol)
	}
}

func mirostatTelescopes(t *testing.T, it identity) {
	var in struct {
		Tau      float64   `json:"tau_bits"`
		Eta      float64   `json:"eta"`
		Surprise []float64 `json:"surprise_bits"`
	}
	var want struct {
		Mu   []float64
		Mean float64
	}
	it.read(t, &in, &want)
	item := &sampler.Item{}
	mu, sum := []float64{2 * in.Tau}, 0.0
	for step, s := range in.Surprise {
		p := math.Exp2(-s)
		item.Scores, item.Step = logs([]float64{p, 1 - p}), step
		item.Uniforms = [][]float64{{0}} // draws token 0
		call := &sampler.Call{Stages: []sampler.Stage{stage("mirostat_v2", "tau", in.Tau, "eta", in.Eta)}, Items: []*sampler.Item{item}, Ledger: true}
		if err := newSet(t).Run(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if item.Chosen != 0 || len(item.States[0]) != 8 {
			t.Fatalf("step %d chose %d, state %v", step, item.Chosen, item.States[0])
		}
		mu = append(mu, math.Float64frombits(binary.LittleEndian.Uint64(item.States[0])))
		sum += -math.Log2(item.Changes[0].ProbAfter)
	}
	n := float64(len(in.Surprise))
	for i, m := range want.Mu {
		near(t, "mu", mu[i], m, rounding)
	}
	near(t, "the mean surprise", sum/n, want.Mean, rounding)
	near(t, "the telescope", in.Tau+(mu[0]-mu[len(mu)-1])/(in.Eta*n), sum/n, 1e-12)
}

func divergenceIsBounded(t *testing.T, it identity) {
	var in struct{ P, Q []float64 }
	var want struct{ JSD, Bound float64 }
	it.read(t, &in, &want)
	flat := []float64{0, 0, 0}
	p, _ := after(t, logits(flat), stage("suppress_tokens", "suppress_tokens", "2"))
	q, _ := after(t, logits(flat), stage("suppress_tokens", "suppress_tokens", "0"))
	probs(t, "p", p, in.P, 0)
	probs(t, "q", q, in.Q, 0)
	js, err := dist.JS(p.Distribution, q.Distribution)
	back, err2 := dist.JS(q.Distribution, p.Distribution)
	if err != nil || err2 != nil || js != back {
		t.Fatalf("%v, %v; %v, %v", js, back, err, err2)
	}
	near(t, "JSD", js*math.Ln2, want.JSD, it.AbsTol)
	near(t, "its bound", math.Ln2, want.Bound, it.AbsTol)
	if kl, err := dist.KL(p.Distribution, q.Distribution); err != nil || !math.IsInf(kl, 1) {
		t.Errorf("KL is %v, %v", kl, err)
	}
}

func signAwarePenalty(t *testing.T, it identity) {
	var in struct {
		Theta  float64
		Logits []float64
	}
	var want struct{ Out []float64 }
	it.read(t, &in, &want)
	for _, st := range []sampler.Stage{stage("repetition_penalty", "repetition_penalty", in.Theta), stage("penalties", "repeat", in.Theta)} {
		item := &sampler.Item{Scores: logits(in.Logits), History: []int32{0, 1, 0}} // token 0 twice: penalised once
		if err := newSet(t).Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{st}, Items: []*sampler.Item{item}}); err != nil {
			t.Fatal(err)
		}
		for i, w := range want.Out {
			near(t, st.Sampler, float64(item.Scores.Values[i]), w, math.Abs(w)*0x1p-24)
		}
	}
}

func countedPenalties(t *testing.T, it identity) {
	var in struct {
		Z, Count  float64
		Frequency float64 `json:"alpha_f"`
		Presence  float64 `json:"alpha_p"`
		DRY       struct {
			Multiplier, Base float64
			Match, Allowed   int
		}
	}
	var want struct {
		Z   float64 `json:"z_out"`
		DRY float64 `json:"dry_penalty"`
	}
	it.read(t, &in, &want)
	run := func(item *sampler.Item, stages ...sampler.Stage) float64 {
		item.Scores = logits([]float64{in.Z, 0, 0, 0, 0, 0, 0, 0})
		if err := newSet(t).Run(t.Context(), &sampler.Call{Stages: stages, Items: []*sampler.Item{item}}); err != nil {
			t.Fatal(err)
		}
		return float64(item.Scores.Values[0])
	}
	h := slices.Repeat([]int32{0}, int(in.Count))
	near(t, "in one stage", run(&sampler.Item{History: h}, stage("penalties", "frequency", in.Frequency, "presence", in.Presence)), want.Z, 0x1p-23)
	near(t, "in two", run(&sampler.Item{History: h}, stage("frequency_penalty", "frequency_penalty", in.Frequency),
		stage("presence_penalty", "presence_penalty", in.Presence)), want.Z, 0x1p-22)
	// 1 2 3 4 5 stands before token 0 and at the end: a match of five.
	again := &sampler.Item{History: []int32{7, 1, 2, 3, 4, 5, 0, 6, 1, 2, 3, 4, 5}}
	got := run(again, stage("dry", "multiplier", in.DRY.Multiplier, "base", in.DRY.Base, "allowed_length", int64(in.DRY.Allowed), "breakers", ""))
	near(t, "DRY", in.Z-got, want.DRY, 0x1p-22)
}

func goodnessOfFit(t *testing.T, it identity) {
	var in struct {
		P, Observed []float64
		N           float64
	}
	var want struct {
		Chi2     float64
		DF       int
		Critical float64 `json:"critical_001"`
	}
	it.read(t, &in, &want)
	chi, df := chiSquared(in.Observed, func(id int32) float64 { return in.P[id] })
	near(t, "X²", chi, want.Chi2, it.AbsTol)
	if df != want.DF || math.Abs(want.Critical-limit01) > 1e-4 {
		t.Errorf("%d degrees of freedom, limit %v", df, limit01)
	}
}

func guidance(t *testing.T, it identity) {
	var in struct {
		U, C []float64
		S    float64
	}
	var want struct{ Out []float64 }
	it.read(t, &in, &want)
	run := func(scale float64) dist.Sampling {
		item := &sampler.Item{Scores: logits(in.C), Passes: []dist.Scores{logits(in.U)}}
		if err := newSet(t).Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage("cfg", "scale", scale)}, Items: []*sampler.Item{item}}); err != nil {
			t.Fatal(err)
		}
		d, err := dist.NewSampling(&item.Scores)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for scale, l := range map[float64][]float64{in.S: want.Out, 1: in.C, 0: in.U} {
		expect, _ := after(t, logits(l))
		got := run(scale)
		for id := range in.C {
			near(t, "guided", got.P(int32(id)), expect.P(int32(id)), rounding)
		}
	}
	// An amateur that is the expert leaves the plausible tokens equally likely.
	item := &sampler.Item{Scores: logits([]float64{2, 1.5, 1, -9}), Passes: []dist.Scores{logits([]float64{2, 1.5, 1, -9})}}
	if err := newSet(t).Run(t.Context(), &sampler.Call{Stages: []sampler.Stage{stage("contrastive")}, Items: []*sampler.Item{item}}); err != nil {
		t.Fatal(err)
	}
	d, err := dist.NewSampling(&item.Scores)
	if err != nil {
		t.Fatal(err)
	}
	probs(t, "contrastive", d, []float64{1. / 3, 1. / 3, 1. / 3, 0}, rounding)
}

// Survivors are divided by their sum; a second softmax would give the wrong
// numbers.
func renormalising(t *testing.T, it identity) {
	var in struct{ Kept []float64 }
	var want struct{ Right, Wrong []float64 }
	it.read(t, &in, &want)
	row := append(slices.Clone(in.Kept), 1-in.Kept[0]-in.Kept[1])
	for _, st := range []sampler.Stage{stage("top_k", "top_k", int64(2)), stage("top_p", "top_p", 0.7), stage("min_p", "min_p", 0.5)} {
		d, _ := after(t, logs(row), st)
		probs(t, st.Sampler, d, want.Right, rounding)
		if math.Abs(d.P(0)-want.Wrong[0]) < 0.01 {
			t.Errorf("%s applies softmax to probabilities", st.Sampler)
		}
	}
}
