package samplers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/sampler"
)

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
