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
	"slices"
	"sync"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/trace"
)

// Job is one sample to be generated.
type Job struct {
	Prompt []byte
	// Tokens are those of the prompt where its text does not tell them, as in a
	// conversation with control tokens; nil for those of Prompt.
	Tokens    []int32
	Chain     *chain.Chain
	Seed      uint64   // of the run
	Sample    uint64   // index of the sample; with Seed and Prompt it fixes every draw
	MaxTokens int      // at least 1
	Stop      []string // stop strings, none empty; they may span tokens
	Passes    []Pass   // further model passes, for chains that want them
}

// Options says how jobs are run and what is recorded.
type Options struct {
	Batch  int  // most samples in one forward call; 0 means 32
	Ledger bool // record both distributions and every stage at every step

	// OnText is called with text as it becomes showable, in order within a job.
	// OnStep is called after every step with the jobs finished and the tokens
	// generated so far. Both may be nil and run on the caller's goroutine.
	OnText func(job int, text []byte)
	OnStep func(finished, tokens int)
}

const defaultBatch = 32

// Result holds one sample per job, in the order of the jobs.
type Result struct {
	Samples  []trace.Sample
	Usage    model.Usage
	Warnings []string
}

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
	prefixes, err := e.prefill(ctx, &p.Usage, tokens)
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

// Run generates all jobs. When ctx ends, the samples so far are returned with
// an error of kind Interrupted; unfinished ones carry the stop reason
// "interrupted". On any other error the finished samples are returned with it.
func (e *Engine) Run(ctx context.Context, jobs []Job, opt Options) (*Result, error) {
	defer e.lockWith(jobs)()
	if opt.Batch == 0 {
		opt.Batch = defaultBatch
	}
	if err := e.checkJobs(jobs, opt); err != nil {
		return nil, err
	}
	b := newBatch(e, jobs, opt)
	defer b.close()
	err := b.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fault.New(fault.Interrupted, "generate", "", "stopped after %d tokens, %d of %d samples finished: %v",
			b.tokens, b.finished, len(jobs), context.Cause(ctx))
	}
	return b.result(), err
}

func (e *Engine) checkJobs(jobs []Job, opt Options) error {
	if opt.Batch < 0 {
		return fault.New(fault.Usage, "generate", "batch", "batch = %d is below 1", opt.Batch)
	}
	for i, j := range jobs {
		subject := fmt.Sprintf("job %d", i)
		switch {
		case j.Chain == nil:
			return fault.New(fault.Usage, "generate", subject, "it has no chain")
		case j.MaxTokens < 1:
			return fault.New(fault.Usage, "generate", subject, "max_tokens = %d is below 1", j.MaxTokens)
		case j.Tokens != nil && slices.ContainsFunc(j.Passes, func(p Pass) bool { return len(p.Prompt) == 0 }):
			return fault.New(fault.Usage, "generate", subject, "a further pass is to see the prompt, which is a conversation in the form of one model").
				Fix("give the pass a prompt of its own")
		case j.Sample > maxSample:
			return fault.New(fault.Usage, "generate", subject, "sample %d is above %d", j.Sample, uint64(maxSample))
		}
		for _, s := range j.Stop {
			if s == "" {
				return fault.New(fault.Usage, "generate", subject, "a stop string is empty").Fix("leave it out")
			}
		}
		if i > 0 && j.Chain == jobs[i-1].Chain && slices.Equal(engines(j.Passes), engines(jobs[i-1].Passes)) {
			continue // comparing vocabularies takes a while
		}
		if err := e.CheckPasses(j.Chain, j.Passes); err != nil {
			return err
		}
	}
	return nil
}

// maxSample is the largest sample index the streams of core/seed tell apart.
const maxSample = 1<<32 - 2
