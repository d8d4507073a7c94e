package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/notebook"
	"lab/core/script"
	"lab/core/script/lint"
	"lab/core/script/std"
	"lab/core/table/tablemod"
	"lab/plots/plotmod"
)

// checkReport is lab check --json; docs/json.md describes it.
type checkReport struct {
	Schema   string        `json:"schema"`
	Files    int           `json:"files"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Findings []findingJSON `json:"findings"`
}

type findingJSON struct {
	File      string `json:"file"`
	Cell      int    `json:"cell,omitempty"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Severity  string `json:"severity"`
	Rule      string `json:"rule"`
	Message   string `json:"message"`
	Fix       string `json:"fix,omitempty"`
}

// String returns the finding as compilers write theirs.
func (f findingJSON) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Cell > 0 {
		fmt.Fprintf(&b, ": cell %d", f.Cell)
	}
	fmt.Fprintf(&b, ":%d:%d: %s: %s", f.Line, f.Column, f.Severity, f.Message)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String() + " [" + f.Rule + "]"
}

func checkCommand() *cobra.Command {
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "check FILE… | -",
		Short: "Find mistakes in scripts and the cells of notebooks without running them",
		Long: `Reads Tengo scripts, and notebooks cell by cell, and says what is wrong in them: names that
nothing defines, options and arguments that the functions of lab do not know, and what
runs but was surely not meant. Nothing is run. A folder stands for the .tengo and .ipynb
files below it, without folders called testdata or .something; - is a script on standard
input, as editors give it.

Each finding is one line, FILE:LINE:COLUMN with its severity, what to do and its rule;
columns count bytes from 1. The exit code is 3 when there is an error, and with --strict
also when there is a warning. The rules:

` + ruleList(),
		Example: `  lab check scripts notebooks
  lab check scripts/weather.tengo --json
  lab check --strict scripts`,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, for editors (docs/json.md)")
	cmd.Flags().BoolVar(&strict, "strict", false, "fail when there are warnings, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c := &checker{modules: scriptModules(&std.Env{}, &plotmod.Env{}, &tablemod.Env{}, io.Discard)}
		c.report = checkReport{Schema: "lab/check/1", Findings: []findingJSON{}}
		err := c.all(cmd, args)
		if asJSON && err != nil && len(c.report.Findings) == 0 && c.report.Files == 0 {
			return err // there is nothing to report on
		}
		if asJSON {
			if err := writeJSON(cmd.OutOrStdout(), c.report); err != nil {
				return err
			}
		} else {
			for _, f := range c.report.Findings {
				fmt.Fprintln(cmd.OutOrStdout(), f)
			}
		}
		if r := c.report; err == nil && (r.Errors > 0 || strict && r.Warnings > 0) {
			err = fault.New(fault.Script, cmd.CommandPath(), "", "%s and %s in %s", many(r.Errors, "error"), many(r.Warnings, "warning"), many(r.Files, "file"))
		}
		return err
	}
	return cmd
}

// ruleList is the table of rules for the help.
func ruleList() string {
	var b strings.Builder
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "  %-17s %-8s %s\n", r.Name, r.Severity, r.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checker gathers what is found in the files of a command line.
type checker struct {
	modules []script.Module
	files   []string // that are checked themselves, and not as imports
	report  checkReport
}

func (c *checker) all(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == "-" {
		src, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), script.MaxSource+1))
		if err != nil {
			return fault.Wrap(err, fault.Usage, cmd.CommandPath(), "standard input")
		}
		return c.script(stdinName, ".", src)
	}
	files, err := sourceFiles(cmd, args)
	if err != nil {
		return err
	}
	c.files = files
	return eachFile(cmd, files, func(path string) error {
		if isNotebook(path) {
			return c.notebook(path)
		}
		src, err := readScript(cmd, path)
		if err != nil {
			return err
		}
		return c.script(filepath.Base(path), filepath.Dir(path), src)
	})
}

func (c *checker) script(name, folder string, src []byte) error {
	found, err := lint.Check(lint.Config{Modules: c.modules, Folder: folder}, lint.Unit{Name: name, Source: string(src)})
	if err != nil {
		return err
	}
	c.add(found, func(f lint.Finding) (string, int) { return filepath.Join(folder, filepath.FromSlash(f.At.File)), 0 })
	return nil
}

func (c *checker) notebook(path string) error {
	n, err := readNotebook(path)
	if err != nil {
		return err
	}
	if err := n.SpeaksTengo(); err != nil {
		return fault.Wrap(err, fault.Data, path, "")
	}
	var units []lint.Unit
	var cells []int // the number of each unit
	for i := range n.Cells {
		cell := &n.Cells[i]
		if cell.Kind == notebook.Code && !cell.Tagged(notebook.TagSkip) {
			units = append(units, lint.Unit{Name: notebook.CellName(i), Source: cell.Source, MayFail: cell.Tagged(notebook.TagRaises)})
			cells = append(cells, i+1)
		}
	}
	folder := filepath.Dir(path)
	found, err := lint.Check(lint.Config{Modules: c.modules, Folder: folder}, units...)
	if err != nil {
		return err
	}
	c.add(found, func(f lint.Finding) (string, int) {
		if f.Unit < 0 {
			return filepath.Join(folder, filepath.FromSlash(f.At.File)), 0
		}
		return path, cells[f.Unit]
	})
	return nil
}

func (c *checker) add(found []lint.Finding, place func(lint.Finding) (file string, cell int)) {
	c.report.Files++
	for _, f := range found {
		file, cell := place(f)
		if f.Unit < 0 && slices.Contains(c.files, file) {
			continue
		}
		if f.Severity == lint.Error {
			c.report.Errors++
		} else {
			c.report.Warnings++
		}
		c.report.Findings = append(c.report.Findings, findingJSON{File: file, Cell: cell, Line: f.At.Line, Column: f.At.Column,
			EndLine: f.End.Line, EndColumn: f.End.Column, Severity: string(f.Severity), Rule: f.Rule, Message: f.Text, Fix: f.Fix})
	}
}
