package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/systems"
)

func chainCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "chain", Short: "Check, import and compare chains of stages", Args: subcommandOnly, RunE: showHelp}
	cmd.AddCommand(chainShowCommand(s), chainImportCommand(s), chainExplainCommand(s))
	return cmd
}

func chainShowCommand(s *settings) *cobra.Command {
	var c chainFlags
	cmd := &cobra.Command{
		Use: "show CHAIN", Short: "Check a chain and show every setting with its origin",
		Example: `  lab chain show "temperature:0.8 | top_p:0.95"
  lab chain show "top_k:40" --compat llama.cpp --json`,
		Args: oneArg("one chain", `lab chain show "temperature:0.8 | top_p:0.95"`),
	}
	cmd.Flags().StringVar(&c.compat, "compat", "", "follow another system's rules")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.text = args[0]
		return s.with(cmd, []string{"samplers"}, func(ctx context.Context, session *experiment.Session) error {
			built, err := c.build(ctx, session)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), struct {
					Schema    string                 `json:"schema"`
					Chain     string                 `json:"chain"`
					Effective []chain.EffectiveStage `json:"effective_chain"`
				}{"lab/chain/1", built.String(), built.Effective()})
			}
			fmt.Fprintln(cmd.OutOrStdout(), built)
			writeEffective(cmd.OutOrStdout(), built.Effective())
			return nil
		}, nil)
	}
	return cmd
}

// importReport is the answer of lab chain import.
type importReport struct {
	Schema       string                 `json:"schema"`
	From         string                 `json:"from"`
	Chain        string                 `json:"chain"`
	Effective    []chain.EffectiveStage `json:"effective_chain"`
	Strategy     string                 `json:"strategy,omitempty"`
	Seed         *uint64                `json:"seed,omitempty"`
	MaxTokens    *int                   `json:"max_tokens,omitempty"`
	Samples      *int                   `json:"samples,omitempty"`
	StopStrings  []string               `json:"stop_strings,omitempty"`
	Off          []systems.Note         `json:"off"`
	NoEquivalent []systems.Note         `json:"no_equivalent"`
	Unrelated    []systems.Note         `json:"unrelated"`
}

func chainImportCommand(s *settings) *cobra.Command {
	var from string
	var strict bool
	cmd := &cobra.Command{
		Use:   "import --from SYSTEM SETTINGS",
		Short: "Turn another system's sampling settings into a chain",
		Long: `Turns SETTINGS of another system into the chain that does the same, in that
system's order, with its defaults and following its own rules (compat), and says
what has no equivalent. SETTINGS is a text, a file, or - for standard input:

` + formats() + `
The chain goes to standard output, everything else to standard error.`,
		Example: `  lab chain import --from llama.cpp -- --temp 0.7 --top-k 20 --min-p 0
  lab chain import --from llama.cpp -- llama-cli -m model.gguf --temp 0.7
  lab chain import --from transformers generation_config.json
  lab generate "Anna has a" --chain "$(lab chain import --from ollama Modelfile)"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes settings, a file or -, and none were given").
				Fix("for example: lab chain import --from llama.cpp -- --temp 0.7 --top-k 20")
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the system: "+strings.Join(systems.Systems(), ", "))
	cmd.Flags().BoolVar(&strict, "strict", false, "fail when a setting has no equivalent")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if from == "" {
			return fault.New(fault.Usage, "lab chain import", "", "--from is missing").Fix("name one of %s", strings.Join(systems.Systems(), ", "))
		}
		text, err := settingsText(cmd, args)
		if err != nil {
			return err
		}
		in, err := systems.Import(from, text)
		if err != nil {
			return err
		}
		if n := len(in.NoEquivalent); strict && n > 0 {
			return fault.New(fault.Usage, "lab chain import", in.NoEquivalent[0].Setting, "%d setting(s) have no equivalent: %s", n, in.NoEquivalent[0].Why)
		}
		return s.with(cmd, []string{"samplers"}, func(ctx context.Context, session *experiment.Session) error {
			built, err := session.Build(ctx, in.Requests)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), importReport{Schema: "lab/chain-import/1", From: in.System, Chain: built.String(),
					Effective: built.Effective(), Strategy: in.Strategy, Seed: in.Seed, MaxTokens: in.MaxTokens, Samples: in.Samples,
					StopStrings: in.Stop, Off: orEmpty(in.Off), NoEquivalent: orEmpty(in.NoEquivalent), Unrelated: orEmpty(in.Unrelated)})
			}
			fmt.Fprintln(cmd.OutOrStdout(), built)
			writeImport(cmd.ErrOrStderr(), in)
			if s.verbose {
				writeEffective(cmd.ErrOrStderr(), built.Effective())
			}
			return nil
		}, nil)
	}
	return cmd
}

func formats() string {
	var b strings.Builder
	for _, name := range systems.Systems() {
		fmt.Fprintf(&b, "  %-13s %s\n", name, systems.Format(name))
	}
	return b.String()
}

func orEmpty(n []systems.Note) []systems.Note {
	if n == nil {
		return []systems.Note{}
	}
	return n
}

// settingsText returns the settings that arguments give: one file, standard
// input, one text, or several words of a command line.
func settingsText(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 1 {
		words := make([]string, len(args))
		for i, a := range args {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		if strings.HasPrefix(args[0], "-") { // says that these are flags, and stays outside the quotes
			words[0] = "-" + "'" + strings.TrimPrefix(words[0], "'-")
		}
		return strings.Join(words, " "), nil
	}
	text := args[0]
	var from io.Reader
	if text == "-" {
		from, text = cmd.InOrStdin(), "standard input"
	} else if info, err := os.Stat(text); err == nil && info.Mode().IsRegular() {
		f, err := os.Open(text)
		if err != nil {
			return "", fault.Wrap(err, fault.Data, "lab chain import", text)
		}
		defer f.Close()
		from = f
	} else if looksLikeFile(text) {
		return "", fault.New(fault.Usage, "lab chain import", fault.Quote(text, 80), "there is no such file").
			Fix("give the settings as a text, or the path of a file")
	}
	if from == nil {
		return text, nil
	}
	return readText(from, text)
}

// looksLikeFile reports whether a text can only have been meant as a path.
func looksLikeFile(text string) bool {
	return !strings.ContainsAny(text, " \n{=") && !strings.HasPrefix(text, "-") && text != ""
}

func writeImport(w io.Writer, in *systems.Imported) {
	if in.Strategy != "" {
		fmt.Fprintf(w, "strategy: lab search %s\n", in.Strategy)
	}
	if in.Seed != nil {
		fmt.Fprintf(w, "also give: --seed %d\n", *in.Seed)
	}
	if in.MaxTokens != nil {
		fmt.Fprintf(w, "also give: --max-tokens %d\n", *in.MaxTokens)
	}
	if in.Samples != nil {
		fmt.Fprintf(w, "also give: --samples %d\n", *in.Samples)
	}
	for _, stop := range in.Stop {
		fmt.Fprintf(w, "also give: --stop %q\n", stop)
	}
	for _, n := range in.Off {
		fmt.Fprintf(w, "left out: %s = %s: %s\n", n.Setting, n.Value, n.Why)
	}
	for _, n := range in.NoEquivalent {
		fmt.Fprintf(w, "no equivalent: %s = %s: %s\n", n.Setting, n.Value, n.Why)
	}
	if len(in.Unrelated) > 0 {
		names := make([]string, len(in.Unrelated))
		for i, n := range in.Unrelated {
			names[i] = n.Setting
		}
		fmt.Fprintf(w, "not about the distribution: %s\n", strings.Join(names, ", "))
	}
}
