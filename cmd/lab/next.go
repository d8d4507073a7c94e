package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/trace"
	"lab/plots/canvas"
)

// nextReport is the answer of lab next; docs/json.md describes its JSON form.
type nextReport struct {
	Schema       string                 `json:"schema"`
	Model        modelRef               `json:"model"`
	Prompt       string                 `json:"prompt"`
	PromptTokens []int32                `json:"prompt_tokens"`
	Chain        string                 `json:"chain"`
	Effective    []chain.EffectiveStage `json:"effective_chain"`
	Seed         uint64                 `json:"seed"`
	ModelDist    distJSON               `json:"model_distribution"`
	SamplingDist distJSON               `json:"sampling_distribution"`
	Tokens       []tokenJSON            `json:"tokens"`
	Other        otherJSON              `json:"other"`
	Ledger       []trace.Stage          `json:"ledger"`
	Drawn        tokenJSON              `json:"drawn"`
}

type modelRef struct {
	Ref          string `json:"ref"`
	Name         string `json:"name"`
	Architecture string `json:"architecture"`
	VocabSize    int    `json:"vocab_size"`
	Digest       string `json:"digest"`
}

// distJSON is the shape of a distribution. For a backend that lists only the
// best tokens the entropy is a lower bound and the upper one stands beside it.
type distJSON struct {
	Support          int      `json:"support"`
	EntropyBits      float64  `json:"entropy_bits"`
	EntropyUpperBits *float64 `json:"entropy_upper_bits,omitempty"`
}

func newDistJSON(d dist.Distribution) distJSON {
	b := d.EntropyBounds()
	out := distJSON{Support: d.Support(), EntropyBits: b.Low}
	if !b.Exact() {
		out.EntropyUpperBits = &b.High
	}
	return out
}

// tokenJSON is one vocabulary entry under both distributions. RemovedBy names
// the stage that cut it, with its place in the chain counted from 1.
type tokenJSON struct {
	Token        int32      `json:"token"`
	Text         string     `json:"text"`
	Bytes        []byte     `json:"bytes"` // base64 in JSON
	Logit        trace.Real `json:"logit"` // null when the model itself rules the token out
	ModelRank    int        `json:"model_rank"`
	ModelProb    float64    `json:"model_prob"`
	SamplingRank int        `json:"sampling_rank"` // 0: removed
	SamplingProb float64    `json:"sampling_prob"`
	RemovedBy    string     `json:"removed_by,omitempty"`
}

type otherJSON struct {
	Tokens       int     `json:"tokens"`
	ModelProb    float64 `json:"model_prob"`
	SamplingProb float64 `json:"sampling_prob"`
}

func nextCommand(s *settings) *cobra.Command {
	var ref string
	var c chainFlags
	var further passFlags
	var top int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "next PROMPT",
		Short: "Show the distribution over the next token, before and after a chain",
		Long: `Shows the model distribution over the token after PROMPT beside the sampling
distribution that a chain makes of it, what every stage did (the ledger), and
the token that is drawn.`,
		Example: `  lab next "The weather today is"
  lab next "The weather today is" --chain "temperature:1.5 | top_p:0.9" --top 30
  lab next "Anna has a" --model grammar --json`,
		Args: oneArg("one prompt", `lab next "The weather today is"`),
	}
	f := cmd.Flags()
	f.StringVarP(&ref, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	c.flags(cmd)
	further.flags(cmd)
	f.IntVarP(&top, "top", "n", 20, "how many tokens to list, the likeliest under the model first")
	f.Uint64Var(&seed, "seed", 0, "run seed of the draw")
	s.pluginFlag(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if top < 1 {
			return fault.New(fault.Usage, "lab next", "", "--top %d is below 1", top)
		}
		return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
			report, err := next(ctx, session, ref, &c, &further, args[0], seed, top)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), report)
			}
			if s.verbose {
				writeEffective(cmd.ErrOrStderr(), report.Effective)
			}
			writeNext(cmd.OutOrStdout(), report)
			return nil
		}, nil)
	}
	return cmd
}

func next(ctx context.Context, session *experiment.Session, ref string, asked *chainFlags, further *passFlags, prompt string, seed uint64, top int) (*nextReport, error) {
	c, err := asked.build(ctx, session)
	if err != nil {
		return nil, err
	}
	m, err := session.Model(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	p, err := m.Next(ctx, []byte(prompt))
	if err != nil {
		return nil, err
	}
	before, err := dist.NewModel(&p.Scores)
	if err != nil {
		return nil, err
	}
	passes, err := further.passes(ctx, session, c)
	if err != nil {
		return nil, err
	}
	r, err := m.Reshape(ctx, &p.Scores, []byte(prompt), p.Tokens, c, experiment.Draw{Seed: seed, Passes: passes})
	if err != nil {
		return nil, err
	}
	report := &nextReport{
		Schema: "lab/next/1", Prompt: prompt, PromptTokens: p.Tokens, Chain: c.String(), Effective: c.Effective(), Seed: seed,
		Model:        newModelRef(m),
		ModelDist:    newDistJSON(before.Distribution),
		SamplingDist: newDistJSON(r.Sampling.Distribution),
	}
	describe := func(id int32) tokenJSON { return describeToken(m, &p.Scores, before, r, id) }
	listed := otherJSON{}
	likeliest, _ := before.Top(top)
	for _, t := range likeliest {
		row := describe(t.ID)
		report.Tokens = append(report.Tokens, row)
		listed.ModelProb += row.ModelProb
		listed.SamplingProb += row.SamplingProb
	}
	report.Other = otherJSON{Tokens: before.Support() - len(report.Tokens),
		ModelProb: math.Max(0, 1-listed.ModelProb), SamplingProb: math.Max(0, 1-listed.SamplingProb)}
	for _, e := range r.Ledger {
		report.Ledger = append(report.Ledger, trace.NewStage(e.Stage, e.Plugin, e.Change))
	}
	report.Drawn = describe(r.Chosen)
	return report, nil
}

func newModelRef(m *experiment.Model) modelRef {
	i := m.Info()
	return modelRef{Ref: m.Ref, Name: i.Name, Architecture: i.Architecture, VocabSize: i.VocabSize, Digest: i.Digest}
}

func describeToken(m *experiment.Model, row *dist.Scores, before dist.Model, r *experiment.Reshaping, id int32) tokenJSON {
	piece := m.Piece(id)
	logit, _ := scoreOf(row, id)
	t := tokenJSON{Token: id, Text: strings.ToValidUTF8(string(piece), "\uFFFD"), Bytes: piece, Logit: trace.Real(logit),
		ModelRank: before.Rank(id), ModelProb: before.P(id), SamplingRank: r.Sampling.Rank(id), SamplingProb: r.Sampling.P(id)}
	for i := range r.After {
		if s, ok := scoreOf(&r.After[i], id); !ok || math.IsInf(s, -1) {
			t.RemovedBy = fmt.Sprintf("%s (stage %d)", r.Chain.Stages[i].Name, i+1)
			break
		}
	}
	return t
}

// scoreOf returns the score of a token in a row, and whether the row lists it.
func scoreOf(row *dist.Scores, id int32) (float64, bool) {
	i := int(id)
	if !row.Dense() {
		i = sort.Search(len(row.IDs), func(k int) bool { return row.IDs[k] >= id })
		if i == len(row.IDs) || row.IDs[i] != id {
			return math.Inf(-1), false
		}
	}
	return float64(row.Values[i]), true
}

// barWidth is the number of cells of a probability bar at probability 1.
const barWidth = 40

func writeNext(w io.Writer, r *nextReport) {
	fmt.Fprintf(w, "prompt   %s  (%d tokens)\n", fault.Quote(r.Prompt, 70), len(r.PromptTokens))
	fmt.Fprintf(w, "model    %s, %s, vocabulary %d, sha256 %.12s…\n", r.Model.Name, r.Model.Architecture, r.Model.VocabSize, r.Model.Digest)
	fmt.Fprintf(w, "chain    %s\n\n", r.Chain)
	names := make([]string, len(r.Tokens))
	width := len("other tokens")
	largest := 0.0
	for i, t := range r.Tokens {
		names[i] = canvas.Visible(string(t.Bytes))
		width = max(width, min(runewidth.StringWidth(names[i]), 24))
		largest = math.Max(largest, math.Max(t.ModelProb, t.SamplingProb))
	}
	scale := barScale(largest)
	cells := int(math.Round(barWidth * largest * scale))
	fmt.Fprintf(w, "rank  %s  %-*s  %s\n", pad("token", width), cells+8, "model distribution", "sampling distribution")
	for i, t := range r.Tokens {
		right := fmt.Sprintf("%.4f  %s", t.SamplingProb, bar(t.SamplingProb*scale))
		if t.RemovedBy != "" {
			right = "·       cut by " + t.RemovedBy
		}
		fmt.Fprintf(w, "%4d  %s  %.4f  %s  %s\n", t.ModelRank, pad(runewidth.Truncate(names[i], 24, "…"), width),
			t.ModelProb, pad(bar(t.ModelProb*scale), cells), strings.TrimRight(right, " "))
	}
	if r.Other.Tokens > 0 {
		fmt.Fprintf(w, "      %s  %.4f  %s  %.4f  (%d tokens)\n", pad("other tokens", width), r.Other.ModelProb,
			pad("", cells), r.Other.SamplingProb, r.Other.Tokens)
	}
	fmt.Fprintf(w, "\nentropy  %.3f bits over %d tokens → %.3f bits over %d\n", r.ModelDist.EntropyBits, r.ModelDist.Support,
		r.SamplingDist.EntropyBits, r.SamplingDist.Support)
	fmt.Fprintf(w, "drawn    %s  p = %.4f (rank %d) under the sampling distribution, %.4f (rank %d) under the model; seed %d\n\n",
		canvas.Visible(string(r.Drawn.Bytes)), r.Drawn.SamplingProb, r.Drawn.SamplingRank, r.Drawn.ModelProb, r.Drawn.ModelRank, r.Seed)
	writeLedger(w, r.Ledger)
}

// barScale stretches bars so that the longest fills the width, in steps that
// keep pictures of similar prompts comparable.
func barScale(largest float64) float64 {
	scale := 1.0
	for largest*scale*2 <= 1 && scale < 64 {
		scale *= 2
	}
	return scale
}

// bar draws a share of barWidth in eighths of a cell.
func bar(share float64) string {
	eighths := int(math.Round(share * barWidth * 8))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-runewidth.StringWidth(s)))
}

func writeLedger(w io.Writer, stages []trace.Stage) {
	table(w, "stage | tokens | kept mass | entropy bits | KL(after‖before) | TV | drawn: rank | drawn: p", func(line func(...any)) {
		for _, s := range stages {
			rank := fmt.Sprintf("%d → %d", s.ChosenRankBefore, s.ChosenRankAfter)
			p := fmt.Sprintf("%.4f → %.4f", s.ChosenProbBefore, s.ChosenProbAfter)
			line(s.Stage, fmt.Sprintf("%d → %d", s.SupportBefore, s.SupportAfter), fmt.Sprintf("%.4f", s.KeptMass),
				fmt.Sprintf("%.3f → %.3f", s.EntropyBeforeBits, s.EntropyAfterBits), fmt.Sprintf("%.4f", s.KLBits),
				fmt.Sprintf("%.4f", s.TV), rank, p)
		}
	})
}

// writeEffective prints every value of a chain with its origin.
func writeEffective(w io.Writer, stages []chain.EffectiveStage) {
	fmt.Fprintln(w, "effective chain:")
	for i, s := range stages {
		fmt.Fprintf(w, "  %d  %s/%s  (asked for by: %s)\n", i+1, s.Plugin, s.Stage, s.Origin)
		for _, v := range s.Settings {
			fmt.Fprintf(w, "       %s = %v  (%s)\n", v.Name, v.Value, v.Origin)
		}
	}
}
