package samplers

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/conform"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
)

// triples draws n times three tokens by the sampler and counts by the number of
// distinct ones.
func triples(t *testing.T, p []float64, n int) (byDistinct [4]float64) {
	t.Helper()
	b := newBench(t)
	q := &conform.Question{Item: &sampler.Item{Scores: logs(p)}}
	q.Decl, _ = newSet(t).Lookup("sample")
	g := b.Random("triples")
	for range n {
		seen := map[int32]bool{}
		for range 3 {
			q.Item.Uniforms = [][]float64{{g.Float64()}}
			a := b.Run(q)[0]
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			seen[a.Chosen] = true
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
