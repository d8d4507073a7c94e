package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
)

// perplexityReport is the answer of lab perplexity; docs/json.md describes its
// JSON form.
type perplexityReport struct {
	Schema  string                 `json:"schema"`
	Model   experiment.ModelRecord `json:"model"`
	File    string                 `json:"file"`
	Window  int                    `json:"window"`
	Stride  int                    `json:"stride"`
	Windows int                    `json:"windows"`
	scoreSums
	Usage       model.Usage `json:"usage"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

func perplexityCommand(s *settings) *cobra.Command {
	var ref string
	var opt generate.WindowOptions
	cmd := &cobra.Command{
		Use:   "perplexity FILE|-",
		Short: "Measure a model's perplexity on a text of any length",
		Long: `Reads a text in windows of --window tokens that slide by --stride, and sums the
surprisal of its tokens under the model distribution. Each token counts once, in
the first window that holds it: behind the first window every token has at least
window - stride tokens before it. A smaller stride gives more context and takes
longer; window and stride are part of the result, so say them with it.

A model that begins its texts with a token has it at the start of every window,
where it takes one place; then the first token of the text counts too. Without
one the first token has no context and does not count. - is standard input.

Ctrl-C prints what was scored so far and exits with 130.

Source: Jelinek et al. 1977 (perplexity); Baevski and Auli 2019, Press, Smith and
Lewis 2021 (sliding windows).`,
		Example: `  lab perplexity corpus.txt
  lab perplexity corpus.txt --model model.gguf --window 512 --stride 256 --json`,
		Args: oneArg("the path of a text, or - for standard input", "lab perplexity corpus.txt"),
	}
	f := cmd.Flags()
	f.StringVarP(&ref, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	f.IntVar(&opt.Window, "window", 0, "tokens read together (default the model's context, at most 2048)")
	f.IntVar(&opt.Stride, "stride", 0, "tokens from one window to the next, less than the window (default half of it)")
	s.pluginFlag(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, name := range []string{"window", "stride"} {
			if flag := f.Lookup(name); flag.Changed && flag.Value.String() == "0" {
				return fault.New(fault.Usage, "lab perplexity", "", "--%s 0 is below 1", name)
			}
		}
		text, err := readCorpus(cmd, "lab perplexity", args[0], maxCorpus)
		if err != nil {
			return err
		}
		var report *perplexityReport
		work := func(ctx context.Context, session *experiment.Session) error {
			m, err := session.Model(ctx, ref, nil)
			if err != nil {
				return err
			}
			bar := newProgress(cmd.ErrOrStderr()).StartTokens("perplexity")
			opt.OnStep = bar.StepTokens
			out, usage, err := m.Perplexity(ctx, text, opt)
			bar.Done()
			if out == nil {
				return err
			}
			report = &perplexityReport{Schema: "lab/perplexity/1", File: args[0], Window: out.Window, Stride: out.Stride, Windows: out.Windows,
				scoreSums: newScoreSums(out), Usage: usage, Interrupted: fault.KindOf(err) == fault.Interrupted}
			return err
		}
		return s.with(cmd, []string{"models"}, work, func(record experiment.Record) error {
			if report == nil {
				return nil
			}
			report.Model = record.Models[0]
			w := cmd.OutOrStdout()
			if *asJSON {
				return writeJSON(w, report)
			}
			fmt.Fprintf(w, "model          %s, sha256 %.12s…\n", report.Model.Name, report.Model.DigestOpen)
			fmt.Fprintf(w, "windows        %d of at most %d tokens, stride %d\n", report.Windows, report.Window, report.Stride)
			writeSums(w, &report.scoreSums)
			return nil
		})
	}
	return cmd
}
