package script

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/d5/tengo/v2"

	"lab/core/fault"
)

// Call is one call of a host function by a script: its arguments, already
// checked against the declaration, and its surroundings. It is valid until the
// function returns.
//
// The accessors panic when they name an argument that the member does not
// declare, or declares with another type; the runner turns that into an
// internal error, so a test that calls the function once finds it.
type Call struct {
	s      *Session
	th     *thread
	fn     *bound
	values []any // params, then options
	given  []bool
	rest   []any

	ctxOnce  sync.Once
	ctx      context.Context
	unlocked atomic.Bool // inside Blocking
	done     atomic.Bool
}

// bound is a member of a module or of one host object, callable by a script.
type bound struct {
	tengo.ObjectImpl
	s      *Session
	owner  string
	member *Member
	self   any
}

func (b *bound) TypeName() string   { return "function " + b.name() }
func (b *bound) String() string     { return "<function " + b.name() + ">" }
func (b *bound) Copy() tengo.Object { return b }
func (b *bound) CanCall() bool      { return true }

func (b *bound) Equals(other tengo.Object) bool {
	o, ok := other.(*bound)
	return ok && o.member == b.member && o.self == nil && b.self == nil
}

func (b *bound) name() string {
	if b.owner == "" {
		return b.member.Name
	}
	return b.owner + "." + b.member.Name
}

// Call is what the virtual machine calls.
func (b *bound) Call(args ...tengo.Object) (tengo.Object, error) { return b.s.invoke(b, args) }

// invoke checks the arguments, runs the host function and converts its result.
// A panic becomes an internal error.
func (s *Session) invoke(b *bound, args []tengo.Object) (out tengo.Object, err error) {
	c := &Call{s: s, th: s.running.Load(), fn: b}
	defer c.done.Store(true)
	defer s.contain(b.name(), &err)
	if err := c.take(args); err != nil {
		return nil, err
	}
	f := b.member.Func
	if f == nil {
		f = b.member.Get
	}
	v, err := f(c)
	if err != nil {
		return nil, err
	}
	return s.toScript(v)
}

// contain turns a panic of host code into an internal error.
func (s *Session) contain(name string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = &fault.Error{
		Kind: fault.Internal, Op: name, Problem: fmt.Sprintf("panic: %v", p),
		Cure: "this is a defect of the module, not of the script",
		Err:  &stack{string(debug.Stack())},
	}
}

// stack carries the Go stack of a host panic to [Detail], out of the message.
type stack struct{ text string }

func (*stack) Error() string { return "" }

// take checks args against the declaration and fills the values.
func (c *Call) take(args []tengo.Object) error {
	m := c.fn.member
	n := len(m.Params)
	c.values = make([]any, n+len(m.Options))
	c.given = make([]bool, len(c.values))
	options, args := c.split(args)
	if len(args) > n && !m.Variadic {
		return c.wrong("takes %s, got %d", plural(n, "argument"), len(args))
	}
	for i := range m.Params {
		p := &m.Params[i]
		if m.Variadic && i == n-1 {
			return c.takeRest(p, args, i, options)
		}
		if i >= len(args) {
			if !p.optional() {
				return c.wrong("argument %d (%s) is missing", i+1, p.Name)
			}
			c.values[i] = p.fallback()
			continue
		}
		if err := c.set(i, p, args[i], fmt.Sprintf("argument %d (%s)", i+1, p.Name)); err != nil {
			return err
		}
	}
	return c.takeOptions(options)
}

// split takes the options map off the end of args, if there is one.
func (c *Call) split(args []tengo.Object) (map[string]tengo.Object, []tengo.Object) {
	m := c.fn.member
	if len(m.Options) == 0 || len(args) == 0 {
		return nil, args
	}
	last := len(args) - 1
	options, isMap := entries(args[last])
	if !isMap || !m.HasOptionsAt(last) {
		return nil, args
	}
	return options, args[:last]
}

func (c *Call) takeRest(p *Param, args []tengo.Object, from int, options map[string]tengo.Object) error {
	for i := from; i < len(args); i++ {
		v, bad := p.Type.take(c.s, args[i])
		if bad == "" {
			bad = p.check(v)
		}
		if bad != "" {
			return c.wrong("argument %d (%s)%s", i+1, p.Name, joint(bad))
		}
		c.rest = append(c.rest, v)
	}
	return c.takeOptions(options)
}

func (c *Call) takeOptions(options map[string]tengo.Object) error {
	m := c.fn.member
	for _, key := range sortedKeys(options) {
		if !contains(m.Options, func(p Param) bool { return p.Name == key }) {
			names := make([]string, len(m.Options))
			for i, p := range m.Options {
				names[i] = p.Name
			}
			e := fault.Unknown(c.fn.name(), "option", key, names)
			e.Kind = fault.Script
			return e
		}
	}
	for i := range m.Options {
		p, at := &m.Options[i], len(m.Params)+i
		o, ok := options[p.Name]
		switch {
		case ok:
			if err := c.set(at, p, o, "option "+p.Name); err != nil {
				return err
			}
		case p.Required:
			return c.wrong("option %s is missing", p.Name)
		default:
			c.values[at] = p.fallback()
		}
	}
	return nil
}

func contains[T any](list []T, f func(T) bool) bool {
	for _, v := range list {
		if f(v) {
			return true
		}
	}
	return false
}

func (c *Call) set(at int, p *Param, o tengo.Object, what string) error {
	v, bad := p.Type.take(c.s, o)
	if bad == "" {
		bad = p.check(v)
	}
	if bad != "" {
		return c.wrong("%s%s", what, joint(bad))
	}
	c.values[at], c.given[at] = v, true
	return nil
}

// joint joins what is wrong to the name of what it is wrong with.
func joint(bad string) string {
	switch {
	case len(bad) > 2 && (bad[:2] == "= " || bad[:3] == "is "):
		return " " + bad
	}
	return ": " + bad
}

func (c *Call) wrong(format string, args ...any) error {
	return fault.New(fault.Script, c.fn.name(), "", format, args...)
}

func plural(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Context returns the context of the call: it ends when the script is
// interrupted or its deadline passes, and every slow host function must give
// up then. Calls of a [Func] take it, or a context derived from it, whose values
// the host functions called by that function find in their own Context.
func (c *Call) Context() context.Context {
	c.ctxOnce.Do(func() { c.ctx = context.WithValue(c.th.ctx, callKey{c.s}, c) })
	return c.ctx
}

// Name returns the full name of the function: "lab.model".
func (c *Call) Name() string { return c.fn.name() }

// Position returns where the script made this call.
func (c *Call) Position() Position {
	if frames := c.s.frames(c.th.vm, -1); len(frames) > 0 {
		return frames[0]
	}
	return Position{}
}

// Warn reports something the user should know that is no error, with the
// position of the call, to Config.Warn.
func (c *Call) Warn(format string, args ...any) {
	c.s.warn(c.Position(), fmt.Sprintf(format, args...))
}

// Blocking runs work without the interpreter lock, so that other goroutines
// can call functions of the script meanwhile: use it around anything slow.
// Inside it a [Func] may be called from any number of goroutines with
// [Call.Context], and all of them must have ended when work returns; script
// values must not be touched in other ways (what the accessors returned are
// copies, and free to use).
func (c *Call) Blocking(work func() error) error {
	if !c.unlocked.CompareAndSwap(false, true) {
		return work() // already without it
	}
	c.s.running.Store(nil)
	c.s.unlock()
	defer func() {
		c.s.lock()
		c.s.running.Store(c.th)
		c.unlocked.Store(false)
	}()
	return work()
}

func (c *Call) index(name string) int {
	m := c.fn.member
	for i := range m.Params {
		if m.Params[i].Name == name {
			return i
		}
	}
	for i := range m.Options {
		if m.Options[i].Name == name {
			return len(m.Params) + i
		}
	}
	panic(fmt.Sprintf("argument %q is not declared", name))
}

// Given reports whether the script gave the argument or option, rather than
// leaving it to its default.
func (c *Call) Given(name string) bool { return c.given[c.index(name)] }

// Arg returns the argument or option called name as a T, or T's zero value when
// it was not given and has no default. It is how host objects are read:
// Arg[*distribution](c, "other").
func Arg[T any](c *Call, name string) T {
	var zero T
	switch v := c.values[c.index(name)].(type) {
	case nil:
		return zero
	case T:
		return v
	default:
		panic(fmt.Sprintf("argument %q is a %T, not a %T", name, v, zero))
	}
}

// Self returns the Go value of the host object whose member was called.
func Self[T any](c *Call) T { return c.fn.self.(T) }

// String returns a String argument.
func (c *Call) String(name string) string { return Arg[string](c, name) }

// Float returns a Float argument.
func (c *Call) Float(name string) float64 { return Arg[float64](c, name) }

// Int returns an Int argument.
func (c *Call) Int(name string) int64 { return Arg[int64](c, name) }

// Bool returns a Bool argument.
func (c *Call) Bool(name string) bool { return Arg[bool](c, name) }

// Bytes returns a Bytes argument.
func (c *Call) Bytes(name string) []byte { return Arg[[]byte](c, name) }

// Func returns a Callback argument, nil when it was not given.
func (c *Call) Func(name string) *Func { return Arg[*Func](c, name) }

// List returns a List argument.
func (c *Call) List(name string) []any { return Arg[[]any](c, name) }

// Map returns a Map argument.
func (c *Call) Map(name string) map[string]any { return Arg[map[string]any](c, name) }

// Any returns an argument of any type: bool, int64, float64, string, []byte,
// []any, map[string]any, time.Time, *[Func], the Go value of a host object, or
// nil when it was not given.
func (c *Call) Any(name string) any { return c.values[c.index(name)] }

// Floats returns an argument of type List(Float()).
func (c *Call) Floats(name string) []float64 { return listOf[float64](c.List(name)) }

// Strings returns an argument of type List(String()).
func (c *Call) Strings(name string) []string { return listOf[string](c.List(name)) }

func listOf[T any](list []any) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = v.(T)
	}
	return out
}

// Rest returns the values of the repeated last argument of a variadic function.
func (c *Call) Rest() []any { return c.rest }
