package conform

import (
	"context"
	"time"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

const (
	// defaultPatience is a little less than a host waits for a sampler: it would
	// start the plugin again, and ask the same twice more.
	defaultPatience = 28 * time.Second
	// modelPatience is how many times as long a model may take.
	modelPatience = 4
	// mostLate is how many samplers may fail to answer before the others of the
	// plugin are left alone.
	mostLate = 3
)

func (o Options) patience() time.Duration {
	if o.Patience > 0 {
		return o.Patience
	}
	return defaultPatience
}

// within makes a call that must come to an end. late says that it did not.
func within(ctx context.Context, limit time.Duration, subject string, call func(context.Context) error) (late bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = call(limited)
	if err == nil || limited.Err() == nil || ctx.Err() != nil {
		return false, err
	}
	return true, fault.New(fault.Plugin, "plugin test", subject, "it did not answer within %v, and was ended", limit)
}

// apply makes a call to samplers. One that does not come to an end is the last
// to that sampler.
func (b *Bench) apply(r sampler.Runner, call *sampler.Call) error {
	late, err := within(b.ctx, b.patience, call.Stages[0].Sampler, func(ctx context.Context) error { return r.Run(ctx, call) })
	b.late = b.late || late
	return err
}

// within makes a call to the model; one that does not come to an end is the last.
func (s *speaker) within(call func(context.Context) error) error {
	late, err := within(s.ctx, modelPatience*s.patience, s.info.Name, call)
	s.late = s.late || late
	return err
}

func (s *speaker) forward(batch []model.Input) (u model.Usage, err error) {
	err = s.within(func(ctx context.Context) (err error) {
		u, err = s.m.Forward(ctx, batch)
		return err
	})
	return u, err
}
