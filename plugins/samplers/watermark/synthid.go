package watermark

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
)

// SynthID reweighs the distribution by a tournament of pseudo-random bits.
type SynthID struct {
	tables cache[tournamentKey, *watermark.Tournament]
}

type tournamentKey struct {
	ngram, size, history int
	seed                 uint32
	keys                 string
}

// NewSynthID returns the sampler.
func NewSynthID() *SynthID { return &SynthID{} }

// Declare returns the declaration.
func (*SynthID) Declare() sampler.Declaration {
	return declare(watermark.SynthIDMethod, sampler.Reshape, sampler.Needs{History: -1})
}

// Apply replaces the scores by natural logarithms of the reweighed
// probabilities, unless the context was met before: then the row stays as it is,
// to the bit. A row with an unlisted tail is refused.
func (y *SynthID) Apply(row *sampler.Row, set param.Values) error {
	const op = watermark.SynthIDMethod
	s := row.Scores
	if err := listed(op, s); err != nil {
		return err
	}
	k := tournamentKey{int(set.Int("ngram_len")), int(set.Int("table_size")), int(set.Int("context_history")), uint32(set.Int("table_seed")), set.Text("keys")}
	t, err := y.tables.get(k, func() (*watermark.Tournament, error) {
		keys, err := watermark.ParseKeys(k.keys)
		if err != nil {
			return nil, err
		}
		return watermark.NewTournament(k.ngram, keys, k.size, k.seed, k.history), nil
	})
	if err != nil {
		return err
	}
	tokens, from := row.History, row.Prompt
	if set.Text("scope") == watermark.ScopeOutput {
		tokens, from = tokens[from:], 0
	}
	if t.Repeated(tokens, from, len(tokens)) {
		return nil
	}
	reweigh(s, t, t.Context(tokens, len(tokens)))
	return nil
}

// reweigh runs the tournament. At each depth the probability of a token with bit
// 1 grows by the factor 2 - G and that of one with bit 0 by 1 - G, where G is the
// probability of bit 1; 1 - G is added up by itself, so nothing cancels. Logarithms
// are kept beside probabilities, so that a token in the support stays there
// however unlikely it becomes.
func reweigh(s *dist.Scores, t *watermark.Tournament, context uint64) {
	n := len(s.Values)
	p, l, hash, bit := make([]float64, n), make([]float64, n), make([]uint64, n), make([]uint8, n)
	top := float64(vec.Max(s.Values))
	vec.Exps(p, s.Values, top)
	shift := top + math.Log(vec.Add(p, s.IDs))
	for i, v := range s.Values {
		l[i] = float64(v) - shift
		hash[i] = t.Token(context, s.ID(i))
	}
	for depth := range t.Depth() {
		var mass [2]float64
		for i, x := range p {
			if x > 0 {
				b := t.Bit(hash[i], depth) & 1
				bit[i] = b
				mass[b] += x
			} else if dist.Finite(s.Values[i]) {
				bit[i] = t.Bit(hash[i], depth) & 1
			}
		}
		zero := mass[0] / (mass[0] + mass[1])
		factor := [2]float64{zero, 1 + zero}
		ln := [2]float64{math.Log(zero), math.Log1p(zero)}
		for i, b := range bit {
			p[i] *= factor[b&1]
			l[i] += ln[b&1]
		}
	}
	for i, v := range s.Values {
		if dist.Finite(v) {
			s.Values[i] = float32(max(l[i], -math.MaxFloat32))
		}
	}
}
