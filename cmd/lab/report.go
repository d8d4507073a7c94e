package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/measure"
	"lab/plots/report"
)

// reportFlags are the flags of lab report.
type reportFlags struct {
	out, title, finding string
	measures, figures   []string
	examples            int
	level               float64
	method              string
}

func reportCommand(s *settings) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run as a page that others can read",
		Long: `Writes one self-contained page about a run that lab sweep or lab.sweep left: what was
found, with intervals; figures with alternative text and their numbers; samples token by
token with what each stage cut; settings with their origin, effective chains, digests of
models and plugins, warnings and failures, cost; and the command that repeats it.

The page loads nothing from anywhere. It prints well; -o NAME.md writes Markdown with
the figures as files beside it.`,
		Example: `  lab report temperatures
  lab report runs/grid -o grid.html --measures distinct_2,kept_mass
  lab report grid -o grid.md --figures grid,zipf --examples 4`,
		Args: oneArg("one run", "lab report temperatures"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "file to write, ."+strings.Join(report.Formats(), " or .")+" (default RUN.html)")
	flags.StringVar(&f.title, "title", "", "the title; left out, the name of the run")
	flags.StringVar(&f.finding, "finding", "", "the first sentence; left out, it is made from the numbers of the first measure")
	flags.StringSliceVar(&f.measures, "measures", nil, "measures of the cells, with commas between; left out, those that the run allows (names: stats.measures, lab help scripting)")
	flags.StringSliceVar(&f.figures, "figures", nil, "figures, with commas between, or "+report.None+"; left out, those that the run allows (names: lab plot --help)")
	flags.IntVar(&f.examples, "examples", report.DefaultExamples, "samples shown token by token, 0 to 200")
	flags.Float64Var(&f.level, "level", 0.95, "confidence of the intervals")
	flags.StringVar(&f.method, "interval", "", "how intervals are made: t, bootstrap, bca, wilson or exact; left out, each measure's own way")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.write(cmd, s, args[0]) }
	return cmd
}

func (f *reportFlags) options(cmd *cobra.Command) (report.Options, error) {
	o := report.Options{Version: version, Title: f.title, Finding: f.finding, Examples: f.examples, Interval: measure.Interval{Level: f.level, Method: f.method}}
	if f.level == 0 {
		return o, fault.New(fault.Usage, cmd.CommandPath(), "--level", "0 is outside (0, 1)").Fix("0.95 is usual")
	}
	if cmd.Flags().Changed("measures") {
		o.Measures = f.measures
	}
	if cmd.Flags().Changed("figures") {
		o.Figures = f.figures
	}
	return o, nil
}

func (f *reportFlags) write(cmd *cobra.Command, s *settings, arg string) error {
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	run, err := openRun(arg)
	if err != nil {
		return err
	}
	o.Name = run.Dir
	out := f.out
	if out == "" {
		out = filepath.Base(filepath.Clean(run.Dir)) + ".html"
	}
	write := func() error {
		r, err := report.Run(run, o)
		if err != nil {
			return err
		}
		return saveReport(cmd, r, out)
	}
	if !slices.ContainsFunc(o.Figures, needsVocabulary) {
		return write()
	}
	return s.with(cmd, nil, func(ctx context.Context, session *experiment.Session) error {
		o.Pieces = func(ref string) (func(int32) []byte, error) {
			m, err := session.Model(ctx, ref, nil)
			if err != nil {
				return nil, err
			}
			return m.Piece, nil
		}
		return write()
	}, nil)
}

func saveReport(cmd *cobra.Command, r *report.Report, out string) error {
	beside, err := r.Save(out)
	if err != nil {
		return err
	}
	line := out
	if len(beside) > 0 {
		line += " and " + strings.Join(beside, ", ")
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", line, r.Finding())
	return err
}
