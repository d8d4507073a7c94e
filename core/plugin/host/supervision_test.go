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
// shared memory. "overhead-%" is what the median with supervision has over that
// without; "noise-%" is the same for bare calls counted twice, an experiment in
// which nothing differs: an overhead of this size is not measurable. "alone-ns"
// and "alone-allocs" are what supervision costs around a call that does nothing.
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
	bare := func() error {
		_, err := i.conn.Sampler.Apply(ctx, req, smallLimit)
		return err
	}
	caller, stop := context.WithCancel(ctx) // as a command's is
	defer stop()
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
	var times [3][]time.Duration // without, without again, with
	calls := [3]func() error{bare, bare, watched}
	orders := [6][3]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}, {1, 0, 2}}
	for n := 0; b.Loop(); n++ {
		for _, k := range orders[n%len(orders)] {
			start := time.Now()
			if err := calls[k](); err != nil {
				b.Fatal(err)
			}
			times[k] = append(times[k], time.Since(start))
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2])
	}
	one, two, three := median(times[0]), median(times[1]), median(times[2])
	without := (one + two) / 2
	b.ReportMetric(without/1e3, "µs-without")
	b.ReportMetric(three/1e3, "µs-with")
	b.ReportMetric(100*(three-without)/without, "overhead-%")
	b.ReportMetric(100*(two-one)/without, "noise-%")
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
