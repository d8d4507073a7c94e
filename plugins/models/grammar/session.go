package grammar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"lab/core/fault"
	"lab/core/plugin/model"
)

// maxHeld is how many tokens all sequences together may hold.
const maxHeld = 1 << 21

// sequence is a text under evaluation: for each of its tokens, BOS first, the
// state after it. States are immutable, so that forks share them.
type sequence []position

type position struct {
	token int32
	state State
	bytes int64 // held by this and the positions before it
}

// held returns the bytes a sequence holds, as far as this package can know:
// positions and live stacks. What forks share counts in each of them.
func (s sequence) held() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].bytes
}

// Forward extends every input's sequence and fills its rows: the natural
// logarithms of the true probabilities, -Inf for tokens that cannot follow.
// Errors: usage for an input that does not fit its sequence, model for a token
// that the language rules out (the message names it and what could stand
// there) and for a row asked for after the end of a text, limit for a full
// context, interrupted when ctx ends. No sequence has changed then; the
// callers' rows may hold anything.
func (e *engine) Forward(ctx context.Context, batch []model.Input) (model.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		return model.Usage{}, e.closed("forward")
	}
	if err := e.check(batch); err != nil {
		return model.Usage{}, err
	}
	var u model.Usage
	extended := make([]sequence, len(batch))
	for i, in := range batch {
		if err := ended(ctx); err != nil {
			return model.Usage{}, err
		}
		start := time.Now()
		s, added, err := e.extend(in)
		if err != nil {
			return model.Usage{}, err
		}
		extended[i] = s
		seconds := time.Since(start).Seconds()
		if n := int64(len(in.Tokens)); n > 1 {
			u.PrefillTokens += n
			u.PrefillSeconds += seconds
		} else {
			u.DecodeTokens += n
			u.DecodeSeconds += seconds
		}
		// A probability added up is one multiply-add; it is read with its token
		// number, and every wanted row is written.
		u.FLOPs += 2 * added
		u.BytesMoved += 12*added + 4*int64(len(in.Scores)*e.info.VocabSize)
	}
	for i, in := range batch {
		e.seqs[in.Seq] = &extended[i]
	}
	for _, s := range e.seqs {
		u.CacheBytes += s.held()
	}
	return u, nil
}

// ended returns the error for a context that is over.
func ended(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Limit, "forward", "")
	}
	return fault.Wrap(err, fault.Interrupted, "forward", "")
}

// check refuses a batch that does not fit the sequences.
func (e *engine) check(batch []model.Input) error {
	seen := make(map[uint64]bool, len(batch))
	held := 0
	for _, s := range e.seqs {
		held += len(*s)
	}
	for i, in := range batch {
		length := 0
		if held := e.seqs[in.Seq]; held != nil {
			length = len(*held)
		}
		if err := in.Check(e.info, length); err != nil {
			return fault.Wrap(err, fault.Usage, "forward", fmt.Sprintf("input %d", i))
		}
		if seen[in.Seq] {
			return fault.New(fault.Usage, "forward", fmt.Sprintf("input %d", i), "sequence %d is extended twice in one call", in.Seq)
		}
		seen[in.Seq] = true
		if held += len(in.Tokens); held > maxHeld {
			return fault.New(fault.Limit, "forward", fmt.Sprintf("input %d", i), "all sequences together would hold more than %d tokens", maxHeld).
				Fix("free sequences, or use fewer samples at once")
		}
	}
	return nil
}

// extend returns the sequence of an input with its tokens added, and how many
// probabilities its rows took. The sequence held by the engine is unchanged.
func (e *engine) extend(in model.Input) (out sequence, added int64, err error) {
	if s := e.seqs[in.Seq]; s != nil {
		out = *s
	}
	out = slices.Grow(out, len(in.Tokens))
	first := len(in.Tokens) - len(in.Scores)
	for j, token := range in.Tokens {
		state, err := e.next(out, token)
		if err != nil {
			return nil, 0, err
		}
		size := int64(unsafe.Sizeof(position{})) + int64(len(state.live))*int64(unsafe.Sizeof(weighted{}))
		out = append(out, position{token: token, state: state, bytes: out.held() + size})
		if j < first {
			continue
		}
		if state.Ended() {
			return nil, 0, state.Distribution(e.row)
		}
		added += int64(state.fill(e.row))
		values := in.Scores[j-first].Values
		for i, p := range e.row {
			values[i] = float32(math.Log(p)) // log 0 is -Inf
		}
	}
	return out, added, nil
}

// next returns the state after one more token of a sequence.
func (e *engine) next(s sequence, token int32) (State, error) {
	bos := e.info.Begin
	if len(s) == 0 {
		if token != bos {
			return State{}, fault.New(fault.Model, "forward", fmt.Sprintf("model %q", e.info.Name),
				"a text starts with %s, not with %s", e.lang.show(bos), e.lang.show(token)).Fix("encode the prompt with its begin token")
		}
		return e.lang.Start(), nil
	}
	state, err := s[len(s)-1].state.Advance(token)
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.Model {
		refused.Op = fmt.Sprintf("model %q", e.info.Name)
		refused.Subject += ", after " + e.tail(s)
	}
	return state, err
}

// tail quotes the end of the text a sequence holds.
func (e *engine) tail(s sequence) string {
	const shown = 12
	var text []byte
	for _, p := range s[max(0, len(s)-shown):] {
		text = append(text, e.lang.tok.Texts()[p.token]...)
	}
	if len(s) > shown {
		return fault.Quote("…"+string(text), 80)
	}
	if len(text) == 0 {
		return "the start of the text"
	}
	return fault.Quote(string(text[1:]), 80)
}

func sequenceName(id uint64) string { return fmt.Sprintf("sequence %d", id) }

// Edit applies the edits in order; when one fails, those before it stand. A
// fork costs nothing but the copy of a slice header.
func (e *engine) Edit(_ context.Context, edits []model.Edit) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		return e.closed("edit")
	}
	for i, edit := range edits {
		if err := e.edit(edit); err != nil {
			return fault.Wrap(err, fault.Usage, "edit", fmt.Sprintf("%d of %d", i+1, len(edits)))
		}
	}
	return nil
}

func (e *engine) edit(x model.Edit) error {
	wrong := func(op, format string, args ...any) error {
		return fault.New(fault.Usage, op, sequenceName(x.Seq), format, args...)
	}
	op := map[model.Op]string{model.Fork: "fork", model.Truncate: "truncate", model.Free: "free"}[x.Op]
	if op == "" {
		return wrong("", "unknown operation %d", x.Op)
	}
	if x.Op == model.Free {
		delete(e.seqs, x.Seq)
		return nil
	}
	s := e.seqs[x.Seq]
	if s == nil {
		return wrong(op, "there is no such sequence")
	}
	if x.Length < 0 || x.Length > len(*s) {
		return wrong(op, "length %d is outside [0, %d]", x.Length, len(*s))
	}
	kept := (*s)[:x.Length:x.Length] // a later append to either copies
	if x.Op == model.Truncate {
		e.seqs[x.Seq] = &kept
		return nil
	}
	if e.seqs[x.To] != nil {
		return wrong(op, "sequence %d, which it is to become, exists", x.To)
	}
	e.seqs[x.To] = &kept
	return nil
}
