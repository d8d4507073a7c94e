package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"lab/core/experiment"
	"lab/core/plugin/host"
	"lab/core/store"
	"lab/core/sweep"
)

// nowhere keeps nothing.
type nowhere struct{}

func (nowhere) Has(int, int) bool      { return false }
func (nowhere) Put(store.Record) error { return nil }

func benchSession(b *testing.B) *experiment.Session {
	b.Helper()
	s, err := experiment.Open(host.Options{Builtins: builtins()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = s.Close(b.Context()) })
	return s
}

// BenchmarkRecording runs the same sweep keeping nothing but tokens, nowhere;
// with its ledger, nowhere; and with its ledger in a folder, tables written. The
// arms take turns, so that a machine that changes its speed does so for all.
func BenchmarkRecording(b *testing.B) {
	s := benchSession(b)
	var plans [2]*sweep.Plan
	for i, record := range []string{sweep.RecordSamples, sweep.RecordLedger} {
		var err error
		plans[i], err = sweep.New(b.Context(), s, sweep.Spec{Samples: 64, Record: record,
			Grid:  []sweep.Block{{"temperature": {0.5, 0.8, 1.0, 1.2}, "top_p": {0.9, 0.95, 0.99, "off"}}},
			Fixed: map[string]any{"prompt": "The weather today is", "max_tokens": int64(48), "seed": int64(1)}})
		if err != nil {
			b.Fatal(err)
		}
	}
	var spent [3]time.Duration
	turn := 0
	for b.Loop() {
		for i := range spent {
			start := time.Now()
			var err error
			switch arm := (i + turn) % 3; arm {
			case 0, 1:
				_, err = plans[arm].Run(b.Context(), nowhere{}, sweep.Options{})
				spent[arm] += time.Since(start)
			default:
				_, err = plans[1].Execute(b.Context(), sweep.Folder{Dir: filepath.Join(b.TempDir(), fmt.Sprint(turn)), Name: "bench"}, sweep.Options{})
				spent[arm] += time.Since(start)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		turn++
	}
	b.ReportMetric(100*(float64(spent[1])/float64(spent[0])-1), "ledger-%")
	b.ReportMetric(100*(float64(spent[2])/float64(spent[1])-1), "store-%")
	b.ReportMetric(float64(turn*16*64*48)/spent[2].Seconds(), "token/s")
}

// BenchmarkManyCells runs 1,000 and 10,000 cells of one short sample, and reports
// what a cell costs and what memory the larger sweep needs beyond the smaller.
func BenchmarkManyCells(b *testing.B) {
	s := benchSession(b)
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
