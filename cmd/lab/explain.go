package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/trace"
	"lab/plots/canvas"
)

// explainReport is the answer of lab chain explain.
type explainReport struct {
	Schema  string           `json:"schema"`
	Prompt  string           `json:"prompt"`
	Seed    uint64           `json:"seed"`
	A       explainSide      `json:"a"`
	B       explainSide      `json:"b"`
	Steps   int              `json:"steps"`    // looked at
	Parts   *int             `json:"parts_at"` // null: they do not part
	Draws   *int             `json:"drawn_at"` // first different token
	Text    string           `json:"text"`     // drawn by both before
	TV      trace.Real       `json:"tv"`       // between the sampling distributions at that step
	Differ  []differenceJSON `json:"differences"`
	Because string           `json:"because"`
}

type explainSide struct {
	Chain     string                 `json:"chain"`
	Effective []chain.EffectiveStage `json:"effective_chain"`
	Ledger    []trace.Stage          `json:"ledger,omitempty"`
	Chosen    *int32                 `json:"chosen,omitempty"`
	Text      string                 `json:"chosen_text,omitempty"`
}

type differenceJSON struct {
	Token     int32   `json:"token"`
	Text      string  `json:"text"`
	ModelProb float64 `json:"model_prob"`
	ProbA     float64 `json:"prob_a"`
	ProbB     float64 `json:"prob_b"`
	RemovedA  string  `json:"removed_by_a,omitempty"`
	RemovedB  string  `json:"removed_by_b,omitempty"`
}

type explainFlags struct {
	model            string
	compatA, compatB string
	passes           passFlags
	seed, sample     uint64
	steps, top       int
	tolerance        float64
	prompt           string
	json             *bool
}

func chainExplainCommand(s *settings) *cobra.Command {
	g := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain A B --prompt PROMPT",
		Short: "Show at which step and why two chains part on a prompt",
		Long: `Generates with two chains side by side, under the same random numbers, until their
sampling distributions differ. Shows that step, what each stage of either chain
did at it, and the tokens whose probabilities differ most, with the stage that
removed them.`,
		Example: `  lab chain explain "temperature:0.5 | top_p:0.8" "top_p:0.8 | temperature:0.5" --prompt "The weather today is"
  lab chain explain top_p:0.95 top_p:0.95 --compat-b llama.cpp --prompt "Anna has a" --steps 64`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes two chains, and %d arguments were given", len(args)).
				Fix("quote each chain: lab chain explain \"top_k:5 | top_p:0.9\" top_k:5 --prompt \"Anna has a\"")
		},
	}
	f := cmd.Flags()
	f.StringVarP(&g.prompt, "prompt", "p", "", "the prompt to part on")
	f.StringVarP(&g.model, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	f.StringVar(&g.compatA, "compat-a", "", "chain A follows this system's rules")
	f.StringVar(&g.compatB, "compat-b", "", "chain B follows this system's rules")
	g.passes.flags(cmd)
	f.Uint64Var(&g.seed, "seed", 0, "run seed of both")
	f.Uint64Var(&g.sample, "sample", 0, "index of the sample")
	f.IntVar(&g.steps, "steps", 32, "most steps to look at")
	f.IntVarP(&g.top, "top", "n", 10, "how many differing tokens to list")
	f.Float64Var(&g.tolerance, "tolerance", 1e-6, "total variation up to which two distributions count as the same; float32 scores round at some 1e-7")
	g.json = jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runExplain(s, cmd, g, args[0], args[1]) }
	return cmd
}

func runExplain(s *settings, cmd *cobra.Command, g *explainFlags, a, b string) error {
	switch {
	case g.prompt == "":
		return fault.New(fault.Usage, "lab chain explain", "", "--prompt is missing").Fix("chains part on a prompt: --prompt \"The weather today is\"")
	case g.steps < 1 || g.top < 1:
		return fault.New(fault.Usage, "lab chain explain", "", "--steps %d and --top %d must be at least 1", g.steps, g.top)
	case !(g.tolerance >= 0 && g.tolerance < 1):
		return fault.New(fault.Usage, "lab chain explain", "", "--tolerance %v is outside [0, 1)", g.tolerance)
	}
	return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
		chains := [2]*chain.Chain{}
		for i, c := range []chainFlags{{text: a, compat: g.compatA}, {text: b, compat: g.compatB}} {
			var err error
			if chains[i], err = c.build(ctx, session); err != nil {
				return fault.Wrap(err, fault.Usage, "chain "+string("AB"[i]), "")
			}
		}
		m, err := session.Model(ctx, g.model, nil)
		if err != nil {
			return err
		}
		passes, err := g.passes.passes(ctx, session, chains[:]...)
		if err != nil {
			return err
		}
		p, err := m.Part(ctx, []byte(g.prompt), chains[0], chains[1],
			experiment.Draw{Seed: g.seed, Sample: g.sample, Passes: passes}, g.steps, g.top, g.tolerance)
		if err != nil {
			return err
		}
		r := newExplainReport(m, g, chains, p)
		if *g.json {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		writeExplain(cmd.OutOrStdout(), r)
		return nil
	}, nil)
}

func newExplainReport(m *experiment.Model, g *explainFlags, chains [2]*chain.Chain, p *experiment.Parting) *explainReport {
	r := &explainReport{Schema: "lab/chain-explain/1", Prompt: g.prompt, Seed: g.seed, Steps: p.Steps, TV: trace.Real(p.TV), Differ: []differenceJSON{}}
	for i, side := range []*explainSide{&r.A, &r.B} {
		side.Chain, side.Effective = chains[i].String(), chains[i].Effective()
	}
	for _, t := range p.Tokens {
		r.Text += string(m.Piece(t))
	}
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	if p.Step < 0 {
		r.Because = fmt.Sprintf("their distributions are the same at each of %d steps", p.Steps)
		return r
	}
	r.Parts = &p.Step
	if p.Drawn >= 0 {
		r.Draws = &p.Drawn
	}
	for i, from := range []*experiment.Side{&p.A, &p.B} {
		side := []*explainSide{&r.A, &r.B}[i]
		for _, e := range from.Ledger {
			side.Ledger = append(side.Ledger, trace.NewStage(e.Stage, e.Plugin, e.Change))
		}
		side.Chosen, side.Text = &from.Chosen, textOf(m, from.Chosen)
	}
	by := func(c *chain.Chain, stage int) string {
		if stage == 0 {
			return ""
		}
		return fmt.Sprintf("%s (stage %d)", c.Stages[stage-1].Name, stage)
	}
	for _, d := range p.Differ {
		r.Differ = append(r.Differ, differenceJSON{Token: d.Token, Text: textOf(m, d.Token), ModelProb: d.Model, ProbA: d.A, ProbB: d.B,
			RemovedA: by(chains[0], d.CutA), RemovedB: by(chains[1], d.CutB)})
	}
	r.Because = because(r)
	return r
}

func textOf(m *experiment.Model, id int32) string {
	return strings.ToValidUTF8(string(m.Piece(id)), "\uFFFD")
}

// because says in one sentence why two chains part.
func because(r *explainReport) string {
	for _, d := range r.Differ {
		text := canvas.Visible(d.Text)
		switch {
		case d.RemovedA != "" && d.RemovedB == "":
			return fmt.Sprintf("A removes %q with %s, B keeps it", text, d.RemovedA)
		case d.RemovedB != "" && d.RemovedA == "":
			return fmt.Sprintf("B removes %q with %s, A keeps it", text, d.RemovedB)
		}
	}
	if len(r.Differ) == 0 {
		return "the distributions are the same, and the draws differ"
	}
	return "both keep the same tokens, with other probabilities"
}

func writeExplain(w io.Writer, r *explainReport) {
	fmt.Fprintf(w, "A: %s\nB: %s\n", r.A.Chain, r.B.Chain)
	if r.Parts == nil {
		fmt.Fprintf(w, "\nthe chains do not part: %s\n", r.Because)
		return
	}
	fmt.Fprintf(w, "\nthey part at step %d, after %q: %s\n", *r.Parts, r.Prompt+r.Text, r.Because)
	fmt.Fprintf(w, "total variation %.4g; A draws %q, B draws %q\n\n", float64(r.TV), canvas.Visible(r.A.Text), canvas.Visible(r.B.Text))
	table(w, "chain | stage | tokens before | after | kept mass | entropy before | after | KL bits | TV", func(line func(...any)) {
		for i, side := range []explainSide{r.A, r.B} {
			for k, e := range side.Ledger {
				line(string("AB"[i]), fmt.Sprintf("%d %s", k+1, e.Stage), e.SupportBefore, e.SupportAfter, fmt.Sprintf("%.6f", float64(e.KeptMass)),
					fmt.Sprintf("%.3f", float64(e.EntropyBeforeBits)), fmt.Sprintf("%.3f", float64(e.EntropyAfterBits)),
					fmt.Sprintf("%.4f", float64(e.KLBits)), fmt.Sprintf("%.4f", float64(e.TV)))
			}
		}
	})
	if len(r.Differ) == 0 {
		return
	}
	fmt.Fprintln(w)
	table(w, "token | model p | A | B | removed in A | in B", func(line func(...any)) {
		for _, d := range r.Differ {
			line(canvas.Visible(d.Text), fmt.Sprintf("%.4f", d.ModelProb), fmt.Sprintf("%.4f", d.ProbA), fmt.Sprintf("%.4f", d.ProbB), d.RemovedA, d.RemovedB)
		}
	})
}
