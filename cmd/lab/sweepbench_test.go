package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"lab/core/experiment"
	"lab/core/plugin"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/store"
	"lab/core/sweep"
	"lab/plugins/models"
)

// nowhere keeps nothing.
type nowhere struct{}

func (nowhere) Has(int, int) bool      { return false }
func (nowhere) Put(store.Record) error { return nil }

func benchSession(b *testing.B, plugins []host.Command) *experiment.Session {
	b.Helper()
	s, err := experiment.Open(host.Options{Builtins: plugins})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = s.Close(b.Context()) })
	return s
}

// BenchmarkRecording reports what keeping a run costs in percent of its time: a
// large one on tiny, whose steps take some 50 µs a row, and one of 16 rows at a
// time on a tiny whose forward calls take 10 ms.
func BenchmarkRecording(b *testing.B) {
	b.Run("tiny", func(b *testing.B) {
		record(b, builtins(), 0, sweep.Spec{Samples: 64,
			Grid:  []sweep.Block{{"temperature": {0.5, 0.8, 1.0, 1.2}, "top_p": {0.9, 0.95, 0.99, "off"}}},
			Fixed: map[string]any{"prompt": "The weather today is", "max_tokens": int64(48), "seed": int64(1)}})
	})
	b.Run("10ms", func(b *testing.B) {
		record(b, slowBuiltins(), 16, sweep.Spec{Samples: 16,
			Grid:  []sweep.Block{{"temperature": {0.5, 0.8, 1.0, 1.2}}},
			Fixed: map[string]any{"prompt": "The weather today is", "max_tokens": int64(64), "seed": int64(1)}})
	})
}

// record runs the same sweep keeping nothing but tokens, nowhere; with its
// ledger, nowhere; and with its ledger in a folder, tables written. The arms take
// turns, so that a machine that changes its speed does so for all, and the median
// of several counts, for what disturbs one of them. around-% is the part of the
// last that lies before the first step and after the last one, making the folder
// and its tables: a share of one and the same run.
func record(b *testing.B, plugins []host.Command, batch int, spec sweep.Spec) {
	opt := sweep.Options{Batch: batch}
	s := benchSession(b, plugins)
	var plans [2]*sweep.Plan
	for i, record := range []string{sweep.RecordSamples, sweep.RecordLedger} {
		var err error
		spec.Record = record
		if plans[i], err = sweep.New(b.Context(), s, spec); err != nil {
			b.Fatal(err)
		}
	}
	const turns = 7
	var spent [3][]float64
	var around []float64
	var began, last time.Time
	watched := opt
	watched.Watch = func(int) func(int, int) {
		began = time.Now()
		return func(int, int) { last = time.Now() }
	}
	for b.Loop() {
		for turn := range turns {
			for i := range spent {
				start := time.Now()
				var err error
				arm := (i + turn) % 3
				if arm < 2 {
					_, err = plans[arm].Run(b.Context(), nowhere{}, opt)
				} else {
					_, err = plans[1].Execute(b.Context(), sweep.Folder{Dir: filepath.Join(b.TempDir(), "run"), Name: "bench"}, watched)
				}
				total := time.Since(start).Seconds()
				if arm == 2 {
					around = append(around, 1-last.Sub(began).Seconds()/total)
				}
				if err != nil {
					b.Fatal(err)
				}
				spent[arm] = append(spent[arm], total)
			}
		}
	}
	slices.Sort(around)
	var m [3]float64
	for arm, s := range spent {
		slices.Sort(s)
		m[arm] = s[len(s)/2]
	}
	b.ReportMetric(100*(m[1]/m[0]-1), "ledger-%")
	b.ReportMetric(100*(m[2]/m[1]-1), "store-%")
	b.ReportMetric(100*around[len(around)/2], "around-%")
	b.ReportMetric(1e3*m[2], "ms/run")
}

// slowWord serves models whose forward calls take at least slowStep.
const (
	slowWord = "slow-models"
	slowStep = 10 * time.Millisecond
)

func slowBuiltins() []host.Command {
	return []host.Command{builtins()[0], {Name: "models", Argv: host.Self(serveWord, slowWord)}}
}

func serveSlow(args []string) {
	if len(args) != 3 || args[1] != serveWord || args[2] != slowWord {
		return
	}
	p := plugin.Plugin{Name: "models", Version: version}
	for _, m := range models.All() {
		p.Models = append(p.Models, slowBackend{m})
	}
	plugin.Serve(p)
}

type slowBackend struct{ model.Backend }

func (s slowBackend) Open(ctx context.Context, ref string, set param.Values) (model.Model, error) {
	m, err := s.Backend.Open(ctx, ref, set)
	return slowModel{m}, err
}

type slowModel struct{ model.Model }

func (s slowModel) Forward(ctx context.Context, batch []model.Input) (model.Usage, error) {
	until := time.Now().Add(slowStep)
	usage, err := s.Model.Forward(ctx, batch)
	time.Sleep(time.Until(until))
	return usage, err
}

// BenchmarkManyCells runs 1,000 and 10,000 cells of one short sample, and reports
// what a cell costs and what memory the larger sweep needs beyond the smaller.
func BenchmarkManyCells(b *testing.B) {
	s := benchSession(b, builtins())
	for b.Loop() {
		var heap [2]uint64
		for i, cells := range []int{1_000, 10_000} {
			seeds := make([]any, cells)
			for j := range seeds {
				seeds[j] = int64(j)
			}
			start := time.Now()
			p, err := sweep.New(b.Context(), s, sweep.Spec{Samples: 1, Grid: []sweep.Block{{"seed": seeds}},
				Fixed: map[string]any{"prompt": "The weather today is", "max_tokens": int64(1)}})
			if err != nil {
				b.Fatal(err)
			}
			planned := time.Since(start)
			if _, err := p.Execute(b.Context(), sweep.Folder{Dir: filepath.Join(b.TempDir(), fmt.Sprint(cells)), Name: "bench"}, sweep.Options{}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(start).Microseconds())/1000/float64(cells), fmt.Sprintf("ms/cell-%d", cells))
			b.ReportMetric(float64(planned.Microseconds())/1000/float64(cells), fmt.Sprintf("plan-ms/cell-%d", cells))
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap[i] = m.HeapAlloc
		}
		b.ReportMetric((float64(heap[1])-float64(heap[0]))/9_000, "B/cell")
	}
}
