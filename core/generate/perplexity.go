package generate

import (
	"context"
	"fmt"

	"lab/core/fault"
	"lab/core/plugin/model"
)

// WindowOptions say how a long text is cut. The zero value takes windows of the
// model's context, at most 2048 tokens, that overlap by half.
type WindowOptions struct {
	Window int // tokens read together, the begin token included; 0: see above
	Stride int // tokens from one window to the next; 0: half a window
	// OnStep is that of [ScoreOptions].
	OnStep func(scored, total int)
}

// defaultWindow bounds the window that nobody chose: attention to more costs
// more than it tells.
const defaultWindow = 2048

// Perplexity returns the sums of a text of any length under the model
// distribution, read in windows that slide by a stride: each token is scored
// once, in the first window that holds it, so that one behind the first window
// has at least window - stride tokens before it. When the model begins texts
// with a token, every window starts with it, and the first token of the text
// counts; else the first token has no context and does not count.
//
// Unlike [Engine.Score] it finds nothing evaluated: a token of a window either wants
// scores, or stood elsewhere in the window before.
//
// Errors and interrupts are those of [Engine.Score]; windows that do not fit the
// model are usage errors. A token of probability 0 ends the work with an infinite
// sum. The measure is that of Jelinek, Mercer, Bahl and Baker 1977; the windows are
// the sliding ones of Baevski and Auli 2019 and of Press, Smith and Lewis 2021.
func (e *Engine) Perplexity(ctx context.Context, text []byte, opt WindowOptions) (*Scoring, model.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(text) == 0 {
		return nil, model.Usage{}, fault.New(fault.Usage, "perplexity", "text", "it is empty")
	}
	tokens, err := e.m.Encode(ctx, text, model.EncodeOptions{Begin: true})
	if err != nil {
		return nil, model.Usage{}, err
	}
	head := 0 // begin tokens, which every window repeats
	if e.info.Begin >= 0 && len(tokens) > 0 && tokens[0] == e.info.Begin {
		head = 1
	}
	w, err := e.windows(opt)
	if err != nil {
		return nil, model.Usage{}, err
	}
	start := max(head, 1) // of what counts
	out := &Scoring{Prompt: tokens[:min(start, len(tokens))], Total: max(0, len(tokens)-start),
		Window: w.window, Stride: w.stride}
	s := &scorer{e: e, op: "perplexity", total: out.Total, opt: ScoreOptions{Sums: true, OnStep: opt.OnStep}}
	if out.Total == 0 {
		return nil, model.Usage{}, fault.New(fault.Usage, "perplexity", "text", "it is one token long, and model %q has no begin token to score it after", e.info.Name)
	}
	err = s.slide(ctx, tokens, head, start, w, out)
	if bytesErr := e.countBytes(ctx, out, tokens, start); err == nil {
		err = bytesErr
	}
	return out, s.usage, s.ended(ctx, err)
}

type windows struct{ window, stride int }

func (e *Engine) windows(opt WindowOptions) (windows, error) {
	bad := func(format string, args ...any) (windows, error) {
		return windows{}, fault.New(fault.Usage, "perplexity", fmt.Sprintf("model %q", e.info.Name), format, args...)
	}
	w := windows{opt.Window, opt.Stride}
	if w.window == 0 {
		w.window = min(e.info.ContextLength, defaultWindow)
	}
	if w.window < 2 || w.window > e.info.ContextLength {
		return bad("a window of %d tokens is outside 2 to %d, its context", w.window, e.info.ContextLength)
	}
	most := w.window - 1 // a window needs a token before the first that counts, be it the begin token
	if w.stride == 0 {
		w.stride = max(1, w.window/2)
	}
	if w.stride < 1 || w.stride > most {
		return bad("a stride of %d tokens is outside 1 to %d, one less than the window", w.stride, most)
	}
	return w, nil
}

// slide scores tokens[start:] window by window.
func (s *scorer) slide(ctx context.Context, tokens []int32, head, start int, w windows, out *Scoring) error {
	next := start // the first token not scored yet
	for from := head; next < len(tokens); from += w.stride {
		end := min(from+w.window-head, len(tokens))
		piece := append(append([]int32(nil), tokens[:head]...), tokens[from:end]...)
		item := &scoreItem{tokens: piece, start: head + next - from, out: out}
		s.items = []*scoreItem{item}
		out.Windows++
		count := out.Count
		if err := s.run(ctx); err != nil {
			return err
		}
		if out.Count-count < end-next { // a token of probability 0
			return nil
		}
		next = end
	}
	return nil
}
