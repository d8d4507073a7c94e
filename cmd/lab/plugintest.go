package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/conform"
	"lab/core/plugin/host"
	"lab/core/plugin/project"
)

// JSON form of lab plugin test; docs/json.md describes it.
type (
	conformReport struct {
		Schema  string                  `json:"schema"`
		Plugin  string                  `json:"plugin"`
		Version string                  `json:"version,omitempty"`
		Seed    uint64                  `json:"seed"`
		Holds   bool                    `json:"all_hold"` // no check failed
		Counts  map[conform.Outcome]int `json:"counts"`   // every outcome, also with 0
		Checks  []conformCheck          `json:"checks"`
	}
	conformCheck struct {
		Law       string          `json:"law"`
		Kind      string          `json:"kind"` // "plugin", "sampler" or "model"
		Subject   string          `json:"subject"`
		Outcome   conform.Outcome `json:"outcome"`
		Questions int             `json:"questions"`
		Input     string          `json:"input,omitempty"`
		Got       string          `json:"got,omitempty"`
		Want      string          `json:"want,omitempty"`
		Reason    string          `json:"reason,omitempty"`
	}
)

func outcomes() []conform.Outcome {
	return []conform.Outcome{conform.Pass, conform.Fail, conform.Note, conform.NotApplicable}
}

func newConformReport(r *conform.Report) conformReport {
	out := conformReport{Schema: "lab/plugin-test/1", Plugin: r.Plugin, Version: r.Version, Seed: r.Seed,
		Holds: r.Count(conform.Fail) == 0, Counts: map[conform.Outcome]int{}, Checks: []conformCheck{}}
	for _, o := range outcomes() {
		out.Counts[o] = r.Count(o)
	}
	for _, c := range r.Checks {
		out.Checks = append(out.Checks, conformCheck{Law: c.Law, Kind: c.Kind, Subject: c.Subject, Outcome: c.Outcome,
			Questions: c.Asked, Input: c.Input, Got: c.Got, Want: c.Want, Reason: c.Reason})
	}
	return out
}

func pluginTestCommand(s *settings) *cobra.Command {
	var only, open []string
	var seed uint64
	var all bool
	cmd := &cobra.Command{
		Use:   "test PATH|NAME",
		Short: "Ask a plugin every law that a sound one keeps",
		Long: `Starts a plugin as a process of its own and asks its samplers and models the
questions that a sound plugin of any language answers rightly. A law that is
broken is shown with the input that broke it, made small, and with what would be
right; the exit code is then ` + fmt.Sprint(fault.Plugin.ExitCode()) + `. A note is a law that does not hold and that a
sound sampler may have a reason to break.

A PATH is a Go package, a Python project or an executable; what lies there is
built for this command alone, as with --plugin. A plugin that is installed goes
before a path without a slash.

The laws:
` + lawTable(),
		Example: `  lab plugin test mine
  lab plugin test ./mine --only sparse --only batch
  lab plugin test mine --json --seed 7`,
		Args: oneArg("the name or the path of a plugin", "lab plugin test mine"),
	}
	f := cmd.Flags()
	f.StringArrayVar(&only, "only", nil, "ask this law alone; may be repeated")
	f.Uint64Var(&seed, "seed", 0, "seed of all questions")
	f.StringArrayVar(&open, "model", nil, "open this with the plugin's backends, besides the backends' own names; may be repeated")
	f.BoolVar(&all, "all", false, "show every check, with the reason of those that do not apply")
	asJSON := jsonFlag(cmd)
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := s.testable(args[0])
		if err != nil {
			return err
		}
		var report *conform.Report
		err = s.with(cmd, []string{name}, func(ctx context.Context, session *experiment.Session) (err error) {
			report, err = s.conform(ctx, cmd, session, name, conform.Options{Only: only, Seed: seed, Open: open})
			return err
		}, nil)
		if err != nil {
			return err
		}
		if *asJSON {
			if err := writeJSON(cmd.OutOrStdout(), newConformReport(report)); err != nil {
				return err
			}
		} else {
			writeConform(cmd.OutOrStdout(), report, all)
		}
		return report.Err()
	}
	return cmd
}

// lawTable lists the laws for the help page.
func lawTable() string {
	var b strings.Builder
	table(&b, "  law | of | what is right", func(line func(...any)) {
		for _, l := range conform.Laws() {
			line("  "+l.Name, l.Of, l.Says)
		}
	})
	return strings.TrimRight(b.String(), "\n")
}

// testable returns the name of the plugin that an argument means. A path holds a
// slash, or stands for itself where no plugin is called so; what lies there is
// built for this command.
func (s *settings) testable(arg string) (name string, err error) {
	path := strings.ContainsRune(arg, filepath.Separator)
	if _, err := os.Stat(arg); err == nil && !path {
		path = !isBuiltin(arg) && !s.installed(arg)
	}
	if path {
		return s.pluginAt(arg)
	}
	return arg, nil
}

// installed reports whether a folder that is searched for plugins holds one of a
// name.
func (s *settings) installed(name string) bool {
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	for _, dir := range host.SearchPath(s.pluginDirs, cwd) {
		if _, err := os.Stat(filepath.Join(dir, project.Executable(name))); err == nil {
			return true
		}
	}
	return false
}

// conform asks the laws, with a second process to compare with and with rows in
// shared memory.
func (s *settings) conform(ctx context.Context, cmd *cobra.Command, session *experiment.Session, name string, opt conform.Options) (report *conform.Report, err error) {
	_, second, done, err := s.open(cmd)
	if err != nil {
		return nil, err
	}
	defer done()
	closing := func(shut func() error) {
		if closeErr := shut(); err == nil {
			err = closeErr
		}
	}
	defer closing(func() error { _, err := second.Close(context.WithoutCancel(ctx)); return err })
	opt.SecondHost = second.Host()
	if m, err := session.Host().OpenModel(ctx, rowModel, nil); err == nil {
		opt.Shared = m
		defer closing(m.Close)
	}
	opt.Facts = builtinFacts(name)
	line := &testLine{what: "plugin test", unit: "checks", out: cmd.ErrOrStderr(), terminal: newProgress(cmd.ErrOrStderr()).terminal, last: time.Now()}
	opt.Progress = line.show
	defer line.clear()
	return conform.Run(ctx, session.Host(), name, opt)
}

// rowModel is the model whose rows in shared memory the samplers of a plugin
// without models are asked about.
const rowModel = "models/tiny"

// testLine shows on one line of a terminal what is under way; elsewhere it
// prints a plain line every few seconds.
type testLine struct {
	what     string // begins a plain line
	unit     string // of what is counted
	out      io.Writer
	terminal bool
	shown    bool
	last     time.Time
}

func (l *testLine) show(done, total int, next string) {
	now := time.Now()
	switch {
	case l.terminal && now.Sub(l.last) >= lineEvery/50:
		text := fmt.Sprintf("%d of %d  %s", done, total, next)
		if f, ok := l.out.(*os.File); ok {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 1 && len(text) >= width {
				text = text[:width-1]
			}
		}
		fmt.Fprintf(l.out, "\r\x1b[K%s", text)
		l.shown, l.last = true, now
	case !l.terminal && now.Sub(l.last) >= lineEvery:
		fmt.Fprintf(l.out, "%s: %d of %d %s, next %s\n", l.what, done, total, l.unit, next)
		l.last = now
	}
}

func (l *testLine) clear() {
	if l.shown {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}

func writeConform(w io.Writer, r *conform.Report, all bool) {
	for _, o := range outcomes() {
		if o != conform.Fail && o != conform.Note && !all {
			continue
		}
		for i := range r.Checks {
			if c := &r.Checks[i]; c.Outcome == o {
				fmt.Fprintln(w, c)
			}
		}
	}
	title := "plugin " + r.Plugin
	if r.Version != "" {
		title += " " + r.Version
	}
	fmt.Fprintf(w, "%s: %d checks: %d hold, %d fail, %d noted, %d not applicable\n", title, len(r.Checks),
		r.Count(conform.Pass), r.Count(conform.Fail), r.Count(conform.Note), r.Count(conform.NotApplicable))
}

// builtinFacts are what the laws must know of samplers that ship with lab, and
// cannot see.
func builtinFacts(name string) map[string]conform.Facts {
	if name != "samplers" {
		return nil
	}
	return map[string]conform.Facts{
		// The numbers of its key come round again; only a long key looks like chance.
		"watermark_keyed": {Off: []any{}, Draws: []any{"length", 1 << 16}},
	}
}
