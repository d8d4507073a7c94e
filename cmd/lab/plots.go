package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lab/core/fault"
	"lab/plots"
	"lab/plots/canvas"
)

// plotsJSON is the form of lab plots --json; docs/json.md describes it.
type (
	plotsJSON struct {
		Schema  string     `json:"schema"`
		Figures []plotJSON `json:"figures"`
		Formats []string   `json:"formats"`
		Themes  []string   `json:"themes"`
	}
	plotJSON struct {
		Name    string `json:"name"`
		Meaning string `json:"meaning"`
		Call    string `json:"call,omitempty"`
	}
)

func plotsCommand() *cobra.Command {
	var gallery string
	var width int
	cmd := &cobra.Command{
		Use:   "plots [FIGURE]",
		Short: "List the figures that scripts can draw, or show one",
		Long: `lab plots lists every figure with its meaning. lab plots FIGURE says how a script draws it
and draws its example with characters; lab help scripting has all options.
--gallery writes a web page with the example of every figure in each theme.`,
		Example: "  lab plots\n  lab plots line\n  lab plots --gallery figures.html",
		Args:    cobra.MaximumNArgs(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().StringVar(&gallery, "gallery", "", "write a web page with every figure to this file")
	cmd.Flags().IntVar(&width, "width", 0, "cells of the drawing, 40 to 400; 0 takes the terminal's, or 100")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out := cmd.OutOrStdout()
		switch {
		case gallery != "" && (len(args) > 0 || *asJSON):
			return fault.New(fault.Usage, "lab plots", "--gallery", "it shows every figure").Fix("leave out the figure and --json")
		case gallery != "":
			if err := canvas.WriteFile(gallery, func(w io.Writer) error { return plots.Gallery(w, "lab "+version) }); err != nil {
				return err
			}
			fmt.Fprintln(out, gallery)
			return nil
		case len(args) == 1:
			return showPlot(out, args[0], width, *asJSON)
		case *asJSON:
			list := plotsJSON{Schema: "lab/plot-list/1", Formats: plots.Formats(), Themes: plots.ThemeNames()}
			for _, e := range plots.Catalogue() {
				list.Figures = append(list.Figures, plotJSON{e.Name, e.Purpose, e.Call})
			}
			return writeJSON(out, list)
		}
		table(out, "FIGURE | MEANING", func(line func(cells ...any)) {
			for _, e := range plots.Catalogue() {
				line(e.Name, e.Purpose)
			}
		})
		return nil
	}
	return cmd
}

// showPlot draws the example of one figure.
func showPlot(out io.Writer, name string, width int, asJSON bool) error {
	var names []string
	for _, e := range plots.Catalogue() {
		names = append(names, e.Name)
		if e.Name != name {
			continue
		}
		if asJSON {
			return writeJSON(out, struct {
				Schema string `json:"schema"`
				plotJSON
			}{"lab/plot-info/1", plotJSON{e.Name, e.Purpose, e.Call}})
		}
		fmt.Fprintf(out, "%s: %s\n", e.Name, e.Purpose)
		if e.Call != "" {
			fmt.Fprintf(out, "\n%s\n", e.Call)
		}
		if e.Example == nil {
			return nil
		}
		f, err := e.Example(plots.Options{Theme: plots.Dark(), Footer: "made-up numbers"})
		if err != nil {
			return err
		}
		cells, colour := terminalOf(out)
		if width != 0 {
			cells = width
		}
		fmt.Fprintln(out)
		return f.Terminal(out, cells, colour)
	}
	return fault.Unknown("lab plots", "figure", name, names)
}

// terminalOf returns how many cells wide a drawing on w is, and whether it has
// colours: only on a terminal that does not refuse them (NO_COLOR).
func terminalOf(w io.Writer) (cells int, colour bool) {
	const fallback, widest = 100, 160
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return fallback, false
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		n = fallback
	}
	return min(max(n, 40), widest), os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
