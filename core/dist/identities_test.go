package dist

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

type identity struct {
	ID, Title        string
	Inputs, Expected json.RawMessage
	AbsTol           float64 `json:"abs_tol"`
}

// identities reads testdata/identities.json, whose note says where it is from.
func identities(t *testing.T) map[string]identity {
	t.Helper()
	data, err := os.ReadFile("testdata/identities.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Items []identity }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]identity{}
	for _, it := range file.Items {
		out[it.ID] = it
	}
	if len(out) != 9 {
		t.Fatalf("%d identities, want 9", len(out))
	}
	return out
}

func (it identity) read(t *testing.T, in, want any) {
	t.Helper()
	if err := json.Unmarshal(it.Inputs, in); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(it.Expected, want); err != nil {
		t.Fatal(err)
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s: got %.17g, want %.17g within %g", what, got, want, tol)
	}
}

// row turns float64 scores into a dense row; the inputs of the identities are
// exact in float32.
func row(scores ...float64) *Scores {
	v := make([]float32, len(scores))
	for i, x := range scores {
		v[i] = float32(x)
	}
	s := NewDense(v)
	return &s
}

func mustSoftmax(t *testing.T, s *Scores) Distribution {
	t.Helper()
	d, err := Softmax(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustProbs(t *testing.T, p ...float64) Distribution {
	t.Helper()
	d, err := FromProbabilities(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func probsNear(t *testing.T, what string, d Distribution, want []float64, tol float64) {
	t.Helper()
	for i, w := range want {
		near(t, what, d.P(int32(i)), w, tol)
	}
}

func shifted(s *Scores, by float32) *Scores {
	c := s.Clone()
	for i := range c.Values {
		c.Values[i] += by
	}
	return &c
}

func TestSoftmaxIsUnchangedByAShift(t *testing.T) {
	it := identities(t)["ID-01"]
	var in struct {
		Logits, Large []float64
		Shift         float32
	}
	var want struct {
		P       []float64
		Shifted []float64 `json:"p_shifted"`
		Large   []float64 `json:"p_large"`
	}
	it.read(t, &in, &want)
	base := row(in.Logits...)
	probsNear(t, "plain", mustSoftmax(t, base), want.P, it.AbsTol)
	for _, by := range []float32{in.Shift, -in.Shift} {
		d := mustSoftmax(t, shifted(base, by))
		probsNear(t, "shifted", d, want.Shifted, it.AbsTol)
		for i := range want.P {
			if a, b := d.P(int32(i)), mustSoftmax(t, base).P(int32(i)); a != b {
				t.Errorf("shift %g changes token %d from %.17g to %.17g", by, i, b, a)
			}
		}
	}
	large := mustSoftmax(t, row(in.Large...))
	probsNear(t, "large", large, want.Large, it.AbsTol)
	if large.P(2) != 0 || large.Support() != 3 {
		t.Errorf("the underflowing token has P %g in a support of %d, want exactly 0 in 3", large.P(2), large.Support())
	}
	h, err := large.EntropyBits()
	if err != nil || math.IsNaN(h) {
		t.Errorf("entropy %v, %v", h, err)
	}
	near(t, "log P of the underflowing token", large.LogP(2), -2001-math.Log1p(math.Exp(-1)), 1e-9)
}

func TestEntropyRisesWithTemperature(t *testing.T) {
	it := identities(t)["ID-02"]
	var in struct{ Logits, T []float64 }
	var want struct {
		H   []float64 `json:"H_nats"`
		Hot float64   `json:"H_limit_hot"`
	}
	it.read(t, &in, &want)
	at := func(temperature float64) float64 {
		scaled := make([]float64, len(in.Logits))
		for i, l := range in.Logits {
			scaled[i] = l / temperature
		}
		h, err := mustSoftmax(t, row(scaled...)).EntropyBits()
		if err != nil {
			t.Fatal(err)
		}
		return h * math.Ln2
	}
	last := 0.0
	for i, temperature := range in.T {
		h := at(temperature)
		near(t, "entropy", h, want.H[i], it.AbsTol)
		if h < last {
			t.Errorf("entropy falls to %g at T = %g", h, temperature)
		}
		last = h
	}
	near(t, "the hot limit", at(1e30), want.Hot, it.AbsTol)
	if h := at(1e-3); h != 0 {
		t.Errorf("the cold limit without ties is %g, want 0", h)
	}
}

// keep leaves the listed tokens of a row, as a truncation does.
func keep(s *Scores, ids ...int32) *Scores {
	c := s.Clone()
	c.Keep(func(i int) bool {
		for _, id := range ids {
			if c.ID(i) == id {
				return true
			}
		}
		return false
	}, nil)
	return &c
}

func TestTruncationIdentities(t *testing.T) {
	all := identities(t)
	var in struct{ P []float64 }
	type kept struct {
		Mass, KL float64
		Q        []float64
	}
	var five struct{ TopK, TopP kept }
	all["ID-05"].read(t, &in, &five)
	var six struct {
		TopK float64 `json:"tv_topk"`
		TopP float64 `json:"tv_topp"`
	}
	all["ID-06"].read(t, &in, &six)
	p := mustProbs(t, in.P...)
	for _, r := range []struct {
		name string
		want kept
		tv   float64
	}{{"top_k", five.TopK, six.TopK}, {"top_p", five.TopP, six.TopP}} {
		t.Run(r.name, func(t *testing.T) {
			q := mustProbs(t, r.want.Q...)
			kl, err1 := KL(q, p)
			tv, err2 := TV(q, p)
			m, err3 := KeptMass(q, p)
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			near(t, "KL", kl*math.Ln2, r.want.KL, 1e-12)
			near(t, "KL against the kept mass", kl, -math.Log2(m), 1e-12)
			near(t, "TV", tv, r.tv, 1e-12)
			near(t, "kept mass", m, r.want.Mass, 1e-12)
		})
	}
}

func TestEntropyGrouping(t *testing.T) {
	it := identities(t)["ID-07"]
	var in struct {
		P    []float64
		Keep []int32
	}
	var want struct {
		H       float64 `json:"H_p"`
		Binary  float64 `json:"h_m"`
		Kept    float64 `json:"H_kept"`
		Dropped float64 `json:"H_dropped"`
	}
	it.read(t, &in, &want)
	whole, _ := mustProbs(t, in.P...).EntropyBits()
	near(t, "whole", whole*math.Ln2, want.H, it.AbsTol)
	// The ledger must find the same parts from log-probability scores; float32
	// scores are exact to 6e-8 relative, which bounds the entropies by 1e-6.
	scores := make([]float64, len(in.P))
	for i, p := range in.P {
		scores[i] = math.Log(p)
	}
	before := row(scores...)
	var ws Workspace
	c, err := Compare(before, keep(before, in.Keep...), &ws)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "kept", c.EntropyAfter*math.Ln2, want.Kept, 1e-6)
	m := c.KeptMass
	near(t, "binary entropy", -m*math.Log(m)-(1-m)*math.Log(1-m), want.Binary, 1e-6)
	near(t, "sum of the parts", want.Binary+m*want.Kept+(1-m)*want.Dropped, c.EntropyBefore*math.Ln2, 1e-6)
}

func TestDroppingTheHeadCanRaiseEntropy(t *testing.T) {
	it := identities(t)["ID-08"]
	var in struct{ P []float64 }
	var want struct {
		Before float64 `json:"H_before"`
		After  float64 `json:"H_after_head_removed"`
	}
	it.read(t, &in, &want)
	before := row(math.Log(in.P[0]), math.Log(in.P[1]), math.Log(in.P[2]))
	var ws Workspace
	c, err := Compare(before, keep(before, 1, 2), &ws)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "before", c.EntropyBefore*math.Ln2, want.Before, 1e-6) // float32 scores
	near(t, "after", c.EntropyAfter*math.Ln2, want.After, 1e-12)   // two equal scores are exact
	if err := c.Check(); err != nil || !c.Truncation {
		t.Errorf("truncation %v, %v", c.Truncation, err)
	}
}

func TestAcceptanceIsOneMinusTV(t *testing.T) {
	it := identities(t)["ID-16"]
	var in struct{ Target, Draft []float64 }
	var want struct{ Alpha, TV float64 }
	it.read(t, &in, &want)
	a, b := mustProbs(t, in.Target...), mustProbs(t, in.Draft...)
	tv, err := TV(a, b)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "TV", tv, want.TV, it.AbsTol)
	near(t, "acceptance", 1-tv, want.Alpha, it.AbsTol)
	back, _ := TV(b, a)
	near(t, "TV is symmetric", back, tv, 0)
}

func TestJensenShannonIsFiniteWhereKLIsNot(t *testing.T) {
	it := identities(t)["ID-28"]
	var in struct{ P, Q []float64 }
	var want struct{ JSD, Bound float64 }
	it.read(t, &in, &want)
	p, q := mustProbs(t, in.P...), mustProbs(t, in.Q...)
	js, err := JS(q, p)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "JS", js*math.Ln2, want.JSD, it.AbsTol)
	back, _ := JS(p, q)
	near(t, "JS is symmetric", back, js, 0)
	kl, err := KL(p, q)
	if !math.IsInf(kl, 1) || err != nil {
		t.Errorf("KL = %v, %v; want +Inf without an error", kl, err)
	}
	far, _ := JS(mustProbs(t, 1, 0), mustProbs(t, 0, 1))
	near(t, "disjoint supports reach the bound", far*math.Ln2, want.Bound, it.AbsTol)
}

func TestSoftmaxIsNotUsedAsRenormalisation(t *testing.T) {
	it := identities(t)["ID-40"]
	var in struct{ Kept []float64 }
	var want struct{ Right, Wrong []float64 }
	it.read(t, &in, &want)
	before := row(math.Log(0.5), math.Log(0.3), math.Log(0.2))
	after := mustSoftmax(t, keep(before, 0, 1))
	for i := range in.Kept {
		near(t, "renormalised", after.P(int32(i)), want.Right[i], 1e-7) // float32 scores
		if math.Abs(after.P(int32(i))-want.Wrong[i]) < 1e-3 {
			t.Error("a second softmax was applied to the probabilities")
		}
	}
}
