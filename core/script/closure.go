package script

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

// maxDepth bounds how often script and host may call each other in turn. Each
// level is a virtual machine of 90 KB that tengo's own limit does not see.
const maxDepth = 64

// maxArgs is the most arguments that one instruction of tengo can pass.
const maxArgs = 255

// Func is a function of a script that Go can call: a closure with all it
// captured, or any other callable value.
type Func struct {
	s  *Session
	fn tengo.Object

	assigned func(variable string) // of Watched
}

// Arity returns the number of parameters and whether the last one takes any
// number of arguments, or -1 for a host function, which checks its own.
func (f *Func) Arity() (n int, variadic bool) {
	if fn, ok := f.fn.(*tengo.CompiledFunction); ok {
		return fn.NumParameters, fn.VarArgs
	}
	return -1, false
}

// Position returns where the function is written: the first place in it that does
// something, or its own beginning when it does nothing at its end either. It is
// unknown for a host function.
func (f *Func) Position() Position {
	fn, ok := f.fn.(*tengo.CompiledFunction)
	if !ok || len(fn.SourceMap) == 0 {
		return Position{}
	}
	first := parser.NoPos
	for _, p := range fn.SourceMap {
		if p != parser.NoPos && (first == parser.NoPos || p < first) {
			first = p
		}
	}
	return f.s.position(first)
}

// Source returns the file that the function is written in, as it was compiled
// last; false for a host function.
func (f *Func) Source() (Source, bool) {
	at := f.Position()
	all := f.s.Sources()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Path == at.File {
			return all[i], true
		}
	}
	return Source{}, false
}

// Fault returns err as an error of the script in this function: of kind script,
// at [Func.Position]. It is for what a host finds wrong with a result after the
// function has returned it. An error that has a position already, or that says
// the work was stopped, is returned as it is.
func (f *Func) Fault(err error) error {
	var located *trace
	switch fault.KindOf(err) {
	case fault.Limit, fault.Interrupted:
		return err
	}
	if err == nil || errors.As(err, &located) {
		return err
	}
	var frames []Position
	if at := f.Position(); at.Line > 0 {
		frames = []Position{at}
	}
	return f.s.failure(fault.Script, err.Error(), frames, err)
}

// Watched returns the function such that assigned is told, after a call, of a
// variable outside of it to which the call gave another value: one of the script,
// or one that it captured, whose name is not known and empty. What it changes in
// a list or a map goes unnoticed. It is for functions that shall depend on their
// arguments alone.
func (f *Func) Watched(assigned func(variable string)) *Func {
	w := *f
	w.assigned = assigned
	return &w
}

// Warn is [Call.Warn] at [Func.Position]. It may be called while the function, or
// one that the script gave with it, is called.
func (f *Func) Warn(format string, args ...any) {
	f.s.warn(f.Position(), fmt.Sprintf(format, args...))
}

// watch begins to look for assignments and returns what ends it.
func (f *Func) watch() func() {
	if f.assigned == nil {
		return func() {}
	}
	before := f.outside()
	return func() {
		for i, v := range f.outside()[:len(before)] {
			if v == before[i] {
				continue
			}
			name := ""
			if i < len(f.s.slots) {
				name = f.s.slots[i].name
			}
			f.assigned(name)
			return
		}
	}
}

// outside returns the values of the variables of the script, then of those that
// the function captured.
func (f *Func) outside() []tengo.Object {
	out := slices.Clone(f.s.globals[:len(f.s.slots)])
	if fn, ok := f.fn.(*tengo.CompiledFunction); ok {
		for _, free := range fn.Free {
			out = append(out, *free.Value)
		}
	}
	return out
}

// Call calls the function with Go values and returns its result as a Go value
// (see [Call.Any]). An error carries the line of the script that raised it, and
// an interrupted function returns one of kind interrupted or limit.
//
// ctx must be the context of the host call that is running, [Call.Context], or
// one derived from it. In the goroutine of the host function it may be called
// freely; from other goroutines only inside [Call.Blocking], from as many as
// wished: they take turns. After the script has ended, any context will do.
func (f *Func) Call(ctx context.Context, args ...any) (any, error) {
	return f.call(ctx, func(o tengo.Object) (any, error) { return f.s.toGo(o) }, args)
}

// CallFor is Call with a result of type want, strictly checked, so that a
// predicate that forgets its return is an error and not false.
func (f *Func) CallFor(ctx context.Context, want Type, args ...any) (any, error) {
	check := Param{Type: want}
	return f.call(ctx, func(o tengo.Object) (any, error) {
		if o == tengo.UndefinedValue {
			return nil, fault.New(fault.Script, "", "", "the result of a function is undefined, expected %s", want).Fix("is a return missing, or a member misspelt?")
		}
		v, bad := want.take(f.s, o)
		if bad == "" {
			bad = check.check(v)
		}
		if bad != "" {
			return nil, fault.New(fault.Script, "", "", "the result of a function%s", joint(bad))
		}
		return v, nil
	}, args)
}

// call converts, enters the interpreter, runs, converts back and leaves.
func (f *Func) call(ctx context.Context, result func(tengo.Object) (any, error), args []any) (any, error) {
	if len(args) > maxArgs {
		return nil, fault.New(fault.Limit, "call", "", "%d arguments, more than %d", len(args), maxArgs)
	}
	objs := make([]tengo.Object, len(args))
	for i, a := range args {
		o, err := f.s.toScript(a)
		if err != nil {
			return nil, err
		}
		objs[i] = o
	}
	th, leave, err := f.s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer f.watch()()
	o, err := f.s.apply(th, f.fn, objs)
	if err != nil {
		return nil, err
	}
	return result(o)
}

// apply calls fn in thread th, which is the running one.
func (s *Session) apply(th *thread, fn tengo.Object, args []tengo.Object) (tengo.Object, error) {
	if err := th.scope.stopped(); err != nil {
		return nil, s.raise(th, nil, err)
	}
	if _, ok := fn.(*tengo.CompiledFunction); !ok {
		o, err := callHost(fn, args)
		return o, s.raise(th, nil, err)
	}
	t := s.trampoline()
	t.constants[t.fn], t.args.Value = fn, args
	err := s.execute(th, t.vm)
	t.constants[t.fn], t.args.Value = tengo.UndefinedValue, nil
	if err != nil {
		return nil, err // a machine that failed keeps its error: not reused
	}
	// A machine that was aborted as it finished would stop its next call.
	if t.epoch == s.epoch && th.scope.ctx.Err() == nil && len(s.trampolines) < maxDepth {
		s.trampolines = append(s.trampolines, t)
	}
	return th.result, nil
}

// callHost calls a function that is not the script's own.
func callHost(fn tengo.Object, args []tengo.Object) (o tengo.Object, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &machinePanic{p}
		}
	}()
	if o, err = fn.Call(args...); o == nil {
		o = tengo.UndefinedValue
	}
	return o, err
}

// trampoline is a virtual machine whose program calls one function with one
// list of arguments and hands the result to the finish function. Machines are
// kept because a new one costs 250 times a call.
type trampoline struct {
	vm        *tengo.VM
	constants []tengo.Object // the session's, then finish, fn, args
	fn        int
	args      *tengo.Array
	epoch     int // of the session's constants
}

// trampolineConstants is how many constants a trampoline adds to the session's.
const trampolineConstants = 3

func (s *Session) trampoline() *trampoline {
	for n := len(s.trampolines); n > 0; n = len(s.trampolines) {
		t := s.trampolines[n-1]
		s.trampolines = s.trampolines[:n-1]
		if t.epoch == s.epoch {
			return t
		}
	}
	n := len(s.constants)
	t := &trampoline{fn: n + 1, args: &tengo.Array{}, epoch: s.epoch}
	t.constants = append(append(make([]tengo.Object, 0, n+trampolineConstants), s.constants...), s.finish, tengo.UndefinedValue, t.args)
	var code []byte
	for _, ins := range [][]byte{
		tengo.MakeInstruction(parser.OpConstant, n),
		tengo.MakeInstruction(parser.OpConstant, n+1),
		tengo.MakeInstruction(parser.OpConstant, n+2),
		tengo.MakeInstruction(parser.OpCall, 1, 1), // fn(args...)
		tengo.MakeInstruction(parser.OpCall, 1, 0), // finish(result)
		tengo.MakeInstruction(parser.OpPop),
		tengo.MakeInstruction(parser.OpSuspend),
	} {
		code = append(code, ins...)
	}
	t.vm = tengo.NewVM(&tengo.Bytecode{
		FileSet:      s.files,
		MainFunction: &tengo.CompiledFunction{Instructions: code},
		Constants:    t.constants,
	}, s.globals, s.maxAllocs())
	return t
}

// errNoLineage is a defect of a module: it called a script function in a way
// that would run two machines at once.
var errNoLineage = errors.New("the script is busy: pass the context of the running host call, and call from other goroutines only inside Blocking")
