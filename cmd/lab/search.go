package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/search"
	"lab/core/trace"
)

// searchReport is the answer of lab search; docs/json.md describes its JSON
// form.
type searchReport struct {
	Schema      string                 `json:"schema"`
	Model       experiment.ModelRecord `json:"model"`
	Prompt      string                 `json:"prompt"`
	Chain       string                 `json:"chain"`
	Effective   []chain.EffectiveStage `json:"effective_chain"`
	Seed        uint64                 `json:"seed"`
	MaxTokens   int                    `json:"max_tokens"`
	Settings    []chain.EffectiveSet   `json:"settings"`
	Usage       model.Usage            `json:"usage"`
	Interrupted bool                   `json:"interrupted,omitempty"`
	*search.Result
}

type searchFlags struct {
	model, draft string
	chain        chainFlags
	seed         uint64
	maxTokens    int
	list         int
	json         *bool
}

func searchCommand(s *settings) *cobra.Command {
	g := &searchFlags{}
	cmd := &cobra.Command{
		Use:   "search STRATEGY PROMPT",
		Short: "Find continuations with beam search, best-of-n, speculative decoding, ...",
		Long: `Continues PROMPT with a strategy that looks at more than one distribution before it
commits to a token. A strategy is written like a stage: beam:width=4,length=mean.
It works on the distribution that the chain would draw from, so truncations,
penalties and constraints act on it too; the chain's own draw does not.

lab help strategies describes each strategy and its settings.`,
		Example: `  lab search beam:width=4 "The weather today is" --max-tokens 12
  lab search enumerate:n=10 "The weather today is" --chain top_k:20 --max-tokens 4
  lab search speculative "Anna has a" --model grammar --draft tiny --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes a strategy and a prompt, and %d arguments were given", len(args)).
				Fix(`for example: lab search beam:width=4 "The weather today is"`)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&g.model, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	f.StringVar(&g.draft, "draft", "", "model that proposes tokens to speculative decoding; it must share the vocabulary")
	g.chain.flags(cmd)
	f.Uint64Var(&g.seed, "seed", 0, "run seed of strategies that draw")
	f.IntVar(&g.maxTokens, "max-tokens", 24, "most tokens per sequence")
	f.IntVarP(&g.list, "top", "n", 20, "how many sequences to print; --json has all")
	s.pluginFlag(cmd)
	g.json = jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runSearch(s, cmd, g, args[0], args[1]) }
	return cmd
}

func runSearch(s *settings, cmd *cobra.Command, g *searchFlags, text, prompt string) error {
	strategy, set, err := search.Parse(text, "argument")
	if err != nil {
		return err
	}
	if g.list < 1 {
		return fault.New(fault.Usage, "lab search", "", "--top %d is below 1", g.list)
	}
	var report *searchReport
	work := func(ctx context.Context, session *experiment.Session) error {
		c, err := g.chain.build(ctx, session)
		if err != nil {
			return err
		}
		if s.verbose {
			writeEffective(cmd.ErrOrStderr(), c.Effective())
		}
		m, err := session.Model(ctx, g.model, nil)
		if err != nil {
			return err
		}
		task := search.Task{Engine: m.Engine, Prompt: []byte(prompt), Chain: c, Seed: g.seed, MaxTokens: g.maxTokens}
		if g.draft != "" {
			d, err := session.Model(ctx, g.draft, nil)
			if err != nil {
				return err
			}
			task.Draft = d.Engine
		}
		bar := newProgress(cmd.ErrOrStderr()).Start(strategy.Name, expected(strategy, set))
		task.OnStep = bar.Step
		r, err := search.Run(ctx, task, strategy, set)
		bar.Done()
		if r == nil {
			return err
		}
		report = &searchReport{Schema: "lab/search/1", Prompt: prompt, Chain: c.String(), Effective: c.Effective(), Seed: g.seed,
			MaxTokens: g.maxTokens, Usage: r.Usage, Result: r,
			Interrupted: err != nil && fault.KindOf(err) == fault.Interrupted}
		for _, v := range set {
			report.Settings = append(report.Settings, chain.EffectiveSet{Name: v.Name, Value: v.Value, Origin: v.Origin})
		}
		if r.Sequences == nil {
			r.Sequences = []search.Sequence{}
		}
		return err
	}
	return s.with(cmd, []string{"samplers", "models"}, work, func(record experiment.Record) error {
		if report == nil {
			return nil
		}
		report.Model = record.Models[0]
		if *g.json {
			return writeJSON(cmd.OutOrStdout(), report)
		}
		writeSearch(cmd.OutOrStdout(), report, g.list)
		return nil
	})
}

// expected returns how many sequences a strategy will finish, for progress.
func expected(s search.Strategy, set param.Values) int {
	for _, name := range []string{"width", "n", "sequences", "samples"} {
		if spec, ok := s.Params.Find(name); ok {
			return int(set.Int(spec.Name))
		}
	}
	return 1
}

func writeSearch(w io.Writer, r *searchReport, most int) {
	table(w, "# | score | p: sampling | model | tokens | ended by | continuation", func(line func(...any)) {
		for i, q := range r.Sequences[:min(most, len(r.Sequences))] {
			line(i+1, fmt.Sprintf("%.4f", q.Score), probabilityText(q.SamplingBits), probabilityText(q.ModelBits), len(q.Tokens),
				stopText(q.Stop), strings.ReplaceAll(q.Text, "\n", "⏎"))
		}
	})
	if more := len(r.Sequences) - most; more > 0 {
		fmt.Fprintf(w, "… and %d more (--top)\n", more)
	}
	fmt.Fprintf(w, "\nscore: %s\n", r.ScoreIs)
	if r.Listed != nil {
		fmt.Fprintf(w, "listed: %.6g of the probability; all other continuations: %.6g\n", *r.Listed, *r.Unlisted)
	}
	if c := r.Speculation; c != nil {
		fmt.Fprintf(w, "draft: %d of %d proposals accepted (%.1f %%); %.2f tokens per model call, %d calls\n",
			c.Accepted, c.Proposed, 100*c.Acceptance, c.PerCall, c.TargetCalls)
	}
}

// probabilityText returns 2^-bits, in bits where it is too small to read.
func probabilityText(bits trace.Real) string {
	if bits > 20 {
		return fmt.Sprintf("2^-%.1f", float64(bits))
	}
	return fmt.Sprintf("%.3g", math.Exp2(-float64(bits)))
}

func strategiesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("A strategy of lab search is written like a stage: name, or name:key=value,key=value.\n")
	for _, s := range search.All() {
		fmt.Fprintf(&b, "\n%s\n  %s\n  source: %s\n", s.Name, s.Summary, s.Source)
		for _, p := range s.Params {
			name := p.Name
			if len(p.Aliases) > 0 {
				name += " (" + strings.Join(p.Aliases, ", ") + ")"
			}
			fmt.Fprintf(&b, "    %s  %s, %s, default %s: %s\n", name, p.Type, p.Range(), param.Format(p.Default), p.Meaning)
		}
	}
	return &cobra.Command{Use: "strategies", Short: "The strategies of lab search and their settings", Long: strings.TrimRight(b.String(), "\n")}
}
