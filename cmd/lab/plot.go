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
	"lab/core/store"
	"lab/plots"
	"lab/plots/source"
)

// plotFlags are the flags of lab plot.
type plotFlags struct {
	runs, set              []string
	out, theme, title, sub string
	width                  float64
	live                   bool
}

func plotCommand(s *settings) *cobra.Command {
	f := &plotFlags{}
	cmd := &cobra.Command{
		Use:   "plot FIGURE --run RUN",
		Short: "Draw a figure from a stored run, without a script",
		Long: `Draws a figure from a run that lab sweep or lab.sweep left, and writes it to a file;
the extension decides the format. What a figure shows beyond the run is chosen with --set.
A run that lacks columns which the figure needs is refused, with their names.

Figures and their settings:
` + plotFigures(),
		Example: `  lab plot grid --run temperatures --set value=distinct_2
  lab plot tokens --run temperatures --set cell=3 --set sample=1 -o tokens.pdf
  lab plot pairs --run before --run after`,
		Args: oneArg("one figure", "lab plot grid --run temperatures"),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.runs, "run", nil, "the run to draw from: its name under runs/ or the path of its folder; pairs takes two")
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the figure, as name=value; may be repeated")
	flags.StringVarP(&f.out, "out", "o", "", "file to write: ."+strings.Join(plots.Formats(), ", .")+"; left out, RUN-FIGURE.svg")
	flags.StringVar(&f.theme, "theme", "light", "colours: "+strings.Join(plots.ThemeNames(), " or "))
	flags.StringVar(&f.title, "title", "", "the title; left out, the finding, made from the numbers")
	flags.StringVar(&f.sub, "subtitle", "", "the subtitle; left out, data and encoding")
	flags.Float64Var(&f.width, "width", 0, "in inches, 3.5 to 14; 0 is the figure's own")
	flags.BoolVar(&f.live, "live-text", false, "SVG keeps words as text that can be searched and edited")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.draw(cmd, s, args[0]) }
	return cmd
}

// plotFigures lists the figures with their settings for the help.
func plotFigures() string {
	purposes := map[string]string{}
	for _, e := range plots.Catalogue() {
		purposes[e.Name] = e.Purpose
	}
	var b strings.Builder
	for _, fig := range source.Figures() {
		fmt.Fprintf(&b, "  %-12s %s\n  %-12s needs %s\n", fig.Name, purposes[fig.Name], "", fig.Needs)
		for _, s := range fig.Settings {
			value := s.Name
			if s.Default != "" {
				value += "=" + s.Default
			}
			fmt.Fprintf(&b, "  %-12s   %-20s %s\n", "", value, s.Meaning)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (f *plotFlags) draw(cmd *cobra.Command, s *settings, figure string) error {
	theme, err := plots.ThemeNamed(f.theme)
	if err != nil {
		return err
	}
	r := source.Request{Figure: figure}
	if r.Set, err = setValues(cmd.CommandPath(), f.set); err != nil {
		return err
	}
	var names []string
	for _, name := range f.runs {
		run, err := openRun(name)
		if err != nil {
			return err
		}
		r.Runs = append(r.Runs, run)
		names = append(names, filepath.Base(filepath.Clean(run.Dir)))
	}
	if len(r.Runs) == 0 {
		return fault.New(fault.Usage, cmd.CommandPath(), "", "--run is missing").Fix("for example: lab plot %s --run temperatures; lab runs list shows what there is", figure)
	}
	r.Options = plots.Options{Theme: theme, Title: f.title, Subtitle: f.sub, Width: f.width, LiveText: f.live, Footer: plotFooter(names, r.Runs)}
	out := f.out
	if out == "" {
		out = strings.Join(append(names, figure), "-") + ".svg"
	}
	write := func() error {
		fig, err := source.Draw(r)
		if err != nil {
			return err
		}
		if err := fig.Save(out); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", out, fig.Title())
		return err
	}
	return s.withPieces(cmd, []string{figure}, &r.Pieces, write)
}

// pieces opens the vocabulary of a model: what the bytes of its tokens are.
type pieces = func(model string) (func(int32) []byte, error)

// withPieces calls f, and before it sets at, in a session, where one of the figures
// needs a vocabulary.
func (s *settings) withPieces(cmd *cobra.Command, figures []string, at *pieces, f func() error) error {
	if !slices.ContainsFunc(figures, needsVocabulary) {
		return f()
	}
	return s.with(cmd, nil, func(ctx context.Context, session *experiment.Session) error {
		*at = func(ref string) (func(int32) []byte, error) {
			m, err := session.Model(ctx, ref, nil)
			if err != nil {
				return nil, err
			}
			return m.Piece, nil
		}
		return f()
	}, nil)
}

func needsVocabulary(figure string) bool {
	for _, fig := range source.Figures() {
		if fig.Name == figure {
			return fig.Vocabulary
		}
	}
	return false
}

// plotFooter says where the numbers of a figure come from.
func plotFooter(names []string, runs []*store.Stored) string {
	parts := []string{"run " + strings.Join(names, ", ")}
	if len(runs) > 0 {
		parts = append(parts, "made by lab "+runs[0].Manifest.Lab)
	}
	return strings.Join(append(parts, "drawn by lab "+version), " · ")
}
