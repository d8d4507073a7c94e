package conform

import (
	"context"
	"fmt"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// modelLaw is a law of models and how it is asked.
type modelLaw struct {
	Law
	ask func(s *speaker) finding
}

// modelLaws are the laws of one model, in the order in which they are asked.
func modelLaws() []modelLaw {
	of := func(name, says string, ask func(s *speaker) finding) modelLaw {
		return modelLaw{Law{Name: name, Of: "model", Says: says}, ask}
	}
	return []modelLaw{
		of("info", "what a model says of itself is possible, and the same at every open; two open ones share no sequences", info),
		of("digest", "the digest of the weights is the same at every open and when the bytes in use are read again", digest),
		of("pieces", "every token has its bytes, control tokens have none", pieces),
		of("tokenizer", "a text that is encoded and decoded is the same text, and so are the pieces of its tokens in a row; or it is refused", tokenizer),
		of("special", "the text of a user never becomes a control token, and control tokens add no text", special),
		of("rows", "scores are natural logarithms, finite or -Inf with something left, and a model that sees the best only lists no more than it says", rows),
		of("prefix", "a row is the same whether a context comes at once, token by token, or in pieces", prefix),
		of("fork", "a fork goes on as the sequence that it was copied from would, and none of many touches another", forks),
		of("truncate", "a sequence that was cut, or forgotten and begun anew, goes on as if the rest had never been", truncates),
		of("batch", "a row is the same to the bit whatever else is in the batch", modelBatch),
		of("refusals", "an input that cannot be meant is refused, and no sequence has changed", refusals),
		of("contexts", "any context is answered with a sound row or refused as the model's or the data's fault", contexts),
		of("context_length", "a context of full length is taken, one token more is a limit error, and nothing has changed", contextLength),
		of("usage", "tokens are counted as they came: prefill for inputs of several, decode for single ones", usage),
		of("hidden", "hidden states are finite, the same at every asking, and asking changes no score", hidden),
		of("transport", "rows in shared memory and rows that travel as bytes are the same to the bit", modelTransport),
		of("large_batch", "64 MB of rows in one call are the rows of the contexts alone, and so is a row a second later", modelLargeBatch),
	}
}

func info(s *speaker) finding {
	i := s.info
	wrong := func(format string, args ...any) finding {
		return fail("the description of "+i.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case i.Name == "" || i.Digest == "" || i.Architecture == "":
		return wrong("it lacks a name, a digest or an architecture: %q, %q, %q", i.Name, i.Digest, i.Architecture)
	case i.VocabSize < 1 || i.ContextLength < 1 || i.Parameters < 0 || i.WeightBytes < 0 || i.TopN < 0 || i.TopN > i.VocabSize || i.Hidden < 0:
		return wrong("a size is impossible: %+v", i)
	}
	for _, t := range slices.Concat(i.EndOfText, i.Control, []int32{max(0, i.Begin)}) {
		if t < 0 || int(t) >= i.VocabSize {
			return wrong("token %d is outside its vocabulary of %d", t, i.VocabSize)
		}
	}
	for _, t := range i.EndOfText {
		if !slices.Contains(i.Control, t) {
			return wrong("token %d ends a text and is not among the control tokens", t)
		}
	}
	other, err := s.open(s.ctx)
	if err != nil {
		return fail("opening it again", err.Error())
	}
	again := other.Info()
	f := s.beside(other)
	if f.outcome == Fail {
		_ = other.Close() // what was found says more
		return f
	}
	if a, b := fmt.Sprintf("%+v", i), fmt.Sprintf("%+v", again); a != b {
		return fail("opening it again", b+", before "+a)
	}
	return f
}

// beside uses the names of sequences in a second open model, which it closes,
// while the first one has sequences of the same names.
func (s *speaker) beside(other model.Model) finding {
	shut := func() finding {
		if err := other.Close(); err != nil {
			return fail("closing the second one", err.Error())
		}
		return holds()
	}
	one, err1 := s.text(0, 8)
	two, err2 := s.text(1, 8)
	if n := len(one.tokens); err1 != nil || err2 != nil || n < 3 {
		return shut() // other laws say so
	}
	n, seq := len(one.tokens), s.fresh()
	p := &steps{s: s, f: holds(), held: map[uint64][]int32{}}
	q := &steps{s: &speaker{ctx: s.ctx, m: other, open: s.open, info: s.info, next: s.next, cached: s.cached, patience: s.patience}, f: holds(), held: map[uint64][]int32{}}
	p.extend(seq, nil, one.tokens[:n-2], "before the model was opened again")
	q.extend(seq, nil, two.tokens, "in the second of two open models")
	p.extend(seq, one.tokens[:n-2], one.tokens[n-2:n-1], "beside a second open model that uses the same number")
	if q.f.outcome == Fail {
		return q.f
	}
	if f := shut(); f.outcome == Fail {
		return f
	}
	p.extend(seq, one.tokens[:n-1], one.tokens[n-1:], "after a second open model was closed")
	p.edit(model.Edit{Op: model.Free, Seq: seq})
	return p.f
}

func digest(s *speaker) finding {
	for range 2 {
		var got string
		err := s.within(func(ctx context.Context) (err error) {
			got, err = s.m.Verify(ctx)
			return err
		})
		if err != nil {
			return fail("verifying", err.Error())
		}
		if got != s.info.Digest {
			return fail("verifying", fmt.Sprintf("%s, at open %s", got, s.info.Digest))
		}
	}
	return holds()
}

func rows(s *speaker) finding {
	alike := s.info.VocabSize >= 4
	for which := range 3 {
		c, err := s.text(which, textLength)
		if err != nil {
			return silent(err)
		}
		seq := s.fresh()
		got, err := s.feed(seq, 0, c.tokens, model.All)
		if err != nil {
			return fail(tokensText(c.tokens), err.Error())
		}
		for k := range got {
			if why := s.sound(&got[k]); why != "" {
				return fail(tokensText(c.tokens[:k+1]), why)
			}
			alike = alike && probabilities(&got[k])
		}
		if err := s.free(seq); err != nil {
			return fail("forgetting a sequence", err.Error())
		}
	}
	if alike {
		return fail("contexts that the model writes itself", "rows of numbers from 0 to 1 that make 1: probabilities in place of scores, which are natural logarithms")
	}
	return holds()
}

// massSlack is how far the listed probabilities of a row may be from adding up,
// each of them rounded to float32.
const massSlack = 1e-3

// sound says what is wrong with a row of the model.
func (s *speaker) sound(row *dist.Scores) string {
	if err := row.Check(); err != nil {
		return err.Error()
	}
	switch {
	case row.Vocab != s.info.VocabSize:
		return fmt.Sprintf("a row over %d tokens, the vocabulary has %d", row.Vocab, s.info.VocabSize)
	case s.info.TopN == 0 && row.Unlisted > 0:
		return fmt.Sprintf("%g is unlisted, and the model says that it lists all", row.Unlisted)
	case s.info.TopN > 0 && row.Len() > s.info.TopN && !row.Dense():
		return fmt.Sprintf("%d tokens are listed, and the model says at most %d", row.Len(), s.info.TopN)
	}
	if row.Unlisted > 0 {
		sum := row.Unlisted
		for _, v := range row.Values {
			sum += math.Exp(float64(v))
		}
		if !(math.Abs(sum-1) <= massSlack) {
			return fmt.Sprintf("listed probabilities and the unlisted mass add up to %.6g", sum)
		}
	}
	return ""
}

// refusedContext reports whether an error is one by which a model may answer a
// context that is none of its own.
func refusedContext(err error) bool {
	switch fault.KindOf(err) {
	case fault.Model, fault.Data, fault.Usage, fault.Limit:
		return true
	}
	return false
}

func contexts(s *speaker) finding {
	g := s.random("contexts")
	base, err := s.text(0, 8)
	if err != nil {
		return silent(err)
	}
	for range 12 {
		seq := s.fresh()
		if _, err := s.feed(seq, 0, base.tokens, model.None); err != nil {
			return fail(tokensText(base.tokens), err.Error())
		}
		odd := make([]int32, 1+g.IntN(6))
		for i := range odd {
			odd[i] = int32(g.IntN(s.info.VocabSize))
		}
		if room := s.info.ContextLength - len(base.tokens); len(odd) > room {
			odd = odd[:room]
		}
		if len(odd) == 0 {
			break
		}
		all := slices.Concat(base.tokens, odd)
		got, err := s.feed(seq, len(base.tokens), odd, model.All)
		switch {
		case err == nil:
			for k := range got {
				if why := s.sound(&got[k]); why != "" {
					return fail(tokensText(all), why)
				}
			}
		case !refusedContext(err):
			return fail(tokensText(all), fmt.Sprintf("an error of kind %v: %v", fault.KindOf(err), err))
		default:
			if f := s.unchanged(seq, base, "after a refused context"); f.outcome == Fail {
				return f
			}
		}
		if err := s.free(seq); err != nil {
			return fail("forgetting a sequence", err.Error())
		}
	}
	return holds()
}

// unchanged says how a sequence does not hold a context any more: its next
// token is fed and the row compared.
func (s *speaker) unchanged(seq uint64, c contextOf, when string) finding {
	last := c.tokens[len(c.tokens)-1]
	want, err := s.after(c.tokens)
	if err != nil {
		return fail(tokensText(c.tokens), err.Error())
	}
	one, _, err := s.draw(s.random("unchanged"), &want)
	if err != nil {
		one = last
	}
	all := append(slices.Clone(c.tokens), one)
	if len(all) > s.info.ContextLength {
		return holds()
	}
	got, err := s.feed(seq, len(c.tokens), all[len(c.tokens):], model.Last)
	if err != nil {
		if _, alone := s.after(all); alone != nil {
			return holds() // it refuses that one too
		}
		return fail(tokensText(all), when+" an error: "+err.Error())
	}
	return s.expect(&got[0], all, when)
}
