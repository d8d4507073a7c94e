package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/bench"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
	"lab/plugins/models"
	"lab/plugins/samplers"
)

// JSON form of lab plugin bench; docs/json.md describes it.
type (
	benchReport struct {
		Schema   string       `json:"schema"`
		Plugin   string       `json:"plugin"`
		Version  string       `json:"version"`
		Language string       `json:"language"`
		Cores    int          `json:"cores"`
		Samplers []benchHop   `json:"samplers"`
		Models   []benchSpeed `json:"models"`
		Notes    []string     `json:"notes,omitempty"` // what was left out, and why
	}
	// benchTimes are of one call, in microseconds.
	benchTimes struct {
		Rounds int     `json:"rounds"`
		P10    float64 `json:"p10_us"`
		Median float64 `json:"median_us"`
		P90    float64 `json:"p90_us"`
	}
	benchHop struct {
		Sampler   string          `json:"sampler"`
		Tokens    int             `json:"vocabulary_size"`
		Batch     int             `json:"batch"`
		Transport bench.Transport `json:"transport"`
		PerRow    float64         `json:"per_row_us"`
		Call      benchTimes      `json:"call"`
		Bare      benchTimes      `json:"bare"`
		Watched   benchTimes      `json:"watched"`
		Local     *benchTimes     `json:"in_process,omitempty"`
		OverBare  float64         `json:"over_bare"` // ratio of the medians
		OverLocal float64         `json:"over_in_process,omitempty"`
	}
	benchSpeed struct {
		Model     string          `json:"model"`
		Phase     bench.Phase     `json:"phase"`
		Tokens    int             `json:"vocabulary_size"`
		Batch     int             `json:"batch"`
		Context   int             `json:"context"`
		Transport bench.Transport `json:"transport"`
		PerSecond float64         `json:"tokens_per_second"`
		Call      benchTimes      `json:"call"`
		Bare      benchTimes      `json:"bare"`
		Local     *benchTimes     `json:"in_process,omitempty"`
		OverBare  float64         `json:"over_bare"`
		OverLocal float64         `json:"over_in_process,omitempty"`
	}
)

// benchFlags are the flags of the command.
type benchFlags struct {
	samplers, models []string
	vocab, batch     []int
	transports       []string
	prefill          int
	each             time.Duration
}

func pluginBenchCommand(s *settings) *cobra.Command {
	b := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench NAME|PATH",
		Short: "Measure what a call to a plugin costs, by vocabulary, transport and batch",
		Long: `Starts a plugin and measures its samplers, by the size of the vocabulary, the
transport of the rows and the batch, and its models, by batch and for a whole
context. All kinds of call of one setting are made in turn, so the ratios hold
where the times of a busy machine do not. Times are medians.

  bare        the gRPC round trip of the same process that carries nothing
  call        there, the work, back, with every check that the host makes
  in process  the same work without a process border, for built-in plugins

A sampler is measured at its defaults, at which many do nothing; give it settings
with --sampler, as in a chain. Without the flag a plugin's samplers are measured
when they are few, else the first.`,
		Example: `  lab plugin bench mine
  lab plugin bench samplers --sampler top_p:0.9 --sampler temperature:0.7 --vocab 262144 --batch 1
  lab plugin bench models --batch 1,8,32 --json`,
		Args: oneArg("the name or the path of a plugin", "lab plugin bench mine"),
	}
	b.flags(cmd.Flags())
	asJSON := jsonFlag(cmd)
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := b.options()
		if err != nil {
			return err
		}
		name, err := s.testable(args[0])
		if err != nil {
			return err
		}
		var report *benchReport
		err = s.with(cmd, []string{name}, func(ctx context.Context, session *experiment.Session) (err error) {
			line := &testLine{what: "plugin bench", unit: "settings", out: cmd.ErrOrStderr(), terminal: newProgress(cmd.ErrOrStderr()).terminal, last: time.Now()}
			defer line.clear()
			opt.Progress = func(done, total int, next string) {
				if next != "" {
					line.show(done, total, next)
				}
			}
			report, err = b.run(ctx, session, name, opt)
			return err
		}, nil)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), report)
		}
		writeBench(cmd.OutOrStdout(), report)
		for _, n := range report.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
		}
		return nil
	}
	return cmd
}

func (b *benchFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&b.samplers, "sampler", nil, "sampler of the plugin, with settings as in a chain; may be repeated")
	f.StringArrayVar(&b.models, "model", nil, "open this with the plugin's backends: a path, or a name from lab model list (default the backends' own names); may be repeated")
	f.IntSliceVar(&b.vocab, "vocab", []int{1000, 32_000, 262_144}, "sizes of the vocabulary, for samplers")
	f.IntSliceVar(&b.batch, "batch", []int{1, 8}, "rows of a call")
	f.StringSliceVar(&b.transports, "transport", []string{string(bench.Inline), string(bench.Plane)},
		"how rows travel: inline (as bytes) or plane (shared memory)")
	f.IntVar(&b.prefill, "prefill", 64, "tokens of a model's context, at most")
	f.DurationVar(&b.each, "time", 500*time.Millisecond, "time spent on one setting; the slowest take longer")
}

// options checks the flags.
func (b *benchFlags) options() (bench.Options, error) {
	opt := bench.Options{Vocab: b.vocab, Batch: b.batch, Prefill: b.prefill, For: b.each}
	for _, t := range b.transports {
		opt.Transports = append(opt.Transports, bench.Transport(t))
	}
	if b.each <= 0 || b.each > time.Hour {
		return opt, fault.New(fault.Usage, "lab plugin bench", "", "--time %v is outside 0 to 1h", b.each)
	}
	if b.prefill == 0 || len(b.vocab) == 0 || len(b.batch) == 0 || len(b.transports) == 0 {
		return opt, fault.New(fault.Usage, "lab plugin bench", "", "a size is 0 or a list is empty, which leaves nothing to measure")
	}
	return opt, opt.Check()
}

// mostBenched is how many samplers are measured that nobody asked for.
const mostBenched = 4

// run measures the plugin.
func (b *benchFlags) run(ctx context.Context, session *experiment.Session, name string, opt bench.Options) (*benchReport, error) {
	h := session.Host()
	info, err := h.Plugin(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &benchReport{Schema: "lab/plugin-bench/1", Plugin: name, Version: info.Version, Language: info.Language, Cores: runtime.NumCPU(),
		Samplers: []benchHop{}, Models: []benchSpeed{}}
	if !info.Plane && slices.Contains(opt.Transports, bench.Plane) {
		r.note("the plugin does not use shared memory; its rows travel inline")
	}
	cases, err := b.cases(ctx, session, name, r)
	if err != nil {
		return nil, err
	}
	if name == "samplers" && info.Builtin {
		if opt.Local, err = sampler.NewSet(samplers.All()...); err != nil {
			return nil, err
		}
	}
	if len(cases) > 0 {
		hops, err := bench.Samplers(ctx, h, name, cases, opt)
		if err != nil {
			return nil, err
		}
		for i := range hops {
			r.Samplers = append(r.Samplers, newBenchHop(&hops[i]))
		}
	}
	if len(b.samplers) > 0 && len(b.models) == 0 {
		return r, nil // only these were asked for
	}
	subjects, tidy, err := b.subjects(ctx, session, info, r)
	defer tidy()
	if err != nil || len(subjects) == 0 {
		return r, err
	}
	speeds, err := bench.Models(ctx, h, subjects, opt)
	for i := range speeds {
		r.Models = append(r.Models, newBenchSpeed(&speeds[i]))
	}
	return r, err
}

func (r *benchReport) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// cases are the samplers that are measured.
func (b *benchFlags) cases(ctx context.Context, session *experiment.Session, name string, r *benchReport) ([]bench.Case, error) {
	asked := b.samplers
	if len(asked) == 0 && len(b.models) == 0 {
		for _, d := range session.Host().Samplers(ctx) {
			if d.Plugin == name {
				asked = append(asked, d.Name)
			}
		}
		if n := len(asked); n > mostBenched {
			r.note("%d more samplers of %s were not measured; name them with --sampler", n-1, name)
			asked = asked[:1]
		}
	}
	var out []bench.Case
	for _, text := range asked {
		requests, err := chain.Parse(text, "--sampler")
		if err != nil {
			return nil, err
		}
		if len(requests) != 1 {
			return nil, fault.New(fault.Usage, "lab plugin bench", "", "--sampler %s is a chain of %d stages", fault.Quote(text, 80), len(requests)).
				Fix("give each stage in a --sampler of its own")
		}
		if !strings.Contains(requests[0].Name, "/") {
			requests[0].Name = name + "/" + requests[0].Name
		}
		c, err := session.Build(ctx, requests)
		if err != nil {
			return nil, err
		}
		st := c.Stages[0]
		if st.Plugin != name {
			return nil, fault.New(fault.Usage, "lab plugin bench", "", "--sampler %s is not one of plugin %q", fault.Quote(text, 80), name)
		}
		out = append(out, bench.Case{Label: text, Declaration: st.Declaration,
			Stage: sampler.Stage{Sampler: st.Name, Values: st.Values, System: st.System}})
	}
	return out, nil
}

// subjects opens the models that are measured. One that nobody asked for and
// that does not open without a file is noted and left out.
func (b *benchFlags) subjects(ctx context.Context, session *experiment.Session, info host.PluginInfo, r *benchReport) (out []bench.Subject, tidy func(), err error) {
	h := session.Host()
	var ours []interface{ Close() error } // the session closes its own
	tidy = func() {
		for _, m := range ours {
			_ = m.Close()
		}
	}
	for _, ref := range b.models {
		m, err := session.Model(ctx, ref, nil) // which knows the names of the model folder
		if err != nil {
			return out, tidy, err
		}
		if p := m.Handle().Backend().Plugin; p != info.Name {
			return out, tidy, fault.New(fault.Usage, "lab plugin bench", "", "--model %s is opened by plugin %q, not %q", fault.Quote(ref, 80), p, info.Name)
		}
		out = append(out, bench.Subject{Label: ref, Model: m.Handle()})
	}
	if len(b.models) > 0 {
		return out, tidy, nil
	}
	for _, d := range h.Backends(ctx) {
		if d.Plugin != info.Name {
			continue
		}
		m, err := h.OpenModel(ctx, d.Qualified(), nil)
		if err != nil {
			if ctx.Err() != nil {
				return out, tidy, err
			}
			r.note("model %s was not measured: %v", d.Name, err)
			continue
		}
		s := bench.Subject{Label: d.Name, Model: m}
		ours = append(ours, m)
		if info.Builtin {
			if s.Local, err = localModel(ctx, d.Name); err != nil {
				return out, tidy, err
			}
			if s.Local != nil {
				ours = append(ours, s.Local)
			}
		}
		out = append(out, s)
	}
	return out, tidy, nil
}

// localModel opens a built-in model in this process; nil when there is none.
func localModel(ctx context.Context, name string) (model.Model, error) {
	for _, b := range models.All() {
		d := b.Declare()
		if d.Name != name {
			continue
		}
		values, err := d.Params.Resolve("model", d.Name, nil)
		if err != nil {
			return nil, err
		}
		return b.Open(ctx, d.Name, values)
	}
	return nil, nil
}

func micros(d time.Duration) float64 { return math.Round(d.Seconds()*1e8) / 100 }

func newBenchTimes(t bench.Times) benchTimes {
	return benchTimes{Rounds: t.Rounds, P10: micros(t.P10), Median: micros(t.Median), P90: micros(t.P90)}
}

func newBenchHop(h *bench.Hop) benchHop {
	out := benchHop{Sampler: h.Case, Tokens: h.Vocab, Batch: h.Batch, Transport: h.Transport, PerRow: h.PerRow() * 1e6,
		Call: newBenchTimes(h.Call), Bare: newBenchTimes(h.Bare), Watched: newBenchTimes(h.Watched), OverBare: h.Call.Over(h.Bare)}
	if h.InProcess.Known() {
		t := newBenchTimes(h.InProcess)
		out.Local, out.OverLocal = &t, h.Call.Over(h.InProcess)
	}
	return out
}

func newBenchSpeed(s *bench.Speed) benchSpeed {
	out := benchSpeed{Model: s.Model, Phase: s.Phase, Tokens: s.Vocab, Batch: s.Batch, Context: s.Context, Transport: s.Transport,
		PerSecond: s.TokensPerSecond(), Call: newBenchTimes(s.Forward), Bare: newBenchTimes(s.Bare), OverBare: s.Forward.Over(s.Bare)}
	if s.InProcess.Known() {
		t := newBenchTimes(s.InProcess)
		out.Local, out.OverLocal = &t, s.Forward.Over(s.InProcess)
	}
	return out
}

// writeBench prints the tables.
func writeBench(w io.Writer, r *benchReport) {
	fmt.Fprintf(w, "plugin %s %s (%s), %d cores; medians\n", r.Plugin, r.Version, r.Language, r.Cores)
	// Only built-in plugins are compared with their work in this process.
	const inProcess = " | in process µs | × in process"
	local := func(cells []any, t *benchTimes, ratio float64) []any {
		if t == nil {
			return cells
		}
		return append(cells, short(t.Median), times(ratio))
	}
	if len(r.Samplers) > 0 {
		fmt.Fprintln(w)
		header := "sampler | tokens | batch | rows | call µs | per row µs | bare µs | over bare µs | × bare"
		if slices.ContainsFunc(r.Samplers, func(h benchHop) bool { return h.Local != nil }) {
			header += inProcess
		}
		table(w, header, func(line func(...any)) {
			for _, h := range r.Samplers {
				line(local([]any{h.Sampler, h.Tokens, h.Batch, h.Transport, short(h.Call.Median), short(h.PerRow), short(h.Bare.Median),
					short(h.Call.Median - h.Bare.Median), times(h.OverBare)}, h.Local, h.OverLocal)...)
			}
		})
		h := r.Samplers[0]
		fmt.Fprintf(w, "deadline and watchdog of the host, on the bare round trip: %s µs, without %s µs\n", short(h.Watched.Median), short(h.Bare.Median))
	}
	if len(r.Models) > 0 {
		fmt.Fprintln(w)
		header := "model | phase | context | batch | rows | token/s | call µs | bare µs | × bare"
		if slices.ContainsFunc(r.Models, func(m benchSpeed) bool { return m.Local != nil }) {
			header += inProcess
		}
		table(w, header, func(line func(...any)) {
			for _, m := range r.Models {
				line(local([]any{m.Model, m.Phase, m.Context, m.Batch, m.Transport, short(m.PerSecond), short(m.Call.Median),
					short(m.Bare.Median), times(m.OverBare)}, m.Local, m.OverLocal)...)
			}
		})
	}
}

// short writes a number with three digits that count, and no more than it has.
func short(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100:
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func times(ratio float64) string { return fmt.Sprintf("%.2f", ratio) }
