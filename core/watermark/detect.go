package watermark

import (
	"context"
	"errors"
	"math"

	"lab/core/fault"
)

// Result is what a detector found. Every number is finite.
type Result struct {
	Method    string   `json:"method"`    // standard name
	Statistic string   `json:"statistic"` // what Score is, in words
	Tokens    int      `json:"tokens"`    // generated tokens given
	Scored    int      `json:"scored"`    // how many were scored
	Repeated  int      `json:"repeated"`  // not scored: what they would show was counted before
	Short     int      `json:"short"`     // not scored: their context is not known
	Score     float64  `json:"score"`
	Expected  float64  `json:"expected"` // mean of Score in a text without the mark
	Z         float64  `json:"z"`        // standard deviations above it
	P         float64  `json:"p"`        // probability of such a score, or a higher one, without the mark; may underflow to 0
	LnP       float64  `json:"ln_p"`     // its natural logarithm
	Tail      string   `json:"tail"`     // how P was found: exact binomial, gamma, normal, permutation
	Details   []Detail `json:"details"`
}

// Detail is one further number of a result.
type Detail struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Detect tests whether a text carries a mark. generated is the text, and nothing
// else is scored; prompt are the tokens before it, which may be empty: then the
// first tokens, whose contexts are not known, are not scored either. A context that
// comes again with the same token is counted once. vocab is the size of the
// vocabulary.
//
// method and the names of settings may be aliases; values are float64, int,
// int64 or string, and missing ones take their defaults, see [Methods]. Settings
// that only the sampler uses are accepted, so that those of a chain's stage can be
// handed over.
//
// Errors are usage errors for unknown methods, settings and values, data errors
// for tokens outside the vocabulary and for a text with too few tokens to score
// any, limit or interrupted when ctx ends. Safe for concurrent use.
func Detect(ctx context.Context, method string, settings map[string]any, prompt, generated []int32, vocab int) (Result, error) {
	m, err := Find(method)
	if err != nil {
		return Result{}, err
	}
	v, err := m.resolve(settings)
	if err != nil {
		return Result{}, err
	}
	for i, t := range generated {
		if t < 0 || int(t) >= vocab {
			return Result{}, fault.New(fault.Data, "watermark", m.Name, "token %d of the text is %d, outside the vocabulary of %d", i, t, vocab)
		}
	}
	x := text{ctx: ctx, tokens: append(append(make([]int32, 0, len(prompt)+len(generated)), prompt...), generated...),
		from: len(prompt), vocab: vocab, result: Result{Method: m.Name, Tokens: len(generated)}}
	switch m.Name {
	case GreenListMethod:
		err = x.greenList(v)
	case SynthIDMethod:
		err = x.synthID(v)
	case GumbelMethod:
		err = x.gumbel(v)
	case KeyedMethod:
		err = x.keyed(v)
	}
	if err != nil {
		return Result{}, fault.Wrap(err, fault.Internal, "watermark", m.Name)
	}
	if x.result.P == 0 { // a share is exact without a detour by its logarithm
		x.result.P = math.Exp(x.result.LnP)
	}
	return x.result, nil
}

// text is a text under test.
type text struct {
	ctx    context.Context
	tokens []int32 // prompt and text
	from   int     // where the text begins
	vocab  int
	result Result
}

func (x *text) detail(name string, value float64) {
	x.result.Details = append(x.result.Details, Detail{Name: name, Value: value})
}

// ended returns an error when the work is to stop.
func (x *text) ended() error {
	switch err := x.ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Limit, "", "", "the deadline passed")
	}
	return fault.New(fault.Interrupted, "", "", "it was cancelled")
}

// enough returns a data error when nothing was scored.
func (x *text) enough() error {
	r := x.result
	if r.Scored > 0 {
		return nil
	}
	return fault.New(fault.Data, "", "", "not enough tokens: none of %d can be scored (%d repeated, %d without a known context)",
		r.Tokens, r.Repeated, r.Short).Fix("give a longer text, or the prompt before it")
}

// pairs remembers which contexts, or contexts with their tokens, were met.
type pairs map[string]bool

// met reports whether a list of tokens came before, and remembers it.
func (p pairs) met(context []int32, token ...int32) bool {
	b := make([]byte, 0, 4*(len(context)+1))
	for _, list := range [2][]int32{context, token} {
		for _, t := range list {
			b = append(b, byte(t), byte(t>>8), byte(t>>16), byte(t>>24))
		}
	}
	if p[string(b)] {
		return true
	}
	p[string(b)] = true
	return false
}

// greenList counts green tokens. Each is green with probability Share when the
// text was written without the key: a token and a seed that came together before
// have the same answer, and are counted once. With the self-hashing scheme many
// contexts share a seed (with a width of 1 all do), so there the probability is
// over keys; under one key, the share of all texts may differ from it by a little.
func (x *text) greenList(v values) error {
	g, err := NewGreen(x.vocab, v.float("ratio"), v.int("key"), v.text("scheme"), int(v.int("context_width")))
	if err != nil {
		return err
	}
	r := &x.result
	greens, seen := 0, map[[2]uint32]bool{}
	for i := x.from; i < len(x.tokens); i++ {
		if err := x.ended(); err != nil {
			return err
		}
		context, ok := g.Context(x.tokens[:i])
		if !ok {
			r.Short++
			continue
		}
		token := x.tokens[i]
		pair := [2]uint32{g.seed(context, token), uint32(token)}
		if seen[pair] {
			r.Repeated++
			continue
		}
		seen[pair] = true
		r.Scored++
		if g.Has(context, token) {
			greens++
		}
	}
	if err := x.enough(); err != nil {
		return err
	}
	share := g.Share()
	r.Statistic, r.Tail = "green tokens", "exact binomial"
	r.Score, r.Expected = float64(greens), share*float64(r.Scored)
	r.Z = GreenZ(greens, r.Scored, share)
	r.LnP = BinomialTail(greens, r.Scored, share)
	x.detail("green share", float64(greens)/float64(r.Scored))
	x.detail("green share without the mark", share)
	x.detail("ln p, normal", NormalTail(r.Z))
	return nil
}

// GreenZ returns how many standard deviations a number of green tokens lies
// above the mean of a text without the mark, in which a share of tokens is green
// by chance: (g - γT)/sqrt(γ(1-γ)T), Kirchenbauer et al. 2023, equation 3. scored
// must be at least 1 and the share in (0, 1).
func GreenZ(greens, scored int, share float64) float64 {
	t := float64(scored)
	return (float64(greens) - share*t) / math.Sqrt(t*share*(1-share))
}

// synthID takes the mean of the bits of every token at every depth, and a mean
// in which early depths, which leave the larger mark, count more: weights fall
// in equal steps from 10 to 1.
func (x *text) synthID(v values) error {
	keys, err := ParseKeys(v.text("keys"))
	if err != nil {
		return err
	}
	ngram := int(v.int("ngram_len"))
	t := NewTournament(ngram, keys, int(v.int("table_size")), uint32(v.int("table_seed")), int(v.int("context_history")))
	share := t.Share()
	if share == 0 || share == 1 {
		return fault.New(fault.Usage, "", "", "the table of %d bits holds equal ones only", len(t.table)).Fix("raise table_size, or choose another table_seed")
	}
	tokens, from := x.tokens, x.from
	if v.text("scope") == ScopeOutput {
		tokens, from = tokens[from:], 0
	}
	r, seen := &x.result, pairs{}
	ones := make([]int, t.Depth())
	for i := from; i < len(tokens); i++ {
		if err := x.ended(); err != nil {
			return err
		}
		switch {
		case v.text("scope") == ScopeAll && i < t.before:
			r.Short++
			continue
		case t.Repeated(tokens, from, i), seen.met(padded(tokens, i, t.before), tokens[i]):
			r.Repeated++
			continue
		}
		r.Scored++
		h := t.Token(t.Context(tokens, i), tokens[i])
		for d := range ones {
			ones[d] += int(t.Bit(h, d))
		}
	}
	if err := x.enough(); err != nil {
		return err
	}
	x.tournamentScore(ones, share)
	return nil
}

// padded returns the n tokens before a place, with zeros where there are fewer.
func padded(tokens []int32, place, n int) []int32 {
	out := make([]int32, n)
	have := min(n, place)
	copy(out[n-have:], tokens[place-have:place])
	return out
}

func (x *text) tournamentScore(ones []int, share float64) {
	r := &x.result
	depth, n := float64(len(ones)), float64(r.Scored)
	total, weighted, sum, squares := 0, 0.0, 0.0, 0.0
	for d, k := range ones {
		w := 1.0
		if depth > 1 {
			w = 10 - 9*float64(d)/(depth-1)
		}
		total += k
		weighted += w * float64(k)
		sum += w
		squares += w * w
	}
	sd := math.Sqrt(share * (1 - share) / n)
	r.Statistic, r.Tail = "mean bit", "exact binomial"
	r.Score, r.Expected = float64(total)/(n*depth), share
	r.Z = (r.Score - share) / (sd / math.Sqrt(depth))
	r.LnP = BinomialTail(total, r.Scored*len(ones), share)
	mean := weighted / (n * sum)
	z := (mean - share) / (sd * math.Sqrt(squares) / sum)
	x.detail("weighted mean bit", mean)
	x.detail("z of the weighted mean", z)
	x.detail("ln p of the weighted mean, normal", NormalTail(z))
}

// gumbel adds up -ln(1-u) of the tokens' numbers: independent standard
// exponential variables when the text was written without the key.
func (x *text) gumbel(v values) error {
	width := int(v.int("context_width"))
	m := NewContextMark(v.int("key"), width)
	r, seen := &x.result, pairs{}
	keep := v.text("repeats") == RepeatsKeep
	sum := 0.0
	for i := x.from; i < len(x.tokens); i++ {
		if err := x.ended(); err != nil {
			return err
		}
		if i < width {
			r.Short++
			continue
		}
		token, w := x.tokens[i], m.window(x.tokens, i)
		if keep && seen.met(w, token) || !keep && seen.met(w) {
			r.Repeated++
			continue
		}
		r.Scored++
		sum -= math.Log(Unit(m.Seed(x.tokens, i), token))
	}
	if err := x.enough(); err != nil {
		return err
	}
	n := float64(r.Scored)
	r.Statistic, r.Tail = "sum of -ln(1-u)", "gamma"
	r.Score, r.Expected = sum, n
	r.Z = (sum - n) / math.Sqrt(n)
	r.LnP = GammaTail(sum, r.Scored)
	x.detail("mean of -ln(1-u)", sum/n)
	return nil
}
