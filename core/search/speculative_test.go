package search

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/generate"
)

// With greedy, any draft leads to the text that greedy gives (FR-28).
func TestSpeculationIsGreedyUnderGreedy(t *testing.T) {
	for i := range 5 {
		m := random(5, fmt.Sprint("target", i))
		m.end = []int32{4}
		one := task(t, m, "greedy", 12)
		want, err := one.sample(t, "greedy", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, draft := range []*table{random(5, fmt.Sprint("target", i)), random(5, "other")} {
			for _, gamma := range []int{1, 3, 20} {
				two := one
				if two.Draft, err = generate.New(t.Context(), draft); err != nil {
					t.Fatal(err)
				}
				r := run(t, two, fmt.Sprintf("speculative:gamma=%d", gamma))
				if got := r.Sequences[0].Tokens; !slices.Equal(got, want) {
					t.Errorf("gamma %d: %v, want %v", gamma, got, want)
				}
				if c := r.Speculation; c.Tokens != len(want) || c.TargetCalls > c.Tokens {
					t.Errorf("%+v for %d tokens", c, len(want))
				}
				if len(m.seqs) != 0 || len(draft.seqs) != 0 {
					t.Fatalf("%d and %d sequences are left", len(m.seqs), len(draft.seqs))
				}
			}
		}
	}
}

// chiSquared returns the statistic of samples against all the sequences there
// are, and how many samples are among these.
func chiSquared(exact, samples []Sequence) (chi, seen float64) {
	count := map[string]float64{}
	for _, s := range samples {
		count[fmt.Sprint(s.Tokens)]++
	}
	for _, s := range exact {
		got, want := count[fmt.Sprint(s.Tokens)], float64(len(samples))*math.Exp2(-float64(s.SamplingBits))
		chi += (got - want) * (got - want) / want
		seen += got
	}
	return chi, seen
}

// Texts of speculation are distributed as those of the model, whatever the draft
// and with the chain on both (ID-17): chi-squared over all two-token texts of
// 8,000 samples; 0.1 % limits of 15 and 8 degrees of freedom.
func TestSpeculationKeepsTheDistribution(t *testing.T) {
	for chainText, limit := range map[string]float64{"sample": 37.70, "headless": 26.12} {
		m := random(4, "law")
		one := task(t, m, chainText, 2)
		var err error
		if one.Draft, err = generate.New(t.Context(), random(4, "draft")); err != nil {
			t.Fatal(err)
		}
		exact := run(t, one, "enumerate:n=16").Sequences
		const n = 8000
		r := run(t, one, fmt.Sprintf("speculative:gamma=3,samples=%d", n))
		chi, seen := chiSquared(exact, r.Sequences)
		if !(chi <= limit) || seen != n {
			t.Errorf("%s: chi-squared %.2f, limit %.2f; %v of %d samples are possible", chainText, chi, limit, seen, n)
		}
	}
}

// A draft that rules out what stands proposes nothing, and a model that rules
// out a proposal judges it all the same.
func TestSpeculationWithAModelThatRefuses(t *testing.T) {
	never := func(m *table) *table { // token 2 has probability 0, and is refused in a context
		next := m.next
		m.next = func(c []int32) []float64 { p := next(c); p[2] = 0; return p }
		m.refuses = 2
		return m
	}
	for name, pair := range map[string][2]*table{
		"the draft":  {random(4, "a"), never(random(4, "b"))},
		"the target": {never(random(4, "a")), random(4, "b")},
	} {
		one := task(t, pair[0], "sample", 6)
		var err error
		if one.Draft, err = generate.New(t.Context(), pair[1]); err != nil {
			t.Fatal(err)
		}
		r := run(t, one, "speculative:samples=50")
		saw := false
		for _, s := range r.Sequences {
			saw = saw || slices.Contains(s.Tokens, 2)
			if len(s.Tokens) != 6 {
				t.Errorf("%s: %v", name, s.Tokens)
			}
		}
		if saw != (pair[0].refuses == 0) {
			t.Errorf("%s: the token of probability 0 was seen: %v", name, saw)
		}
	}
}

// ID-16 and ID-17 on one pair of distributions: acceptance 0.7, output p.
func TestJudge(t *testing.T) {
	of := func(p ...float64) dist.Distribution {
		v := make([]float32, len(p))
		for i, x := range p {
			v[i] = float32(math.Log(x))
		}
		row := dist.NewDense(v)
		d, err := dist.NewSampling(&row)
		if err != nil {
			t.Fatal(err)
		}
		return d.Distribution
	}
	p, q := of(0.5, 0.3, 0.2), of(0.2, 0.3, 0.5)
	// A grid of 100 points in each uniform stands for the integral; the borders
	// fall on multiples of a tenth, to the rounding of float32 scores.
	var out [3]float64
	accepted := 0.0
	const n = 200
	for x := range int32(3) {
		for i := range n {
			for j := range n {
				token, ok := Judge(p, q, x, (float64(i)+0.5)/n, (float64(j)+0.5)/n)
				out[token] += q.P(x) / n / n
				if ok {
					accepted += q.P(x) / n / n
				}
			}
		}
	}
	for i, want := range []float64{0.5, 0.3, 0.2} {
		if !(math.Abs(out[i]-want) <= 1e-6) {
			t.Errorf("token %d comes with %v, want %v", i, out[i], want)
		}
	}
	if !(math.Abs(accepted-0.7) <= 1e-6) {
		t.Errorf("acceptance %v, want 0.7", accepted)
	}
	if token, ok := Judge(p, p, 1, 0.999999, 0.5); token != 1 || !ok {
		t.Error("equal distributions refuse a token")
	}
}

// Without a draft model, proposals come from the context: the law stays, greedy
// stays greedy, and a text that repeats itself takes fewer calls of the model.
func TestLookup(t *testing.T) {
	m := random(4, "law")
	one := task(t, m, "sample", 3)
	one.Prompt = []byte("abcabcab")
	const n, limit = 8000, 103.4 // 63 degrees of freedom, p = 0.001
	exact := run(t, one, "enumerate:n=64").Sequences
	r := run(t, one, fmt.Sprintf("speculative:gamma=3,lookup=2,samples=%d", n))
	chi, seen := chiSquared(exact, r.Sequences)
	if !(chi <= limit) || seen != n {
		t.Errorf("chi-squared %.2f, limit %.2f; %v of %d samples are possible", chi, limit, seen, n)
	}
	if c := r.Speculation; c.DraftCalls != 0 || c.Proposed == 0 || c.Accepted == 0 || c.Accepted == c.Proposed {
		t.Errorf("%+v: no draft, and proposals of both fates, were expected", c)
	}

	loop := random(4, "loop")
	loop.next = func(c []int32) []float64 { // of completions; 0 1 2 3 0 1 2 3, nearly always
		p := []float64{0.01, 0.01, 0.01, 0.01}
		p[len(c)%4] = 0.97
		return p
	}
	two := task(t, loop, "greedy", 40)
	want, err := two.sample(t, "greedy", 0)
	if err != nil {
		t.Fatal(err)
	}
	r = run(t, two, "speculative:gamma=8,lookup=3")
	if got := r.Sequences[0].Tokens; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if c := r.Speculation; c.Accepted < c.Proposed-1 || c.TargetCalls > 12 {
		t.Errorf("%+v for a text that repeats itself", c)
	}
	if len(m.seqs) != 0 || len(loop.seqs) != 0 {
		t.Errorf("%d and %d sequences are left", len(m.seqs), len(loop.seqs))
	}
}

func TestFollowers(t *testing.T) {
	rows := []struct {
		name    string
		context []int32
		longest int
		want    []int32
	}{
		{"nothing", nil, 3, nil},
		{"one token", []int32{5}, 3, nil},
		{"a new last token", []int32{1, 2, 1, 3}, 3, nil},
		{"the only place", []int32{1, 2, 3, 4, 1}, 3, []int32{2, 3, 4}},
		{"the longest match wins over the newest", []int32{1, 2, 7, 8, 9, 2, 6, 1, 2}, 3, []int32{7, 8, 9}},
		{"of equal matches the newest", []int32{1, 7, 1, 8, 1}, 3, []int32{8, 1}},
		{"no longer than asked, so the newest", []int32{1, 2, 7, 8, 9, 2, 6, 1, 2}, 1, []int32{6, 1, 2}},
		{"a match may overlap the end", []int32{4, 4, 4}, 3, []int32{4}},
	}
	for _, r := range rows {
		if got := followers(r.context, r.longest, 3); !slices.Equal(got, r.want) {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
	}
}

// Typical acceptance takes what is above the lesser of the two thresholds, and
// where it never does the text is drawn from the model alone.
func TestTypicalAcceptance(t *testing.T) {
	p := []float64{0.5, 0.25, 0.125, 0.125} // 1.75 bits: exp(-H) = 2^-1.75 = 0.2973
	row := dist.NewDense([]float32{0, float32(math.Log(0.5)), float32(math.Log(0.25)), float32(math.Log(0.25))})
	d, err := dist.NewSampling(&row)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ epsilon, delta float64 }{{1, 0.3}, {1, 0.5}, {0.2, 1}, {0.4, 9}, {0, 1}, {1, 0}} {
		limit := min(r.epsilon, r.delta*math.Exp2(-1.75))
		for id, x := range p {
			if ok, err := Typical(d.Distribution, int32(id), r.epsilon, r.delta); err != nil || ok != (x > limit) {
				t.Errorf("epsilon %v, delta %v, token of %v: %v, %v", r.epsilon, r.delta, x, ok, err)
			}
		}
	}
	one := task(t, random(4, "law"), "sample", 6)
	if one.Draft, err = generate.New(t.Context(), random(4, "draft")); err != nil {
		t.Fatal(err)
	}
	all := run(t, one, "speculative:accept=typical,epsilon=0,samples=20").Speculation
	if all.Accepted != all.Proposed {
		t.Errorf("epsilon 0: %+v, want every proposal accepted", all)
	}
	if none := run(t, one, "speculative:accept=typical,epsilon=1,delta=1e9,samples=20").Speculation; none.Accepted != 0 {
		t.Errorf("thresholds above every probability: %+v", none)
	}
}
