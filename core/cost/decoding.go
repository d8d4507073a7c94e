package cost

import "math"

// Draft is a setting of speculative decoding (Leviathan et al. 2023; Chen et al.
// 2023).
type Draft struct {
	Accept  float64 // α, chance that a proposed token is accepted, independent per position, in [0, 1]
	Length  int64   // γ, tokens proposed at a time; 0 is plain decoding
	Cost    float64 // c_d, seconds of a draft step over those of a target step
	OpRatio float64 // ĉ, FLOP of a draft token over those of a target token
	Verify  float64 // v, seconds to verify γ+1 tokens over those of one: 1 while memory-bound, up to γ+1
}

// Speculative is what a draft brings.
type Speculative struct {
	Tokens     float64 // E, expected tokens per verification
	Speedup    float64 // over plain decoding; below 1 it loses
	Operations float64 // FLOP per token over those of plain decoding; never below 1
}

func (d Draft) check(g *guard) {
	g.probability("acceptance", d.Accept)
	g.atLeast("draft length", d.Length, 0)
	if d.Length > mostDraft {
		g.refuse("", "draft length %d is above %d", d.Length, mostDraft)
	}
	g.nonNegative("draft cost ratio", d.Cost)
	g.nonNegative("draft operation ratio", d.OpRatio)
	if !(d.Verify >= 1) || math.IsInf(d.Verify, 0) {
		g.refuse("1 is the memory-bound limit", "verification takes %g times one token, below 1 or not finite", d.Verify)
	}
}

const mostDraft = 1 << 16

// Speculative returns E = (1−α^{γ+1})/(1−α), γ+1 at α = 1 (F17); the speedup
// E/(γ c_d + v) (F18); and the operations (γ ĉ + γ + 1)/E. Leviathan's tables have v = 1.
// α is taken as independent per position, which real acceptance is not.
func (d Draft) Speculative() (Speculative, error) {
	g := guarded("speculative decoding")
	d.check(g)
	if g.err != nil {
		return Speculative{}, g.err
	}
	n := float64(d.Length)
	e := n + 1
	if d.Accept < 1 {
		// (1−α^{γ+1})/(1−α) by Expm1, exact also for α near 1.
		e = 1
		if d.Accept > 0 {
			e = -math.Expm1((n+1)*math.Log(d.Accept)) / (1 - d.Accept)
		}
	}
	return Speculative{Tokens: e, Speedup: e / (n*d.Cost + d.Verify), Operations: (n*d.OpRatio + n + 1) / e}, nil
}

// SpeculativeRates returns F17 and F18 from measured acceptance of each
// position, the chance that token i is accepted given that those before it were:
// E = 1 + Σ Π_{j≤i} rate_j. The draft's Accept and Length are not used.
func (d Draft) SpeculativeRates(rates []float64) (Speculative, error) {
	g := guarded("speculative decoding")
	d.Accept, d.Length = 0, int64(len(rates))
	d.check(g)
	e, all := 1.0, 1.0
	for _, r := range rates {
		g.probability("acceptance", r)
		all *= r
		e += all
	}
	if g.err != nil {
		return Speculative{}, g.err
	}
	n := float64(len(rates))
	return Speculative{Tokens: e, Speedup: e / (n*d.Cost + d.Verify), Operations: (n*d.OpRatio + n + 1) / e}, nil
}

// BestDraft returns the draft length from 0 to most with the greatest speedup
// (F19), the shortest on ties; 0 means not to speculate. Verify is the d's at
// every length.
func (d Draft) BestDraft(most int64) (int64, Speculative, error) {
	g := guarded("best draft length")
	g.atLeast("longest draft", most, 0)
	if most > mostDraft {
		g.refuse("", "longest draft %d is above %d", most, mostDraft)
	}
	if g.err != nil {
		return 0, Speculative{}, g.err
	}
	var best Speculative
	length := int64(-1)
	for n := int64(0); n <= most; n++ {
		d.Length = n
		s, err := d.Speculative()
		if err != nil {
			return 0, Speculative{}, err
		}
		if n == 0 {
			s.Speedup = 1 // plain decoding verifies nothing
		}
		if length < 0 || s.Speedup > best.Speedup {
			best, length = s, n
		}
	}
	return length, best, nil
}

// Samples is the FLOP of n completions of one prompt (F20).
type Samples struct {
	Prefill float64 // P, the prompt once, last scores only
	Decode  float64 // D, one completion after its first token
	Shared  float64 // P + n D, the prompt processed once
	Apart   float64 // n (P + D)
	Judge   float64 // n scorings of prompt and completion, at the same model's cost; 0 without
}

// SampleOperations returns F20 for completions of output tokens each; the first
// token of a completion comes from the prefill. judge adds the scoring of each
// candidate, a prefill of all its tokens with all scores. Best-of-n and
// self-consistency cost the same but for the judge; lengths are taken as equal.
func (a *Arch) SampleOperations(prompt, output, n int64, judge bool, c Convention) (Samples, error) {
	g := guarded("n samples")
	g.atLeast("prompt", prompt, 1)
	g.atLeast("output", output, 1)
	g.atLeast("samples", n, 1)
	if g.err != nil {
		return Samples{}, g.err
	}
	var s Samples
	var err error
	if s.Prefill, err = a.Prefill(Prefill{New: prompt}, c); err != nil {
		return Samples{}, err
	}
	if s.Decode, err = a.DecodeRun(prompt, output-1, c); err != nil {
		return Samples{}, err
	}
	if judge {
		one, err := a.Prefill(Prefill{New: prompt + output, AllLogits: true}, c)
		if err != nil {
			return Samples{}, err
		}
		s.Judge = float64(n) * one
	}
	s.Shared = s.Prefill + float64(n)*s.Decode
	s.Apart = float64(n) * (s.Prefill + s.Decode)
	return s, nil
}

// BestOfNKL returns the bound on KL(best-of-n‖one sample) in nats: log n −
// (n−1)/n (F20; Stiennon et al. 2020). An upper bound (Beirami et al. 2024).
func BestOfNKL(n int64) (float64, error) {
	g := guarded("best-of-n KL")
	g.atLeast("n", n, 1)
	x := float64(n)
	return g.of(math.Log(x) - (x-1)/x)
}

// PassAtK returns the unbiased estimate of the chance that one of k samples is
// right when c of n were (F21; Chen et al. 2021): 1 − C(n−c,k)/C(n,k), 1 ≤ k ≤ n.
func PassAtK(n, c, k int64) (float64, error) {
	g := guarded("pass@k")
	g.atLeast("n", n, 1)
	g.atLeast("c", c, 0)
	g.atLeast("k", k, 1)
	if c > n || k > n {
		g.refuse("", "c = %d or k = %d is above n = %d", c, k, n)
	}
	if n > 1<<24 {
		g.refuse("", "n = %d is above 2^24", n)
	}
	if g.err != nil {
		return 0, g.err
	}
	if n-c < k {
		return 1, nil
	}
	// The ratio is Π (1 − k/i) over the last c numbers up to n, and the same with c and
	// k exchanged: the shorter of the two.
	few, other := min(c, k), max(c, k)
	miss := 1.0
	for i := n - few + 1; i <= n; i++ {
		miss *= 1 - float64(other)/float64(i)
	}
	return g.of(1 - miss)
}

// CostPerSolved returns what a solved item costs when each of k samples costs
// unit and an item is solved with the chance pass (F21): k unit / pass; +Inf when
// nothing is solved.
func CostPerSolved(k int64, unit, pass float64) (float64, error) {
	g := guarded("cost per solved")
	g.atLeast("k", k, 1)
	g.nonNegative("unit cost", unit)
	g.probability("pass@k", pass)
	if g.err != nil {
		return 0, g.err
	}
	if pass == 0 {
		return never, nil
	}
	return g.of(float64(k) * unit / pass)
}

// Retries is a loop that tries until a verifier is satisfied, at most cap times.
type Retries struct {
	Tries     float64 // expected tries of an item
	Solved    float64 // chance that an item is solved
	PerSolved float64 // expected tries per solved item, the failed ones included; +Inf at p = 0
}

// EarlyStop returns the expected tries of a verified early stop (F21):
// (1−(1−p)^cap)/p, cap at p = 0; the chance of success 1−(1−p)^cap; and their ratio 1/p.
// Tries are taken as independent.
func EarlyStop(p float64, most int64) (Retries, error) {
	g := guarded("early stop")
	g.probability("success rate", p)
	g.atLeast("cap", most, 1)
	if g.err != nil {
		return Retries{}, g.err
	}
	if p == 0 {
		return Retries{Tries: float64(most), PerSolved: never}, nil
	}
	solved := 1.0
	if p < 1 {
		solved = -math.Expm1(float64(most) * math.Log1p(-p))
	}
	return Retries{Tries: solved / p, Solved: solved, PerSolved: 1 / p}, nil
}

// BeamOperations returns the FLOP of beam search with b beams (F22): the prompt once
// and b decode runs. Reordering the cache moves bytes, not operations.
func (a *Arch) BeamOperations(prompt, output, beams int64, c Convention) (float64, error) {
	s, err := a.SampleOperations(prompt, output, beams, false, c)
	return s.Shared, err
}

// SamplerBytes returns the bytes of a row of scores (F23): one float32 for each
// of vocab tokens, which an out-of-process sampler copies at each step.
func SamplerBytes(vocab int64) (float64, error) {
	g := guarded("sampler bytes")
	g.atLeast("vocabulary", vocab, 1)
	return g.of(4 * float64(vocab))
}

// SamplerTime returns the seconds of sorting a row of vocab scores and calling the
// sampler (F23): perCompare V log2 V + call, both measured on the host.
func SamplerTime(vocab int64, perCompare, call float64) (float64, error) {
	g := guarded("sampler time")
	g.atLeast("vocabulary", vocab, 1)
	g.nonNegative("seconds per comparison", perCompare)
	g.nonNegative("seconds per call", call)
	v := float64(vocab)
	return g.of(perCompare*v*math.Log2(v) + call)
}
