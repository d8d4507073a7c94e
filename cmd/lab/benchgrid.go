package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/cost/steptime"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/bench"
	"lab/core/profile"
)

// gridReport is the answer of lab bench --context; docs/json.md describes its JSON
// form.
type gridReport struct {
	Schema      string            `json:"schema"`
	Models      []*profile.Report `json:"models"`
	Notes       []string          `json:"notes,omitempty"`
	Interrupted bool              `json:"interrupted,omitempty"`
}

// gridFlags are those of lab bench --context.
type gridFlags struct {
	context []int
	form    string
	seed    uint64
}

func (g *gridFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntSliceVar(&g.context, "context", nil, "tokens that sequences hold: measure a grid of contexts and batches")
	f.StringVar(&g.form, "form", "", "with --context: fit sum or split (default whichever explains the times better)")
	f.Uint64Var(&g.seed, "seed", 0, "with --context: seed of the order, the tokens and the intervals")
}

// check refuses flags of the one mode in the other.
func (g *gridFlags) check(cmd *cobra.Command) error {
	wrong, where := []string{"form", "seed"}, "without"
	if cmd.Flags().Changed("context") {
		wrong, where = []string{"prompt", "buffer", "fork", "chain"}, "with"
	}
	for _, name := range wrong {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, "lab bench", "", "--%s has no meaning %s --context", name, where).Fix("leave one of them out")
		}
	}
	if cmd.Flags().Changed("context") && len(g.context) == 0 {
		return fault.New(fault.Usage, "lab bench", "", "--context is empty")
	}
	if cmd.Flags().Changed("generate") && len(g.context) > 0 {
		if n, _ := cmd.Flags().GetInt("generate"); n < 1 {
			return fault.New(fault.Usage, "lab bench", "", "--generate %d leaves no step to measure", n)
		}
	}
	if forms := []string{"sum", "split"}; g.form != "" && g.form != forms[0] && g.form != forms[1] {
		return fault.Unknown("lab bench", "form", g.form, forms)
	}
	return nil
}

// runGrid measures a grid of every model, one after the other.
func (b *throughputFlags) runGrid(s *settings, cmd *cobra.Command, refs []string) error {
	r := &gridReport{Schema: "lab/bench-grid/1", Models: []*profile.Report{}}
	rates, why := machineRates()
	if rates == nil {
		r.Notes = append(r.Notes, "there are no floors: "+why)
	}
	opt := profile.Options{Form: b.grid.form, At: rates, GridOptions: bench.GridOptions{Context: b.grid.context, Batch: b.opt.Batch, Repeat: b.opt.Repeat, Seed: b.grid.seed}}
	if cmd.Flags().Changed("generate") {
		opt.Steps = b.opt.Generate
	}
	err := s.with(cmd, []string{"models"}, func(ctx context.Context, session *experiment.Session) error {
		subjects, err := b.open(ctx, session, refs, &throughputReport{})
		if err != nil {
			return err
		}
		for _, subject := range subjects {
			line := &testLine{what: "bench", unit: "measurements", out: cmd.ErrOrStderr(), terminal: newProgress(cmd.ErrOrStderr()).terminal, last: time.Now()}
			opt.Progress = func(done, total int, next string) { line.show(done, total, subject.Label+", "+next) }
			p, err := profile.Measure(ctx, subject.Label, subject.Model, opt)
			line.clear()
			if p != nil {
				r.Models = append(r.Models, p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil && (fault.KindOf(err) != fault.Interrupted && cmd.Context().Err() == nil || len(r.Models) == 0) {
		return err
	}
	r.Interrupted = err != nil
	if *b.json {
		if jsonErr := writeJSON(cmd.OutOrStdout(), r); err == nil {
			err = jsonErr
		}
		return err
	}
	for i, m := range r.Models {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		writeProfile(cmd.OutOrStdout(), m, b.markdown)
		for _, n := range m.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s\n", m.Model, n)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", n)
	}
	return err
}

func writeProfile(w io.Writer, r *profile.Report, markdown bool) {
	bullet := ""
	if markdown {
		bullet = "- "
	}
	fmt.Fprintf(w, "%s%s: %s, %s parameters, %.1f MiB, sha256 %.12s…", bullet, r.Model, r.Arch, short(float64(r.Parameters)/1e6)+" million", float64(r.Weights)/(1<<20), r.Digest)
	for _, d := range [][2]string{{"kernels", r.Kernels}, {"threads", r.Threads}} {
		if d[1] != "" {
			fmt.Fprintf(w, "; %s %s", d[0], d[1])
		}
	}
	if r.LoadBefore != nil && r.LoadAfter != nil {
		fmt.Fprintf(w, "; load %.1f before, %.1f after", *r.LoadBefore, *r.LoadAfter)
	}
	if m := r.Machine; m != nil {
		fmt.Fprintf(w, "\n%sfloors: %s, measured %s with %d threads", bullet, m.CPU, m.Measured.Format(time.DateOnly), m.Threads)
	}
	fmt.Fprint(w, "\n\n")
	rows := func(line func(...any)) {
		for _, p := range r.Points {
			line(profileRow(r, &p)...)
		}
	}
	const header = "test | batch | token/s | ms | least to most | GFLOP/s | GB/s moved | fitted ms | measured/fitted | floor ms | measured/floor"
	if markdown {
		markdownTable(w, header, rows)
	} else {
		table(w, header, rows)
	}
	for _, phase := range []bench.Phase{bench.Decode, bench.Prefill} {
		if f := r.Fit(phase); f != nil {
			writeProfileFit(w, string(phase), f, bullet)
		}
	}
}

// profileRow is a line of the table; tests have the names that llama-bench gives
// them.
func profileRow(r *profile.Report, p *profile.Point) []any {
	test := fmt.Sprintf("tg%d @ d%d", r.Steps, p.Context)
	if p.Phase == bench.Prefill {
		test = fmt.Sprintf("pp%d", p.Context)
	}
	ms := func(x float64) string { return fmt.Sprintf("%.3g", 1e3*x) }
	cells := []any{test, p.Batch, short(p.PerSecond), ms(p.Seconds.Median), ms(p.Seconds.Least) + " to " + ms(p.Seconds.Most), "-", "-", "-", "-", "-", "-"}
	if p.FLOPs > 0 {
		cells[5] = short(p.FLOPs / p.Seconds.Median / 1e9)
	}
	if p.BytesMoved > 0 {
		cells[6] = short(p.BytesMoved / p.Seconds.Median / 1e9)
	}
	if p.Fitted > 0 {
		cells[7], cells[8] = ms(p.Fitted), fmt.Sprintf("%.2f", p.OverFitted)
	}
	if p.Floor > 0 {
		cells[9], cells[10] = ms(p.Floor), fmt.Sprintf("%.2f", p.OverFloor)
	}
	return cells
}

// writeProfileFit says what the constants of a fit are.
func writeProfileFit(w io.Writer, phase string, f *steptime.Fitted, bullet string) {
	fmt.Fprintf(w, "\n%s%s, fitted as a %s to %d points: residuals of %.1f %% in the median, %.1f %% at most\n", bullet, phase, f.Form, len(f.Residuals), 100*f.MedianResidual, 100*f.MostResidual)
	for _, t := range f.Terms {
		fmt.Fprintf(w, "  %s%s: %s", bullet, t.Name, perUnit(t.SecondsPer, t.Unit))
		fmt.Fprintf(w, " (%.0f %%: %s to %s)", 100*f.Level, perUnit(t.Lo, t.Unit), perUnit(t.Hi, t.Unit))
		if t.PerSecond != nil && (t.Unit == "byte" || t.Unit == "FLOP") {
			most := ""
			if len(t.Holds) > 0 {
				most = "at least "
			}
			fmt.Fprintf(w, ", %s%s G%s/s", most, short(*t.PerSecond/1e9), map[string]string{"byte": "B", "FLOP": "FLOP"}[t.Unit])
		}
		if len(t.Holds) > 0 {
			fmt.Fprintf(w, "; what a %s costs is in it", strings.Join(t.Holds, " and a "))
		}
		fmt.Fprintln(w)
	}
}

// perUnit writes seconds in the unit that is read most easily.
func perUnit(seconds float64, unit string) string {
	switch unit {
	case "byte", "FLOP":
		return fmt.Sprintf("%.3g ms/G%s", 1e12*seconds, map[string]string{"byte": "B", "FLOP": "FLOP"}[unit])
	}
	return fmt.Sprintf("%.3g µs/%s", 1e6*seconds, unit)
}
