package conform

import (
	"fmt"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/model"
)

func refusals(s *speaker) finding {
	c, err := s.text(0, 12)
	if err != nil {
		return silent(err)
	}
	type row struct {
		name   string
		batch  func(bad, good uint64) []model.Input
		inside bool // a host would not send it
		kind   fault.Kind
	}
	n := len(c.tokens)
	next := c.other[n-1:]
	of := func(in model.Input) func(bad, good uint64) []model.Input {
		return func(bad, good uint64) []model.Input {
			in.Seq = bad
			ok := model.Input{Seq: good, Start: n, Tokens: next}
			return []model.Input{ok, in}
		}
	}
	rows := []row{
		{"a token outside the vocabulary", of(model.Input{Start: n, Tokens: []int32{int32(s.info.VocabSize)}}), false, fault.Usage},
		{"a negative token", of(model.Input{Start: n, Tokens: []int32{-1}}), false, fault.Usage},
		{"a start that is not the length", of(model.Input{Start: n + 1, Tokens: next}), true, fault.Usage},
		{"no tokens", of(model.Input{Start: n}), true, fault.Usage},
		{"rows that are too few", of(model.Input{Start: n, Tokens: next, Want: model.Last}), true, fault.Usage},
	}
	if s.info.ContextLength <= mostContext {
		over := slices.Repeat(next, max(1, s.info.ContextLength-n+1))
		rows = append(rows, row{"more tokens than the context has", of(model.Input{Start: n, Tokens: over}), false, fault.Limit})
	}
	for _, r := range rows {
		if r.inside && s.hosted() || n+1 > s.info.ContextLength {
			continue
		}
		bad, good := s.fresh(), s.fresh()
		for _, seq := range []uint64{bad, good} {
			if _, err := s.feed(seq, 0, c.tokens, model.None); err != nil {
				return fail(tokensText(c.tokens), err.Error())
			}
		}
		s.asked++
		_, err := s.forward(r.batch(bad, good))
		switch kind := fault.KindOf(err); {
		case err == nil:
			return fail(r.name, "it is accepted")
		case kind != r.kind && !(kind == fault.Data && s.hosted()): // a message that cannot be read is bad data
			return fail(r.name, fmt.Sprintf("an error of kind %v: %v", kind, err))
		}
		for _, seq := range []uint64{bad, good} {
			if f := s.unchanged(seq, c, "after a batch with "+r.name); f.outcome == Fail {
				return f
			}
		}
		if err := s.free(bad, good); err != nil {
			return fail("forgetting sequences", err.Error())
		}
	}
	return s.edits(c)
}

// edits asks for edits that cannot be, which a host does not send.
func (s *speaker) edits(c contextOf) finding {
	if s.hosted() {
		return holds()
	}
	seq, other, none := s.fresh(), s.fresh(), s.fresh()
	n := len(c.tokens)
	for _, x := range []struct {
		name string
		edit model.Edit
	}{
		{"a cut to more tokens than there are", model.Edit{Op: model.Truncate, Seq: seq, Length: n + 1}},
		{"a cut to less than nothing", model.Edit{Op: model.Truncate, Seq: seq, Length: -1}},
		{"a cut of a sequence that does not exist", model.Edit{Op: model.Truncate, Seq: none, Length: 1}},
		{"a fork of more tokens than there are", model.Edit{Op: model.Fork, Seq: seq, To: none, Length: n + 1}},
		{"a fork to a sequence that exists", model.Edit{Op: model.Fork, Seq: seq, To: other, Length: 1}},
		{"a fork of a sequence that does not exist", model.Edit{Op: model.Fork, Seq: none, To: none + 1, Length: 1}},
	} {
		for _, q := range []uint64{seq, other} {
			if _, err := s.feed(q, 0, c.tokens, model.None); err != nil {
				return fail(tokensText(c.tokens), err.Error())
			}
		}
		if err := s.edit(x.edit); err == nil {
			return fail(x.name, "it is accepted")
		}
		for _, q := range []uint64{seq, other} {
			if f := s.unchanged(q, c, "after "+x.name); f.outcome == Fail {
				return f
			}
		}
		if err := s.free(seq, other, none, none+1); err != nil {
			return fail("forgetting sequences", err.Error())
		}
	}
	return holds()
}

// hosted reports whether a host stands between, which refuses what cannot be
// meant before it reaches the model.
func (s *speaker) hosted() bool { _, ok := s.m.(interface{ VocabularyKey() string }); return ok }

// Contexts up to these lengths are filled, and overfilled.
const (
	fullContext = 1024
	mostContext = 1 << 20
)

func contextLength(s *speaker) finding {
	length := s.info.ContextLength
	if length > mostContext {
		return skip("a context of %d tokens is too long to be overfilled here", length)
	}
	c, err := s.text(0, min(8, length))
	if err != nil {
		return silent(err)
	}
	seq := s.fresh()
	if _, err := s.feed(seq, 0, c.tokens, model.None); err != nil {
		return fail(tokensText(c.tokens), err.Error())
	}
	over := slices.Repeat(c.tokens[len(c.tokens)-1:], length-len(c.tokens)+1)
	if f := s.tooLong(seq, len(c.tokens), over); f.outcome == Fail {
		return f
	}
	if f := s.unchanged(seq, c, "after a context that was too long"); f.outcome == Fail {
		return f
	}
	if err := s.free(seq); err != nil {
		return fail("forgetting a sequence", err.Error())
	}
	if length > fullContext {
		return holds()
	}
	seq = s.fresh()
	full := slices.Repeat(over[:1], length)
	if _, err := s.feed(seq, 0, full, model.None); err != nil {
		if kind := fault.KindOf(err); kind != fault.Limit {
			return holds() // no context of the model's, which other laws ask about
		}
		return fail(fmt.Sprintf("a context of %d tokens, its length", length), err.Error())
	}
	if f := s.tooLong(seq, length, over[:1]); f.outcome == Fail {
		return f
	}
	if err := s.free(seq); err != nil {
		return fail("forgetting a sequence", err.Error())
	}
	return holds()
}

func (s *speaker) tooLong(seq uint64, held int, tokens []int32) finding {
	_, err := s.feed(seq, held, tokens, model.None)
	input := fmt.Sprintf("%d tokens, %d of them in one call, where the context has %d", held+len(tokens), len(tokens), s.info.ContextLength)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return fail(input, "they are accepted")
	case kind != fault.Limit:
		return fail(input, fmt.Sprintf("an error of kind %v: %v", kind, err))
	}
	return holds()
}
