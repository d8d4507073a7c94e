package generate

import (
	"context"
	"math"

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
	seq := e.seq
	defer e.free(seq)
	out := make([]Scored, 0, len(tokens)-start)
	row := []dist.Scores{e.heapRow()}
	done := 0
	for at := start; at < len(tokens); at++ {
		in := model.Input{Seq: seq, Start: done, Tokens: tokens[done:at], Want: model.Last, Scores: row}
		if _, err := e.m.Forward(ctx, []model.Input{in}); err != nil {
			return nil, err
		}
		done = at
		d, err := dist.NewModel(&in.Scores[0])
		if err != nil {
			return nil, err
		}
		s := Scored{Token: tokens[at], Piece: e.Piece(tokens[at]), SurprisalBits: d.SurprisalBits(tokens[at])}
		out = append(out, s)
		if math.IsInf(s.SurprisalBits, 1) {
			break
		}
	}
	return out, nil
}
