// Package generate is the core loop: tokens, prefill once, then forward, chain,
// select, accept, until something stops the sample.
//
// Many samples advance together, one forward call a step; samples of one prompt
// share its prefill by forking, prompts that begin alike that of the beginning,
// within a run and from one to the next. A sample's tokens depend on its model, chain,
// prompt, seed and index only, never on its neighbours, the batch size or the
// order of the jobs. The package does not know whether model and samplers run
// in this process. Start with [New].
package generate

import (
	"context"
	"fmt"
	"sync"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Engine generates from one open model. Its methods may be called from several
// goroutines; they run one after another.
type Engine struct {
	mu     sync.Mutex
	m      model.Model
	info   model.Info
	pieces [][]byte
	end    map[int32]bool
	seq    uint64        // last sequence name given out
	spare  []dist.Scores // rows of dropped branches
	number uint64

	prefixes []*prefix   // prompts that the model holds, the least recently used first
	used     model.Usage // of all forward calls
}

// lender is a model that lends rows which reach samplers without being copied.
type lender interface {
	Rows(n int) []dist.Scores
	Release(rows []dist.Scores)
}

// keyed is a model whose vocabulary samplers in other processes know by a key.
type keyed interface{ VocabularyKey() string }

// New returns an engine over m, which stays the caller's to close.
func New(ctx context.Context, m model.Model) (*Engine, error) {
	pieces, err := m.Pieces(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{m: m, info: m.Info(), pieces: pieces, end: map[int32]bool{}, number: engineCount.Add(1)}
	if len(pieces) != e.info.VocabSize {
		return nil, fault.New(fault.Model, "generate", fmt.Sprintf("model %q", e.info.Name),
			"it lists %d token texts for a vocabulary of %d", len(pieces), e.info.VocabSize)
	}
	for _, t := range e.info.EndOfText {
		e.end[t] = true
	}
	return e, nil
}

// Piece returns the bytes of a token, nil for one outside the vocabulary.
func (e *Engine) Piece(token int32) []byte {
	if token < 0 || int(token) >= len(e.pieces) {
		return nil
	}
	return e.pieces[token]
}

// IsEnd reports whether a token ends a text.
func (e *Engine) IsEnd(token int32) bool { return e.end[token] }

// VocabularyKey names the vocabulary in sampler calls; empty for a model in this
// process.
func (e *Engine) VocabularyKey() string {
	if k, ok := e.m.(keyed); ok {
		return k.VocabularyKey()
	}
	return ""
}

// Pieces returns the bytes of every token; they must not be changed.
func (e *Engine) Pieces() [][]byte { return e.pieces }

// Info describes the model.
func (e *Engine) Info() model.Info { return e.info }

// Encode returns the tokens of a prompt, begin token included when the model's
// policy asks for one. An empty prompt is a usage error, one longer than the
// context a limit error with both numbers.
func (e *Engine) Encode(ctx context.Context, prompt []byte) ([]int32, error) {
	if len(prompt) == 0 {
		return nil, fault.New(fault.Usage, "generate", "prompt", "it is empty").
			Fix("give at least one character to continue")
	}
	tokens, err := e.m.Encode(ctx, prompt, model.EncodeOptions{Begin: true})
	if err != nil {
		return nil, err
	}
	return tokens, e.fits(tokens)
}

// tokens returns the tokens of a job's prompt.
func (e *Engine) tokens(ctx context.Context, j Job) ([]int32, error) {
	if j.Tokens == nil {
		return e.Encode(ctx, j.Prompt)
	}
	return j.Tokens, e.fits(j.Tokens)
}

// fits returns a limit error for a prompt that is longer than the context.
func (e *Engine) fits(tokens []int32) error {
	if len(tokens) > e.info.ContextLength {
		return fault.New(fault.Limit, "generate", "prompt", "it is %d tokens long, the context of model %q holds %d",
			len(tokens), e.info.Name, e.info.ContextLength).Fix("shorten the prompt; nothing was cut off")
	}
	return nil
}

// Chat returns the prompt that a conversation is, for Job.Prompt and Job.Tokens.
// A model that knows no form of a conversation is a usage error.
func (e *Engine) Chat(ctx context.Context, turns []model.Turn) (model.Conversation, error) {
	chatter, ok := e.m.(model.Chatter)
	if !ok || !e.info.Chat {
		return model.Conversation{}, fault.New(fault.Usage, "chat", fmt.Sprintf("model %q", e.info.Name), "it has no chat template").
			Fix("take an instruct model's file, or write the prompt in the form that the model was trained on")
	}
	return chatter.Chat(ctx, turns)
}

// key tells prompts apart: by their tokens where those are given.
func (j Job) key() string {
	if j.Tokens == nil {
		return "text " + string(j.Prompt)
	}
	return fmt.Sprint("tokens ", j.Tokens)
}

// Prediction is the model's answer to one prompt.
type Prediction struct {
	Tokens []int32     // of the prompt
	Scores dist.Scores // the model's raw row for the next token
	Usage  model.Usage
}

// Next returns the model's scores for the token after the prompt.
func (e *Engine) Next(ctx context.Context, prompt []byte) (*Prediction, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tokens, err := e.Encode(ctx, prompt)
	if err != nil {
		return nil, err
	}
	p := &Prediction{Tokens: tokens}
	prefixes, _, err := e.prefill(ctx, &p.Usage, tokens)
	if err != nil {
		return nil, err
	}
	p.Scores = prefixes[0].row.Clone()
	e.unpin(prefixes[0])
	return p, nil
}

func (e *Engine) heapRow() dist.Scores { return dist.NewDense(make([]float32, e.info.VocabSize)) }

// Usage returns what all forward calls of the engine cost so far.
func (e *Engine) Usage() model.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.used
}

// free forgets sequences even when the work was interrupted. A failure is not
// reported: the error that led here, or the next call, says more.
func (e *Engine) free(seqs ...uint64) {
	if len(seqs) == 0 {
		return
	}
	edits := make([]model.Edit, len(seqs))
	for i, s := range seqs {
		edits[i] = model.Edit{Op: model.Free, Seq: s}
	}
	_ = e.m.Edit(context.Background(), edits)
}
