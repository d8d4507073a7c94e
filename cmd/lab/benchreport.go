package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lab/core/machine"
	"lab/core/plugin/bench"
	"lab/core/plugin/model"
	"lab/core/trace"
)

// throughputReport is the answer of lab bench; docs/json.md describes its JSON
// form.
type throughputReport struct {
	Schema      string           `json:"schema"`
	Cores       int              `json:"cores"`
	Memory      *memoryJSON      `json:"memory,omitempty"`
	Chain       string           `json:"chain,omitempty"`
	Models      []benchModelJSON `json:"models"`
	Tests       []benchTestJSON  `json:"tests"`
	Notes       []string         `json:"notes,omitempty"`
	Interrupted bool             `json:"interrupted,omitempty"`
}

// memoryJSON is the bandwidth of memory measured between the rounds.
type memoryJSON struct {
	Threads   int            `json:"threads"`
	Bytes     int64          `json:"buffer_bytes"`
	PerSecond machine.Spread `json:"bytes_per_second"`
}

type benchModelJSON struct {
	Ref         string       `json:"ref"`
	Name        string       `json:"name"`
	Arch        string       `json:"architecture"`
	Parameters  int64        `json:"parameters"`
	WeightBytes int64        `json:"weight_bytes"`
	Digest      string       `json:"digest"`
	Details     []detailJSON `json:"details,omitempty"`
}

type benchTestJSON struct {
	Model     string          `json:"model"`
	Test      string          `json:"test"`
	Batch     int             `json:"batch"`
	Tokens    int             `json:"tokens"`
	Rounds    int             `json:"rounds"`
	Seconds   machine.Spread  `json:"seconds"`
	PerSecond *machine.Spread `json:"tokens_per_second,omitempty"`
	Step      *machine.Spread `json:"step_seconds,omitempty"`
	FLOPs     float64         `json:"flops_per_second,omitempty"`
	Moved     float64         `json:"bytes_per_second_moved,omitempty"`
	OfMemory  float64         `json:"share_of_memory_bandwidth,omitempty"`
	Usage     model.Usage     `json:"usage"`
	// Of a fork: what it costs beside reading the prompt.
	PrefillSeconds *machine.Spread `json:"fork_prefill_seconds,omitempty"`
	OfPrefill      trace.Real      `json:"share_of_prefill,omitempty"`
}

func newBenchModel(ref string, i model.Info) benchModelJSON {
	out := benchModelJSON{Ref: ref, Name: i.Name, Arch: i.Architecture, Parameters: i.Parameters, WeightBytes: i.WeightBytes, Digest: i.Digest}
	for _, d := range i.Details {
		out.Details = append(out.Details, detailJSON(d))
	}
	return out
}

func newBenchTest(t *bench.Throughput, memory *memoryJSON) benchTestJSON {
	out := benchTestJSON{Model: t.Model, Test: t.Name(), Batch: t.Batch, Tokens: t.Tokens, Rounds: len(t.Seconds), Seconds: machine.NewSpread(t.Seconds), Usage: t.Usage}
	if t.Test == "fork" {
		p := machine.NewSpread(t.Prefill)
		out.PrefillSeconds, out.OfPrefill = &p, trace.Real(out.Seconds.Median/p.Median)
		return out
	}
	if len(t.Steps) > 0 {
		steps := machine.NewSpread(t.Steps)
		out.Step = &steps
	}
	rates := make([]float64, len(t.Seconds))
	for i, s := range t.Seconds {
		rates[i] = t.PerSecond(s)
	}
	r := machine.NewSpread(rates)
	out.PerSecond = &r
	out.FLOPs = float64(t.Usage.FLOPs) / out.Seconds.Median
	out.Moved = float64(t.Usage.BytesMoved) / out.Seconds.Median
	if memory != nil {
		out.OfMemory = out.Moved / memory.PerSecond.Median
	}
	return out
}

func writeThroughput(w io.Writer, r *throughputReport, markdown bool) {
	bullet := ""
	if markdown {
		bullet = "- "
	}
	for _, m := range r.Models {
		fmt.Fprintf(w, "%s%s: %s, %s parameters, %.1f MiB, sha256 %.12s…", bullet, m.Ref, m.Arch, short(float64(m.Parameters)/1e6)+" million", float64(m.WeightBytes)/(1<<20), m.Digest)
		for _, d := range m.Details {
			if slices.Contains([]string{model.DetailKernels, model.DetailThreads, model.DetailFormats}, d.Name) {
				fmt.Fprintf(w, "; %s %s", d.Name, d.Value)
			}
		}
		fmt.Fprintln(w)
	}
	if m := r.Memory; m != nil {
		fmt.Fprintf(w, "%smemory: %.1f GB/s (%.1f to %.1f) read by %d threads over %d MiB\n", bullet,
			m.PerSecond.Median/1e9, m.PerSecond.Least/1e9, m.PerSecond.Most/1e9, m.Threads, m.Bytes>>20)
	}
	if r.Chain != "" {
		fmt.Fprintf(w, "%schain: %s\n", bullet, r.Chain)
	}
	fmt.Fprintln(w)
	rows := func(line func(...any)) {
		for _, t := range r.Tests {
			if t.PerSecond == nil {
				continue
			}
			counted := []any{"-", "-", "-", "-"}
			if t.Usage.FLOPs > 0 {
				counted = []any{short(t.FLOPs / 1e9), short(t.Moved / 1e9), "-", short(float64(t.Usage.CacheBytes) / (1 << 20))}
				if r.Memory != nil {
					counted[2] = fmt.Sprintf("%.0f %%", 100*t.OfMemory)
				}
			}
			line(append([]any{t.Model, t.Test, t.Batch, short(t.PerSecond.Median), short(t.PerSecond.Least) + " to " + short(t.PerSecond.Most)}, counted...)...)
		}
	}
	const header = "model | test | batch | token/s | least to most | GFLOP/s | GB/s moved | of memory | cache MiB"
	if markdown {
		markdownTable(w, header, rows)
	} else {
		table(w, header, rows)
	}
	for _, t := range r.Tests {
		if t.PrefillSeconds != nil {
			fmt.Fprintf(w, "\n%s%s: %d forks of %d tokens take %s ms, %.3g %% of the %s ms that reading them took\n", bullet, t.Model, t.Batch, t.Tokens,
				short(1e3*t.Seconds.Median), 100*float64(t.OfPrefill), short(1e3*t.PrefillSeconds.Median))
		}
	}
}

// markdownTable is [table] for a page.
func markdownTable(w io.Writer, header string, rows func(line func(cells ...any))) {
	fmt.Fprintf(w, "| %s |\n|%s\n", header, strings.Repeat("---|", strings.Count(header, " | ")+1))
	rows(func(cells ...any) {
		for _, c := range cells {
			fmt.Fprintf(w, "| %s ", strings.ReplaceAll(fmt.Sprint(c), "|", "\\|"))
		}
		fmt.Fprintln(w, "|")
	})
}
