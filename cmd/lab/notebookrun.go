package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/notebook"
)

// notebookFlags are those of the commands that run notebooks.
type notebookFlags struct {
	set       []string
	seed      uint64
	cell      time.Duration
	keepGoing bool
}

func (f *notebookFlags) add(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "run seed, lab.seed in the cells")
	cmd.Flags().DurationVar(&f.cell, "cell-timeout", 0, "stop a cell after this long, for instance 30s; 0 never; --timeout is for the whole command")
}

// check refuses what no notebook can cure, and returns the values of --set.
func (f *notebookFlags) check() (map[string]string, error) {
	if f.cell < 0 {
		return nil, fault.New(fault.Usage, "lab notebook", "", "--cell-timeout %v is negative", f.cell)
	}
	if f.seed > 1<<63-1 {
		return nil, fault.New(fault.Usage, "lab notebook", "", "--seed %d is above %d, the largest int of a script", f.seed, int64(1<<63-1))
	}
	return setValues("lab notebook run", f.set)
}

func notebookRunCommand(s *settings) *cobra.Command {
	f := &notebookFlags{}
	var out string
	cmd := &cobra.Command{
		Use:   "run FILE…",
		Short: "Run notebooks and keep their outputs in them",
		Long: `Runs the cells of each notebook in order, with variables of its own, and writes the outputs
into it, or into --out. A notebook stops at the first cell that fails: its error is kept as
the cell's output, the other notebooks run all the same, and the exit code tells.
Cells may have these tags in their metadata: parameters (the defaults that --set
replaces, through a cell put after it), raises-exception (may fail),
skip-execution. Files that cells save go beside the notebook.`,
		Example: `  lab notebook run notebooks/*.ipynb
  lab notebook run notebooks/03-temperature-top-k-nucleus.ipynb --set top_p=0.8 -o warm.ipynb`,
		Args: someFiles,
	}
	f.add(cmd)
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "key=value for a parameter of the notebook; may be repeated")
	cmd.Flags().BoolVar(&f.keepGoing, "keep-going", false, "run the cells after one that fails, too")
	cmd.Flags().StringVarP(&out, "out", "o", "", "write the result there, for one notebook (default: in place)")
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		place, err := oneOutput(cmd, out, files, func(path string) string { return path })
		if err != nil {
			return err
		}
		values, err := f.check()
		if err != nil {
			return err
		}
		return f.each(s, cmd, files, values, func(path string, n *notebook.Notebook, run func(out string) error) error {
			start := time.Now()
			runErr := run(filepath.Dir(path))
			if err := writeNotebook(place(path), n); err != nil {
				return err
			}
			if runErr == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", place(path), cellsRun(n))
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %.1f s\n", path, time.Since(start).Seconds())
			}
			return runErr
		})
	}
	return cmd
}

func cellsRun(n *notebook.Notebook) string {
	count := 0
	for i := range n.Cells {
		if n.Cells[i].Count > 0 {
			count++
		}
	}
	if count == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", count)
}

func notebookCheckCommand(s *settings) *cobra.Command {
	f := &notebookFlags{}
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Say whether notebooks run and their outputs are what they give now",
		Long: `Runs each notebook without changing it, and compares what comes out with the outputs it
holds. The exit code is 0 when all are fresh, that of the error when a cell fails, and
6 when outputs are stale or missing. Files that cells save go to a folder that is
removed again.`,
		Example: "  lab notebook check notebooks/*.ipynb",
		Args:    someFiles,
	}
	f.add(cmd)
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if _, err := f.check(); err != nil {
			return err
		}
		return f.each(s, cmd, files, nil, func(path string, n *notebook.Notebook, run func(out string) error) error {
			stored := n.Clone()
			folder, err := os.MkdirTemp("", "lab-notebook-")
			if err != nil {
				return fault.Wrap(err, fault.Usage, cmd.CommandPath(), "")
			}
			defer os.RemoveAll(folder)
			if err := run(folder); err != nil {
				return err
			}
			if i := notebook.Stale(stored, n); i >= 0 {
				return fault.New(fault.Data, "notebook", fault.Quote(path, 80), "cell %d: its outputs are not what it gives now", i+1).
					Fix("lab notebook run %s", path)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: fresh\n", path)
			return nil
		})
	}
	return cmd
}

// each runs work on the notebooks, one after the other in one session of
// experiments, and returns the first error when all had their turn; the errors
// after it are printed. All notebooks are read before the first is run.
func (f *notebookFlags) each(s *settings, cmd *cobra.Command, files []string, values map[string]string,
	work func(path string, n *notebook.Notebook, run func(out string) error) error) error {
	list := make([]*notebook.Notebook, len(files))
	for i, path := range files {
		n, err := readNotebook(path)
		if err == nil {
			err = n.Set(values)
		}
		if err != nil {
			return err
		}
		list[i] = n
	}
	return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
		var first error
		for i, path := range files {
			err := work(path, list[i], func(out string) error { return f.run(ctx, cmd, session, path, out, list[i]) })
			if err != nil && ctx.Err() != nil {
				return err
			}
			if err == nil {
				continue
			}
			if first == nil {
				first = fault.Wrap(err, fault.Internal, path, "")
			} else {
				fmt.Fprintln(cmd.ErrOrStderr(), "lab:", fault.Wrap(err, fault.Internal, path, ""))
			}
		}
		return first
	}, nil)
}

// run runs one notebook, whose cells save into the folder out.
func (f *notebookFlags) run(ctx context.Context, cmd *cobra.Command, session *experiment.Session, path, out string, n *notebook.Notebook) error {
	shown := newProgress(cmd.ErrOrStderr())
	c, err := newCells(session, cellPlace{errOut: cmd.ErrOrStderr(), name: strings.TrimSuffix(filepath.Base(path), ".ipynb"), folder: filepath.Dir(path), out: out, seed: f.seed,
		track: func(label string, total int) (func(finished, tokens int), func()) {
			t := shown.Start(label, total)
			return t.Step, t.Done
		}, stop: func() { sayStopping(cmd) }})
	if err != nil {
		return err
	}
	return n.Run(ctx, c, notebook.Options{CellTimeout: f.cell, KeepGoing: f.keepGoing})
}
