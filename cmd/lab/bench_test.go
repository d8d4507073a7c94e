package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"lab/core/chain"
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

// BenchmarkCells measures the cells of a sweep, 64 samples under 16 chains of one
// prompt of 100 tokens, together and one sample at a time, in alternating rounds.
// Samples that stand at one context share its forward pass, so the tokens drawn
// per token evaluated are printed too.
func BenchmarkCells(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	m, err := s.Model(ctx, "tiny", nil)
	if err != nil {
		b.Fatal(err)
	}
	prompt := []byte("The weather today is")
	for n := 0; n < 100; {
		prompt = append(prompt, " warm and the sky is clear and the weather today is"...)
		tokens, err := m.Encode(ctx, prompt)
		if err != nil {
			b.Fatal(err)
		}
		n = len(tokens)
	}
	var chains []*chain.Chain
	for i := range 16 {
		c, err := s.Chain(ctx, fmt.Sprintf("temperature:%g | top_p:%g", 0.4+0.2*float64(i%4), 0.7+0.1*float64(i/4)), "benchmark")
		if err != nil {
			b.Fatal(err)
		}
		chains = append(chains, c)
	}
	var jobs []generate.Job
	for sample := range uint64(64) {
		for _, c := range chains {
			jobs = append(jobs, generate.Job{Prompt: prompt, Chain: c, Seed: 1, Sample: sample, MaxTokens: 32})
		}
	}
	single := slices.Collect(slices.Chunk(jobs[:64], 1)) // a sixteenth is enough for a rate
	arms := [2][][]generate.Job{single, {jobs}}
	var seconds [2]float64
	var drawn [2]int
	var evaluated int64
	for b.Loop() {
		for arm, runs := range arms {
			start := time.Now()
			for _, run := range runs {
				r, err := m.Run(ctx, run, generate.Options{Batch: 512, Ledger: true})
				if err != nil {
					b.Fatal(err)
				}
				for _, sample := range r.Samples {
					drawn[arm] += len(sample.Tokens)
				}
				if arm == 1 {
					evaluated += r.Usage.DecodeTokens
				}
			}
			seconds[arm] += time.Since(start).Seconds()
		}
	}
	alone, together := float64(drawn[0])/seconds[0], float64(drawn[1])/seconds[1]
	b.ReportMetric(alone, "alone-token/s")
	b.ReportMetric(together, "together-token/s")
	b.ReportMetric(together/alone, "together/alone")
	b.ReportMetric(float64(drawn[1])/float64(evaluated), "drawn/evaluated")
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
