package std

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/script"
)

// insideKey marks the context of a running apply function with the name of its
// sampler.
type insideKey struct{}

// OutsideApply refuses a host function inside an apply function. A rule that
// asked a model would not depend on its row alone, and would wait for ever for
// the engine that waits for it.
func OutsideApply(c *script.Call) error {
	name, inside := c.Context().Value(insideKey{}).(string)
	if !inside {
		return nil
	}
	return fault.New(fault.Script, c.Name(), "", "it cannot be called inside the apply function of sampler %q", name).
		Fix("a sampler depends on its row, its turn and its settings alone; compute the rest before")
}

// Declare implements sampler.Sampler.
func (s *Sampler) Declare() sampler.Declaration { return s.decl }

// Apply implements sampler.Sampler for a caller without a context, which there
// is none of: functions of a script need that of the host call they run in.
func (s *Sampler) Apply(row *sampler.Row, set param.Values) error {
	return s.ApplyUntil(context.Background(), row, set)
}

// Run implements sampler.Runner: item by item, so that the function sees the
// sequences in their order. What the set finds wrong with a result is an error
// of the script, at the function.
func (s *Sampler) Run(ctx context.Context, call *sampler.Call) error {
	if name, inside := ctx.Value(insideKey{}).(string); inside {
		return fault.New(fault.Script, "sampler", fmt.Sprintf("%q", s.decl.Name), "it cannot run inside the apply function of sampler %q", name)
	}
	ctx = context.WithValue(ctx, insideKey{}, s.decl.Name)
	one := *call
	for i := range call.Items {
		one.Items = call.Items[i : i+1]
		if err := s.set.Run(ctx, &one); err != nil {
			return s.located(err, i, len(call.Items))
		}
	}
	return nil
}

// located gives the position of the function to an error of a stage, keeps the
// stage in front, and says which sequence of several it is about.
func (s *Sampler) located(err error, i, of int) error {
	var e *fault.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	if strings.HasPrefix(c.Op, "stage ") && c.Kind == fault.Plugin {
		inner := c
		inner.Op, inner.Subject, inner.Kind = "", "", fault.Script
		c = fault.Error{Kind: fault.Script, Op: e.Op, Subject: e.Subject, Err: s.apply.Fault(&inner)}
	}
	if of > 1 {
		c.Subject = strings.TrimSuffix(fmt.Sprintf("sequence %d: %s", i, c.Subject), ": ")
	}
	return &c
}

// ApplyUntil implements sampler.Interruptible: it calls the function with the
// row and its turn, and puts what it returns in the row's place.
func (s *Sampler) ApplyUntil(ctx context.Context, r *sampler.Row, set param.Values) error {
	t := newTurn(r, set)
	defer t.end()
	result, err := s.apply.CallFor(ctx, resultType, t.given, t)
	if err == nil {
		err = t.take(s.decl.Kind, result)
	}
	if err == nil {
		return nil
	}
	err = s.apply.Fault(err)
	if len(set) == 0 {
		return err
	}
	return fault.Wrap(err, fault.Script, "", set.String())
}
