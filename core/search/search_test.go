package search

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/trace"
)

// table is a model over a few tokens whose next distribution is a function of
// the tokens after the prompt.
type table struct {
	vocab int
	end   []int32
	next  func(completion []int32) []float64 // probabilities
	seqs  map[uint64][]int32
	calls int

	hidden func(context []int32) []float32 // nil: none are offered

	refuses int32 // a call with this token in it is a model error; 0 none
}

func (m *table) Info() model.Info {
	info := model.Info{Name: "table", Architecture: "table", VocabSize: m.vocab, ContextLength: 64, Deterministic: true, Begin: -1, EndOfText: m.end}
	if m.hidden != nil {
		info.Hidden = len(m.hidden(nil))
	}
	return info
}

func (m *table) Encode(_ context.Context, text []byte, _ model.EncodeOptions) ([]int32, error) {
	return make([]int32, len(text)), nil
}
func (m *table) Decode(context.Context, []int32) ([]byte, error) { return nil, nil }
func (m *table) Pieces(context.Context) ([][]byte, error) {
	out := make([][]byte, m.vocab)
	for i := range out {
		out[i] = []byte{byte('a' + i)}
	}
	return out, nil
}

func (m *table) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	m.calls++
	if m.seqs == nil {
		m.seqs = map[uint64][]int32{}
	}
	var u model.Usage
	for _, in := range batch {
		if m.refuses != 0 && slices.Contains(in.Tokens, m.refuses) {
			return u, fault.New(fault.Model, "table", "", "token %d cannot be", m.refuses)
		}
		if len(m.seqs[in.Seq]) != in.Start {
			return u, fmt.Errorf("sequence %d holds %d tokens, the caller believes %d", in.Seq, len(m.seqs[in.Seq]), in.Start)
		}
		m.seqs[in.Seq] = append(m.seqs[in.Seq][:in.Start:in.Start], in.Tokens...)
		for i := range in.Scores {
			held := m.seqs[in.Seq][:len(m.seqs[in.Seq])-len(in.Scores)+1+i]
			if len(in.Hidden) > 0 {
				h := m.hidden(held)
				copy(in.Hidden[i*len(h):], h)
			}
			for t, p := range m.next(held[1:]) { // prompts here are one byte
				in.Scores[i].Values[t] = float32(math.Log(p))
			}
		}
		u.DecodeTokens += int64(len(in.Tokens))
	}
	return u, nil
}

func (m *table) Edit(_ context.Context, edits []model.Edit) error {
	for _, e := range edits {
		switch e.Op {
		case model.Fork:
			m.seqs[e.To] = slices.Clone(m.seqs[e.Seq][:e.Length])
		case model.Truncate:
			m.seqs[e.Seq] = m.seqs[e.Seq][:e.Length]
		case model.Free:
			delete(m.seqs, e.Seq)
		}
	}
	return nil
}
func (m *table) Verify(context.Context) (string, error) { return "", nil }
func (m *table) Close() error                           { return nil }

// random returns a model with hashed distributions, the same for equal salts.
func random(vocab int, salt string) *table {
	return &table{vocab: vocab, next: func(completion []int32) []float64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s%v", salt, completion)
		x := h.Sum64()
		p := make([]float64, vocab)
		sum := 0.0
		for i := range p {
			x = x*6364136223846793005 + 1442695040888963407
			p[i] = math.Exp(float64(x>>40) / (1 << 22))
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}}
}

// The stages of the tests: a draw, the best token, and a cut.
type stage struct {
	name  string
	kind  sampler.Kind
	apply func(*sampler.Row)
}

func (s stage) Declare() sampler.Declaration {
	d := sampler.Declaration{Name: s.name, Kind: s.kind, Summary: "s", Source: "s"}
	if s.name == "sample" {
		d.Needs.Uniforms = 1
	}
	return d
}

func (s stage) Apply(r *sampler.Row, _ param.Values) error { s.apply(r); return nil }

func best(s *dist.Scores) int {
	at := 0
	for i, v := range s.Values {
		if v > s.Values[at] {
			at = i
		}
	}
	return at
}

var stages = []sampler.Sampler{
	stage{"sample", sampler.Select, func(r *sampler.Row) {
		d, _ := dist.NewSampling(r.Scores)
		r.Chosen = draw(d.Distribution, r.Uniforms[0])
	}},
	stage{"greedy", sampler.Select, func(r *sampler.Row) {
		at := best(r.Scores)
		r.Chosen = r.Scores.ID(at)
		r.Scores.KeepBest(r.Scores.Values[at], 1, 1)
	}},
	stage{"headless", sampler.Reshape, func(r *sampler.Row) { // removes the best token
		at := best(r.Scores)
		r.Scores.Keep(func(i int) bool { return i != at }, nil)
	}},
	stage{"stateful", sampler.Select, func(r *sampler.Row) { r.Chosen, r.State = r.Scores.ID(0), []byte{1} }},
}

type shelf struct{ *sampler.Set }

func (s shelf) Sampler(name string) (chain.Offer, error) {
	d, err := s.Lookup(name)
	return chain.Offer{Plugin: "test", Declaration: d, Runner: s.Set}, err
}

func task(t *testing.T, m *table, chainText string, tokens int) Task {
	t.Helper()
	e, err := generate.New(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	set, err := sampler.NewSet(stages...)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := chain.Parse(chainText, "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := chain.Build(requests, shelf{set})
	if err != nil {
		t.Fatal(err)
	}
	return Task{Engine: e, Prompt: []byte("x"), Chain: c, MaxTokens: tokens, Seed: 1}
}

func run(t *testing.T, task Task, text string) *Result {
	t.Helper()
	r, err := try(t.Context(), task, text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(ctx context.Context, task Task, text string) (*Result, error) {
	s, values, err := Parse(text, "test")
	if err != nil {
		return nil, err
	}
	return Run(ctx, task, s, values)
}

// probability returns ln p of a completion under a model, from its table.
func (m *table) probability(tokens []int32) float64 {
	ln := 0.0
	for i, t := range tokens {
		ln += math.Log(m.next(tokens[:i])[t])
	}
	return ln
}

// all returns every completion of so many tokens, the likeliest first.
func (m *table) all(tokens int) [][]int32 {
	out := [][]int32{nil}
	for range tokens {
		var longer [][]int32
		for _, p := range out {
			if len(p) > 0 && slices.Contains(m.end, p[len(p)-1]) {
				longer = append(longer, p)
				continue
			}
			for t := range m.vocab {
				longer = append(longer, append(slices.Clone(p), int32(t)))
			}
		}
		out = longer
	}
	slices.SortStableFunc(out, func(a, b []int32) int {
		if pa, pb := m.probability(a), m.probability(b); pa != pb {
			if pa > pb {
				return -1
			}
			return 1
		}
		return slices.Compare(a, b)
	})
	return out
}

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
