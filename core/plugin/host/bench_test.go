//go:build unix

package host_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/plugin/host"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// hop measures one sampler call for one row of a plugin's sampler.
func hop(b *testing.B, role, stage string, vocab int, change func(*host.Options)) {
	opt := host.Options{Builtins: []host.Command{{Name: "good", Argv: host.Self(serveWord, "good")}, {Name: role, Argv: host.Self(serveWord, role)}}}
	if role == "good" {
		opt.Builtins = opt.Builtins[:1]
	}
	if change != nil {
		change(&opt)
	}
	h, err := host.New(opt)
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	ctx := context.Background()
	m, err := h.OpenModel(ctx, "good/chatter", []param.Setting{{Name: "vocab", Value: vocab}})
	if err != nil {
		b.Fatal(err)
	}
	run := h.Runner(role)
	row := m.Rows(1)[0]
	for i := range row.Values {
		row.Values[i] = float32(i % 97)
	}
	it := &sampler.Item{Scores: row}
	call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: stage}}}
	if err := run.Run(ctx, call); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := run.Run(ctx, call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHop compares the two roads of a row of 262,144 scores with a hop
// that carries two scores. "sampler" is a real one that touches one score, with
// the checks on its row before and after; "transport" is a plugin that answers
// at once. The plane must be at least five times cheaper than bytes.
func BenchmarkHop(b *testing.B) {
	const large = 262144
	tls := func(o *host.Options) { o.TLS = true }
	both := func(o *host.Options) { inline(o); tls(o) }
	b.Run("empty", func(b *testing.B) { hop(b, "hostile-echo", "lie", 2, inline) })
	for kind, of := range map[string][2]string{"sampler": {"good", "touch"}, "transport": {"hostile-echo", "lie"}} {
		b.Run(kind+"/plane", func(b *testing.B) { hop(b, of[0], of[1], large, nil) })
		b.Run(kind+"/inline", func(b *testing.B) { hop(b, of[0], of[1], large, inline) })
		b.Run(kind+"/plane-tls", func(b *testing.B) { hop(b, of[0], of[1], large, tls) })
		b.Run(kind+"/inline-tls", func(b *testing.B) { hop(b, of[0], of[1], large, both) })
	}
}

// BenchmarkTransport compares the round trip that names a row of 262,144 scores in
// shared memory with the bare one of the same process. The plugin touches one
// score; neither side copies or checks the row, so this is not what a safe hop costs:
// that is BenchmarkPlaneHop of package bench.
func BenchmarkTransport(b *testing.B) {
	const role = "hostile-plane-touch"
	h, err := host.New(host.Options{Builtins: []host.Command{{Name: role, Argv: host.Self(serveWord, role)}}})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	ctx := context.Background()
	row := h.Rows(262_144, 1)[0]
	bare, err := h.Trip(ctx, role)
	if err != nil {
		b.Fatal(err)
	}
	carried, err := h.Carriage(ctx, role, "lie", &row)
	if err != nil {
		b.Fatal(err)
	}
	var took [2][]time.Duration
	for b.Loop() {
		for k, trip := range []*host.Trip{bare, carried} {
			start := time.Now()
			if err := trip.Bare(ctx); err != nil {
				b.Fatal(err)
			}
			took[k] = append(took[k], time.Since(start))
		}
	}
	if got := int(row.Values[0]); got != len(took[1]) {
		b.Fatalf("%d of %d calls touched the row", got, len(took[1]))
	}
	median := func(k int) float64 {
		slices.Sort(took[k])
		return took[k][len(took[k])/2].Seconds() * 1e6
	}
	b.ReportMetric(median(0), "bare-µs")
	b.ReportMetric(median(1)-median(0), "plane-over-bare-µs")
	b.ReportMetric(median(1)/median(0), "plane/bare")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart measures from launch to the first answer, and the end.
func BenchmarkStart(b *testing.B) {
	for name, tls := range map[string]bool{"plain": false, "tls": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				h, err := host.New(host.Options{TLS: tls, Builtins: []host.Command{{Name: "good", Argv: host.Self(serveWord, "good")}}})
				if err != nil {
					b.Fatal(err)
				}
				it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
				call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: "touch"}}}
				if err := h.Runner("good").Run(context.Background(), call); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				_ = h.Close()
				b.StartTimer()
			}
		})
	}
}
