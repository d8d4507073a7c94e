package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"lab/core/bandwidth"
	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/machine"
	"lab/core/plugin/bench"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/seed"
)

type throughputFlags struct {
	opt      bench.ThroughputOptions
	threads  int
	buffer   int
	chain    chainFlags
	json     *bool
	markdown bool
	fork     bool

	grid gridFlags
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
the caches.

With --context it measures a grid instead: the time of a step of every batch at
every context, each sequence with a text and a cache of its own, and of reading a
prompt of every context; fits what a byte of weights, an operation and a byte of
cache cost; and shows what was measured over what the fit says and over the floor
below which this machine cannot come (lab cost calibrate). Points are visited in a
shuffled order; a step's time is the median of a visit's steps, a point's that of
its rounds. Ctrl-C keeps what was measured.`,
		Example: `  lab bench tiny
  lab bench model.gguf --prompt 512 --generate 64 --batch 1,8,32 --repeat 5
  lab bench one.gguf two.gguf --threads 2 --markdown
  lab bench tiny --context 0,64,128,224 --batch 1,4,8,16,32
  lab bench model.gguf --context 0,512,4096 --batch 1,8,32 --json`,
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
	b.grid.flags(cmd)
	b.chain.flags(cmd)
	f.BoolVar(&b.markdown, "markdown", false, "print Markdown")
	b.json = jsonFlag(cmd)
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.check(); err != nil {
			return err
		}
		if err := b.grid.check(cmd); err != nil {
			return err
		}
		if len(b.grid.context) > 0 {
			return b.runGrid(s, cmd, args)
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
	subjects, err := b.open(ctx, session, refs, r)
	if err != nil {
		return err
	}
	for _, s := range subjects { // what nobody asked for is no longer than the context
		n := s.Model.Info().ContextLength
		if !cmd.Flags().Changed("prompt") {
			opt.Prompt = min(opt.Prompt, n)
		}
		if !cmd.Flags().Changed("generate") {
			opt.Generate = min(opt.Generate, n-1)
		}
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
		r.Memory.PerSecond = machine.NewSpread(memory)
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

// open opens the models, which the session closes.
func (b *throughputFlags) open(ctx context.Context, session *experiment.Session, refs []string, r *throughputReport) (subjects []bench.Subject, err error) {
	var given []param.Setting
	if b.threads > 0 {
		given = []param.Setting{{Name: "threads", Value: int64(b.threads), Origin: "flag --threads"}}
	}
	for _, ref := range refs {
		if slices.ContainsFunc(subjects, func(s bench.Subject) bool { return s.Label == ref }) {
			return nil, fault.New(fault.Usage, "lab bench", "", "model %s was given twice", fault.Quote(ref, 80))
		}
		m, err := session.Model(ctx, ref, given)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, bench.Subject{Label: ref, Model: m.Handle()})
		r.Models = append(r.Models, newBenchModel(ref, m.Info()))
	}
	return subjects, nil
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
