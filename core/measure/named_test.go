package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/trace"
)

// sample makes a sample whose i-th token has model surprisal bits[i].
func sample(text string, tokens []int32, bits ...float64) trace.Sample {
	s := trace.Sample{Text: text, Tokens: tokens, Stop: trace.Stop{Reason: trace.MaxTokens}}
	for i, b := range bits {
		m, d := trace.NewSide(math.Exp2(-b), 3, 2.5, 100), trace.NewSide(math.Exp2(-b/2), 2, 1.5, 10)
		s.Steps = append(s.Steps, trace.Step{Step: i, Token: tokens[i], Piece: []byte("ab"), Model: &m, Sampling: &d,
			Stages: []trace.Stage{{KeptMass: 0.5}, {KeptMass: 0.8}}})
	}
	return s
}

func group() []trace.Sample {
	return []trace.Sample{
		sample("a b c d", []int32{1, 2, 3, 4}, 1, 1, 1, 1),
		sample("a a a a a a a a", []int32{5, 5, 5, 5, 5, 5, 5, 5}, 3, 3, 3, 3, 3, 3, 3, 3),
		sample("a b", []int32{1, 2}, 2, 4),
		sample("a b c d", []int32{1, 2, 3, 4}, 1, 3, 1, 3),
	}
}

func TestNamedMeasuresOfAGroup(t *testing.T) {
	samples := group()
	for name, want := range map[string]struct {
		value     float64
		n, undone int
		full      string
	}{
		"length_tokens":           {4.5, 4, 0, ""},
		"distinct_1":              {(1 + 1.0/8 + 1 + 1) / 4, 4, 0, ""},
		"distinct_4":              {(1 + 1.0/5 + 1) / 3, 3, 1, ""},
		"repetition":              {(0 + 4.0/5 + 0) / 3, 3, 1, "seq_rep_4"},
		"once_2":                  {(1 + 0 + 1 + 1) / 4.0, 4, 0, ""},
		"rep_window_16":           {7.0 / 8 / 4, 4, 0, ""},
		"looping":                 {0.25, 4, 0, ""},
		"loop_period":             {1, 1, 3, ""},
		"loop_start":              {0, 1, 3, ""},
		"ended":                   {0, 4, 0, ""},
		"surprisal_bits":          {42.0 / 18, 4, 0, "model_surprisal_bits"},
		"sampling_surprisal_bits": {21.0 / 18, 4, 0, ""},
		"perplexity":              {math.Exp2(42.0 / 18), 4, 0, "model_perplexity"},
		"entropy_bits":            {1.5, 4, 0, "sampling_entropy_bits"},
		"model_entropy_bits":      {2.5, 4, 0, ""},
		"rank":                    {3, 4, 0, "model_rank"},
		"sampling_rank":           {2, 4, 0, ""},
		"support":                 {10, 4, 0, "sampling_support"},
		"kept_mass":               {0.4, 4, 0, ""},
		"model_bits_per_byte":     {42.0 / 36, 4, 0, ""},
		"vocabulary":              {5, 4, 0, ""},
		"unique_outputs":          {3, 4, 0, ""},
		"unique_share":            {0.75, 4, 0, ""},
		"coverage":                {0.5, 4, 0, ""},
		"chao1":                   {3 + 0.75*2/4, 4, 0, ""},
		"pooled_distinct_1":       {5.0 / 18, 4, 0, ""},
		"zipf":                    {must(ZipfRegression([]int{3, 3, 2, 2, 8}))(t), 4, 0, "zipf_regression"},
		"zipf_mle":                {must(ZipfMLE([]int{3, 3, 2, 2, 8}))(t), 4, 0, ""},
	} {
		m := must(Named(name))(t)
		e := must(m.Estimate(samples, Interval{}))(t)
		near(t, name, e.Value, want.value, 1e-12)
		if e.N != want.n || e.Missing != want.undone {
			t.Errorf("%s: %d samples, %d undefined", name, e.N, e.Missing)
		}
		full := want.full
		if full == "" {
			full = name
		}
		if m.Name != full {
			t.Errorf("%s is called %q", name, m.Name)
		}
		if e.Lo == e.Hi {
			t.Errorf("%s: an interval without width at %v", name, e.Lo)
		}
		if math.IsNaN(e.Lo) && e.Note == "" {
			t.Errorf("%s: no interval and no note", name)
		}
		if m.Set {
			if _, err := m.Each(samples); err == nil {
				t.Errorf("%s: a set's measure has values per sample", name)
			}
			continue
		}
		each := must(m.Each(samples))(t)
		missing := 0
		for _, v := range each {
			if math.IsNaN(v) {
				missing++
			}
		}
		if missing != want.undone {
			t.Errorf("%s: each = %v", name, each)
		}
	}
}

func TestEveryNameIsKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Measures() {
		got := must(Named(m.Name))(t)
		if got.Doc == "" || got.Name != m.Name || seen[m.Name] || got.Doc != m.Doc || got.Set != (got.of == nil) {
			t.Errorf("%q: %+v", m.Name, got)
		}
		seen[m.Name] = true
		if m.Steps != strings.Contains(m.Name, "model_") && m.Steps != strings.Contains(m.Name, "sampling_") && m.Name != "kept_mass" {
			t.Errorf("%s: steps %v", m.Name, m.Steps)
		}
		// A measure that needs no steps works without, the others say so.
		bare := group()
		for i := range bare {
			bare[i].Steps = nil
		}
		if _, err := m.Estimate(bare, Interval{}); (err != nil) != m.Steps {
			t.Errorf("%s without steps: %v", m.Name, err)
		} else if m.Steps && !strings.Contains(err.Error(), "ledger: true") {
			t.Errorf("%s without steps: %v", m.Name, err)
		}
	}
	for short := range aliases {
		if seen[short] {
			t.Errorf("%s is a name and an alias", short)
		}
		must(Named(short))(t)
	}
	if len(seen) < 40 {
		t.Errorf("%d measures", len(seen))
	}
}

// Every measure takes each method it names, and no other.
func TestMeasuresTakeTheMethodsTheyName(t *testing.T) {
	keys := []string{"a", "b", "c", "a"}
	for _, m := range Measures() {
		for _, method := range []string{MethodT, MethodBootstrap, MethodBCa, MethodWilson, MethodExact, MethodCluster, MethodClusterBootstrap, MethodJackknife, "esty", "chao", "none"} {
			iv := Interval{Method: method, Resamples: 99}
			if strings.HasPrefix(method, MethodCluster) {
				iv.Clusters = keys
			}
			e, err := m.Estimate(group(), iv)
			if known := slices.Contains(m.Methods, method); (err == nil) != known {
				t.Errorf("%s by %s: %v", m.Name, method, err)
			} else if known && e.Lo == e.Hi {
				t.Errorf("%s by %s: an interval without width", m.Name, method)
			}
		}
		own := must(m.Estimate(group(), Interval{}))(t)
		if own.Method != m.Methods[0] {
			t.Errorf("%s: its own method is %s, not %s", m.Name, own.Method, m.Methods[0])
		}
	}
}

func TestUnknownMeasuresAreNamedNearly(t *testing.T) {
	for name, part := range map[string]string{
		"distict_2": `did you mean "distinct_2"`, "perplexty": `did you mean "perplexity"`, "distinct_0": `did you mean "distinct_1"`,
		"distinct_99": "outside [1, 64]", "distinct_": "did you mean", "": "known:", "rep_window_99999999999": "outside",
		"distinct_02": "did you mean",
	} {
		if _, err := Named(name); err == nil || !strings.Contains(err.Error(), part) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v, want %q", name, err, part)
		}
	}
	if m := must(Named("distinct_9"))(t); m.Name != "distinct_9" {
		t.Errorf("%+v", m)
	}
}

func TestTheEndTokenIsNoText(t *testing.T) {
	a, b := sample("x", []int32{7, 7}, 1, 1), sample("x", []int32{7, 7, 2}, 1, 1, 4)
	b.Stop.Reason = trace.EndOfText
	d := must(must(Named("distinct_1"))(t).Each([]trace.Sample{a, b}))(t)
	l := must(must(Named("length_tokens"))(t).Each([]trace.Sample{a, b}))(t)
	s := must(must(Named("surprisal_bits"))(t).Each([]trace.Sample{a, b}))(t)
	if !slices.Equal(d, []float64{0.5, 0.5}) || !slices.Equal(l, []float64{2, 3}) || !slices.Equal(s, []float64{1, 2}) {
		t.Error(d, l, s)
	}
}

func TestSelfBLEUOfSamplesWithItsJackknife(t *testing.T) {
	samples := group()
	samples = append(samples, sample("", nil), sample("a c d", []int32{1, 3, 4}, 1, 1, 1), sample("b d", []int32{2, 4}, 1, 1))
	m := must(Named("self_bleu_2"))(t)
	e := must(m.Estimate(samples, Interval{}))(t)
	var set [][]int32
	for i := range samples {
		if len(samples[i].Tokens) > 0 {
			set = append(set, samples[i].Tokens)
		}
	}
	near(t, "value", e.Value, mean(must(SelfBLEU(set, 2))(t)), 1e-15)
	if e.Missing != 1 || e.N != 6 || e.Method != MethodJackknife || !(e.Lo < e.Value && e.Value < e.Hi) {
		t.Errorf("%+v", e)
	}
	one := must(m.Estimate(samples[:1], Interval{}))(t)
	if !math.IsNaN(one.Value) || one.Note == "" {
		t.Errorf("of one sample: %+v", one)
	}
}

// For a mean the jackknife is the t interval; one cluster per sample changes
// nothing.
func TestJackknifeOfAMeanIsStudents(t *testing.T) {
	lengths := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	var set [][]int32
	var keys []string
	for i, n := range lengths {
		set, keys = append(set, make([]int32, int(n))), append(keys, itoa(i))
	}
	f := func(s [][]int32) (float64, error) {
		total := 0
		for _, x := range s {
			total += len(x)
		}
		return float64(total) / float64(len(s)), nil
	}
	want := must(Mean(lengths, Interval{}))(t)
	got := must(jackknife(set, f, Interval{}))(t)
	near(t, "lo", got.Lo, want.Lo, 1e-12)
	near(t, "hi", got.Hi, want.Hi, 1e-12)
	by := must(jackknife(set, f, Interval{Clusters: keys, Method: MethodCluster}))(t)
	near(t, "clusters", by.Lo, want.Lo, 1e-12)
}

func TestMeasuresOfSamplesRefuse(t *testing.T) {
	m := must(Named("distinct_1"))(t)
	if _, err := m.Estimate(nil, Interval{}); fault.KindOf(err) != fault.Data {
		t.Errorf("no samples: %v", err)
	}
	if _, err := m.Estimate(group(), Interval{Clusters: []string{"a"}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("one cluster: %v", err)
	}
	for _, name := range []string{"self_bleu", "coverage", "unique_outputs"} {
		if _, err := must(Named(name))(t).Estimate(group(), Interval{Method: MethodWilson}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s by Wilson: %v", name, err)
		}
	}
	keys := []string{"a", "a", "b", "b"}
	if e := must(m.Estimate(group(), Interval{Clusters: keys}))(t); e.Clusters != 2 || e.Method != MethodCluster {
		t.Errorf("%+v", e)
	}
	none := must(must(Named("loop_period"))(t).Estimate(group()[:1], Interval{}))(t)
	if !math.IsNaN(none.Value) || none.Missing != 1 || none.N != 0 || none.Note == "" {
		t.Errorf("no loops: %+v", none)
	}
	// A step that is not known is named; an impossible token makes the perplexity infinite.
	s := group()
	s[1].Steps[2].Sampling.EntropyBits = trace.Real(math.NaN())
	_, err := must(Named("entropy_bits"))(t).Estimate(s, Interval{})
	if err == nil || !strings.Contains(err.Error(), "sample 1") || !strings.Contains(err.Error(), "step 2") {
		t.Errorf("NaN: %v", err)
	}
	s = group()
	s[0].Steps[0].Model.SurprisalBits = trace.Real(math.Inf(1))
	e := must(must(Named("perplexity"))(t).Estimate(s, Interval{}))(t)
	if !math.IsInf(e.Value, 1) || e.Note == "" || !math.IsNaN(e.Lo) {
		t.Errorf("impossible: %+v", e)
	}
}

func ExampleNamed() {
	m, err := Named("distinct_2")
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := m.Estimate([]trace.Sample{{Tokens: []int32{1, 2, 1, 2}}, {Tokens: []int32{1, 2, 3, 4}}, {Tokens: []int32{5}}}, Interval{})
	fmt.Printf("%s = %.3f of %d samples, %d undefined, %v\n", m.Name, e.Value, e.N, e.Missing, err)
	// Output: distinct_2 = 0.833 of 2 samples, 1 undefined, <nil>
}
