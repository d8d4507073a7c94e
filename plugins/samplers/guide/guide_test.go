package guide

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var negInf = float32(math.Inf(-1))

func with(pairs ...any) (out param.Values) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, param.Value{Name: pairs[i].(string), Value: pairs[i+1], Origin: "test"})
	}
	return out
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// run applies a stage to copies of a row and of passes.
func run(t testing.TB, name string, row dist.Scores, values param.Values, passes ...dist.Scores) (dist.Scores, error) {
	t.Helper()
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	it := &sampler.Item{Scores: row.Clone()}
	for _, p := range passes {
		it.Passes = append(it.Passes, p.Clone())
	}
	err = set.Run(context.Background(), &sampler.Call{
		Stages: []sampler.Stage{{Sampler: name, Values: values}}, Items: []*sampler.Item{it}, Ledger: true,
	})
	for i, p := range passes {
		if !slices.EqualFunc(p.Values, it.Passes[i].Values, sameBits) || !slices.Equal(p.IDs, it.Passes[i].IDs) {
			t.Errorf("%s changed pass %d", name, i+1)
		}
	}
	return it.Scores, err
}

func must(t testing.TB, name string, row dist.Scores, values param.Values, passes ...dist.Scores) dist.Scores {
	t.Helper()
	s, err := run(t, name, row, values, passes...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logP returns natural-log probabilities by token, -Inf for those not in the
// support.
func logP(s dist.Scores) []float64 {
	out, total := make([]float64, s.Vocab), 0.0
	for i := range out {
		out[i] = math.Inf(-1)
	}
	top := float64(slices.Max(s.Values))
	for i, v := range s.Values {
		out[s.ID(i)] = float64(v) - top
		total += math.Exp(float64(v) - top)
	}
	for i := range out {
		out[i] -= math.Log(total)
	}
	return out
}

// same compares the distribution of a row with natural-log weights. Scores are
// float32 of up to some hundreds.
func same(t *testing.T, what string, s dist.Scores, weights []float64) {
	t.Helper()
	got := logP(s)
	top, total := math.Inf(-1), 0.0
	for _, w := range weights {
		top = max(top, w)
	}
	for _, w := range weights {
		total += math.Exp(w - top)
	}
	for id, w := range weights {
		if p, want := math.Exp(got[id]), math.Exp(w-top)/total; !(math.Abs(p-want) <= 1e-4*want+1e-9) {
			t.Fatalf("%s: token %d has probability %v, want %v", what, id, p, want)
		}
	}
}

func dense(v ...float32) dist.Scores { return dist.NewDense(v) }

func random(r *rand.Rand, n int) dist.Scores {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * 2)
	}
	return dist.NewDense(v)
}

func wantError(t *testing.T, err error, kind fault.Kind, says string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one of kind %v that says %q", err, kind, says)
	}
}

// The reference cases of guidance; the tolerances are theirs. The processor of
// transformers rejects a scale of 1, which is off here.
func TestAnswersOfTransformers(t *testing.T) {
	data, err := os.ReadFile("../testdata/golden/guidance.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID, Method string
			Params     struct {
				Scale                      float64
				Conditional, Unconditional []float32
			}
			Answers []struct {
				Outcome       string
				Probs, Logits []float64
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Cases) != 6 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		s := must(t, "cfg", dense(c.Params.Conditional...), with("scale", c.Params.Scale), dense(c.Params.Unconditional...))
		a := c.Answers[0]
		if a.Outcome == "rejected" {
			if !slices.Equal(s.Values, c.Params.Conditional) {
				t.Errorf("%s: a scale of 1 changed the row", c.ID)
			}
			continue
		}
		for id, want := range a.Probs {
			if got := math.Exp(logP(s)[id]); !(math.Abs(got-want) <= 2e-5*want+2e-6) {
				t.Errorf("%s: token %d has probability %v, want %v", c.ID, id, got, want)
			}
		}
		if !strings.Contains(c.ID, "log-softmax") || c.Params.Scale == 1 {
			continue
		}
		for id, want := range a.Logits {
			if got := float64(s.Values[id]); !(math.Abs(got-want) <= 2e-6*math.Abs(want)+2e-6) {
				t.Errorf("%s: token %d has score %v, want %v", c.ID, id, got, want)
			}
		}
	}
}

// ID-39: the worked numbers; s = 1 returns c to the bit, s = 0 returns u.
func TestGuidanceIdentity(t *testing.T) {
	c, u := dense(2, 0), dense(0.5, 1)
	same(t, "s = 1.5", must(t, "cfg", c, with("scale", 1.5), u), []float64{2.75, -0.5})
	if s := must(t, "cfg", c, with("scale", 1.0), u); !slices.Equal(s.Values, c.Values) {
		t.Errorf("s = 1: %v", s.Values)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		c, u := random(r, 50), random(r, 50)
		pc, pu := logP(c), logP(u)
		same(t, "s = 0", must(t, "cfg", c, with("scale", 0.0), u), pu)
		for _, a := range []float64{0.3, 1, 2.5} {
			want := make([]float64, 50)
			for i := range want {
				want[i] = (1+a)*pc[i] - a*pu[i]
			}
			same(t, "context-aware", must(t, "context_aware", c, with("alpha", a), u), want)
			same(t, "guidance of 1+a", must(t, "cfg", c, with("scale", 1+a), u), want)
		}
	}
}

func TestContrastive(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 20 {
		e, a := random(r, 60), random(r, 60)
		pe, pa := logP(e), logP(a)
		top := slices.Max(pe)
		for _, alpha := range []float64{0, 0.1, 0.5, 1} {
			for _, beta := range []float64{0, 0.5, 1} {
				want, equal := make([]float64, 60), make([]float64, 60)
				for i := range want {
					want[i], equal[i] = math.Inf(-1), math.Inf(-1)
					if pe[i] >= top+math.Log(alpha) {
						want[i], equal[i] = pe[i]-beta*pa[i], 0
					}
				}
				same(t, "difference", must(t, "contrastive", e, with("alpha", alpha, "beta", beta), a), want)
				if beta == 1 {
					same(t, "an amateur that is the expert", must(t, "contrastive", e, with("alpha", alpha), e), equal)
				}
			}
		}
	}
}

func TestOffChangesNothing(t *testing.T) {
	row, pass := dense(1, negInf, 0.3, -0), dense(3, 2, 1, 0)
	for name, values := range map[string]param.Values{
		"cfg": with("scale", 1.0), "context_aware": with("alpha", 0.0), "contrastive": with("alpha", 0.0, "beta", 0.0),
	} {
		s := must(t, name, row, values, pass)
		for i, v := range row.Values {
			if s.IDs != nil || math.Float32bits(s.Values[i]) != math.Float32bits(v) {
				t.Errorf("%s changed the row to %+v", name, s)
			}
		}
	}
}

// layers returns eight passes, of which the k-th is given.
func layers(k int, given, others dist.Scores) []dist.Scores {
	out := slices.Repeat([]dist.Scores{others}, MostLayers)
	out[k] = given
	return out
}

// The layer that differs most is chosen, whichever it is, and only among the
// candidates.
func TestDoLaChoosesTheFarthestLayer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for k := range MostLayers {
		last, far := random(r, 40), random(r, 40)
		near := last.Clone()
		near.Values[3] += 0.1
		top, pl, pf, pn := slices.Max(logP(last)), logP(last), logP(far), logP(near)
		against := func(other []float64) []float64 {
			want := make([]float64, 40)
			for i := range want {
				if want[i] = math.Inf(-1); pl[i] >= top+math.Log(0.1) {
					want[i] = pl[i] - other[i]
				}
			}
			return want
		}
		same(t, "the far layer", must(t, "dola", last, nil, layers(k, far, near)...), against(pf))
		if k > 0 {
			same(t, "the candidates", must(t, "dola", last, with("layers", int64(k)), layers(k, far, near)...), against(pn))
		}
	}
}

func TestDivergence(t *testing.T) {
	p, q := []float64{0.5, 0.5, 0}, []float64{math.Log(0.5), math.Inf(-1), math.Log(0.5)}
	// Half of each is shared: ln 2 / 2.
	if got := divergence(p, q); !(math.Abs(got-math.Ln2/2) <= 1e-15) {
		t.Errorf("%v", got)
	}
	if got := divergence([]float64{1, 0}, []float64{math.Inf(-1), 0}); !(math.Abs(got-math.Ln2) <= 1e-15) {
		t.Errorf("nothing shared: %v", got)
	}
	if got := divergence([]float64{0.5, 0.5}, []float64{-3, -3}); got != 0 {
		t.Errorf("the same: %v", got)
	}
	if got := divergence([]float64{1}, []float64{math.Inf(-1)}); got != math.Ln2 {
		t.Errorf("an empty layer: %v", got)
	}
}

// What a pass lacks: removed where the pass counts in favour, taken as its least
// likely token where it counts against.
func TestTokensThatAPassLacks(t *testing.T) {
	row := dense(1, 0, 0, 0)
	pass := dist.Scores{Vocab: 4, IDs: []int32{0, 2, 3}, Values: []float32{0, negInf, -2}}
	pr, pp := logP(row), logP(pass)
	same(t, "in favour", must(t, "cfg", row, with("scale", 0.5), pass),
		[]float64{0.5*pr[0] + 0.5*pp[0], math.Inf(-1), math.Inf(-1), 0.5*pr[3] + 0.5*pp[3]})
	least := pp[3]
	same(t, "against", must(t, "cfg", row, with("scale", 3.0), pass),
		[]float64{3*pr[0] - 2*pp[0], 3*pr[1] - 2*least, 3*pr[2] - 2*least, 3*pr[3] - 2*least})
	_, err := run(t, "cfg", dense(negInf, 0, 0, negInf), with("scale", 0.5), pass)
	wantError(t, err, fault.Data, "no token is left")
	masked := must(t, "cfg", dense(1, negInf, 0, 0), with("scale", 2.0), dense(0, 5, 0, 0))
	if masked.Has(1) {
		t.Error("a removed token came back")
	}
	// A row that lists tokens only equals its dense twin.
	sparse := dist.Scores{Vocab: 4, IDs: []int32{0, 2, 3}, Values: []float32{1, 0, 0}}
	for _, name := range []string{"cfg", "contrastive", "context_aware"} {
		settings := with("scale", 2.0)
		if name != "cfg" {
			settings = nil
		}
		a, b := must(t, name, sparse, settings, dense(0, 5, 0.5, 0)), must(t, name, dense(1, negInf, 0, 0), settings, dense(0, 5, 0.5, 0))
		for id := range int32(4) {
			if a.Has(id) != b.Has(id) || a.Has(id) && a.Values[a.Index(id)] != b.Values[b.Index(id)] {
				t.Errorf("%s: %+v against %+v", name, a, b)
			}
		}
	}
}

func TestBadPasses(t *testing.T) {
	row := dense(1, 0, 0)
	tail := dist.Scores{Vocab: 3, IDs: []int32{0}, Values: []float32{float32(math.Log(0.9))}, Unlisted: 0.1}
	rows := []struct {
		name string
		row  dist.Scores
		pass dist.Scores
		says string
	}{
		{"another vocabulary", row, dense(1, 2), "its vocabulary has 2 tokens, that of the row 3"},
		{"NaN", row, dense(1, float32(math.NaN()), 0), "token 1 has score NaN"},
		{"nothing in it", row, dense(negInf, negInf, negInf), "no token is left"},
		{"not listed and not known", row, tail, "does not list token 1"},
		{"an unlisted tail in the row", tail, row, "unlisted"},
	}
	for _, r := range rows {
		for _, name := range []string{"cfg", "contrastive", "context_aware", "dola"} {
			values := param.Values(nil)
			if name == "cfg" {
				values = with("scale", 2.0)
			}
			if name == "contrastive" || name == "dola" {
				values = with("alpha", 0.0)
			}
			_, err := run(t, name, r.row, values, layers(0, r.pass, r.pass)...)
			wantError(t, err, fault.Data, r.says)
		}
	}
	_, err := run(t, "cfg", row, with("scale", 2.0))
	wantError(t, err, fault.Plugin, "further rows")
	_, err = run(t, "cfg", dense(3e38, -3e38), with("scale", 1e6), dense(0, 0))
	if err != nil { // the likeliest token has ln p = 0, so nothing grows
		t.Errorf("%v", err)
	}
}

func TestEnormousScores(t *testing.T) {
	_, err := run(t, "cfg", dense(0, 0), with("scale", 1e6), dense(0, -3e38))
	wantError(t, err, fault.Data, "too large")
	s := must(t, "contrastive", dense(3e38, -3e38), with("alpha", 0.0), dense(-3e38, -3e38))
	if !s.Has(0) || !s.Has(1) {
		t.Errorf("%+v", s)
	}
}
