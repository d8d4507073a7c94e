package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
	"lab/plots/report"
)

// reportFlags are the flags of lab report.
type reportFlags struct {
	out, title, finding string
	measures, figures   []string
	examples            int
	level               float64
	method              string
	script              runFlags
}

func reportCommand(s *settings) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN|SCRIPT",
		Short: "Write a run or a script as a page that others can read",
		Long: `Writes one self-contained page about a run that lab sweep or lab.sweep left: what was
found, with intervals; figures with alternative text and their numbers; samples token by
token with what each stage cut; settings with their origin, effective chains, digests of
models and plugins, warnings and failures, cost; and the command that repeats it.

A script (a .tengo file) is run as lab run does, into --folder; the page has what it
printed and saved, and every sweep that it made as above. The folder that lab run left
gives the same page without running anything.

The page loads nothing from anywhere. It prints well, so that a browser makes a PDF of
it; -o NAME.md writes Markdown with the figures as files beside it.`,
		Example: `  lab report temperatures
  lab report runs/grid -o grid.html --measures distinct_2,kept_mass
  lab report grid -o grid.md --figures grid,zipf --examples 4
  lab report scripts/weather.tengo --seed 3 -o weather.html`,
		Args: oneArg("one run or script", "lab report temperatures"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "file to write, ."+strings.Join(report.Formats(), " or .")+" (default its name and .html)")
	flags.StringArrayVar(&f.script.set, "set", nil, "of a script: key=value, as for lab run; may be repeated")
	flags.Uint64Var(&f.script.seed, "seed", 0, "of a script: run seed")
	flags.StringVar(&f.script.out, "folder", "", "of a script: folder for what it saves (default runs/SCRIPT-TIME)")
	flags.StringVar(&f.title, "title", "", "the title; left out, the name of the run")
	flags.StringVar(&f.finding, "finding", "", "the first sentence; left out, it is made from the numbers of the first measure")
	flags.StringSliceVar(&f.measures, "measures", nil, "measures of the cells, with commas between; left out, those that the run allows (names: stats.measures, lab help scripting)")
	flags.StringSliceVar(&f.figures, "figures", nil, "figures, with commas between, or "+report.None+"; left out, those that the run allows (names: lab plot --help)")
	flags.IntVar(&f.examples, "examples", report.DefaultExamples, "samples shown token by token, 0 to 200")
	flags.Float64Var(&f.level, "level", 0.95, "confidence of the intervals")
	flags.StringVar(&f.method, "interval", "", "how intervals are made: t, bootstrap, bca, wilson or exact; left out, each measure's own way")
	s.pluginFlag(cmd)
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
	if strings.EqualFold(filepath.Ext(arg), ".tengo") {
		return f.runAndWrite(cmd, s, arg, o)
	}
	for _, name := range []string{"set", "seed", "folder"} {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, cmd.CommandPath(), "--"+name, "it is for a script, and %s is none", fault.Quote(arg, 60)).Fix("name a .tengo file")
		}
	}
	dir := runFolder(arg)
	if scriptFolder(dir) {
		return f.save(cmd, s, filepath.Base(filepath.Clean(dir)), o, func(o report.Options) (*report.Report, error) { return report.Script(dir, o) })
	}
	run, err := openRun(arg)
	if err != nil {
		return err
	}
	o.Name = run.Dir
	return f.save(cmd, s, filepath.Base(filepath.Clean(run.Dir)), o, func(o report.Options) (*report.Report, error) { return report.Run(run, o) })
}

// scriptFolder reports whether a folder is what lab run left.
func scriptFolder(dir string) bool {
	f, err := os.Open(store.ManifestPath(dir))
	if err != nil {
		return false
	}
	defer f.Close()
	var says struct{ Schema string }
	return json.NewDecoder(f).Decode(&says) == nil && says.Schema == report.ScriptFormat
}

// runAndWrite runs a script and reports what it left, also when it failed: the page
// says so then, and the exit code is the script's.
func (f *reportFlags) runAndWrite(cmd *cobra.Command, s *settings, path string, o report.Options) error {
	values, err := f.script.check(path)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if err := f.writable(cmd, name); err != nil {
		return err
	}
	record, runErr := runScript(s, cmd, &f.script, values, path)
	if len(record.Sources) == 0 {
		return runErr
	}
	err = f.save(cmd, s, name, o, func(o report.Options) (*report.Report, error) { return report.Script(record.folder, o) })
	if runErr != nil {
		return runErr
	}
	return err
}

// save makes the report and writes it.
func (f *reportFlags) save(cmd *cobra.Command, s *settings, name string, o report.Options, made func(report.Options) (*report.Report, error)) error {
	return s.withPieces(cmd, o.Figures, &o.Pieces, func() error {
		r, err := made(o)
		if err != nil {
			return err
		}
		return saveReport(cmd, r, f.file(name))
	})
}

// file is where the report goes.
func (f *reportFlags) file(name string) string {
	if f.out != "" {
		return f.out
	}
	return name + ".html"
}

// writable refuses a file that the report could not become, before a script runs
// for an hour.
func (f *reportFlags) writable(cmd *cobra.Command, name string) error {
	out := f.file(name)
	ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), ".")
	if !slices.Contains(report.Formats(), ext) {
		return fault.New(fault.Usage, cmd.CommandPath(), "--out "+out, "unknown format %s", fault.Quote(ext, 20)).Fix("end the name in .%s", strings.Join(report.Formats(), " or ."))
	}
	if i, err := os.Stat(filepath.Dir(out)); err != nil || !i.IsDir() {
		return fault.New(fault.Usage, cmd.CommandPath(), "--out "+out, "there is no folder %s", fault.Quote(filepath.Dir(out), 60)).Fix("create it first")
	}
	return nil
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
