package generate

import (
	"context"
	"fmt"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// RootHidden returns a branch over a prompt, prefilled, and the hidden state of
// the model at each of its tokens. A model that offers none is a usage error.
func (e *Engine) RootHidden(ctx context.Context, usage *model.Usage, prompt []byte) (*Branch, [][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.info.Hidden == 0 {
		return nil, nil, fault.New(fault.Usage, "generate", fmt.Sprintf("model %q", e.info.Name), "it does not offer hidden states").
			Fix("use a transformer that runs in lab, such as tiny or a GGUF file")
	}
	// Every token's state is wanted, so nothing that is held of the prompt helps.
	tokens, err := e.Encode(ctx, prompt)
	if err != nil {
		return nil, nil, err
	}
	e.seq++
	b := &Branch{e: e, seq: e.seq, tokens: tokens, prompt: len(tokens), row: e.takeRow()}
	var states [][]float32
	for b.held < len(b.tokens) {
		// Scores come with every state, so the pieces bound their memory.
		n := min(len(b.tokens)-b.held, max(1, scoreBytes/4/e.info.VocabSize))
		rows := make([]dist.Scores, n)
		for i := range rows {
			rows[i] = e.heapRow()
		}
		in := model.Input{Seq: b.seq, Start: b.held, Tokens: b.tokens[b.held : b.held+n], Want: model.All, Scores: rows,
			Hidden: make([]float32, n*e.info.Hidden)}
		if err := forward(ctx, usage, []*Branch{b}, []model.Input{in}); err != nil {
			b.drop()
			return nil, nil, err
		}
		states = append(states, e.states(in.Hidden)...)
	}
	return b, states, nil
}

func (e *Engine) states(flat []float32) [][]float32 {
	var out [][]float32
	for len(flat) > 0 {
		out = append(out, flat[:e.info.Hidden:e.info.Hidden])
		flat = flat[e.info.Hidden:]
	}
	return out
}

// GrowHidden is [Grow] for branches of a model that offers hidden states, and
// returns the state at the newest token of each. Every branch must have been
// extended.
func GrowHidden(ctx context.Context, usage *model.Usage, branches ...*Branch) ([][]float32, error) {
	e := branches[0].e
	e.mu.Lock()
	defer e.mu.Unlock()
	inputs := make([]model.Input, len(branches))
	flat := make([]float32, len(branches)*e.info.Hidden)
	for i, b := range branches {
		if b.e != e || b.held == len(b.tokens) {
			return nil, fault.New(fault.Internal, "branch", "", "branch %d has no new token, or another engine", i)
		}
		inputs[i] = b.input(model.Last, b.row)
		inputs[i].Hidden = flat[i*e.info.Hidden:][:e.info.Hidden]
	}
	if err := forward(ctx, usage, branches, inputs); err != nil {
		return nil, err
	}
	return e.states(flat), nil
}
