//go:build unix

package host

import (
	"context"
	"slices"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/param"
)

// BenchmarkSupervision compares a hop as the host makes it, watched over, with
// the same call on the bare connection: the same process, the same request, one
// call of each by turns, in every order equally often, so that a busy machine and
// what the call before left in the caches concern all alike. "smallest" is a
// request to a plugin that answers at once, of which the supervision is the
// largest share; "row" is a real sampler that touches one of 262,144 scores in
// shared memory. "overhead-%" is what the median with supervision has over that of
// a client without it: a call that ends when its caller gives up, and leaves a
// process that hangs as it is. "never-%" is the same over a call that nothing ends,
// and "noise-%" over one that is made twice, an experiment in which nothing differs:
// an overhead of this size is not measurable. "alone-ns" and "alone-allocs" are what
// supervision costs around a call that does nothing.
func BenchmarkSupervision(b *testing.B) {
	b.Run("smallest", func(b *testing.B) { supervision(b, "hostile-echo", "lie", 2) })
	b.Run("row", func(b *testing.B) { supervision(b, "good", "touch", 262144) })
}

func supervision(b *testing.B, role, stage string, vocab int) {
	h, err := New(Options{Builtins: []Command{{Name: role, Argv: Self("plugin-serve", role)}}})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	ctx := context.Background()
	m, err := h.OpenModel(ctx, role+"/chatter", []param.Setting{{Name: "vocab", Value: int64(vocab)}})
	if err != nil {
		b.Fatal(err)
	}
	row := dist.NewDense(make([]float32, vocab))
	if vocab == m.Info().VocabSize {
		row = m.Rows(1)[0]
		clear(row.Values)
	}
	p, err := h.named(role)
	if err != nil {
		b.Fatal(err)
	}
	i, err := p.instance(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if slot, ok := h.memory.table.Find(row.Values); ok {
		if ok, _, err := p.attach(ctx, i, map[uint32]bool{slot.Plane: true}); !ok {
			b.Fatal(err)
		}
	}
	req := &wire.ApplyRequest{Stages: []*wire.Stage{{Sampler: stage}}, Items: []*wire.Item{{Scores: wire.PutRow(&row, &h.memory.table)}}}
	caller, stop := context.WithCancel(ctx) // as a command's is
	defer stop()
	call := func(ctx context.Context) func() error {
		return func() error {
			_, err := i.conn.Sampler.Apply(ctx, req, smallLimit)
			return err
		}
	}
	watched := func() error {
		i, err := p.instance(caller)
		if err != nil {
			return err
		}
		_, err = p.ask(caller, i, "sampler call", h.opt.Deadlines.Call, func(ctx context.Context) error {
			_, err := i.conn.Sampler.Apply(ctx, req, smallLimit)
			return err
		})
		return err
	}
	const client, again, never, host = 0, 1, 2, 3
	calls := [4]func() error{client: call(caller), again: call(caller), never: call(ctx), host: watched}
	var times [4][]time.Duration
	// Each follows each other equally often.
	orders := [4][4]int{{0, 1, 2, 3}, {1, 3, 0, 2}, {2, 0, 3, 1}, {3, 2, 1, 0}}
	for n := 0; b.Loop(); n++ {
		for _, k := range orders[n%len(orders)] {
			start := time.Now()
			if err := calls[k](); err != nil {
				b.Fatal(err)
			}
			times[k] = append(times[k], time.Since(start))
		}
	}
	var medians [4]float64
	for k, d := range times {
		slices.Sort(d)
		medians[k] = float64(d[len(d)/2])
	}
	without := (medians[client] + medians[again]) / 2
	over := func(k int, of float64) float64 { return 100 * (medians[k]/of - 1) }
	b.ReportMetric(without/1e3, "µs-without")
	b.ReportMetric(medians[host]/1e3, "µs-with")
	b.ReportMetric(over(host, without), "overhead-%")
	b.ReportMetric(over(host, medians[never]), "never-%")
	b.ReportMetric(over(again, medians[client]), "noise-%")
	nothing := func() {
		if _, err := p.ask(caller, i, "nothing", h.opt.Deadlines.Call, func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	const many = 10000
	start := time.Now()
	for range many {
		nothing()
	}
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/many, "alone-ns")
	b.ReportMetric(testing.AllocsPerRun(100, nothing), "alone-allocs")
}
