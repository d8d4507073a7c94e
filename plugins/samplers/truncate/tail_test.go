package truncate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// tailCases are settings at which a rule decides among the listed tokens, or
// among those that are not.
var tailCases = []struct {
	s   sampler.Sampler
	set func(r *rand.Rand) []param.Setting
}{
	{TopK{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("k", 1+r.IntN(30))} }},
	{TopP{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("p", r.Float64())} }},
	{MinP{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("p", math.Exp(-6*r.Float64()))} }},
	{TopA{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("a", 4*r.Float64())} }},
	{Epsilon{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("epsilon", r.Float64()/10)} }},
	{Eta{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("epsilon", r.Float64()/10)} }},
	{TopNSigma{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("n", 2*r.Float64())} }},
	{Typical{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("p", r.Float64())} }},
	{TailFree{}, func(r *rand.Rand) []param.Setting { return []param.Setting{setting("z", r.Float64())} }},
	{TopH{}, func(r *rand.Rand) []param.Setting {
		return []param.Setting{setting("h", 1-r.Float64()), setting("cap", 1+r.IntN(25))}
	}},
	{XTC{}, func(r *rand.Rand) []param.Setting {
		return []param.Setting{setting("threshold", r.Float64()/5), setting("probability", 1)}
	}},
	{PLess{}, func(*rand.Rand) []param.Setting { return nil }},
	{PLessNorm{}, func(*rand.Rand) []param.Setting { return nil }},
	{MinK{}, func(*rand.Rand) []param.Setting { return nil }},
	{EES{}, func(*rand.Rand) []param.Setting { return nil }},
	{ConformalTopP{}, func(*rand.Rand) []param.Setting { return nil }},
}

// A row that lists the likeliest tokens only, with the mass of the rest, is cut
// as the whole row is, or refused. The ledger is not asked: what a stage leaves
// must be right without it.
func TestUnlistedTailIsExactOrRefused(t *testing.T) {
	if len(tailCases) != len(All()) {
		t.Errorf("%d samplers are tried of %d", len(tailCases), len(All()))
	}
	r := rand.New(rand.NewPCG(61, 62))
	for _, c := range tailCases {
		t.Run(c.s.Declare().Name, func(t *testing.T) {
			for range 400 {
				whole, listed := tailRow(r)
				set, err := c.s.Declare().Params.Resolve("test", "sampler", append(c.set(r), setting("min_keep", r.IntN(4))))
				if err != nil {
					t.Fatal(err)
				}
				apply := func(s *dist.Scores) error {
					return c.s.Apply(&sampler.Row{Scores: s, Chosen: -1, Uniforms: []float64{0}}, set)
				}
				want := whole.Clone()
				if err := apply(&want); err != nil {
					t.Fatal(err)
				}
				got := listed.Clone()
				if err := apply(&got); err != nil {
					if fault.KindOf(err) != fault.Data {
						t.Fatalf("a %v error: %v", fault.KindOf(err), err)
					}
					continue
				}
				same(t, set, &want, &got)
			}
		})
	}
}

// tailRow returns a row of log probabilities, and what a backend that lists the
// likeliest of them makes of it.
func tailRow(r *rand.Rand) (whole, listed dist.Scores) {
	v := make([]float32, 4+r.IntN(60))
	for i := range v {
		v[i] = float32(r.NormFloat64() * (0.3 + 2*r.Float64()))
	}
	whole = dist.NewDense(v)
	d := shapeOf(&whole)
	for i := range v {
		v[i] -= float32(d.top + math.Log(d.total))
	}
	n := 1 + r.IntN(min(20, len(v)-1))
	c, _ := kLargest(v, n)
	listed = whole.Clone()
	listed.KeepBest(c.floor, c.ties, c.n)
	mass := 0.0
	for _, x := range listed.Values {
		mass += math.Exp(float64(x))
	}
	listed.Unlisted = 1 - mass
	return whole, listed
}

// same fails when a token has a probability in one row that it has not in the
// other. The scores are float32 logarithms: 1e-6 is some of their roundings.
func same(t *testing.T, set param.Values, want, got *dist.Scores) {
	t.Helper()
	w, err := dist.NewSampling(want)
	if err != nil {
		t.Fatal(err)
	}
	if got.Unlisted > 0 {
		var ws dist.Workspace
		if err := ws.Start(got); err != nil {
			t.Fatalf("%v leaves a tail that does not fit: %v", set, err)
		}
		for i, v := range got.Values {
			if p := w.P(got.ID(i)); !(math.Abs(math.Exp(float64(v))-p) <= 1e-5*p) {
				t.Fatalf("%v: token %d has %v, want %v", set, got.ID(i), math.Exp(float64(v)), p)
			}
		}
		return
	}
	g, err := dist.NewSampling(got)
	if err != nil {
		t.Fatal(err)
	}
	var a, b []int32
	w.Each(func(id int32, _ float64) bool { a = append(a, id); return true })
	g.Each(func(id int32, p float64) bool {
		b = append(b, id)
		if x := w.P(id); !(math.Abs(p-x) <= 1e-5*x) {
			t.Fatalf("%v: token %d has %v, want %v", set, id, p, x)
		}
		return true
	})
	if !slices.Equal(a, b) {
		t.Fatalf("%v: keeps %v, want %v", set, b, a)
	}
}
