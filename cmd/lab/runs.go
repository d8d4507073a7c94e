package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/store"
	"lab/core/trace"
)

func runsCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, show, compare and join the runs of sweeps",
		Long: `Works with the folders that lab sweep and lab.sweep leave. A run is named by its
folder: a path, or a name under runs/. docs/runs.md describes what is in one.`,
		Args: subcommandOnly,
		RunE: showHelp,
	}
	cmd.AddCommand(runsListCommand(), runsShowCommand(), runsExportCommand(), runsDiffCommand(), runsCompareCommand(), runsReplayCommand(s), runsMergeCommand(), runsPruneCommand())
	return cmd
}

// runFolder returns the folder that an argument names.
func runFolder(arg string) string {
	if _, err := os.Stat(store.ManifestPath(arg)); err == nil || strings.ContainsRune(arg, filepath.Separator) {
		return arg
	}
	return filepath.Join(runsFolder, arg)
}

// openRun opens a run; an unknown name gets the nearest.
func openRun(arg string) (*store.Stored, error) {
	dir := runFolder(arg)
	s, err := store.Open(dir)
	if _, statErr := os.Stat(store.ManifestPath(dir)); os.IsNotExist(statErr) {
		entries, listErr := store.List(runsFolder)
		if listErr != nil {
			return nil, listErr
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		e := fault.Unknown("lab runs", "run", arg, names)
		if len(names) == 0 {
			e.Cure = "there are no runs in " + runsFolder + "/ here; give the path of a folder"
		}
		return nil, e
	}
	return s, err
}

// twoRuns accepts two arguments, with an example where there are not two.
func twoRuns(example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes two runs, and %d arguments were given", len(args)).Fix("for example: %s", example)
		}
		return nil
	}
}

func runsListCommand() *cobra.Command {
	var root string
	cmd := &cobra.Command{Use: "list", Short: "List the runs of a folder, the newest first", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&root, "in", runsFolder, "folder that holds the runs")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		entries, err := store.List(root)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), struct {
				Schema string        `json:"schema"`
				Runs   []store.Entry `json:"runs"`
			}{"lab/runs/1", append([]store.Entry{}, entries...)})
		}
		if len(entries) == 0 {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "no runs in %s; lab sweep makes them\n", root)
			return err
		}
		table(cmd.OutOrStdout(), "run | state | samples | cells | varies | started", func(line func(...any)) {
			for _, e := range entries {
				if e.Problem != "" {
					line(e.Name, "damaged: "+e.Problem, "", "", "", e.Started.Local().Format(time.DateTime))
					continue
				}
				state := string(e.State)
				if e.Shard != "" {
					state += " (shard " + e.Shard + ")"
				}
				if e.Failures > 0 {
					state += fmt.Sprintf(", %d failed", e.Failures)
				}
				line(e.Name, state, fmt.Sprintf("%d/%d", e.Records, e.Total), e.Cells, strings.Join(e.Axes, ", "), e.Started.Local().Format(time.DateTime))
			}
		})
		return nil
	}
	return cmd
}

// runReport is the answer of lab runs show.
type runReport struct {
	Schema   string          `json:"schema"`
	Run      string          `json:"run"`
	State    store.State     `json:"state"`
	Records  int             `json:"records"`
	Failures int             `json:"failed"`
	Manifest *store.Manifest `json:"manifest"`
	Sessions []store.Session `json:"sessions"`
	Errors   []failureJSON   `json:"errors"`
}

// failureJSON is a sample that failed.
type failureJSON struct {
	Cell    int    `json:"cell"`
	Sample  int    `json:"sample"`
	Failure string `json:"failure"`
}

func runsShowCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "show RUN", Short: "Show what a run is, how far it is and what failed", Args: oneArg("one run", "lab runs show temperatures")}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := openRun(args[0])
		if err != nil {
			return err
		}
		r := runReport{Schema: "lab/run-report/1", Run: s.Dir, Manifest: s.Manifest, Sessions: append([]store.Session{}, s.Sessions...), Errors: []failureJSON{}}
		if r.Records, r.Failures, r.State, err = s.Progress(); err != nil {
			return err
		}
		if r.Failures > 0 || r.State == store.Complete {
			err = s.Records(false, func(rec *store.Record) error {
				if rec.Failure != "" {
					r.Errors = append(r.Errors, failureJSON{rec.Cell, rec.Sample, rec.Failure})
				}
				return nil
			})
			if err != nil {
				return err
			}
			r.Failures = len(r.Errors)
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		return r.write(cmd.OutOrStdout())
	}
	return cmd
}

func (r *runReport) write(w io.Writer) error {
	m := r.Manifest
	fmt.Fprintf(w, "%s: %s, %d of %d samples (%d cells of %d)\n", r.Run, r.State, r.Records, m.Total(), m.Cells, m.Samples)
	if m.Part != nil {
		fmt.Fprintf(w, "shard    %d/%d\n", m.Part.Index+1, m.Part.Of)
	}
	fmt.Fprintf(w, "varies   %s\n", strings.Join(m.Axes, ", "))
	var spec struct {
		Fixed map[string]any `json:"fixed"`
	}
	if err := json.Unmarshal(m.Spec, &spec); err == nil {
		for _, key := range slices.Sorted(maps.Keys(spec.Fixed)) {
			fmt.Fprintf(w, "fixed    %s = %s\n", key, strings.ReplaceAll(fmt.Sprint(spec.Fixed[key]), "\n", "⏎"))
		}
	}
	var used struct {
		Models []struct {
			Ref    string `json:"ref"`
			Digest string `json:"digest_open"`
		} `json:"models"`
		Plugins []struct {
			Name   string `json:"name"`
			SHA256 string `json:"sha256"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(m.Used, &used); err == nil {
		for _, u := range used.Models {
			fmt.Fprintf(w, "model    %s  %s\n", u.Ref, u.Digest)
		}
		for _, u := range used.Plugins {
			fmt.Fprintf(w, "plugin   %s  %s\n", u.Name, u.SHA256)
		}
	}
	fmt.Fprintf(w, "lab      %s\n", m.Lab)
	for _, s := range r.Sessions {
		fmt.Fprintf(w, "session  %s, %.1f s on %s: %s, %d samples, %d failed, %d tokens\n", s.Started.Local().Format(time.DateTime), s.Seconds, s.Host, s.Outcome, s.Finished, s.Failed, s.Tokens)
		for _, warning := range s.Warnings {
			fmt.Fprintf(w, "         warning: %s\n", warning)
		}
	}
	const most = 20
	for _, f := range r.Errors[:min(most, len(r.Errors))] {
		fmt.Fprintf(w, "failed   cell %d, sample %d: %s\n", f.Cell, f.Sample, f.Failure)
	}
	if more := len(r.Errors) - most; more > 0 {
		fmt.Fprintf(w, "… and %d more\n", more)
	}
	return nil
}

// sampleJSON is a line of lab runs export.
type sampleJSON struct {
	Cell         int    `json:"cell"`
	PromptTokens int    `json:"prompt_tokens"`
	Failure      string `json:"failure,omitempty"`
	trace.Sample
	Cost *trace.Cost `json:"cost,omitempty"`
}

func runsExportCommand() *cobra.Command {
	var out string
	var steps, costs bool
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write the samples of a run as JSON, one a line",
		Long: `Writes every sample of a run as one line of JSON, in the order of cells and samples,
finished or not; docs/json.md describes a sample. Other programs read the Parquet
tables of a complete run themselves: docs/runs.md.`,
		Args: oneArg("one run", "lab runs export temperatures -o samples.jsonl"),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (default standard output)")
	cmd.Flags().BoolVar(&steps, "steps", false, "with what happened at every token")
	cmd.Flags().BoolVar(&costs, "costs", false, "with what every sample took, which differs from run to run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := openRun(args[0])
		if err != nil {
			return err
		}
		return output(cmd, out, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			return s.Records(steps, func(r *store.Record) error {
				line := sampleJSON{Cell: r.Cell, PromptTokens: r.PromptTokens, Failure: r.Failure, Sample: r.Trace}
				line.Sample.Sample = uint64(r.Sample)
				if !steps {
					line.Steps = nil
				}
				if costs {
					line.Cost = r.Cost
				}
				return e.Encode(line)
			})
		})
	}
	return cmd
}

// output calls write with a file, or with standard output when none is named.
func output(cmd *cobra.Command, path string, write func(io.Writer) error) error {
	if path == "" {
		return write(cmd.OutOrStdout())
	}
	f, err := os.Create(path)
	if err != nil {
		return fault.Wrap(err, fault.Usage, cmd.CommandPath(), "--out")
	}
	err = write(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func runsDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in what two runs differ: settings, digests, and the first sample and step",
		Args:  twoRuns("lab runs diff before after"),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := openRun(args[0])
		if err != nil {
			return err
		}
		b, err := openRun(args[1])
		if err != nil {
			return err
		}
		r := diffReport{Schema: "lab/run-diff/1", A: a.Dir, B: b.Dir}
		if r.Settings, err = store.Differences(a.Manifest, b.Manifest); err != nil {
			return err
		}
		if r.Samples, err = store.Compare(a, b); err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		return r.write(cmd.OutOrStdout())
	}
	return cmd
}

// diffReport is the answer of lab runs diff.
type diffReport struct {
	Schema   string             `json:"schema"`
	A        string             `json:"a"`
	B        string             `json:"b"`
	Settings []store.Difference `json:"settings"`
	Samples  store.Comparison   `json:"samples"`
}

func (r *diffReport) write(w io.Writer) error {
	const most = 20
	if len(r.Settings) == 0 {
		fmt.Fprintln(w, "settings, models and plugins are the same")
	} else {
		table(w, "differs | a | b", func(line func(...any)) {
			for _, d := range r.Settings[:min(most, len(r.Settings))] {
				line(d.Path, d.A, d.B)
			}
		})
		if more := len(r.Settings) - most; more > 0 {
			fmt.Fprintf(w, "… and %d more\n", more)
		}
	}
	_, err := fmt.Fprintln(w, r.Samples)
	return err
}

func runsMergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge SHARD...",
		Short: "Join the shards of a sweep into one run",
		Long:  `Joins the runs of all shards of one sweep into a new run, whose tables have the same bytes as those of a run that was never split. The shards stay as they are.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.New(fault.Usage, cmd.CommandPath(), "", "no shards are given").Fix("for example: lab runs merge runs/grid.shard-*-of-8 --out runs/grid")
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder of the new run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "--out is missing").Fix("name the folder of the new run")
		}
		var dirs []string
		for _, a := range args {
			dirs = append(dirs, runFolder(a))
		}
		if err := store.Merge(out, dirs); err != nil {
			return err
		}
		s, err := store.Open(out)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d samples of %d shards\n", out, s.Manifest.Total(), len(dirs))
		return err
	}
	return cmd
}

func runsPruneCommand() *cobra.Command {
	var yes bool
	var keep int
	var root string
	cmd := &cobra.Command{
		Use:   "prune [RUN...]",
		Short: "Remove runs",
		Long: `Removes the runs that are named, or all but the newest --keep of a folder. Without
--yes it only says what it would remove. A run that a process writes is never removed.`,
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove them")
	cmd.Flags().IntVar(&keep, "keep", -1, "without names: how many of the newest runs stay")
	cmd.Flags().StringVar(&root, "in", runsFolder, "folder that holds the runs")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var dirs []string
		for _, a := range args {
			s, err := openRun(a)
			if err != nil {
				return err
			}
			dirs = append(dirs, s.Dir)
		}
		switch {
		case len(args) == 0 && keep < 0:
			return fault.New(fault.Usage, cmd.CommandPath(), "", "no runs are named").Fix("name them, or give --keep N")
		case len(args) > 0 && keep >= 0:
			return fault.New(fault.Usage, cmd.CommandPath(), "", "runs are named and --keep is given").Fix("give one of the two")
		case len(args) == 0:
			entries, err := store.List(root)
			if err != nil {
				return err
			}
			for _, e := range entries[min(keep, len(entries)):] {
				dirs = append(dirs, filepath.Join(root, e.Name))
			}
		}
		var errs []error
		for _, dir := range dirs {
			verb := "would remove"
			if yes {
				verb = "removed"
				if err := store.Remove(dir); err != nil {
					errs = append(errs, err)
					continue
				}
			}
			fmt.Fprintln(cmd.OutOrStdout(), verb, dir)
		}
		if !yes && len(dirs) > 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "--yes removes them")
		}
		return errors.Join(errs...)
	}
	return cmd
}
