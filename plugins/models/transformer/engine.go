package transformer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// engine is an open model.
type engine struct {
	mu     sync.Mutex // Forward, Edit, Verify and Close exclude one another
	file   *gguf.File // nil once closed
	name   string
	info   model.Info
	hyper  hyper
	arch   architecture
	weight *weights
	vocab  *vocabulary
	cache  *cache
	pool   *pool
	pass   *pass
	rows   []row
}

// options are the settings of an open model.
type options struct {
	threads    int
	cacheBytes int64
	cache      kernel.Format // F32 or Q8_0
	scaling    scaling
	context    int // 0: the file's
	kernels    *kernel.Kernels
	exact      bool                            // activations are never rounded
	memory     func() (left int64, known bool) // nil: availableMemory
}

// open checks everything about a file and returns its model. On failure the
// file stays the caller's.
func open(ctx context.Context, file *gguf.File, name string, opt options) (e *engine, err error) {
	guarded := gguf.Protect(file.Name(), func() error {
		e, err = build(ctx, file, name, opt)
		return err
	})
	if guarded != nil {
		return nil, guarded
	}
	return e, nil
}

func build(ctx context.Context, file *gguf.File, name string, opt options) (*engine, error) {
	quoted := file.Name()
	a, err := findArchitecture(file, quoted)
	if err != nil {
		return nil, err
	}
	e := &engine{file: file, name: name, arch: a}
	if e.vocab, err = newVocabulary(file, quoted); err != nil {
		return nil, err
	}
	m := newMeta(file, quoted, a.name)
	e.hyper = a.read(m, e.vocab.tok.Size())
	if e.hyper.experts.count == 0 {
		m.only("expert_count", int64(0), "mixtures of experts of this architecture are not supported")
		m.only("expert_used_count", int64(0), "there are no experts")
	}
	e.hyper.cacheFormat = opt.cache
	e.hyper.stretch(m, opt.scaling, opt.context)
	if err := m.finish(); err != nil {
		return nil, err
	}
	if e.weight, err = a.load(file, quoted, &e.hyper); err != nil {
		return nil, err
	}
	factors, err := e.factors(opt.kernels)
	if err != nil {
		return nil, err
	}
	ropes := [2]*rope{newRope(e.hyper.rope, factors), newRope(e.hyper.localRope, factors)}
	for _, r := range ropes {
		if !r.fits(e.hyper.context) {
			return nil, fault.New(fault.Data, "open model", quoted, "the rotary angles of a context of %d exceed 2^24", e.hyper.context).
				Fix("the metadata of the rotary scaling or the factors of its frequencies are damaged")
		}
	}
	if e.hyper.localRope == e.hyper.rope {
		ropes[1] = ropes[0]
	}
	if e.cache = newCache(&e.hyper, opt.cacheBytes); e.cache.limit < 1 {
		return nil, fault.New(fault.Limit, "open model", quoted, "one page of the KV cache takes %d bytes, the limit is %d",
			e.cache.pageBytes(), opt.cacheBytes).Fix("raise cache_mib")
	}
	if opt.memory != nil {
		e.cache.memory = opt.memory
	}
	if err := e.weight.affordable(quoted, opt, e.cache.memory); err != nil {
		return nil, err
	}
	digest, err := file.Digest(ctx)
	if err != nil {
		return nil, err
	}
	e.info = e.describe(digest)
	e.info.Details = e.details(opt)
	e.pool = newPool(opt.threads)
	e.pass = newPass(&e.hyper, opt.kernels, e.pool, ropes, newArena(e.info.WeightBytes))
	e.pass.exact = opt.exact
	return e, nil
}

// factors returns the divisors of the rotary frequencies, nil when the file has
// none.
func (e *engine) factors(k *kernel.Kernels) ([]float32, error) {
	t := e.weight.ropeFactors
	if t == nil {
		return nil, nil
	}
	f := t.widen(k, 0, 1, make([]float32, t.cols))
	for i, x := range f {
		if !(x > 0 && x <= math.MaxFloat32) {
			return nil, fault.New(fault.Data, "open model", e.file.Name(), "element %d of tensor %q is %g; it must be positive", i, t.name, x)
		}
	}
	return f, nil
}

func (e *engine) describe(digest string) model.Info {
	info := model.Info{
		Name: e.name, Architecture: e.arch.name, VocabSize: e.hyper.vocab, ContextLength: e.hyper.context,
		Digest: digest, Deterministic: true, Hidden: e.hyper.width,
		Begin: e.vocab.tok.Begin(), EndOfText: e.vocab.end, Control: e.vocab.tok.Silent(),
		Chat: e.vocab.chat != nil || e.vocab.fail != nil, // a template that cannot be read says so when asked
	}
	for _, key := range []string{"general.name", "general.description"} {
		if s, found, err := e.file.Text(key); found && err == nil && s != "" {
			if info.Description != "" {
				info.Description += ": "
			}
			info.Description += printable(s)
		}
	}
	for _, t := range e.file.Tensors {
		info.Parameters += t.Elements()
		info.WeightBytes += t.Size
	}
	return info
}

// Info returns what is known of the model; it does not change.
func (e *engine) Info() model.Info { return e.info }

// Verify returns the SHA-256 of the file's bytes as they are now. The forward
// pass computes with these very bytes, or with what it packed from them when they
// had the digest of Info: after any other, it packs anew.
func (e *engine) Verify(ctx context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return "", closed("verify", e.name)
	}
	digest, err := e.file.Digest(ctx)
	if digest != e.info.Digest {
		e.pass.forget()
	}
	return digest, err
}

// Close gives cache, threads and mapping back. Closing twice is no error.
func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return nil
	}
	f := e.file
	e.pass.forget()
	e.file, e.cache, e.pass = nil, nil, nil
	e.pool.close()
	return f.Close()
}

func closed(op, name string) error {
	return fault.New(fault.Usage, op, fmt.Sprintf("model %q", name), "it is closed")
}

// Edit applies the edits in order; when one fails, those before it stand.
func (e *engine) Edit(_ context.Context, edits []model.Edit) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return closed("edit", e.name)
	}
	for i, edit := range edits {
		var err error
		switch edit.Op {
		case model.Fork:
			err = e.cache.fork(edit.Seq, edit.To, edit.Length)
		case model.Truncate:
			err = e.cache.truncate(edit.Seq, edit.Length)
		case model.Free:
			e.cache.free(edit.Seq)
		default:
			err = fault.New(fault.Usage, "edit", sequenceName(edit.Seq), "unknown operation %d", edit.Op)
		}
		if err != nil {
			return fault.Wrap(err, fault.Usage, "edit", fmt.Sprintf("%d of %d", i+1, len(edits)))
		}
	}
	return nil
}

// Forward extends every input's sequence and fills its rows, natural-logarithm
// scores as the model gives them. Errors: usage for an input that does not fit
// its sequence, limit for a full context or cache, data for weights that yield
// no finite score, interrupted when ctx ends. No sequence has changed then; the
// callers' rows may hold anything.
func (e *engine) Forward(ctx context.Context, batch []model.Input) (model.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return model.Usage{}, closed("forward", e.name)
	}
	extensions, err := e.check(batch)
	if err != nil {
		return model.Usage{}, err
	}
	if err := e.file.Unchanged(ctx, e.info.Digest); err != nil {
		return model.Usage{}, err
	}
	drafts, err := e.cache.reserve(extensions)
	if err != nil {
		return model.Usage{}, err
	}
	start := time.Now()
	var passes passCount
	err = gguf.Protect(e.file.Name(), func() error {
		passes, err = e.compute(ctx, batch, drafts)
		return err
	})
	clear(e.rows) // keeps no hold of the caller's memory
	if err != nil {
		e.cache.abandon(drafts)
		return model.Usage{}, err
	}
	e.cache.commit(drafts)
	return e.usage(batch, passes, time.Since(start).Seconds()), nil
}

// passCount is how often the weights were read for a call.
type passCount struct {
	body, head int64
	unread     int64 // bytes of the body's experts that no row of a pass had picked
}

// compute takes all rows of a batch through the model, maxRows at a time.
func (e *engine) compute(ctx context.Context, batch []model.Input, drafts []*draft) (passCount, error) {
	rows, longest := e.rows[:0], 0
	for i, in := range batch {
		first := len(in.Tokens) - len(in.Scores)
		for j, token := range in.Tokens {
			r := row{seq: drafts[i], position: in.Start + j, token: token}
			if j >= first {
				r.scores = in.Scores[j-first].Values
				if len(in.Hidden) > 0 {
					r.hidden = in.Hidden[(j-first)*e.hyper.width:][:e.hyper.width]
				}
			}
			rows = append(rows, r)
		}
		longest = max(longest, drafts[i].length)
	}
	e.rows = rows
	e.pass.extend(longest)
	e.pass.broken.Store(false)
	var count passCount
	for len(rows) > 0 {
		n := min(maxRows, len(rows))
		start := time.Now()
		e.pool.begin(n)
		e.pass.begin(rows[:n], longest)
		wanted, err := e.pass.run(ctx, &e.arch, e.weight)
		if err != nil {
			return count, err
		}
		if e.pass.settled && (e.pass.scored || !wanted) {
			e.pool.end(n, e.weight.bodyMultiplied*int64(n), time.Since(start))
		}
		e.pass.settled, e.pass.scored = true, e.pass.scored || wanted
		count.body++
		count.unread += e.pass.unread
		if wanted {
			count.head++
		}
		rows = rows[n:]
	}
	if e.pass.broken.Load() {
		return count, e.broken(batch)
	}
	return count, nil
}

// broken is the error for the first score of a batch that is NaN or infinite. There
// was one; the memory is the callers', who may have written to it since.
func (e *engine) broken(batch []model.Input) error {
	problem := "a score is NaN or infinite"
	for i := len(batch) - 1; i >= 0; i-- {
		in := batch[i]
		for j := len(in.Scores) - 1; j >= 0; j-- {
			if token, bad := notFinite(in.Scores[j].Values); bad {
				position := in.Start + len(in.Tokens) - len(in.Scores) + j
				problem = fmt.Sprintf("the score of token %d at position %d of input %d is %v", token, position, i, in.Scores[j].Values[token])
			}
		}
	}
	return fault.New(fault.Data, "forward", fmt.Sprintf("model %q", e.name), "%s", problem).
		Fix("the weights are damaged or overflow; run the model's origin file through its own tool")
}

// notFinite returns the first NaN or infinite score.
func notFinite(scores []float32) (int, bool) {
	for i, v := range scores {
		if v-v != 0 {
			return i, true
		}
	}
	return 0, false
}

// cancelled returns the error for a context that has ended.
func cancelled(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Limit, "forward", "")
	}
	return fault.Wrap(err, fault.Interrupted, "forward", "")
}

// check returns what each input adds, or the error of the first that is wrong.
func (e *engine) check(batch []model.Input) ([]extension, error) {
	seen := make(map[uint64]bool, len(batch))
	extensions := make([]extension, len(batch))
	for i, in := range batch {
		length := 0
		if s, ok := e.cache.seqs[in.Seq]; ok {
			length = s.length
		}
		if err := in.Check(e.info, length); err != nil {
			return nil, fault.Wrap(err, fault.Usage, "forward", fmt.Sprintf("input %d", i))
		}
		if seen[in.Seq] {
			return nil, fault.New(fault.Usage, "forward", fmt.Sprintf("input %d", i), "sequence %d is extended twice in one call", in.Seq)
		}
		seen[in.Seq] = true
		extensions[i] = extension{id: in.Seq, tokens: len(in.Tokens)}
	}
	return extensions, nil
}
