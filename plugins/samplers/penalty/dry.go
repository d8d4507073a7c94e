package penalty

import (
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// Dry penalises a token by the length of the repetition that it would extend
// ("don't repeat yourself": p-e-w 2024), as llama.cpp does.
type Dry struct{}

// Declare returns the declaration.
func (Dry) Declare() sampler.Declaration {
	window := lastN()
	window.Aliases = append(window.Aliases, "dry_penalty_last_n", "dry_range")
	return sampler.Declaration{
		Name: "dry", Kind: sampler.Reshape,
		Summary: "Penalises a token that would extend a repetition, the more the longer it is: the newest tokens are compared with every earlier place, back to the last breaker, and the longest match that a token followed counts. Breakers themselves are never penalised.",
		Formula: "l_t ← l_t - m · b^(n - a) for n ≥ max(a, 1), where n is the longest suffix of the context that t has followed before",
		Source:  "p-e-w 2024, text-generation-webui pull request 5677; linear time by the Z-function as in koboldcpp pull request 982",
		Params: param.Specs{
			{
				Name: "multiplier", Aliases: []string{"dry_multiplier"}, Type: param.Float, Default: 0.0, Min: 0, Max: math.Inf(1), Unit: "nats",
				Meaning: "the penalty of a repetition of allowed_length tokens; 0 switches the stage off",
			},
			{
				Name: "base", Aliases: []string{"dry_base"}, Type: param.Float, Default: 1.75, Min: 0, MinOpen: true, Max: math.Inf(1),
				Meaning: "what the penalty is multiplied by for every further token; 1 makes all repetitions equal, below 1 long ones count less",
			},
			{
				Name: "allowed_length", Aliases: []string{"dry_allowed_length"}, Type: param.Int, Default: int64(2), Min: 0, Max: math.Inf(1), Unit: "tokens",
				Meaning: "repetitions shorter than this are free; 0 penalises those of one token already, as 1 does, by one factor more",
			},
			{
				Name: "breakers", Aliases: []string{"dry_sequence_breakers", "sequence_breakers"}, Type: param.Tokens, Default: `'\n' ':' '"' '*'`,
				Meaning: "tokens, sequences and texts that no repetition extends across; a token whose bytes contain such a text is a breaker, and so is a text spread over several tokens",
			},
			window,
		},
		Needs: sampler.Needs{History: -1},
	}
}

// largestExponent is the logarithm of the largest float32: a penalty grows no
// further than it.
const largestExponent = 88.7228391

// Apply lowers the scores of tokens that would extend a repetition, in time
// linear in the window. A multiplier or window of 0 leaves the row as it is, to
// the bit.
func (Dry) Apply(row *sampler.Row, set param.Values) error {
	multiplier, base, allowed := set.Float("multiplier"), set.Float("base"), set.Int("allowed_length")
	tokens := newest(row.History, set.Int("last_n"))
	least := max(allowed, 1)
	if multiplier == 0 || set.Int("last_n") == 0 {
		return nil
	}
	b, err := newBreakers(row, set)
	if err != nil || int64(len(tokens)) <= least {
		return err
	}
	limit := b.limit(tokens)
	if int64(limit) < least {
		return nil
	}
	keys := repeated(tokens, int32(least), int32(limit))
	most := int64(math.MaxInt64)
	if base > 1.000001 {
		most = int64(largestExponent / math.Log(base))
	}
	for i, k := range keys {
		id := int32(uint32(k >> 32))
		if i+1 < len(keys) && int32(uint32(keys[i+1]>>32)) == id || b.is(id) {
			continue // of one token's lengths the largest comes last
		}
		if err := token.Whole(row.Scores, "dry"); err != nil {
			return err
		}
		if n := at(row.Scores, id); n >= 0 {
			exponent := min(int64(uint32(k))-allowed, most)
			row.Scores.Values[n] = store(float64(row.Scores.Values[n]) - multiplier*math.Pow(base, float64(exponent)))
		}
	}
	return nil
}

// repeated returns the tokens that followed the newest tokens before, each with
// the lengths of the matches, from least to limit, as id<<32 | length in
// ascending order. A longer match counts as one of limit.
func repeated(tokens []int32, least, limit int32) []uint64 {
	z := overlaps(tokens)
	found := 0
	for _, n := range z {
		if n >= least {
			found++
		}
	}
	if found == 0 {
		return nil
	}
	both := make([]uint64, 2*found)
	keys := both[:0:found]
	for k, n := range z {
		if n >= least {
			id := tokens[len(tokens)-k]
			keys = append(keys, uint64(uint32(id))<<32|uint64(min(n, limit)))
		}
	}
	return sorted(keys, both[found:])
}

// The most that a list of breakers may hold: every one is looked for in the
// whole window at every step.
const (
	mostTexts  = 256
	mostLength = 1024 // of one sequence or text
)

func tooMany(format string, args ...any) error {
	return fault.New(fault.Usage, "dry", "breakers", format, args...).Fix("give fewer or shorter breakers")
}
