package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/script"
	"lab/core/script/std"
	"lab/core/table/tablemod"
	"lab/plots"
	"lab/plots/canvas"
	"lab/plots/plotmod"
	"lab/plots/report"
)

// runRecord is run.json, and where it is.
type runRecord struct {
	report.ScriptRecord
	folder string
}

type runFlags struct {
	set   []string
	seed  uint64
	out   string
	watch bool

	forceNew, retryFailed bool
}

func runCommand(s *settings) *cobra.Command {
	r := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run SCRIPT",
		Short: "Run an experiment script",
		Long: `Runs a Tengo script with the modules lab, plot, table and stats. What the script prints goes to
standard output, progress to standard error; that too (printed.txt), figures, tables and
run.json (what was run: sources, settings, seed, chains, model and plugin digests) go
into a new folder under runs/, or into --out; lab report makes a page of it. Sweeps (lab.sweep) are kept in folders of their own
under runs/: running the script again goes on with them, and finds finished ones.

With --watch the script runs again whenever it, a file it imports or the source
of a plugin given with --plugin changes; a run that is under way then is given
up. Errors are shown and the watch goes on until Ctrl-C, which is its ordinary end
(exit code 0). Every run writes into the same folder, runs/SCRIPT-watch unless --out
says otherwise, and may take as long as --timeout allows.`,
		Example: `  lab run scripts/weather.tengo
  lab run scripts/weather.tengo --set model=grammar --seed 3 --out /tmp/weather
  lab run scripts/weather.tengo --plugin ./mine --watch`,
		Args: oneArg("one script", "lab run scripts/weather.tengo"),
	}
	f := cmd.Flags()
	f.StringArrayVar(&r.set, "set", nil, "key=value for the script's lab.arg(\"key\", default); may be repeated")
	f.Uint64Var(&r.seed, "seed", 0, "run seed, lab.seed in the script")
	f.StringVarP(&r.out, "out", "o", "", "folder for figures and run.json (default runs/SCRIPT-TIME)")
	f.BoolVar(&r.watch, "watch", false, "run again whenever the script, what it imports or a --plugin changes, until Ctrl-C")
	f.BoolVar(&r.forceNew, "force-new", false, "start the script's sweeps anew beside those that are there")
	f.BoolVar(&r.retryFailed, "retry-failed", false, "try samples of sweeps that failed again")
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		values, err := r.check(args[0])
		if err != nil {
			return err
		}
		if r.watch {
			return watchScript(s, cmd, r, values, args[0])
		}
		_, err = runScript(s, cmd, r, values, args[0])
		return err
	}
	return cmd
}

// check returns the values of --set, and refuses what no run can cure.
func (r *runFlags) check(path string) (map[string]string, error) {
	values, err := setValues("lab run", r.set)
	if err != nil {
		return nil, err
	}
	if r.seed > math.MaxInt64 {
		return nil, fault.New(fault.Usage, "lab run", "", "--seed %d is above %d, the largest int of a script", r.seed, int64(math.MaxInt64))
	}
	return values, readable(path)
}

// runScript runs a script once, and returns the record of the run, which has no
// sources when it never started.
func runScript(s *settings, cmd *cobra.Command, r *runFlags, args map[string]string, path string) (*runRecord, error) {
	folder, created, err := outputFolder(r.out, path)
	if err != nil {
		return &runRecord{}, err
	}
	record := &runRecord{folder: folder, ScriptRecord: report.ScriptRecord{Schema: report.ScriptFormat, Script: path, Seed: r.seed, Started: time.Now().UTC(), Lab: version,
		Set: args, Figures: []string{}, Captions: map[string]report.Caption{}, Tables: []string{}, Sweeps: []string{}, Machine: report.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}}}
	var runErr error
	var plugins *host.Host
	err = s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
		plugins = session.Host()
		runErr = execScript(ctx, cmd, session, r, args, path, folder, record)
		return nil
	}, func(used experiment.Record) error {
		record.Record = used
		return nil
	})
	if runErr != nil {
		err = runErr
	}
	if len(record.Sources) == 0 && created { // it never started: leave nothing behind
		os.RemoveAll(folder)
		if r.out == "" {
			os.Remove(filepath.Dir(folder)) // when that was the first
		}
		return record, err
	}
	record.Seconds = time.Since(record.Started).Seconds()
	record.Outcome = "ok"
	if err != nil {
		record.Outcome, record.Error = fault.KindOf(err).String(), err.Error()
	}
	writeErr := canvas.WriteFile(filepath.Join(folder, "run.json"), func(w io.Writer) error { return writeJSON(w, record) })
	if err == nil {
		err = writeErr
	}
	for _, warning := range record.Warnings {
		if !slices.Contains(plugins.Warnings(), warning) { // those were log lines when they came
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
		}
	}
	if writeErr == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: run.json", folder)
		if files := slices.Concat(record.Figures, record.Tables); len(files) > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), " and %s", strings.Join(files, ", "))
		}
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	return record, err
}

// execScript runs the script in an open session and notes what it used.
func execScript(ctx context.Context, cmd *cobra.Command, session *experiment.Session, r *runFlags, args map[string]string,
	path, folder string, record *runRecord) error {
	shown := newProgress(cmd.ErrOrStderr())
	env := &std.Env{Session: session, Seed: r.seed, Args: args,
		Sweeps: &std.Sweeps{Folder: runsFolder, Script: strings.TrimSuffix(filepath.Base(path), ".tengo"), Lab: version, ForceNew: r.forceNew, RetryFailed: r.retryFailed,
			Stopping: func() { sayStopping(cmd) },
			Made: func(dir string) {
				if !slices.Contains(record.Sweeps, dir) {
					record.Sweeps = append(record.Sweeps, dir)
				}
			}},
		Track: func(label string, total int) (func(finished, tokens int), func()) {
			t := shown.Start(label, total)
			return t.Step, t.Done
		}}
	figures := &plotmod.Env{Folder: folder, Version: version,
		Saved: func(name string, f *plots.Figure) {
			if !slices.Contains(record.Figures, name) {
				record.Figures = append(record.Figures, name)
			}
			record.Captions[name] = report.Caption{Title: f.Title(), Description: f.Description(), Theme: f.Theme().Name}
		}}
	tables := &tablemod.Env{Script: filepath.Dir(path), Folder: folder, Saved: func(name string) {
		if !slices.Contains(record.Tables, name) {
			record.Tables = append(record.Tables, name)
		}
	}}
	printed := &printed{out: cmd.OutOrStdout(), path: filepath.Join(folder, outputFile)}
	defer func() { _ = printed.close() }() // on a way out that failed already
	runner, err := script.New(script.Config{
		Modules: scriptModules(env, figures, tables, cmd.ErrOrStderr()),
		Out:     printed,
		Warn:    func(w script.Warning) { session.Warn("%s: %s", w.At, w.Text) },
	})
	if err != nil {
		return err
	}
	_, err = runner.RunFile(ctx, path)
	for _, f := range runner.Sources() {
		record.Sources = append(record.Sources, report.Source{Path: f.Path, SHA256: f.SHA256})
	}
	record.Settings = env.Settings()
	if err == nil {
		err = env.Unused()
	}
	if closeErr := printed.close(); err == nil {
		err = closeErr
	}
	if printed.wrote {
		record.Output = outputFile
	}
	return err
}

// outputFile is what a script printed, in the folder of its run.
const outputFile = "printed.txt"

// printed passes on what a script prints and keeps it in a file, which is made with
// the first byte.
type printed struct {
	out   io.Writer
	path  string
	file  *os.File
	wrote bool
}

func (p *printed) Write(b []byte) (int, error) {
	if p.file == nil {
		f, err := os.Create(p.path)
		if err != nil {
			return 0, fault.Wrap(err, fault.Data, "lab run", p.path)
		}
		p.file, p.wrote = f, true
	}
	if _, err := p.file.Write(b); err != nil {
		return 0, fault.Wrap(err, fault.Data, "lab run", p.path)
	}
	return p.out.Write(b)
}

func (p *printed) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	if err != nil {
		return fault.Wrap(err, fault.Data, "lab run", p.path)
	}
	return nil
}

// setValues reads the key=value pairs of --set.
func setValues(op string, pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.Usage, op, "", "--set %s is not key=value", fault.Quote(p, 40)).
				Fix("for example: --set model=grammar")
		}
		if _, twice := out[key]; twice {
			return nil, fault.New(fault.Usage, op, "", "--set %s is given twice", key)
		}
		out[key] = value
	}
	return out, nil
}

// readable refuses a script that is not there before anything is created.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		e := fault.Wrap(err, fault.Usage, "lab run", "script")
		if os.IsNotExist(err) {
			e = fault.New(fault.Usage, "lab run", "script", "%s is not there", fault.Quote(path, 80)).
				Fix("give the path of a .tengo file, for instance scripts/weather.tengo")
		}
		return e
	}
	return f.Close()
}

// outputFolder makes the folder of the run, and reports whether it is new. The
// default is runs/SCRIPT-TIME with a number behind it when that exists.
func outputFolder(out, scriptPath string) (folder string, created bool, err error) {
	unwritable := func(err error) error {
		return fault.Wrap(err, fault.Usage, "lab run", "output folder").Fix("choose another with --out")
	}
	if out != "" {
		_, statErr := os.Stat(out)
		if err := os.MkdirAll(out, 0o755); err != nil {
			return "", false, unwritable(err)
		}
		probe, err := os.CreateTemp(out, ".lab-*")
		if err != nil {
			return "", false, unwritable(err)
		}
		probe.Close()
		os.Remove(probe.Name())
		return out, os.IsNotExist(statErr), nil
	}
	name := strings.TrimSuffix(filepath.Base(scriptPath), ".tengo") + "-" + time.Now().Format("20060102-150405")
	if err := os.MkdirAll("runs", 0o755); err != nil {
		return "", false, unwritable(err)
	}
	for n := 1; n < 1000; n++ {
		folder = filepath.Join("runs", name)
		if n > 1 {
			folder = fmt.Sprintf("%s-%d", folder, n)
		}
		err = os.Mkdir(folder, 0o755)
		if !os.IsExist(err) {
			break
		}
	}
	if err != nil {
		return "", false, unwritable(err)
	}
	return folder, true, nil
}
