package generate

import (
	"context"
	"fmt"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Branch is one sequence of a model that its owner extends, forks and cuts at
// will: what strategies over several distributions are made of, and what a
// further model pass is. A branch belongs to one goroutine; branches of one
// engine may be used by several. Drop it when done.
type Branch struct {
	e      *Engine
	seq    uint64
	tokens []int32 // the context, prompt first
	prompt int
	held   int // tokens the model holds
	row    dist.Scores
	fresh  bool // row holds the scores after the tokens that are held
}

// Root returns a branch over a prompt, prefilled, and adds what that cost to
// usage, which may be nil.
func (e *Engine) Root(ctx context.Context, usage *model.Usage, prompt []byte) (*Branch, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.root(ctx, usage, prompt)
}

func (e *Engine) root(ctx context.Context, usage *model.Usage, prompt []byte) (*Branch, error) {
	tokens, err := e.Encode(ctx, prompt)
	if err != nil {
		return nil, err
	}
	prefixes, _, err := e.prefill(ctx, usage, tokens)
	if err != nil {
		return nil, err
	}
	p := prefixes[0]
	defer e.unpin(p)
	trunk := &Branch{e: e, seq: p.seq, tokens: p.tokens, prompt: len(tokens), held: len(tokens), row: p.row, fresh: true}
	return trunk.fork(ctx)
}

// Tokens returns the context, prompt first; the slice must not be changed.
func (b *Branch) Tokens() []int32 { return b.tokens }

// Prompt returns how many of the tokens are prompt.
func (b *Branch) Prompt() int { return b.prompt }

// Engine returns the engine of the branch.
func (b *Branch) Engine() *Engine { return b.e }

// Ended reports whether the newest token ends a text.
func (b *Branch) Ended() bool {
	return len(b.tokens) > b.prompt && b.e.end[b.tokens[len(b.tokens)-1]]
}

// Row returns a copy of the model's scores for the next token. It panics when
// the branch was extended and not grown since.
func (b *Branch) Row() dist.Scores {
	if !b.ready() {
		panic("generate: the row of a branch that was not grown")
	}
	return b.row.Clone()
}

func (b *Branch) ready() bool { return b.fresh && b.held == len(b.tokens) }

// Append adds tokens to the context; [Grow] evaluates them.
func (b *Branch) Append(tokens ...int32) {
	b.tokens = append(b.tokens, tokens...)
}

// Fork returns a copy of the branch as it stands, which shares what the model
// holds of it.
func (b *Branch) Fork(ctx context.Context) (*Branch, error) {
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	return b.fork(ctx)
}

func (b *Branch) fork(ctx context.Context) (*Branch, error) {
	b.e.seq++
	c := &Branch{e: b.e, seq: b.e.seq, tokens: slices.Clone(b.tokens), prompt: b.prompt, held: b.held, fresh: b.fresh}
	if b.row.Dense() {
		c.row = b.e.takeRow()
		copy(c.row.Values, b.row.Values)
	} else { // from a top-N backend
		c.row = b.row.Clone()
	}
	if b.held == 0 {
		return c, nil
	}
	edit := model.Edit{Op: model.Fork, Seq: b.seq, To: c.seq, Length: b.held}
	if err := b.e.m.Edit(ctx, []model.Edit{edit}); err != nil {
		b.e.giveRow(c.row)
		return nil, err
	}
	return c, nil
}

// Cut shortens the context to its first n tokens, at least one.
func (b *Branch) Cut(ctx context.Context, n int) error {
	if n == len(b.tokens) {
		return nil
	}
	if n < 1 || n > len(b.tokens) {
		return fault.New(fault.Internal, "branch", "", "%d tokens cannot be cut to %d", len(b.tokens), n)
	}
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	b.tokens = b.tokens[:n]
	return b.hold(ctx, n)
}

// hold makes the model forget all but the first n tokens, if it holds more.
func (b *Branch) hold(ctx context.Context, n int) error {
	if b.held <= n {
		return nil
	}
	edit := model.Edit{Op: model.Truncate, Seq: b.seq, Length: n}
	if n == 0 {
		edit = model.Edit{Op: model.Free, Seq: b.seq}
	}
	if err := b.e.m.Edit(ctx, []model.Edit{edit}); err != nil {
		return err
	}
	b.held, b.fresh = n, false
	return nil
}

// Drop forgets the branch. Dropping it again does nothing.
func (b *Branch) Drop() {
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	b.drop()
}

func (b *Branch) drop() {
	if b.seq == 0 {
		return
	}
	b.e.free(b.seq)
	b.e.giveRow(b.row)
	*b = Branch{e: b.e, tokens: b.tokens, prompt: b.prompt}
}

// Grow evaluates what was appended to branches of one engine, in one forward
// call, and adds what it cost to usage. A branch at the end of its context is a
// limit error. Branches that have their row already cost nothing.
func Grow(ctx context.Context, usage *model.Usage, branches ...*Branch) error {
	if len(branches) == 0 {
		return nil
	}
	branches[0].e.mu.Lock()
	defer branches[0].e.mu.Unlock()
	return grow(ctx, usage, branches...)
}

func grow(ctx context.Context, usage *model.Usage, branches ...*Branch) error {
	var inputs []model.Input
	var owners []*Branch
	for _, b := range branches {
		if b.e != branches[0].e {
			return fault.New(fault.Internal, "branch", "", "branches of two engines in one call")
		}
		if b.ready() {
			continue
		}
		// Scores that were lost to a cut take the last token again.
		if err := b.hold(ctx, len(b.tokens)-1); err != nil {
			return err
		}
		if !b.row.Dense() { // a top-N backend replaced it
			b.row = b.e.heapRow()
		}
		inputs = append(inputs, b.input(model.Last, b.row))
		owners = append(owners, b)
	}
	return forward(ctx, usage, owners, inputs)
}

// Rows evaluates what was appended to the branch, in one forward call where it
// can, and returns the scores after each of its newest n tokens, oldest first.
// None of the tokens after the first of these may have been evaluated before.
func (b *Branch) Rows(ctx context.Context, usage *model.Usage, n int) ([]dist.Scores, error) {
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	first := len(b.tokens) - n // rows are wanted after tokens[:first+1] and on
	if n < 1 || first < 0 || b.held > first+1 {
		return nil, fault.New(fault.Internal, "branch", "", "%d rows of %d tokens are wanted, and %d tokens are evaluated", n, len(b.tokens), b.held)
	}
	var rows []dist.Scores
	switch {
	case b.fresh && b.held == first+1:
		rows = append(rows, b.row.Clone())
		first++
	default:
		if err := b.hold(ctx, first); err != nil {
			return nil, err
		}
		if b.held < first {
			head := model.Input{Seq: b.seq, Start: b.held, Tokens: b.tokens[b.held:first]}
			if err := forward(ctx, usage, []*Branch{b}, []model.Input{head}); err != nil {
				return nil, err
			}
		}
	}
	if first == len(b.tokens) {
		return rows, nil
	}
	more := make([]dist.Scores, len(b.tokens)-first)
	for i := range more {
		more[i] = b.e.heapRow()
	}
	in := []model.Input{b.input(model.All, more...)}
	if err := forward(ctx, usage, []*Branch{b}, in); err != nil {
		return nil, err
	}
	return append(rows, in[0].Scores...), nil
}

func (b *Branch) input(want model.Want, rows ...dist.Scores) model.Input {
	return model.Input{Seq: b.seq, Start: b.held, Tokens: b.tokens[b.held:], Want: want, Scores: rows}
}

func forward(ctx context.Context, usage *model.Usage, owners []*Branch, inputs []model.Input) error {
	if len(inputs) == 0 {
		return nil
	}
	e := owners[0].e
	for i, b := range owners {
		if inputs[i].Start+len(inputs[i].Tokens) > e.info.ContextLength {
			return fault.New(fault.Limit, "generate", fmt.Sprintf("model %q", e.info.Name), "%d tokens exceed its context of %d",
				len(b.tokens), e.info.ContextLength).Fix("ask for fewer tokens or shorten the prompt")
		}
	}
	if err := e.forward(ctx, usage, inputs); err != nil {
		return err
	}
	for i, b := range owners {
		in := inputs[i]
		b.held, b.fresh = in.Start+len(in.Tokens), false
		switch n := len(in.Scores); in.Want {
		case model.Last:
			b.row, b.fresh = in.Scores[0], true
		case model.All:
			if newest := in.Scores[n-1]; newest.Dense() && b.row.Dense() {
				copy(b.row.Values, newest.Values)
				b.fresh = true
			}
		}
	}
	return nil
}

// takeRow returns a row in the memory that reaches samplers at the least cost.
func (e *Engine) takeRow() dist.Scores {
	if n := len(e.spare); n > 0 {
		r := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return r
	}
	if l, ok := e.m.(lender); ok {
		return l.Rows(1)[0]
	}
	return e.heapRow()
}

// mostSpare bounds the rows an engine keeps for later branches.
const mostSpare = 64

func (e *Engine) giveRow(r dist.Scores) {
	if !r.Dense() || len(r.Values) != e.info.VocabSize {
		return // a top-N backend replaced it
	}
	if len(e.spare) < mostSpare {
		e.spare = append(e.spare, r)
		return
	}
	if l, ok := e.m.(lender); ok {
		l.Release([]dist.Scores{r})
	}
}
