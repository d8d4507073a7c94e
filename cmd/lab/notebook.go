package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/notebook"
	"lab/plots/canvas"
)

func notebookCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notebook",
		Short: "Run, check, clear and show Jupyter notebooks with Tengo cells, without Jupyter",
		Long: `Notebooks (.ipynb, nbformat 4.5) hold text and Tengo cells with the modules that lab run
offers. A cell's last expression is shown: figures as pictures, tables as tables;
show(value) shows one in between. Jupyter itself can run them too, with the kernel
that lab kernel install adds; these commands need no Jupyter.`,
		Args: subcommandOnly, RunE: showHelp,
	}
	cmd.AddCommand(notebookRunCommand(s), notebookCheckCommand(s), notebookHTMLCommand(), notebookClearCommand(), notebookNewCommand())
	return cmd
}

// someFiles refuses a command line without any file.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes notebooks, and none was given").Fix("for example: %s notebooks/01-from-prompt-to-token.ipynb", cmd.CommandPath())
}

// readNotebook reads a notebook from a regular file.
func readNotebook(path string) (*notebook.Notebook, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, fault.New(fault.Usage, "notebook", fault.Quote(path, 80), "it is not there").Fix("make one with lab notebook new")
	case err != nil:
		return nil, fault.Wrap(err, fault.Usage, "notebook", fault.Quote(path, 80))
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.Usage, "notebook", fault.Quote(path, 80), "it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "notebook", fault.Quote(path, 80))
	}
	defer f.Close() // was only read from
	n, err := notebook.Read(f)
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, fault.Quote(path, 80), "")
	}
	return n, nil
}

func writeNotebook(path string, n *notebook.Notebook) error {
	return canvas.WriteFile(path, n.Write)
}

// oneOutput returns where the result of a file goes: to out, which only one file
// can have, or else to what other makes of its path.
func oneOutput(cmd *cobra.Command, out string, files []string, other func(string) string) (func(string) string, error) {
	if out == "" {
		return other, nil
	}
	if len(files) > 1 {
		return nil, fault.New(fault.Usage, cmd.CommandPath(), "", "--out is one file, and %d notebooks were given", len(files))
	}
	return func(string) string { return out }, nil
}

func notebookHTMLCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "html FILE…",
		Short: "Write notebooks as pages of HTML that need nothing else",
		Long: `Writes each notebook with the outputs it holds as one page: no network, no scripts, light or
dark as the reader's system is, good to print. Whatever the notebook holds is escaped
or cut down to harmless elements. Run it first: lab notebook run.`,
		Example: "  lab notebook html notebooks/01-from-prompt-to-token.ipynb -o page.html",
		Args:    someFiles,
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the page (default: beside the notebook, as .html)")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		place, err := oneOutput(cmd, out, files, func(path string) string { return strings.TrimSuffix(path, ".ipynb") + ".html" })
		if err != nil {
			return err
		}
		for _, path := range files {
			n, err := readNotebook(path)
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(filepath.Base(path), ".ipynb")
			if err := canvas.WriteFile(place(path), func(w io.Writer) error { return n.HTML(w, name) }); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), place(path))
		}
		return nil
	}
	return cmd
}

func notebookClearCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "clear FILE…",
		Short:   "Take the outputs out of notebooks",
		Example: "  lab notebook clear notebooks/*.ipynb",
		Args:    someFiles,
		RunE: func(_ *cobra.Command, files []string) error {
			for _, path := range files {
				n, err := readNotebook(path)
				if err != nil {
					return err
				}
				n.Clear()
				if err := writeNotebook(path, n); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func notebookNewCommand() *cobra.Command {
	var title string
	var force bool
	cmd := &cobra.Command{
		Use:     "new FILE",
		Short:   "Make a notebook to start from",
		Example: "  lab notebook new mine.ipynb --title \"Heat and variety\"",
		Args:    oneArg("one notebook", "lab notebook new mine.ipynb"),
	}
	cmd.Flags().StringVar(&title, "title", "", "its heading (default: the name of the file)")
	cmd.Flags().BoolVar(&force, "force", false, "put it in the place of a file that is there")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := args[0]
		if filepath.Ext(path) != ".ipynb" {
			return fault.New(fault.Usage, cmd.CommandPath(), fault.Quote(path, 80), "the name of a notebook ends in .ipynb")
		}
		if _, err := os.Lstat(path); err == nil && !force {
			return fault.New(fault.Usage, cmd.CommandPath(), fault.Quote(path, 80), "it is there already").Fix("choose another name, or give --force")
		}
		if title == "" {
			title = strings.TrimSuffix(filepath.Base(path), ".ipynb")
		}
		if err := writeNotebook(path, firstNotebook(title)); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: run it with lab notebook run %s\n", path, path)
		return nil
	}
	return cmd
}

// firstNotebook is what lab notebook new writes: parameters, a distribution, a
// figure.
func firstNotebook(title string) *notebook.Notebook {
	code := func(src string, tags ...any) notebook.Cell {
		c := notebook.Cell{Kind: notebook.Code, Source: src}
		if len(tags) > 0 {
			c.Metadata = map[string]any{"tags": tags}
		}
		return c
	}
	return notebook.New(
		notebook.Cell{Kind: notebook.Markdown, Source: "# " + title + "\n\nThe cell below holds the parameters: `lab notebook run FILE --set prompt=…` gives them other values."},
		code("prompt := \"The weather today is\"\ntemperature := 0.8", notebook.TagParameters),
		code("lab := import(\"lab\")\nplot := import(\"plot\")\nm := lab.model()\nd := m.next(prompt)\nsay(\"{} tokens, {:.3f} bits\", d.support, d.entropy_bits)"),
		code("warm := d.apply(lab.chain([[\"temperature\", {temperature: temperature}], \"top_p:0.9\"]))\nplot.reshape([warm], {top: 12})"),
	)
}
