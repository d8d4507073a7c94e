package std

import (
	"fmt"
	"math"

	"lab/core/dist"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/script"
)

// Scoring is what a model says of a text, as a script holds it.
type Scoring struct {
	*generate.Scoring
	model *Model
}

func scoreMembers() []script.Member {
	return []script.Member{
		{
			Name: "score", Doc: "Scores the tokens of a text, or of each text of a list, under the model distribution. Texts of a list are read together and share their beginnings; each gives what it gives alone.",
			Returns: "scoring, or list of scoring",
			Params: []script.Param{{Name: "text", Type: script.Either(script.String(), script.List(script.String())),
				Meaning: "what is scored, to its first impossible token; it must fit the context"}},
			Options: []script.Param{
				{Name: "prompt", Type: script.String(), Default: "", Meaning: "what the text follows; it is not scored"},
				{Name: "top", Type: script.Int(), Default: int64(0), Range: script.Between(0, 1000), Meaning: "how many of the likeliest tokens to list at every position"},
				{Name: "end", Type: script.Bool(), Default: false, Meaning: "score as well that the text ends there: the model's end-of-text token after it"},
			},
			Func: func(c *script.Call) (any, error) { return script.Self[*Model](c).score(c) },
		},
		{
			Name: "perplexity", Doc: "Scores a text of any length in sliding windows (lab perplexity --help). Its tokens are not listed.", Returns: "scoring",
			Params: []script.Param{{Name: "text", Type: script.String(), Meaning: "what is scored"}},
			Options: []script.Param{
				{Name: "window", Type: script.Int(), Range: script.Between(2, 1<<30), Unit: "tokens", Meaning: "tokens read together; left out, the context, at most 2048"},
				{Name: "stride", Type: script.Int(), Range: script.Between(1, 1<<30), Unit: "tokens", Meaning: "tokens from one window to the next, less than the window; left out, half of it"},
			},
			Func: func(c *script.Call) (any, error) { return script.Self[*Model](c).perplexity(c) },
		},
		getter("usage", "map: prefill_tokens, decode_tokens, prefill_seconds, decode_seconds, flops, bytes_moved, cache_bytes, cached_tokens",
			"What all forward passes of this model cost so far, as its backend counts; the cache is the most held.", func(m *Model) any { return usageMap(m.Usage()) }),
	}
}

func usageMap(u model.Usage) map[string]any {
	return map[string]any{"prefill_tokens": u.PrefillTokens, "decode_tokens": u.DecodeTokens, "prefill_seconds": u.PrefillSeconds,
		"decode_seconds": u.DecodeSeconds, "flops": u.FLOPs, "bytes_moved": u.BytesMoved, "cache_bytes": u.CacheBytes,
		"cached_tokens": u.CachedTokens}
}

func (m *Model) score(c *script.Call) (any, error) {
	var texts [][]byte
	one, single := c.Any("text").(string)
	if single {
		texts = [][]byte{[]byte(one)}
	} else {
		for _, t := range c.Any("text").([]any) {
			texts = append(texts, []byte(t.(string)))
		}
	}
	out, err := blocking(c, func() ([]*Scoring, error) {
		scored, _, err := m.Score(c.Context(), []byte(c.String("prompt")), texts, generate.ScoreOptions{Top: int(c.Int("top")), End: c.Bool("end")})
		if err != nil {
			return nil, err
		}
		list := make([]*Scoring, len(scored))
		for i := range scored {
			list[i] = &Scoring{scored[i], m}
		}
		return list, nil
	})
	if err != nil || !single {
		return out, err
	}
	return out[0], nil
}

func (m *Model) perplexity(c *script.Call) (any, error) {
	opt := generate.WindowOptions{}
	if c.Given("window") {
		opt.Window = int(c.Int("window"))
	}
	if c.Given("stride") {
		opt.Stride = int(c.Int("stride"))
	}
	return blocking(c, func() (*Scoring, error) {
		s, _, err := m.Perplexity(c.Context(), []byte(c.String("text")), opt)
		if err != nil {
			return nil, err
		}
		return &Scoring{s, m}, nil
	})
}

// Class implements script.Object.
func (*Scoring) Class() script.Class {
	return script.Class{Name: "scoring", Doc: "What a model says of a text: the surprisal of its tokens under the model distribution.", Members: []script.Member{
		getter("tokens", "list of scored", "The tokens that were scored, in order; none for a perplexity.", func(s *Scoring) any {
			out := make([]*scored, len(s.Tokens))
			for i := range s.Tokens {
				out[i] = &scored{&s.Tokens[i], s.model}
			}
			return out
		}),
		getter("count", "int", "Tokens that were scored.", func(s *Scoring) any { return s.Count }),
		getter("bytes", "int", "Bytes of their text.", func(s *Scoring) any { return s.Bytes }),
		getter("bits", "float", "-log2 of the probability of them all; infinite when one is impossible.", func(s *Scoring) any { return s.Bits }),
		getter("ln_p", "float", "Natural logarithm of that probability.", func(s *Scoring) any { return s.LnP() }),
		getter("mean_bits", "float", "Mean surprisal of a token.", func(s *Scoring) any { return s.MeanBits() }),
		getter("perplexity", "float", "2 to the mean surprisal of a token.", func(s *Scoring) any { return s.Perplexity() }),
		getter("bits_per_byte", "float", "Surprisal over bytes; comparable between vocabularies.", func(s *Scoring) any { return s.BitsPerByte() }),
		getter("window", "int", "Tokens of a window of perplexity; 0: the text was read as a whole.", func(s *Scoring) any { return s.Window }),
		getter("stride", "int", "Tokens from one window to the next.", func(s *Scoring) any { return s.Stride }),
	}}
}

// String implements fmt.Stringer.
func (s *Scoring) String() string {
	return fmt.Sprintf("<scoring: %d tokens, %s bits>", s.Count, short(s.Bits))
}

// scored is one token of a scoring.
type scored struct {
	*generate.Scored
	model *Model
}

// Class implements script.Object.
func (*scored) Class() script.Class {
	return script.Class{Name: "scored", Doc: "One token of a text that was scored.", Members: []script.Member{
		getter("token", "int", "Its id.", func(s *scored) any { return s.Token }),
		getter("text", "string", "Its text; U+FFFD stands for bytes that are no UTF-8 on their own.", func(s *scored) any { return plainText(s.Piece) }),
		getter("surprisal_bits", "float", "-log2 of its probability in its context.", func(s *scored) any { return s.SurprisalBits }),
		getter("prob", "float", "That probability.", func(s *scored) any { return math.Exp2(-s.SurprisalBits) }),
		getter("rank", "int", "Its rank there, 1 for the likeliest; 0: impossible.", func(s *scored) any { return s.Rank }),
		getter("entropy_bits", "float", "Entropy of the distribution it was looked up in; a lower bound where the backend lists part of its vocabulary.",
			func(s *scored) any { return s.Entropy.Low }),
		getter("top", "list of map: token, text, prob", "The likeliest tokens there, with {top: N}.", func(s *scored) any {
			out := make([]any, len(s.Top))
			for i, e := range s.Top {
				out[i] = s.model.likely(e)
			}
			return out
		}),
	}}
}

func (m *Model) likely(e dist.Entry) map[string]any {
	return map[string]any{"token": int64(e.ID), "text": plainText(m.Piece(e.ID)), "prob": e.P}
}
