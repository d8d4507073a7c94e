package script_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lab/core/fault"
	"lab/core/script"
)

// kit is a module that does to scripts what modules do.
func kit() script.Module {
	fn := func(names ...string) script.Param {
		return script.Param{Name: "f", Type: script.Callback(names...), Meaning: "a function"}
	}
	n := script.Param{Name: "n", Type: script.Int(), Range: script.Between(0, 100_000), Meaning: "how often"}
	anything := script.Param{Name: "x", Type: script.Any(), Meaning: "a value"}
	return script.Module{Name: "kit", Doc: "Test functions.", Members: []script.Member{
		{Name: "echo", Params: []script.Param{anything}, Func: func(c *script.Call) (any, error) { return c.Any("x"), nil }},
		{Name: "go_type", Params: []script.Param{anything}, Func: func(c *script.Call) (any, error) { return fmt.Sprintf("%T", c.Any("x")), nil }},
		{Name: "apply", Params: []script.Param{fn(), anything}, Variadic: true,
			Func: func(c *script.Call) (any, error) { return c.Func("f").Call(c.Context(), c.Rest()...) }},
		{Name: "wrapped", Params: []script.Param{fn()}, Func: func(c *script.Call) (any, error) {
			_, err := c.Func("f").Call(c.Context())
			return nil, fault.Wrap(err, fault.Model, "cell 3", "")
		}},
		{Name: "is_true", Params: []script.Param{fn()}, Func: func(c *script.Call) (any, error) {
			return c.Func("f").CallFor(c.Context(), script.Bool())
		}},
		{Name: "parallel", Params: []script.Param{n, fn("i")}, Func: parallel},
		{Name: "unlocked", Params: []script.Param{fn()}, Func: func(c *script.Call) (any, error) {
			var err error
			done := make(chan struct{})
			go func() { defer close(done); _, err = c.Func("f").Call(c.Context()) }()
			<-done
			return nil, err
		}},
		{Name: "astray", Params: []script.Param{fn()}, Func: func(c *script.Call) (any, error) {
			return c.Func("f").Call(context.Background())
		}},
		{Name: "budget", Params: []script.Param{n, fn()}, Doc: "Calls f with a deadline of its own, n milliseconds.", Func: func(c *script.Call) (any, error) {
			ctx, cancel := context.WithTimeout(c.Context(), time.Duration(c.Int("n"))*time.Millisecond)
			defer cancel()
			return c.Func("f").Call(ctx)
		}},
		{Name: "gives_up", Params: []script.Param{fn()}, Doc: "Reports an interrupt in its own words.", Func: func(c *script.Call) (any, error) {
			v, err := c.Func("f").Call(c.Context())
			if c.Context().Err() != nil {
				err = fault.New(fault.Interrupted, "kit", "", "stopped after 3 of 4: %v", context.Cause(c.Context()))
			}
			return v, err
		}},
		{Name: "sleep", Params: []script.Param{n}, Func: func(c *script.Call) (any, error) {
			return nil, c.Blocking(func() error {
				select {
				case <-time.After(time.Duration(c.Int("n")) * time.Millisecond):
					return nil
				case <-c.Context().Done():
					return c.Context().Err()
				}
			})
		}},
		{Name: "crash", Func: func(*script.Call) (any, error) { var m map[string]int; m["x"] = 1; return nil, nil }},
		{Name: "crash_unlocked", Func: func(c *script.Call) (any, error) { return nil, c.Blocking(func() error { panic("aside") }) }},
		{Name: "model_error", Func: func(*script.Call) (any, error) {
			return nil, fault.New(fault.Model, "open", `"x"`, "no weights").Fix("give a file")
		}},
		{Name: "plain_error", Func: func(*script.Call) (any, error) { return nil, errors.New("plain") }},
		{Name: "bad_result", Func: func(*script.Call) (any, error) { return make(chan int), nil }},
		{Name: "undeclared", Func: func(c *script.Call) (any, error) { return c.Int("nope"), nil }},
		{Name: "where", Func: func(c *script.Call) (any, error) { return c.Position().String(), nil }},
		{Name: "warn", Func: func(c *script.Call) (any, error) { c.Warn("careful: %d", 7); return nil, nil }},
		{Name: "version", Get: func(*script.Call) (any, error) { return "v1", nil }},
	}}
}

// parallel calls f(i) from n goroutines and returns the results in order.
func parallel(c *script.Call) (any, error) {
	out := make([]any, c.Int("n"))
	errs := make([]error, len(out))
	err := c.Blocking(func() error {
		var wg sync.WaitGroup
		for i := range out {
			wg.Go(func() { out[i], errs[i] = c.Func("f").Call(c.Context(), i) })
		}
		wg.Wait()
		return errors.Join(errs...)
	})
	return out, err
}
