package generate

import (
	"context"
	"fmt"
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Scored is one token of a text as the model sees it in its context.
type Scored struct {
	Token         int32
	Piece         []byte
	SurprisalBits float64     // -log2 of its model probability; +Inf when that is 0
	Rank          int         // among all tokens by falling probability, from 1; 0 when it has none
	Entropy       dist.Bounds // of the distribution it was looked up in, bits
	Top           []dist.Entry
}

// ScoreOptions say what is kept of a scoring and how it is watched.
type ScoreOptions struct {
	Top int // the likeliest tokens listed for every position
	// End scores after the text the first of the model's end-of-text tokens: how
	// likely it is that the text ends there. It has no bytes.
	End bool
	// Sums keeps no tokens, only their sums, for texts of any length.
	Sums bool
	// OnStep is called after every forward call with the tokens scored so far
	// and those to be scored; it may be nil and runs on the caller's goroutine.
	OnStep func(scored, total int)
}

// Scoring is what the model says of one text. Sums are over the tokens that were
// scored, which are Total unless it was interrupted or a token has probability 0.
type Scoring struct {
	Prompt  []int32  // tokens before the first one that counts
	Tokens  []Scored // those that were scored, in order; nil with ScoreOptions.Sums
	Count   int      // tokens that were scored
	Total   int      // tokens of the text that were to be scored
	Bits    float64  // -log2 of the probability of the tokens that were scored
	Bytes   int      // of their text
	Windows int      // pieces the text was read in
	Window  int      // tokens of a piece; 0: the text was read as a whole
	Stride  int      // tokens from one piece to the next
}

// MeanBits returns the mean surprisal of a token, NaN when there is none.
func (s *Scoring) MeanBits() float64 { return s.Bits / float64(s.Count) }

// Perplexity returns 2^(mean surprisal), +Inf when a token has probability 0 and
// NaN when no token was scored.
func (s *Scoring) Perplexity() float64 { return math.Exp2(s.MeanBits()) }

// BitsPerByte returns the surprisal of all tokens over the bytes of their text,
// NaN when there are none. Unlike a perplexity it may be compared between models
// with different vocabularies.
func (s *Scoring) BitsPerByte() float64 { return s.Bits / float64(s.Bytes) }

// LnP returns the natural logarithm of the probability of the tokens scored.
func (s *Scoring) LnP() float64 { return -s.Bits * math.Ln2 }

// Score returns what the model says of every text after prompt, under the model
// distribution. A text is tokenised together with the prompt, whose own tokens
// are not scored; when a token spans the border it counts as text. A token of
// probability 0 ends its text with a surprisal of +Inf, since what follows has
// no distribution under a model that rules the prefix out.
//
// Texts advance together and share what they have in common, and a prompt of some
// length is kept as that of a run is: what the model holds of it already is counted
// as cached and not read again. Each result is what the text alone would give, bit
// for bit with a deterministic model. Errors:
// usage for a text whose first token has no context, limit for one that exceeds
// the model's context. When ctx ends, what was scored so far is returned with an
// error of kind Interrupted.
func (e *Engine) Score(ctx context.Context, prompt []byte, texts [][]byte, opt ScoreOptions) ([]*Scoring, model.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &scorer{e: e, op: "score", opt: opt}
	for i, text := range texts {
		item, err := e.scoreItem(ctx, prompt, text, opt.End)
		if err != nil {
			if len(texts) > 1 {
				err = fault.Wrap(err, fault.Usage, "", fmt.Sprintf("text %d", i))
			}
			return nil, model.Usage{}, err
		}
		s.items = append(s.items, item)
		s.total += item.out.Total
	}
	err := s.keepPrompt(ctx)
	if err == nil {
		err = s.run(ctx)
	}
	out := make([]*Scoring, len(s.items))
	for i, item := range s.items {
		out[i] = item.out
		if bytesErr := e.countBytes(ctx, item.out, item.tokens, item.start); err == nil {
			err = bytesErr
		}
	}
	return out, s.usage, s.ended(ctx, err)
}

// scoreItem tokenises a text after a prompt, and its end with end.
func (e *Engine) scoreItem(ctx context.Context, prompt, text []byte, end bool) (*scoreItem, error) {
	if len(text) == 0 {
		return nil, fault.New(fault.Usage, "score", "text", "it is empty")
	}
	encode := func(text []byte) ([]int32, error) { return e.m.Encode(ctx, text, model.EncodeOptions{Begin: true}) }
	tokens, err := encode(append(append([]byte(nil), prompt...), text...))
	if err != nil {
		return nil, err
	}
	if end {
		if len(e.info.EndOfText) == 0 {
			return nil, fault.New(fault.Usage, "score", "end", "model %q has no end-of-text token", e.info.Name).Fix("score the text without its end")
		}
		tokens = append(tokens, e.info.EndOfText[0])
	}
	head := []int32{}
	switch {
	case len(prompt) > 0:
		if head, err = encode(prompt); err != nil {
			return nil, err
		}
	case e.info.Begin >= 0:
		head = []int32{e.info.Begin}
	}
	start := 0
	for start < len(head) && start < len(tokens) && head[start] == tokens[start] {
		start++
	}
	if start == 0 {
		return nil, fault.New(fault.Usage, "score", "", "the model has no begin token, so the first token has no distribution").
			Fix("give a prompt")
	}
	if len(tokens)-1 > e.info.ContextLength { // the last token is looked up, not read
		return nil, fault.New(fault.Limit, "score", "text", "prompt and text are %d tokens long, the context of model %q holds %d",
			len(tokens), e.info.Name, e.info.ContextLength).Fix("nothing was cut off; lab perplexity, or perplexity of a script's model, scores a long text in overlapping windows")
	}
	return newScoreItem(tokens, start), nil
}

func newScoreItem(tokens []int32, start int) *scoreItem {
	return &scoreItem{tokens: tokens, start: start, out: &Scoring{Prompt: tokens[:start], Total: len(tokens) - start, Windows: 1}}
}

// countBytes sets the bytes of the text of the tokens that were scored: of a
// whole text, so that what tokenising adds is not counted.
func (e *Engine) countBytes(ctx context.Context, s *Scoring, tokens []int32, start int) error {
	ctx = context.WithoutCancel(ctx) // an interrupt leaves what was scored
	before, err := e.m.Decode(ctx, tokens[:start])
	if err != nil {
		return err
	}
	after, err := e.m.Decode(ctx, tokens[:start+s.Count])
	if err != nil {
		return err
	}
	s.Bytes = len(after) - len(before)
	return nil
}

// ended returns err, as an interrupt when that is what ended the work.
func (s *scorer) ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fault.New(fault.Interrupted, s.op, "", "stopped after %d of %d tokens: %v", s.scored, s.total, context.Cause(ctx))
}

// Continuation returns the tokens of a prompt, begin token included when the
// model asks for one, and those of the text after it. Both are tokenised
// together; a token that spans the border counts as text. Without a prompt the
// begin token alone comes before the text.
func (e *Engine) Continuation(ctx context.Context, prompt, text string) (head, rest []int32, err error) {
	if text == "" {
		return nil, nil, fault.New(fault.Usage, "tokens", "text", "it is empty")
	}
	tokens, err := e.m.Encode(ctx, []byte(prompt+text), model.EncodeOptions{Begin: true})
	if err != nil {
		return nil, nil, err
	}
	before := []int32{}
	if prompt != "" {
		if before, err = e.m.Encode(ctx, []byte(prompt), model.EncodeOptions{Begin: true}); err != nil {
			return nil, nil, err
		}
	} else if e.info.Begin >= 0 {
		before = []int32{e.info.Begin}
	}
	n := 0
	for n < len(before) && n < len(tokens) && before[n] == tokens[n] {
		n++
	}
	return tokens[:n], tokens[n:], nil
}
