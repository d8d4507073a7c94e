package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/bandwidth"
	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/bench"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/seed"
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
	Threads   int        `json:"threads"`
	Bytes     int64      `json:"buffer_bytes"`
	PerSecond spreadJSON `json:"bytes_per_second"`
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

// spreadJSON is a number that was measured several times.
type spreadJSON struct {
	Median float64 `json:"median"`
	Least  float64 `json:"min"`
	Most   float64 `json:"max"`
}

type benchTestJSON struct {
	Model     string      `json:"model"`
	Test      string      `json:"test"`
	Batch     int         `json:"batch"`
	Tokens    int         `json:"tokens"`
	Rounds    int         `json:"rounds"`
	Seconds   spreadJSON  `json:"seconds"`
	PerSecond *spreadJSON `json:"tokens_per_second,omitempty"`
	FLOPs     float64     `json:"flops_per_second,omitempty"`
	Moved     float64     `json:"bytes_per_second_moved,omitempty"`
	OfMemory  float64     `json:"share_of_memory_bandwidth,omitempty"`
	Usage     usageJSON   `json:"usage"`
	// Of a fork: what it costs beside reading the prompt.
	PrefillSeconds *spreadJSON `json:"fork_prefill_seconds,omitempty"`
	OfPrefill      trace.Real  `json:"share_of_prefill,omitempty"`
}

type throughputFlags struct {
	opt      bench.ThroughputOptions
	threads  int
	buffer   int
	chain    chainFlags
	json     *bool
	markdown bool
	fork     bool
}

func benchCommand(s *settings) *cobra.Command {
	b := &throughputFlags{}
	cmd := &cobra.Command{
		Use:   "bench MODEL...",
		Short: "Measure how fast models read prompts and generate",
		Long: `Measures models through their plugins, scores included: ppN reads a prompt of N
tokens at once, tgN extends a batch of sequences by N tokens, one at a time, fork
copies the sequence of a prompt 64 times. The tests of all models are made in
turn, round after round, and the first round does not count, so the ratios hold
where the times of a busy machine do not. Numbers are medians of --repeat rounds,
with the least and the most.

Tokens are random with a fixed seed, and nothing is sampled unless --chain says
so; a model that refuses random tokens gets a text that it wrote itself. FLOP and
bytes are those the backend counts, over the time measured here. The bandwidth of
memory is measured between the rounds with as many threads as the model has, over
a buffer larger than the caches; a share above 100 % says that weights came from
the caches.`,
		Example: `  lab bench tiny
  lab bench model.gguf --prompt 512 --generate 64 --batch 1,8,32 --repeat 5
  lab bench one.gguf two.gguf --threads 2 --markdown`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fault.New(fault.Usage, "lab bench", "", "it takes the names or paths of models, and none was given").Fix("for example: lab bench tiny")
		},
	}
	f := cmd.Flags()
	f.IntVarP(&b.opt.Prompt, "prompt", "p", 512, "tokens of the prompt; unless given, no more than the context; 0 leaves the test out")
	f.IntVarP(&b.opt.Generate, "generate", "g", 64, "tokens generated in a test; 0 leaves it out")
	f.IntSliceVarP(&b.opt.Batch, "batch", "b", []int{1, 8, 32}, "sequences that are extended together")
	f.IntVarP(&b.opt.Repeat, "repeat", "r", 5, "rounds that count")
	f.IntVar(&b.threads, "threads", 0, "threads of the model (default its own choice)")
	f.IntVar(&b.buffer, "buffer", 512, "MiB that the measurement of memory reads; 0 leaves it out")
	f.BoolVar(&b.fork, "fork", true, "measure 64 forks of a prompt of 1000 tokens, or of what the context holds")
	b.chain.flags(cmd)
	f.BoolVar(&b.markdown, "markdown", false, "print Markdown")
	b.json = jsonFlag(cmd)
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.check(); err != nil {
			return err
		}
		return b.run(s, cmd, args)
	}
	return cmd
}

// check refuses sizes that cannot be measured.
func (b *throughputFlags) check() error {
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Usage, "lab bench", "", format, args...)
	}
	const most = 1 << 20
	switch o := &b.opt; {
	case o.Prompt < 0 || o.Prompt > most:
		return bad("--prompt %d is outside 0 to %d", o.Prompt, most)
	case o.Generate < 0 || o.Generate > most:
		return bad("--generate %d is outside 0 to %d", o.Generate, most)
	case o.Repeat < 1 || o.Repeat > 1000:
		return bad("--repeat %d is outside 1 to 1000", o.Repeat)
	case b.threads < 0:
		return bad("--threads %d is below 0", b.threads)
	case b.buffer < 0 || b.buffer > 16<<10:
		return bad("--buffer %d is outside 0 to %d", b.buffer, 16<<10)
	case o.Generate > 0 && len(o.Batch) == 0:
		return bad("--batch is empty")
	}
	for _, n := range b.opt.Batch {
		if n < 1 || n > 4096 {
			return bad("--batch %d is outside 1 to 4096", n)
		}
	}
	if *b.json && b.markdown {
		return bad("--json and --markdown were given").Fix("choose one")
	}
	if b.opt.Prompt == 0 && b.opt.Generate == 0 && !b.fork {
		return bad("nothing is left to measure")
	}
	return nil
}

func (b *throughputFlags) run(s *settings, cmd *cobra.Command, refs []string) error {
	r := &throughputReport{Schema: "lab/bench/1", Cores: runtime.NumCPU(), Models: []benchModelJSON{}, Tests: []benchTestJSON{}}
	err := s.with(cmd, []string{"models"}, func(ctx context.Context, session *experiment.Session) error {
		return b.measure(ctx, cmd, session, refs, r)
	}, nil)
	if err != nil && (fault.KindOf(err) != fault.Interrupted && cmd.Context().Err() == nil || len(r.Tests) == 0) {
		return err
	}
	r.Interrupted = err != nil
	w := cmd.OutOrStdout()
	switch {
	case *b.json:
		if jsonErr := writeJSON(w, r); err == nil {
			err = jsonErr
		}
	default:
		writeThroughput(w, r, b.markdown)
		for _, n := range r.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
		}
	}
	return err
}

func (b *throughputFlags) measure(ctx context.Context, cmd *cobra.Command, session *experiment.Session, refs []string, r *throughputReport) error {
	opt := b.opt
	if cmd.Flags().Changed("chain") {
		c, err := b.chain.build(ctx, session)
		if err != nil {
			return err
		}
		r.Chain, opt.Draw = c.String(), drawer(c)
	}
	var subjects []bench.Subject
	defer func() {
		for _, s := range subjects {
			_ = s.Model.Close()
		}
	}()
	var given []param.Setting
	if b.threads > 0 {
		given = []param.Setting{{Name: "threads", Value: int64(b.threads), Origin: "flag --threads"}}
	}
	shortest := 0
	for _, ref := range refs {
		m, err := session.Host().OpenModel(ctx, ref, given)
		if err != nil {
			return err
		}
		subjects = append(subjects, bench.Subject{Label: ref, Model: m})
		r.Models = append(r.Models, newBenchModel(ref, m.Info()))
		if n := m.Info().ContextLength; shortest == 0 || n < shortest {
			shortest = n
		}
	}
	if !cmd.Flags().Changed("prompt") {
		opt.Prompt = min(opt.Prompt, shortest)
	}
	if !cmd.Flags().Changed("generate") {
		opt.Generate = min(opt.Generate, shortest-1)
	}
	if b.fork {
		opt.Fork, opt.ForkPrompt = 64, 1000
	}
	var memory []float64
	if b.buffer > 0 {
		buffer, err := bandwidth.New(int64(b.buffer)<<20, threadsOf(subjects))
		if err != nil {
			return err
		}
		r.Memory = &memoryJSON{Threads: buffer.Threads(), Bytes: buffer.Bytes()}
		opt.Between = func(counts bool) {
			if rate := buffer.Pass(); counts {
				memory = append(memory, rate)
			}
		}
	}
	line := &testLine{what: "bench", unit: "measurements", out: cmd.ErrOrStderr(), terminal: newProgress(cmd.ErrOrStderr()).terminal, last: time.Now()}
	opt.Progress = line.show
	tests, err := bench.Measure(ctx, subjects, opt)
	line.clear()
	if len(memory) > 0 {
		r.Memory.PerSecond = spread(memory)
	} else {
		r.Memory = nil
	}
	for i := range tests {
		if len(tests[i].Seconds) > 0 {
			r.Tests = append(r.Tests, newBenchTest(&tests[i], r.Memory))
		}
	}
	for _, m := range r.Models {
		if slices.ContainsFunc(r.Tests, func(t benchTestJSON) bool { return t.Model == m.Ref && t.Test != "fork" && t.Usage.FLOPs == 0 }) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: its backend counts no FLOP and no bytes", m.Ref))
		}
	}
	return err
}

// threadsOf is how many threads the models have, the most of them where they
// say; else one a core.
func threadsOf(subjects []bench.Subject) int {
	most := 0
	for _, s := range subjects {
		if n, err := strconv.Atoi(s.Model.Info().Detail(model.DetailThreads)); err == nil {
			most = max(most, n)
		}
	}
	if most == 0 {
		most = runtime.GOMAXPROCS(0)
	}
	return min(most, 1024)
}

// drawer samples with a chain.
func drawer(c *chain.Chain) func(context.Context, *host.Model, int, []dist.Scores, [][]int32) ([]int32, error) {
	states := map[int][][]byte{}
	return func(ctx context.Context, m *host.Model, step int, rows []dist.Scores, histories [][]int32) ([]int32, error) {
		batch := make([]*chain.Row, len(rows))
		for i := range rows {
			batch[i] = &chain.Row{Scores: rows[i], History: histories[i], Prompt: 1, Step: step, Stream: seed.New(1, nil), Sample: uint64(i)}
			if step > 0 {
				batch[i].States = states[i]
			}
		}
		if err := c.Apply(ctx, batch, chain.Options{Vocabulary: m.VocabularyKey(), EndOfText: m.Info().EndOfText}); err != nil {
			return nil, err
		}
		out := make([]int32, len(rows))
		for i, row := range batch {
			out[i], states[i] = row.Chosen, row.States
		}
		return out, nil
	}
}

func newBenchModel(ref string, i model.Info) benchModelJSON {
	out := benchModelJSON{Ref: ref, Name: i.Name, Arch: i.Architecture, Parameters: i.Parameters, WeightBytes: i.WeightBytes, Digest: i.Digest}
	for _, d := range i.Details {
		out.Details = append(out.Details, detailJSON(d))
	}
	return out
}

func spread(x []float64) spreadJSON {
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	return spreadJSON{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Least: sorted[0], Most: sorted[n-1]}
}

func newBenchTest(t *bench.Throughput, memory *memoryJSON) benchTestJSON {
	out := benchTestJSON{Model: t.Model, Test: t.Name(), Batch: t.Batch, Tokens: t.Tokens, Rounds: len(t.Seconds), Seconds: spread(t.Seconds), Usage: usageJSON(t.Usage)}
	if t.Test == "fork" {
		p := spread(t.Prefill)
		out.PrefillSeconds, out.OfPrefill = &p, trace.Real(out.Seconds.Median/p.Median)
		return out
	}
	rates := make([]float64, len(t.Seconds))
	for i, s := range t.Seconds {
		rates[i] = t.PerSecond(s)
	}
	r := spread(rates)
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
