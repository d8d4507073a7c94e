package store

import (
	"runtime"
	"testing"
	"time"

	"lab/core/trace"
)

// wide is a record of so many steps with both sides and so many stages.
func wide(steps, stages int) Record {
	r := Record{PromptTokens: 100, Trace: trace.Sample{Text: "a completion", Stop: trace.Stop{Reason: trace.MaxTokens}}}
	for i := range steps {
		x := 1 / trace.Real(i+2)
		side := trace.Side{Prob: x, SurprisalBits: 1 / x, Rank: i, EntropyBits: x * 3, Support: 1000 + i}
		s := trace.Step{Step: i, Token: int32(i * 31), Piece: []byte(" word"), Model: &side, Sampling: &side}
		for range stages {
			s.Stages = append(s.Stages, trace.Stage{Stage: "top_p", Plugin: "samplers", SupportBefore: 1000, SupportAfter: i, KeptMass: x, KLBits: x / 2, TV: 1 - x})
		}
		r.Trace.Tokens = append(r.Trace.Tokens, s.Token)
		r.Trace.Steps = append(r.Trace.Steps, s)
	}
	return r
}

// keepAll puts one sample of every cell and finishes the run. It returns the time
// of that, and the memory in use when all but the tables is there.
func keepAll(b *testing.B, cells int, rec Record) (dir string, spent time.Duration, heap uint64) {
	b.Helper()
	m, settings := manifest(cells, 1), columns(cells)
	dir = b.TempDir()
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before := stats.HeapAlloc
	started := time.Now()
	r, err := Create(dir, m, settings)
	if err != nil {
		b.Fatal(err)
	}
	for cell := range cells {
		rec.Cell = cell
		if err := r.Put(rec); err != nil {
			b.Fatal(err)
		}
	}
	spent = time.Since(started)
	runtime.GC()
	runtime.ReadMemStats(&stats)
	heap = max(stats.HeapAlloc, before) - before
	runtime.KeepAlive(settings)
	started = time.Now()
	if done, err := r.Finish(); !done || err != nil {
		b.Fatal(done, err)
	}
	if err := r.Close(Session{}); err != nil {
		b.Fatal(err)
	}
	return dir, spent + time.Since(started), heap
}

// BenchmarkCells keeps 10,000 cells of 16 steps and two stages, beside 1,000 of
// them: the time of a cell and the memory in use should be those of fewer cells.
func BenchmarkCells(b *testing.B) {
	rec := wide(16, 2)
	var few, many time.Duration
	var fewHeap, manyHeap uint64
	for b.Loop() {
		_, t, h := keepAll(b, 1_000, rec)
		few, fewHeap = few+t, h
		_, t, h = keepAll(b, 10_000, rec)
		many, manyHeap = many+t, h
	}
	perCell := many.Seconds() * 1000 / float64(b.N) / 10_000
	b.ReportMetric(perCell, "ms/cell")
	b.ReportMetric(many.Seconds()/few.Seconds()/10, "x-time-of-few")
	b.ReportMetric(float64(manyHeap)/1024, "KiB-at-10000")
	b.ReportMetric(float64(fewHeap)/1024, "KiB-at-1000")
}

// BenchmarkReadSteps reads a steps table of 1 million rows: as the rows of the
// file, and joined into records, which should take at most 3 times as long.
func BenchmarkReadSteps(b *testing.B) {
	const rows, each = 1_000_000, 100
	dir, _, _ := keepAll(b, rows/each, wide(each, 0))
	s, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	var plain, joined time.Duration
	for b.Loop() {
		started := time.Now()
		t, err := openTable[stepRow](dir + "/" + StepsFile)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			row, err := t.next()
			if err != nil {
				b.Fatal(err)
			}
			if row == nil {
				break
			}
			n++
		}
		t.close()
		plain += time.Since(started)
		started = time.Now()
		found := 0
		err = s.Records(true, func(r *Record) error { found += len(r.Trace.Steps); return nil })
		if err != nil || n != rows || found != rows {
			b.Fatalf("%d and %d rows, %v", n, found, err)
		}
		joined += time.Since(started)
	}
	b.ReportMetric(plain.Seconds()*1e9/float64(b.N)/rows, "ns/row-plain")
	b.ReportMetric(joined.Seconds()*1e9/float64(b.N)/rows, "ns/row-joined")
	b.ReportMetric(joined.Seconds()/plain.Seconds(), "x-plain")
}

// BenchmarkPut reports what keeping a step with three stages costs.
func BenchmarkPut(b *testing.B) {
	r := Record{Trace: trace.Sample{Tokens: make([]int32, 64)}}
	for i := range 64 {
		s := trace.Step{Step: i, Piece: []byte(" word"), Model: &trace.Side{}, Sampling: &trace.Side{}}
		for _, n := range []string{"temperature", "top_p", "sample"} {
			s.Stages = append(s.Stages, trace.Stage{Stage: n, Plugin: "samplers"})
		}
		r.Trace.Steps = append(r.Trace.Steps, s)
	}
	run, err := Create(b.TempDir(), manifest(1000, 1000), columns(1000))
	if err != nil {
		b.Fatal(err)
	}
	at := 0
	for b.Loop() {
		r.Cell, r.Sample = at/1000%1000, at%1000
		at++
		if err := run.Put(r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/step")
	b.ReportMetric(float64(run.end)/float64(at)/64, "B/step")
	if err := run.Close(Session{}); err != nil {
		b.Fatal(err)
	}
}
