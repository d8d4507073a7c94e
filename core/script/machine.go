package script

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

// thread is one virtual machine at work. Host and script may call each other in
// turn, so threads nest; one at a time runs, and it is Session.running.
type thread struct {
	vm    *tengo.VM
	depth int
	scope *scope
	ctx   context.Context // of the call from Go: ends with the scope, and its values are the callee's to see

	finished bool // the program ran to its end
	result   tengo.Object
}

// scope is the set of machines that end with one context.
type scope struct {
	ctx    context.Context
	parent *scope // of the call from which this one descends, if it is another
	unhook func() bool
	halted []Position // where the innermost machine was that it stopped; under the interpreter lock

	mu   sync.Mutex
	live []*tengo.VM
	over bool
}

func newScope(ctx context.Context) *scope {
	sc := &scope{ctx: ctx}
	sc.unhook = context.AfterFunc(ctx, sc.stop)
	return sc
}

func (sc *scope) stop() {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.over = true
	for _, vm := range sc.live {
		vm.Abort()
	}
}

// halt notes the frames of a machine that was stopped, with every scope that is
// over.
func (sc *scope) halt(frames []Position) {
	for ; sc != nil && sc.ctx.Err() != nil; sc = sc.parent {
		sc.halted = frames
	}
}

// stopped returns why the scope ended, or nil.
func (sc *scope) stopped() error {
	if sc.ctx.Err() == nil {
		return nil
	}
	return &stopped{cause: context.Cause(sc.ctx)}
}

// stopped is an interrupt: the cause of a cancelled context. Functions of the
// script cannot catch it.
type stopped struct{ cause error }

func (e *stopped) Unwrap() error { return e.cause }

func (e *stopped) Error() string {
	var f *fault.Error
	switch {
	case errors.As(e.cause, &f):
		return f.Error()
	case errors.Is(e.cause, context.DeadlineExceeded):
		return "stopped: the deadline passed"
	case e.cause == context.Canceled:
		return "interrupted"
	}
	return fmt.Sprintf("interrupted: %v", e.cause)
}

func (e *stopped) kind() fault.Kind {
	var f *fault.Error
	switch {
	case errors.As(e.cause, &f):
		return f.Kind
	case errors.Is(e.cause, context.DeadlineExceeded):
		return fault.Limit
	}
	return fault.Interrupted
}

// add registers a machine, reporting false when the scope is already over.
func (sc *scope) add(vm *tengo.VM) bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if !sc.over {
		sc.live = append(sc.live, vm)
	}
	return !sc.over
}

// remove takes the machine out, after which it cannot be aborted any more.
func (sc *scope) remove(vm *tengo.VM) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for i := len(sc.live) - 1; i >= 0; i-- {
		if sc.live[i] == vm {
			sc.live = append(sc.live[:i], sc.live[i+1:]...)
			return
		}
	}
}

type callKey struct{ s *Session }

func (s *Session) lock()   { s.sem <- struct{}{} }
func (s *Session) unlock() { <-s.sem }

// liveCall returns the host call that ctx descends from, or nil.
func (s *Session) liveCall(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{s}).(*Call)
	if c == nil || c.done.Load() {
		return nil
	}
	return c
}

// enter makes a new thread the running one, for a call from Go. leave undoes
// it.
func (s *Session) enter(ctx context.Context) (th *thread, leave func(), err error) {
	c := s.liveCall(ctx)
	if c == nil {
		select {
		case s.sem <- struct{}{}:
		default:
			return nil, nil, fault.Wrap(errNoLineage, fault.Internal, "call", "")
		}
		th = &thread{scope: newScope(ctx), ctx: ctx}
		s.running.Store(th)
		return th, func() { s.running.Store(nil); s.unlock(); th.scope.unhook() }, nil
	}
	th = &thread{depth: c.th.depth + 1, scope: c.th.scope, vm: c.th.vm, ctx: ctx}
	if th.depth > maxDepth {
		return nil, nil, fault.New(fault.Limit, "call", "", "script and host call each other more than %d deep", maxDepth).
			Fix("is a function handed to itself?")
	}
	end := func() bool { return true }
	if ctx.Done() != th.scope.ctx.Done() {
		th.scope = newScope(ctx)
		th.scope.parent = c.th.scope
		end = th.scope.unhook
	}
	if !c.unlocked.Load() {
		if !s.running.CompareAndSwap(c.th, th) {
			end()
			return nil, nil, fault.Wrap(errNoLineage, fault.Internal, c.Name(), "")
		}
		return th, func() { s.running.Store(c.th); end() }, nil
	}
	select {
	case s.sem <- struct{}{}:
	case <-ctx.Done():
		end()
		return nil, nil, s.raise(th, nil, th.scope.stopped())
	}
	s.running.Store(th)
	return th, func() { s.running.Store(nil); s.unlock(); end() }, nil
}

// execute runs vm to its end in thread th, the running one. The error is
// located in the script.
func (s *Session) execute(th *thread, vm *tengo.VM) error {
	if !th.scope.add(vm) {
		return s.raise(th, nil, th.scope.stopped())
	}
	th.vm = vm
	th.finished, th.result = false, tengo.UndefinedValue
	err := runMachine(vm)
	th.scope.remove(vm)
	if err == nil && th.finished {
		return nil
	}
	return s.raise(th, vm, err)
}

// machinePanic is a Go panic inside the virtual machine.
type machinePanic struct{ value any }

func (p *machinePanic) Error() string { return fmt.Sprint(p.value) }

func runMachine(vm *tengo.VM) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &machinePanic{p}
		}
	}()
	return vm.Run()
}

// frames returns where a machine that is not running is, innermost first, from
// the private fields of tengo v2.17.0 (TestPrivateFieldsOfTengo guards them).
// ahead is 1 when the machine was stopped between two instructions, and -1 when
// it is inside one.
func (s *Session) frames(vm *tengo.VM, ahead int) []Position {
	if vm == nil {
		return nil
	}
	v := reflect.ValueOf(vm).Elem()
	n, ip := int(v.FieldByName("framesIndex").Int()), int(v.FieldByName("ip").Int())
	frames := v.FieldByName("frames")
	var out []Position
	for i := min(n, frames.Len()) - 1; i >= 0; i-- {
		f := frames.Index(i)
		fn := (*tengo.CompiledFunction)(f.FieldByName("fn").UnsafePointer())
		if i < n-1 {
			ip, ahead = int(f.FieldByName("ip").Int()), -1
		}
		if fn == nil {
			continue
		}
		if p := s.position(fn.SourcePos(ip + ahead)); p.Line > 0 {
			out = append(out, p)
		}
	}
	return out
}

// position resolves p without the file set's own look-up, which caches its last
// answer and so cannot be used from two goroutines.
func (s *Session) position(p parser.Pos) Position {
	for i := len(s.files.Files) - 1; i >= 0 && p != parser.NoPos; i-- {
		f := s.files.Files[i]
		if f.Base <= int(p) && int(p) <= f.Base+f.Size {
			at := f.Position(p)
			return Position{File: at.Filename, Line: at.Line, Column: at.Column}
		}
	}
	return Position{}
}

// watchHeap cancels the run when the heap grows by more than limit bytes while
// it runs: the live part as the last collection found it, or twice as much with
// what was not collected yet. It returns what ends the watch.
func watchHeap(limit int64, cancel context.CancelCauseFunc) (end func()) {
	read := func() (live, all int64) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
	}
	quit := make(chan struct{})
	live0, all0 := read()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if live, all := read(); live-live0 > limit || all-all0 > 2*limit {
					cancel(fault.New(fault.Limit, "", "", "memory grew by more than %d MiB", limit>>20).
						Fix("keep less at a time, or raise the limit"))
					return
				}
			}
		}
	}()
	return func() { close(quit) }
}
