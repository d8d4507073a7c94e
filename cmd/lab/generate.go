package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/trace"
	"lab/plots/canvas"
)

// generateReport is the answer of lab generate; docs/json.md describes its JSON
// form. The JSON is complete or, after an interrupt, says so in Interrupted.
type generateReport struct {
	Schema      string                 `json:"schema"`
	Model       experiment.ModelRecord `json:"model"`
	Prompt      string                 `json:"prompt"`
	Chain       string                 `json:"chain"`
	Effective   []chain.EffectiveStage `json:"effective_chain"`
	Seed        uint64                 `json:"seed"`
	MaxTokens   int                    `json:"max_tokens"`
	StopStrings []string               `json:"stop_strings,omitempty"`
	Samples     []trace.Sample         `json:"samples"`
	Costs       []sampleCost           `json:"costs"` // of the samples, in their order
	Usage       model.Usage            `json:"usage"`
	Warnings    []string               `json:"warnings,omitempty"`
	Interrupted bool                   `json:"interrupted,omitempty"`
}

// sampleCost is what a sample took.
type sampleCost struct {
	Sample uint64 `json:"sample"`
	trace.Cost
}

type generateFlags struct {
	model     string
	chain     chainFlags
	passes    passFlags
	samples   int
	first     uint64
	seed      uint64
	maxTokens int
	batch     int
	stop      []string
	chat      bool
	system    string
	steps     bool
	json      *bool
}

func generateCommand(s *settings) *cobra.Command {
	g := &generateFlags{}
	cmd := &cobra.Command{
		Use:   "generate PROMPT",
		Short: "Generate samples from a prompt",
		Long: `Generates samples that continue PROMPT. Sample i of a prompt depends on the model,
the chain, the seed and i only: it is the same alone, among 64 and at any batch.

With --chat the model answers PROMPT: it becomes a user's turn in the form that the
chat template of an instruct model gives it, after a system's turn with --system.
Control tokens are the template's alone; ones spelled in PROMPT or --system stay text.`,
		Example: `  lab generate "The weather today is"
  lab generate "The weather today is" --chain greedy --max-tokens 40
  lab generate "Anna has a" --chain "temperature:0.8 | top_p:0.95" --samples 3 --seed 7 --json
  lab generate "Why is the sky blue?" --chat --model MODEL.gguf --system "Answer in one sentence."`,
		Args: oneArg("one prompt", `lab generate "The weather today is" --samples 3`),
	}
	f := cmd.Flags()
	f.StringVarP(&g.model, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	g.chain.flags(cmd)
	g.passes.flags(cmd)
	f.IntVarP(&g.samples, "samples", "k", 1, "how many samples")
	f.Uint64Var(&g.first, "first-sample", 0, "index of the first sample; sample i is the same whatever the others are")
	f.Uint64Var(&g.seed, "seed", 0, "run seed")
	f.IntVar(&g.maxTokens, "max-tokens", 48, "most tokens per sample")
	f.IntVar(&g.batch, "batch", 32, "most samples in one forward call; changes the speed, never the result")
	f.StringArrayVar(&g.stop, "stop", nil, "stop string; may be repeated and may span tokens")
	f.BoolVar(&g.chat, "chat", false, "answer PROMPT in the form of the model's chat template")
	f.StringVar(&g.system, "system", "", "with --chat: the system's turn, before the prompt")
	f.BoolVar(&g.steps, "steps", false, "record every step with its ledger (always in --json)")
	s.pluginFlag(cmd)
	g.json = jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("system") && !g.chat {
			return fault.New(fault.Usage, "lab generate", "", "--system is a turn of a conversation").Fix("add --chat")
		}
		return runGenerate(s, cmd, g, args[0])
	}
	return cmd
}

func runGenerate(s *settings, cmd *cobra.Command, g *generateFlags, prompt string) error {
	if g.samples < 1 {
		return fault.New(fault.Usage, "lab generate", "", "--samples %d is below 1", g.samples)
	}
	if g.batch < 1 {
		return fault.New(fault.Usage, "lab generate", "", "--batch %d is below 1", g.batch)
	}
	var report *generateReport
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
		passes, err := g.passes.passes(ctx, session, c)
		if err != nil {
			return err
		}
		text, tokens := []byte(prompt), []int32(nil)
		if g.chat {
			if text, tokens, err = g.conversation(ctx, m, prompt); err != nil {
				return err
			}
		}
		jobs := make([]generate.Job, g.samples)
		for i := range jobs {
			jobs[i] = generate.Job{Prompt: text, Tokens: tokens, Chain: c, Seed: g.seed, Sample: g.first + uint64(i),
				MaxTokens: g.maxTokens, Stop: g.stop, Passes: passes}
		}
		bar := newProgress(cmd.ErrOrStderr()).Start("generate", g.samples)
		r, err := m.Run(ctx, jobs, generate.Options{Batch: g.batch, Ledger: *g.json || g.steps || s.verbose, OnStep: bar.Step})
		bar.Done()
		if r == nil {
			return err
		}
		report = &generateReport{Schema: "lab/generate/1", Prompt: string(text), Chain: c.String(), Effective: c.Effective(),
			Seed: g.seed, MaxTokens: g.maxTokens, StopStrings: g.stop, Usage: r.Usage,
			Warnings: r.Warnings, Interrupted: err != nil && fault.KindOf(err) == fault.Interrupted}
		report.Samples, report.Costs = started(r)
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
		shown := *report
		if g.chat {
			shown.Prompt = "" // an answer stands for itself
		}
		writeSamples(cmd.OutOrStdout(), &shown, g.steps)
		for _, w := range report.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
		}
		return nil
	})
}

// conversation returns the prompt that the model's chat template makes of the
// system's turn, if there is one, and the user's.
func (g *generateFlags) conversation(ctx context.Context, m *experiment.Model, prompt string) ([]byte, []int32, error) {
	var turns []model.Turn
	if g.system != "" {
		turns = append(turns, model.Turn{Role: "system", Content: g.system})
	}
	if prompt == "" {
		return nil, nil, fault.New(fault.Usage, "lab generate", "prompt", "it is empty").Fix("ask the model something")
	}
	c, err := m.Chat(ctx, append(turns, model.Turn{Role: "user", Content: prompt}))
	return c.Text, c.Tokens, err
}

// started returns the samples of a result and their costs, without those that an
// interrupt came before.
func started(r *generate.Result) ([]trace.Sample, []sampleCost) {
	samples, costs := []trace.Sample{}, []sampleCost{}
	for i, s := range r.Samples {
		if s.Stop.Reason == trace.Interrupted && len(s.Tokens) == 0 {
			continue
		}
		samples, costs = append(samples, s), append(costs, sampleCost{s.Sample, r.Costs[i]})
	}
	return samples, costs
}

func writeSamples(w io.Writer, r *generateReport, steps bool) {
	for i, s := range r.Samples {
		if len(r.Samples) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "── sample %d: %d tokens, %s\n", s.Sample, len(s.Tokens), stopText(s.Stop))
		}
		fmt.Fprintf(w, "%s%s\n", r.Prompt, s.Text)
		if steps {
			writeSteps(w, s.Steps)
		}
	}
}

func stopText(s trace.Stop) string {
	switch s.Reason {
	case trace.StopString:
		return fmt.Sprintf("stopped at %s", fault.Quote(s.String, 30))
	case trace.EndOfText:
		return "end of text"
	case trace.MaxTokens:
		return "max tokens reached"
	case trace.ContextFull:
		return "context full"
	}
	return "interrupted"
}

func writeSteps(w io.Writer, steps []trace.Step) {
	table(w, "step | token | model: p | rank | entropy bits | sampling: p | rank | tokens left", func(line func(...any)) {
		for _, s := range steps {
			line(s.Step, canvas.Visible(string(s.Piece)), fmt.Sprintf("%.4f", s.Model.Prob), s.Model.Rank,
				fmt.Sprintf("%.3f", s.Model.EntropyBits), fmt.Sprintf("%.4f", s.Sampling.Prob), s.Sampling.Rank, s.Sampling.Support)
		}
	})
}
