package search

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/generate"
	"lab/core/trace"
)

// scoreTol: scores are float32, so that a probability of a few steps is right to
// some 1e-7 relative.
const scoreTol = 2e-6

// Greedy is not the likeliest sequence, and width 2 finds it (ID-33).
func TestWidthTwoFindsWhatGreedyMisses(t *testing.T) {
	m := &table{vocab: 2, next: func(c []int32) []float64 {
		switch {
		case len(c) == 0:
			return []float64{0.6, 0.4}
		case c[0] == 0:
			return []float64{0.5, 0.5}
		}
		return []float64{0.9, 0.1}
	}}
	for width, want := range map[int]struct {
		tokens []int32
		p      float64
	}{1: {[]int32{0, 0}, 0.30}, 2: {[]int32{1, 0}, 0.36}} {
		s := run(t, task(t, m, "sample", 2), fmt.Sprintf("beam:width=%d", width)).Sequences[0]
		if !slices.Equal(s.Tokens, want.tokens) || !(math.Abs(math.Exp(float64(s.Score))-want.p) <= scoreTol) {
			t.Errorf("width %d: %v with %v, want %v with %v", width, s.Tokens, math.Exp(float64(s.Score)), want.tokens, want.p)
		}
	}
}

// A width of at least V^(T-1) is exhaustive, a width of 1 is greedy, and
// enumeration lists the same sequences in the same order.
func TestSearchesAgainstExhaustion(t *testing.T) {
	for salt := range 6 {
		m := random(4, fmt.Sprint(salt))
		m.end = []int32{3}
		want := m.all(3)
		wide := run(t, task(t, m, "sample", 3), "beam:width=16").Sequences
		listed := run(t, task(t, m, "sample", 3), "enumerate:n=16").Sequences
		for i, list := range map[string][]Sequence{"beam": wide, "enumerate": listed} {
			if len(list) != 16 {
				t.Fatalf("%s found %d sequences", i, len(list))
			}
			for k, s := range list {
				ln := m.probability(s.Tokens)
				if !(math.Abs(float64(s.SamplingBits)*math.Ln2+ln) <= scoreTol) || !(math.Abs(float64(s.ModelBits)*math.Ln2+ln) <= scoreTol) {
					t.Errorf("%s: %v has %v bits, want %v", i, s.Tokens, s.SamplingBits, -ln/math.Ln2)
				}
				if !(math.Abs(ln-m.probability(want[k])) <= scoreTol) {
					t.Errorf("%s: place %d is %v, want %v", i, k, s.Tokens, want[k])
				}
				ended := slices.Contains(m.end, s.Tokens[len(s.Tokens)-1])
				if (s.Stop.Reason == trace.EndOfText) != ended || !ended && len(s.Tokens) != 3 {
					t.Errorf("%s: %v stopped by %v", i, s.Tokens, s.Stop)
				}
			}
		}
		one := run(t, task(t, m, "sample", 3), "beam:width=1").Sequences[0].Tokens
		greedy, err := task(t, m, "greedy", 3).sample(t, "greedy", 0)
		if err != nil || !slices.Equal(one, greedy) {
			t.Errorf("width 1 gives %v, greedy %v (%v)", one, greedy, err)
		}
		if len(m.seqs) != 0 {
			t.Errorf("%d sequences are left", len(m.seqs))
		}
	}
}

func (task Task) sample(t *testing.T, _ string, index uint64) ([]int32, error) {
	r, err := task.Engine.Run(t.Context(), []generate.Job{{Prompt: task.Prompt, Chain: task.Chain, Seed: task.Seed, Sample: index, MaxTokens: task.MaxTokens}},
		generate.Options{})
	if err != nil {
		return nil, err
	}
	return r.Samples[0].Tokens, nil
}

func TestEnumerationAccountsForAllMass(t *testing.T) {
	m := random(5, "mass")
	whole := run(t, task(t, m, "sample", 3), "enumerate:n=125")
	if len(whole.Sequences) != 125 || !(math.Abs(*whole.Listed-1) <= 1e-9) || *whole.Unlisted != 0 {
		t.Errorf("%d sequences with %v, %v unlisted", len(whole.Sequences), *whole.Listed, *whole.Unlisted)
	}
	for _, text := range []string{"enumerate:n=7", "enumerate:n=125,expand=3", "enumerate:n=125,mass=0.4"} {
		r := run(t, task(t, m, "sample", 3), text)
		if !(math.Abs(*r.Listed+*r.Unlisted-1) <= 1e-9) || *r.Unlisted == 0 || len(r.Sequences) == 125 {
			t.Errorf("%s: %d sequences, %v + %v", text, len(r.Sequences), *r.Listed, *r.Unlisted)
		}
	}
	// Under a chain the probabilities are those drawn from, and sum to 1 too.
	cut := run(t, task(t, m, "headless", 2), "enumerate:n=100")
	if len(cut.Sequences) != 16 || !(math.Abs(*cut.Listed-1) <= 1e-9) {
		t.Errorf("%d sequences with %v", len(cut.Sequences), *cut.Listed)
	}
}

// Sum, mean and power rank by length differently (ID-34).
func TestRulesOfLength(t *testing.T) {
	short, long := -1.6, -2.4
	for _, r := range []struct {
		rule  string
		alpha float64
		short bool
	}{{rankSum, 0, true}, {rankMean, 0, false}, {rankPower, 0.6, true}} {
		k := ranker{rule: r.rule, alpha: r.alpha}
		if got := k.score(short, 2, 9) > k.score(long, 4, 9); got != r.short {
			t.Errorf("%s prefers the short one: %v", r.rule, got)
		}
	}
	k := ranker{rule: rankPower, alpha: 0.6}
	if got := k.score(short, 2, 0); !(math.Abs(got+1.4586) <= 1e-4) { // 1.6 / (7/6)^0.6
		t.Errorf("power rule gives %v", got)
	}
	if got := (ranker{rule: rankBytes}).score(-3, 1, 6); got != -0.5 {
		t.Errorf("per byte: %v", got)
	}
}

// With groups and a penalty the groups take different first tokens; without a
// penalty they find the same.
func TestDiverseGroups(t *testing.T) {
	m := random(6, "groups")
	same := run(t, task(t, m, "sample", 3), "beam:width=3,groups=3").Sequences
	if !slices.Equal(same[0].Tokens, same[2].Tokens) {
		t.Errorf("without a penalty the groups differ: %v", same)
	}
	firsts := map[int32]bool{}
	for _, s := range run(t, task(t, m, "sample", 3), "beam:width=3,groups=3,diversity=100").Sequences {
		firsts[s.Tokens[0]] = true
		if ln := m.probability(s.Tokens); !(math.Abs(float64(s.Score)-ln) <= scoreTol) {
			t.Errorf("the score %v of %v is not its ln p %v", s.Score, s.Tokens, ln)
		}
	}
	if len(firsts) != 3 {
		t.Errorf("%d different first tokens", len(firsts))
	}
}

// Stochastic beams draw without replacement: a width of all sequences gives
// each once, and the first of them is a plain draw (chi-squared over 4,000
// seeds, 8 degrees of freedom, 0.1 % limit 26.12; the seeds are fixed).
func TestStochasticBeamsDrawWithoutReplacement(t *testing.T) {
	m := random(3, "gumbel")
	one := task(t, m, "sample", 2)
	seen := map[string]bool{}
	for _, s := range run(t, one, "beam:width=9,stochastic=true").Sequences {
		seen[fmt.Sprint(s.Tokens)] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d different sequences of 9", len(seen))
	}
	const n = 4000
	first, pair := map[string]float64{}, 0
	for seed := range n {
		one.Seed = uint64(seed)
		r := run(t, one, "beam:width=2,stochastic=true").Sequences
		first[fmt.Sprint(r[0].Tokens)]++
		if slices.Equal(r[0].Tokens, r[1].Tokens) {
			pair++
		}
	}
	chi := 0.0
	for _, tokens := range m.all(2) {
		want := n * math.Exp(m.probability(tokens))
		d := first[fmt.Sprint(tokens)] - want
		chi += d * d / want
	}
	if !(chi <= 26.12) || pair > 0 {
		t.Errorf("chi-squared %.2f, limit 26.12; %d pairs repeat", chi, pair)
	}
}

// Best-of-n takes the best of the samples that generate draws.
func TestBestOfRanksTheSamplesOfGenerate(t *testing.T) {
	m := random(5, "best")
	one := task(t, m, "sample", 4)
	r := run(t, one, "best_of:n=8,length=sum")
	var want []float64
	for i := range 8 {
		tokens, err := one.sample(t, "sample", uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, m.probability(tokens))
	}
	slices.SortFunc(want, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	for i, s := range r.Sequences {
		if !(math.Abs(float64(s.Score)-want[i]) <= scoreTol) {
			t.Errorf("place %d has %v, want %v", i, s.Score, want[i])
		}
	}
}

// Each choice is the best by the formula, computed anew from the table.
func TestContrastiveSearchFollowsItsFormula(t *testing.T) {
	m := random(6, "contrast")
	m.hidden = func(context []int32) []float32 {
		h := fnv.New64a()
		if len(context) > 0 { // like a model's, it depends most on the newest token
			fmt.Fprint(h, context[len(context)-1], len(context)%2)
		}
		x := h.Sum64()
		return []float32{float32(x%97) - 48, float32(x/97%97) - 48, float32(x/9409%97) - 48}
	}
	const k, alpha = 3, 0.6
	s := run(t, task(t, m, "sample", 8), fmt.Sprintf("contrastive:k=%d,alpha=%v", k, alpha)).Sequences[0]
	context, sum, differs := []int32{0}, 0.0, false
	for i, token := range s.Tokens {
		p := m.next(s.Tokens[:i])
		ids := []int32{0, 1, 2, 3, 4, 5}
		slices.SortStableFunc(ids, func(a, b int32) int { return int(math.Copysign(1, p[b]-p[a])) })
		chosen, best := int32(-1), math.Inf(-1)
		for _, id := range ids[:k] {
			worst := math.Inf(-1)
			for j := range context {
				worst = max(worst, cosine(m.hidden(append(slices.Clone(context), id)), m.hidden(context[:j+1])))
			}
			if score := (1-alpha)*p[id] - alpha*worst; score > best {
				chosen, best = id, score
			}
		}
		differs = differs || chosen != ids[0]
		if token != chosen {
			t.Fatalf("token %d is %d, want %d", i, token, chosen)
		}
		sum += best
		context = append(context, token)
	}
	if !differs || !(math.Abs(float64(s.Score)-sum/8) <= scoreTol) {
		t.Errorf("score %v, want %v; it differs from greedy: %v", s.Score, sum/8, differs)
	}
	greedy, err := task(t, m, "greedy", 8).sample(t, "greedy", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"contrastive:k=1", "contrastive:alpha=0"} {
		if got := run(t, task(t, m, "sample", 8), text).Sequences[0].Tokens; !slices.Equal(got, greedy) {
			t.Errorf("%s: %v, greedy %v", text, got, greedy)
		}
	}
	if len(m.seqs) != 0 {
		t.Errorf("%d sequences are left", len(m.seqs))
	}
	m.hidden = nil
	if _, err := try(t.Context(), task(t, m, "sample", 8), "contrastive"); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "does not offer hidden states") {
		t.Errorf("got %v", err)
	}
}

func TestBadTasks(t *testing.T) {
	m := random(3, "bad")
	good := task(t, m, "sample", 2)
	rows := []struct {
		name, text, want string
		change           func(*Task)
	}{
		{"unknown strategy", "baem", `did you mean "beam"?`, nil},
		{"two strategies", "beam | beam", "2 strategies", nil},
		{"unknown setting", "beam:widht=2", `did you mean "width"?`, nil},
		{"width out of range", "beam:width=0", "width = 0 is outside [1, 1024]", nil},
		{"groups that do not divide", "beam:width=3,groups=2", "does not divide", nil},
		{"stochastic with a length rule", "beam:stochastic=true,length=mean", "without groups or length rules", nil},
		{"no draft", "speculative", "draft model", nil},
		{"a draft and lookup", "speculative:lookup=2", "one of them proposes", func(t *Task) { t.Draft = t.Engine }},
		{"no tokens", "beam", "max_tokens = 0", func(t *Task) { t.MaxTokens = 0 }},
		{"an empty prompt", "beam", "empty", func(t *Task) { t.Prompt = nil }},
		{"a selector that keeps state", "beam", "keeps a state", func(one *Task) { one.Chain = task(t, m, "stateful", 2).Chain }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			one := good
			if r.change != nil {
				r.change(&one)
			}
			if _, err := try(t.Context(), one, r.text); err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a usage error with %q", err, r.want)
			}
			if len(m.seqs) != 0 {
				t.Errorf("%d sequences are left", len(m.seqs))
			}
		})
	}
}

func TestAnInterruptKeepsWhatWasFound(t *testing.T) {
	m := random(5, "stop")
	one := task(t, m, "sample", 6)
	ctx, cancel := context.WithCancel(t.Context())
	one.OnStep = func(_, tokens int) {
		if tokens > 20 {
			cancel()
		}
	}
	r, err := try(ctx, one, "enumerate:n=1000")
	if fault.KindOf(err) != fault.Interrupted || r == nil || !(math.Abs(*r.Listed+*r.Unlisted-1) <= 1e-9) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = try(ctx, one, "beam:width=2"); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("%+v, %v", r, err)
	}
	if len(m.seqs) != 0 {
		t.Errorf("%d sequences are left", len(m.seqs))
	}
}
