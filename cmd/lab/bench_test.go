package main

import (
	"bytes"
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"

	"lab/core/experiment"
	"lab/core/generate"
	"lab/core/plugin/host"
)

// openBench opens a session over the real built-in plugins.
func openBench(b *testing.B) *experiment.Session {
	b.Helper()
	s, err := experiment.Open(host.Options{Builtins: builtins()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkGenerate measures whole tokens: forward pass, hop to the samplers,
// chain, draw. The ratio of batch 32 to batch 1 is taken in alternating rounds
// of one run, since the machine's speed drifts.
func BenchmarkGenerate(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	m, err := s.Model(ctx, "tiny", nil)
	if err != nil {
		b.Fatal(err)
	}
	c, err := s.Chain(ctx, "temperature:0.8 | top_p:0.95", "benchmark")
	if err != nil {
		b.Fatal(err)
	}
	const tokens = 64
	rate := func(batch int) float64 {
		jobs := make([]generate.Job, batch)
		for i := range jobs {
			jobs[i] = generate.Job{Prompt: []byte("The weather today is"), Chain: c, Sample: uint64(i), MaxTokens: tokens}
		}
		start := time.Now()
		r, err := m.Run(ctx, jobs, generate.Options{Batch: batch})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, sample := range r.Samples {
			n += len(sample.Tokens)
		}
		return float64(n) / time.Since(start).Seconds()
	}
	var one, many float64
	for b.Loop() {
		one += rate(1)
		many += rate(32)
	}
	n := float64(b.N)
	b.ReportMetric(one/n, "tok/s@1")
	b.ReportMetric(many/n, "tok/s@32")
	b.ReportMetric(many/one, "x@32/@1")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPluginStart is launch to first answer of both built-in plugins, side
// by side as the command starts them.
func BenchmarkPluginStart(b *testing.B) {
	for b.Loop() {
		h, err := host.New(host.Options{Builtins: builtins()})
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, name := range []string{"samplers", "models"} {
			wg.Go(func() {
				if _, err := h.Plugin(context.Background(), name); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		if err := h.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNextCommand is the whole command lab next in a process of its own.
func BenchmarkNextCommand(b *testing.B) {
	exe := host.Self()[0]
	for b.Loop() {
		cmd := exec.Command(exe, "next", "The weather today is")
		cmd.Args[0] = "lab" // the test binary is the command under this name
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v: %s", err, errOut.String())
		}
	}
}
