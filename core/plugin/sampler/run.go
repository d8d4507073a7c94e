package sampler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"lab/core/dist"
	"lab/core/fault"
)

// MaxState is how many bytes a stage may keep for a sequence.
const MaxState = 64 << 10

// inlineTokens is the size of a call, in scores, below which starting
// goroutines costs more than it saves.
const inlineTokens = 1 << 14

// Run applies a call to its items, several at once on up to GOMAXPROCS
// goroutines. Results do not depend on how many: each item is computed alone.
// After an error the one returned is that of the lowest item, and the items are
// unspecified. Errors are usage errors for unknown samplers and settings, data
// errors for malformed rows, plugin errors for a stage that breaks the
// contract, and limit or interrupted when ctx ends, which is looked at between
// stages.
func (s *Set) Run(ctx context.Context, call *Call) error {
	stages, err := s.resolve(call)
	if err != nil {
		return err
	}
	size := 0
	for i, it := range call.Items {
		if it == nil {
			return fault.New(fault.Internal, "sampler call", fmt.Sprintf("sequence %d", i), "it is nil")
		}
		size += len(it.Scores.Values)
	}
	workers := min(runtime.GOMAXPROCS(0), len(call.Items))
	if size*max(1, len(stages)) < inlineTokens {
		workers = 1
	}
	f := failure{at: len(call.Items)}
	var next atomic.Int64
	work := func() {
		sp := s.spaces.Get().(*space)
		defer s.spaces.Put(sp)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(call.Items) || f.before(i) {
				return
			}
			if err := s.apply(ctx, call, stages, call.Items[i], sp); err != nil {
				f.set(i, name(err, i, len(call.Items)))
			}
		}
	}
	if workers <= 1 {
		work()
		return f.err
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
	return f.err
}

// failure is the error of the lowest item that failed. Items are started in
// order, so when item i fails every lower one has started, and the lowest
// failure is found whatever the timing.
type failure struct {
	mu  sync.Mutex
	at  int
	err error
}

func (f *failure) set(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i < f.at {
		f.at, f.err = i, err
	}
}

func (f *failure) before(i int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at < i
}

// name says which sequence of a batch an error is about.
func name(err error, i, of int) error {
	var e *fault.Error
	if of == 1 || !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Subject = fmt.Sprintf("sequence %d", i)
	if e.Subject != "" {
		c.Subject += ": " + e.Subject
	}
	return &c
}

// space is the memory one worker reuses.
type space struct {
	ws     dist.Workspace
	before dist.Scores
}

// apply runs the stages over one item.
func (s *Set) apply(ctx context.Context, call *Call, stages []stage, it *Item, sp *space) error {
	if err := it.check(stages); err != nil {
		return err
	}
	it.Chosen = -1
	it.Changes, it.Rows = it.Changes[:0], it.Rows[:0]
	full := it.Scores.Full()
	broken := false
	if !full {
		if err := it.Scores.Check(); err != nil {
			if broken = stages[0].decl.Needs.Raw && it.Scores.Repairable(); !broken {
				return fault.Wrap(err, fault.Data, "row before the first stage", "")
			}
		}
	}
	if broken { // the ledger begins with what the repair leaves
		var err error
		if full, err = stages[0].repair(ctx, it, call, sp); err != nil {
			return err
		}
	} else if call.Ledger {
		if err := sp.ws.Start(&it.Scores); err != nil {
			return fault.Wrap(err, fault.Data, "row before the first stage", "")
		}
	}
	for i := range stages {
		if err := ended(ctx); err != nil {
			return err
		}
		var err error
		if i > 0 || !broken {
			if full, err = stages[i].run(ctx, it, i, call, sp, full); err != nil {
				return err
			}
		}
		if call.Rows {
			it.Rows = append(it.Rows, it.Scores.Clone())
		}
	}
	if call.Ledger && it.Chosen >= 0 {
		sp.ws.Choose(it.Chosen, it.Changes)
	}
	return nil
}

func ended(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Limit, "sampler call", "", "the deadline passed")
	}
	return fault.New(fault.Interrupted, "sampler call", "", "it was cancelled")
}

// check refuses an item that lacks what the stages declare.
func (it *Item) check(stages []stage) error {
	bad := func(i int, format string, args ...any) error {
		return fault.New(fault.Plugin, stages[i].op, "", format, args...)
	}
	if it.Prompt < 0 || it.Prompt > len(it.History) || it.Step < 0 {
		return fault.New(fault.Plugin, "sampler call", "", "prompt %d of %d context tokens at step %d is impossible",
			it.Prompt, len(it.History), it.Step)
	}
	if it.States == nil {
		it.States = make([][]byte, len(stages))
	}
	if len(it.States) != len(stages) || it.Uniforms != nil && len(it.Uniforms) != len(stages) {
		return fault.New(fault.Plugin, "sampler call", "", "%d states and %d lists of uniform numbers for %d stages",
			len(it.States), len(it.Uniforms), len(stages))
	}
	for i, st := range stages {
		if len(it.States[i]) > MaxState {
			return bad(i, "its state has %d bytes, more than %d", len(it.States[i]), MaxState)
		}
		var u []float64
		if it.Uniforms != nil {
			u = it.Uniforms[i]
		}
		if len(u) != st.decl.Needs.Uniforms {
			return bad(i, "%d uniform numbers were given, it declares %d", len(u), st.decl.Needs.Uniforms)
		}
		for k, x := range u {
			if !(x >= 0 && x < 1) {
				return bad(i, "uniform number %d is %v, outside [0, 1)", k, x)
			}
		}
		if st.decl.Needs.Passes > len(it.Passes) {
			return bad(i, "%d further rows were given, it declares %d", len(it.Passes), st.decl.Needs.Passes)
		}
	}
	return nil
}

// row is what stage i sees of the item.
func (st *stage) row(it *Item, i int, call *Call) Row {
	// The state is copied, because sequences that forked share its bytes.
	r := Row{Scores: &it.Scores, Step: it.Step, Sample: it.Sample, State: append([]byte(nil), it.States[i]...),
		Texts: st.texts, Vocabulary: call.Vocabulary, EndOfText: call.EndOfText, System: st.system, Chosen: -1}
	n := len(it.History)
	if want := st.decl.Needs.History; want >= 0 {
		n = min(n, want)
	}
	cut := len(it.History) - n
	r.History = it.History[cut:len(it.History):len(it.History)]
	r.Prompt = max(0, it.Prompt-cut)
	if it.Uniforms != nil {
		r.Uniforms = it.Uniforms[i]
	}
	if want := st.decl.Needs.Passes; want > 0 {
		r.Passes = it.Passes[:want:want]
	}
	return r
}

// run applies one stage and holds it to the contract. full says whether the row
// it is given is a full one; whether the row it leaves is, is returned.
func (st *stage) run(ctx context.Context, it *Item, i int, call *Call, sp *space, full bool) (left bool, err error) {
	given := it.Scores
	var before *dist.Scores // nil for a full row: it has nothing that a stage could revive
	switch {
	case full:
	case call.Ledger:
		before = sp.ws.Last()
	default:
		before = &sp.before
		before.CopyFrom(&it.Scores)
	}
	r := st.row(it, i, call)
	if err := st.call(ctx, &r); err != nil {
		return false, err
	}
	left = it.Scores.Full()
	if err := st.hold(it, &r, given, before, left); err != nil {
		return false, err
	}
	it.States[i] = r.State
	it.Chosen = r.Chosen
	if !call.Ledger {
		return left, nil
	}
	c, err := sp.ws.Next(&it.Scores)
	if err != nil {
		return false, fault.Wrap(err, fault.Plugin, st.op, "ledger")
	}
	if err := c.Check(); err != nil {
		return false, fault.Wrap(err, fault.Plugin, st.op, "")
	}
	it.Changes = append(it.Changes, c)
	return left, nil
}

// repair applies a first stage that declares [Needs.Raw] to a row that breaks
// the contract. What the stage leaves is held to it, and opens the ledger: what
// there was before has no distribution, so the stage's entry says that nothing
// changed.
func (st *stage) repair(ctx context.Context, it *Item, call *Call, sp *space) (full bool, err error) {
	given := it.Scores
	r := st.row(it, 0, call)
	if err := st.call(ctx, &r); err != nil {
		return false, err
	}
	full = it.Scores.Full()
	if err := st.hold(it, &r, given, nil, full); err != nil {
		return false, err
	}
	it.States[0], it.Chosen = r.State, r.Chosen
	if !call.Ledger {
		return full, nil
	}
	if err := sp.ws.Start(&it.Scores); err != nil {
		return false, fault.Wrap(err, fault.Plugin, st.op, "ledger")
	}
	c, err := sp.ws.Next(&it.Scores)
	if err != nil {
		return false, fault.Wrap(err, fault.Plugin, st.op, "ledger")
	}
	it.Changes = append(it.Changes, c)
	return full, nil
}

// hold returns a plugin error when what a stage left breaks the contract. before
// is a copy of the row it was given, nil when no token may come back.
func (st *stage) hold(it *Item, r *Row, given dist.Scores, before *dist.Scores, left bool) error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Plugin, st.op, "", format, args...)
	}
	if !left {
		if err := it.Scores.Check(); err != nil {
			return bad("it left a malformed row: %s", problem(err))
		}
	}
	switch {
	case it.Scores.Vocab != given.Vocab:
		return bad("it changed the vocabulary from %d to %d", given.Vocab, it.Scores.Vocab)
	case it.Scores.Unlisted != 0 && it.Scores.Unlisted != given.Unlisted:
		return bad("it changed the unlisted mass from %g to %g", given.Unlisted, it.Scores.Unlisted)
	case !inPlace(given.Values, &it.Scores):
		return bad("it lists %d tokens where it was given %d", len(it.Scores.Values), len(given.Values))
	case len(r.State) > MaxState:
		return bad("it left a state of %d bytes, more than %d", len(r.State), MaxState)
	}
	if before != nil {
		if id := it.Scores.Revives(before); id >= 0 {
			return bad("it gave a score to token %d, which an earlier stage removed", id)
		}
	}
	return st.selected(r.Chosen, &it.Scores)
}

// call is Apply with its panics and errors turned into faults that name the
// stage.
func (st *stage) call(ctx context.Context, r *Row) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Plugin, st.op, "", "it panicked: %v", p)
		}
	}()
	if long, ok := st.sampler.(Interruptible); ok {
		err = long.ApplyUntil(ctx, r, st.values)
	} else {
		err = st.sampler.Apply(r, st.values)
	}
	if err != nil {
		return fault.Wrap(err, fault.Plugin, st.op, "")
	}
	return nil
}

func (st *stage) selected(token int32, s *dist.Scores) error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Plugin, st.op, "", format, args...)
	}
	switch {
	case st.decl.Kind == Reshape && token != -1:
		return bad("it declares to reshape but chose token %d", token)
	case st.decl.Kind == Select && token == -1:
		return bad("it declares to select but chose no token")
	case st.decl.Kind == Select && !s.Has(token):
		return bad("it chose token %d, which is not in the support of its row", token)
	}
	return nil
}

// problem is what an error says without its operation and cure.
func problem(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Problem
	}
	return err.Error()
}

// inPlace moves scores that a stage left in memory of its own to where the
// caller's are, which may be shared with another process. It reports whether
// they fit.
func inPlace(given []float32, s *dist.Scores) bool {
	switch {
	case len(s.Values) > len(given):
		return false
	case &s.Values[0] != &given[0]: // a checked row is not empty
		s.Values = given[:copy(given, s.Values)]
	}
	return true
}
