package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/format"
	"lab/plots/canvas"
)

// fmtFlags are those of lab fmt.
type fmtFlags struct {
	check, diff bool
}

func fmtCommand() *cobra.Command {
	f := &fmtFlags{}
	cmd := &cobra.Command{
		Use:   "fmt FILE… | -",
		Short: "Lay out scripts and the cells of notebooks in one way",
		Long: `Gives Tengo scripts and the code cells of notebooks the layout that gofmt gives to Go: tabs,
one blank around binary operators, at most one blank line, comments at the ends of lines
under each other. Line breaks, commas, comments and every word stay as they are, and so
does what a script means: it compiles to the same bytecode.

Files are changed in place and their names printed; a folder stands for the .tengo and
.ipynb files below it, without folders called testdata or .something. With - a script is
read from standard input and written to standard output.

With --check nothing is changed: the names of the files that would be are printed, and
the exit code is 6 when there are any. With --diff the changes are printed instead of
the names. A file that does not parse is an error (exit code 3), and the others have
their turn.`,
		Example: `  lab fmt scripts notebooks
  lab fmt scripts/weather.tengo --diff
  lab fmt --check scripts notebooks
  echo 'x:=1+2' | lab fmt -`,
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing; print the names of files that would change, and fail when there are any")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "change nothing; print what would change, and fail when anything would")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.check && f.diff {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "--check and --diff are both given").Fix("give one")
		}
		if len(args) == 1 && args[0] == "-" {
			return f.stdin(cmd)
		}
		files, err := sourceFiles(cmd, args)
		if err != nil {
			return err
		}
		changes := 0
		err = eachFile(cmd, files, func(path string) error {
			changed, err := f.file(cmd, path)
			if changed {
				changes++
			}
			return err
		})
		if err == nil && changes > 0 {
			err = f.verdict(cmd, changes, len(files))
		}
		return err
	}
	return cmd
}

// verdict is the error of --check and --diff when files would change.
func (f *fmtFlags) verdict(cmd *cobra.Command, changes, files int) error {
	if !f.check && !f.diff {
		return nil
	}
	return fault.New(fault.Data, cmd.CommandPath(), "", "%d of %d files would change", changes, files).Fix("run it without --check and --diff")
}

// part is a script, or a cell of a notebook, that would change.
type part struct {
	name          string
	before, after []byte
}

// file lays out one file, and reports whether it was or would be changed.
func (f *fmtFlags) file(cmd *cobra.Command, path string) (bool, error) {
	read := scriptParts
	if isNotebook(path) {
		read = notebookParts
	}
	parts, write, err := read(cmd, path)
	if err != nil || len(parts) == 0 {
		return false, err
	}
	if f.diff {
		for _, p := range parts {
			showDiff(cmd.OutOrStdout(), p)
		}
		return true, nil
	}
	if !f.check {
		if err := inPlace(path, write); err != nil {
			return false, err
		}
	}
	fmt.Fprintln(cmd.OutOrStdout(), path)
	return true, nil
}

func scriptParts(cmd *cobra.Command, path string) ([]part, func(io.Writer) error, error) {
	src, err := readScript(cmd, path)
	if err != nil {
		return nil, nil, err
	}
	out, err := format.Source(path, src)
	if err != nil || bytes.Equal(out, src) {
		return nil, nil, err
	}
	return []part{{path, src, out}}, func(w io.Writer) error {
		_, err := w.Write(out)
		return err
	}, nil
}

func notebookParts(_ *cobra.Command, path string) ([]part, func(io.Writer) error, error) {
	n, err := readNotebook(path)
	if err != nil {
		return nil, nil, err
	}
	before := n.Clone()
	changed, err := n.Format()
	if err != nil {
		return nil, nil, fault.Wrap(err, fault.Script, path, "")
	}
	var parts []part
	for _, i := range changed {
		line := func(src string) []byte { return []byte(src + "\n") }
		parts = append(parts, part{fmt.Sprintf("%s: cell %d", path, i+1), line(before.Cells[i].Source), line(n.Cells[i].Source)})
	}
	return parts, n.Write, nil
}

func showDiff(w io.Writer, p part) {
	_, _ = w.Write(diff.Diff(p.name, p.before, p.name+" (formatted)", p.after)) // keptError has the error
}

// inPlace replaces the content of a file, which keeps its permissions; a symbolic
// link stays one.
func inPlace(path string, write func(io.Writer) error) error {
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fault.Wrap(err, fault.Usage, "lab fmt", fault.Quote(path, 80))
	}
	info, err := os.Stat(actual)
	if err != nil {
		return fault.Wrap(err, fault.Usage, "lab fmt", fault.Quote(path, 80))
	}
	if err := canvas.WriteFile(actual, write); err != nil {
		return err
	}
	if err := os.Chmod(actual, info.Mode().Perm()); err != nil {
		return fault.Wrap(err, fault.Data, "lab fmt", fault.Quote(path, 80))
	}
	return nil
}

// stdin lays out the script on standard input.
func (f *fmtFlags) stdin(cmd *cobra.Command) error {
	src, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), script.MaxSource+1))
	if err != nil {
		return fault.Wrap(err, fault.Usage, cmd.CommandPath(), "standard input")
	}
	const name = stdinName
	out, err := format.Source(name, src)
	if err != nil {
		return err
	}
	changed := !bytes.Equal(out, src)
	switch {
	case f.check && changed:
		fmt.Fprintln(cmd.OutOrStdout(), name)
	case f.diff && changed:
		showDiff(cmd.OutOrStdout(), part{name, src, out})
	case !f.check && !f.diff:
		_, _ = cmd.OutOrStdout().Write(out) // keptError has the error
	}
	if changed {
		return f.verdict(cmd, 1, 1)
	}
	return nil
}
