package generate

import (
	"context"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Scored is one token of a text as the model sees it in its context.
type Scored struct {
	Token         int32
	Piece         []byte
	SurprisalBits float64 // -log2 of its model probability; +Inf when that is 0
}

// Score returns the surprisal of every token of text after prompt, under the
// model distribution. The text is tokenised together with the prompt, whose own
// tokens are not scored; when a token spans the border it counts as text. A
// token of probability 0 ends the list with a surprisal of +Inf, since what
// follows has no distribution under a model that rules the prefix out.
func (e *Engine) Score(ctx context.Context, prompt, text []byte) ([]Scored, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	head, err := e.Encode(ctx, prompt)
	if err != nil {
		return nil, err
	}
	tokens, err := e.Encode(ctx, append(append([]byte(nil), prompt...), text...))
	if err != nil {
		return nil, err
	}
	start := 0
	for start < len(head) && start < len(tokens) && head[start] == tokens[start] {
		start++
	}
	if start == 0 {
		return nil, fault.New(fault.Usage, "score", "", "the model has no begin token, so the first token has no distribution").
			Fix("give a prompt")
	}
	e.seq++
	defer e.free(e.seq)
	return e.score(ctx, e.seq, tokens, start)
}

// scoreBytes bounds the rows of scores held at once while a text is scored.
const scoreBytes = 16 << 20

// score evaluates the tokens from start on in calls of as many positions as fit
// scoreBytes. A model that refuses a call as a whole, because a token of it is
// impossible, is asked position by position up to that token.
func (e *Engine) score(ctx context.Context, seq uint64, tokens []int32, start int) ([]Scored, error) {
	if start > 1 {
		if _, err := e.m.Forward(ctx, []model.Input{{Seq: seq, Tokens: tokens[:start-1]}}); err != nil {
			return nil, err
		}
	}
	rows := make([]dist.Scores, max(1, min(len(tokens)-start, scoreBytes/4/e.info.VocabSize)))
	for i := range rows {
		rows[i] = e.heapRow()
	}
	out := make([]Scored, 0, len(tokens)-start)
	for at := start; at < len(tokens); {
		n := min(len(rows), len(tokens)-at)
		in := model.Input{Seq: seq, Start: at - 1, Tokens: tokens[at-1 : at-1+n], Want: model.All, Scores: slices.Clone(rows[:n])}
		_, err := e.m.Forward(ctx, []model.Input{in})
		if fault.KindOf(err) == fault.Model && n > 1 {
			rows = rows[:1]
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range in.Scores {
			d, err := dist.NewModel(&in.Scores[i])
			if err != nil {
				return nil, err
			}
			token := tokens[at+i]
			out = append(out, Scored{Token: token, Piece: e.Piece(token), SurprisalBits: d.SurprisalBits(token)})
			if math.IsInf(out[len(out)-1].SurprisalBits, 1) {
				return out, nil
			}
		}
		at += n
	}
	return out, nil
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
