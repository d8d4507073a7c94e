package conform

import (
	"fmt"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/model"
)

func usage(s *speaker) finding {
	c, err := s.text(2, 9)
	if err != nil {
		return silent(err)
	}
	if len(c.tokens) < 3 {
		return skip("the model writes no context of three tokens")
	}
	n := len(c.tokens) - 1
	seq, other := s.fresh(), s.fresh()
	ask := func(batch ...model.Input) (model.Usage, error) { s.asked++; return s.forward(batch) }
	first, err := ask(model.Input{Seq: seq, Tokens: c.tokens[:n]}, model.Input{Seq: other, Tokens: c.tokens[:1]})
	if err != nil {
		return fail(tokensText(c.tokens), err.Error())
	}
	second, err := ask(model.Input{Seq: seq, Start: n, Tokens: c.tokens[n:]})
	if err != nil {
		return fail(tokensText(c.tokens), err.Error())
	}
	if err := s.free(seq, other); err != nil {
		return fail("forgetting sequences", err.Error())
	}
	for _, x := range []struct {
		name            string
		got             model.Usage
		prefill, decode int64
	}{{fmt.Sprintf("inputs of %d tokens and of one", n), first, int64(n), 1}, {"an input of one token", second, 0, 1}} {
		u := x.got
		if u.PrefillTokens+u.DecodeTokens == 0 {
			return skip("it does not count tokens")
		}
		if u.PrefillTokens != x.prefill || u.DecodeTokens != x.decode {
			return fail(x.name, fmt.Sprintf("%d tokens of prefill and %d of decode, not %d and %d", u.PrefillTokens, u.DecodeTokens, x.prefill, x.decode))
		}
		if !(u.PrefillSeconds >= 0 && u.DecodeSeconds >= 0) || u.FLOPs < 0 || u.BytesMoved < 0 || u.CacheBytes < 0 {
			return fail(x.name, fmt.Sprintf("a number is negative: %+v", u))
		}
	}
	return holds()
}

// hiddenStates asks for the hidden states after every token.
func (s *speaker) hiddenStates(tokens []int32) ([]dist.Scores, []float32, error) {
	seq := s.fresh()
	in := model.Input{Seq: seq, Tokens: tokens, Want: model.All, Scores: s.rows(len(tokens)), Hidden: make([]float32, len(tokens)*s.info.Hidden)}
	s.asked++
	batch := []model.Input{in}
	if _, err := s.forward(batch); err != nil {
		return nil, nil, err
	}
	return batch[0].Scores, batch[0].Hidden, s.free(seq)
}

func hidden(s *speaker) finding {
	if s.info.Hidden == 0 {
		return skip("it offers no hidden states")
	}
	c, err := s.text(0, 12)
	if err != nil {
		return silent(err)
	}
	scores, first, err := s.hiddenStates(c.tokens)
	if err != nil {
		return fail(tokensText(c.tokens), err.Error())
	}
	_, again, err := s.hiddenStates(c.tokens)
	if err != nil {
		return fail(tokensText(c.tokens), err.Error())
	}
	zero := true
	for k, x := range first {
		if !dist.Finite(x) {
			return fail(tokensText(c.tokens), fmt.Sprintf("number %d of the hidden states is %v", k, x))
		}
		zero = zero && x == 0
		if s.info.Deterministic && x != again[k] {
			return fail(tokensText(c.tokens), fmt.Sprintf("number %d of the hidden states is %v, and %v when asked again", k, x, again[k]))
		}
	}
	if zero {
		return fail(tokensText(c.tokens), "all numbers of the hidden states are 0")
	}
	for k := range scores {
		if f := s.expect(&scores[k], c.tokens[:k+1], "with hidden states asked for"); f.outcome == Fail {
			return f
		}
	}
	return holds()
}

// source returns where rows in shared memory come from, if there is such a
// place.
func (s *speaker) source() (RowSource, bool) { r, ok := s.m.(RowSource); return r, ok }

func modelTransport(s *speaker) finding {
	memory, ok := s.source()
	if !ok {
		return skip("no rows in shared memory were to be had")
	}
	for which := range 2 {
		c, err := s.text(which, 16)
		if err != nil {
			return silent(err)
		}
		shared := memory.Rows(len(c.tokens))
		seq, mixed := s.fresh(), s.fresh()
		// A second input whose rows travel as bytes is in the same call.
		batch := []model.Input{{Seq: seq, Tokens: c.tokens, Want: model.All, Scores: slices.Clone(shared)},
			{Seq: mixed, Tokens: c.tokens, Want: model.Last, Scores: s.rows(1)}}
		s.asked++
		_, err = s.forward(batch)
		f := holds()
		if err != nil {
			f = fail(tokensText(c.tokens), err.Error())
		}
		for _, in := range batch {
			for k := range in.Scores {
				if f.outcome != Fail {
					f = s.expect(&in.Scores[k], c.tokens[:len(c.tokens)-len(in.Scores)+k+1], "with rows in shared memory in the call")
				}
			}
		}
		memory.Release(shared)
		if f.outcome == Fail {
			return f
		}
		if err := s.free(seq, mixed); err != nil {
			return fail("forgetting sequences", err.Error())
		}
	}
	return holds()
}
