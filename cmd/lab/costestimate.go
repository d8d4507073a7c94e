package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/fault"
)

// costEstimateReport is the answer of lab cost estimate; docs/json.md describes its
// JSON form.
type costEstimateReport struct {
	Schema   string `json:"schema"`
	Model    string `json:"model"`
	Hardware string `json:"hardware,omitempty"`
	Prompt   int64  `json:"prompt_tokens"`
	Cached   int64  `json:"cached_tokens"`
	Output   int64  `json:"output_tokens"`
	Samples  int64  `json:"samples"`
	Batch    int64  `json:"batch"`
	answerJSON
}

func costEstimateCommand(c *costFlags) *cobra.Command {
	f := &servingFlags{}
	var prompt, cached, output, samples, batch int64
	var attention, price string
	var batchPrice, judge bool
	draft := map[string]string{}
	cmd := &cobra.Command{
		Use:   "estimate [MODEL]",
		Short: "Compute what a request costs: FLOP, bytes, seconds, joules and money",
		Long: `Computes what a request costs on a served model, as far as the flags say: parameters
and operations always, bytes with an arithmetic type, times with --hardware,
energy with --load and --pue, money with a price. What was not given is absent and
says why; it is never zero. A batch that does not fit into the memory is an error
that says by how much and what would.` + uncertainHelp,
		Example: `  lab cost estimate llama-3-8b --prompt 1000 --output 200 --hardware h100
  lab cost estimate llama-3-70b --prompt 1000 --output 200 --hardware h100 --chips 4 --batch 16 \
      --compute 0.5 --weights 0.6..0.8 --cache 0.3..0.5 --usd-per-hour 2..3 --load 0.7 --pue 1.2
  lab cost estimate llama-3-8b --prompt 1000 --output 200 --hardware h100 --draft acceptance=0.7,length=4,cost=0.05
  lab cost estimate llama-3-8b --prompt 1000 --output 200 --samples 8 --judge`,
		Args: oneModel("lab cost estimate llama-3-8b --prompt 1000 --output 200 --hardware h100"),
	}
	x := cmd.Flags()
	x.Int64Var(&prompt, "prompt", 0, "new tokens of the prompt (required)")
	x.Int64Var(&output, "output", 0, "tokens of each completion (required)")
	x.Int64Var(&cached, "cached", 0, "tokens of the prompt before them that a cache holds")
	x.Int64Var(&samples, "samples", 1, "completions of the prompt, as for best-of-n or a vote")
	x.Int64Var(&batch, "batch", 0, "sequences that decode together (default those of the request)")
	x.BoolVar(&judge, "judge", false, "each completion is scored once, with its prompt, by the same model")
	x.StringToStringVar(&draft, "draft", nil, "speculative decoding: acceptance, length and cost (seconds of a draft step over those of the model's), and if need be operations and verify")
	x.StringVar(&attention, "attention", "causal", "how prefill counts it: the causal half, or the full square")
	x.StringVar(&price, "price", "", "list price, a name of lab cost prices")
	x.BoolVar(&batchPrice, "batch-price", false, "the prices of the provider's batch endpoint")
	f.flags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, name := range []string{"prompt", "output"} {
			if !x.Changed(name) {
				return fault.New(fault.Usage, cmd.CommandPath(), "", "--%s is missing", name).Fix("give the tokens of the request: --prompt 1000 --output 200")
			}
		}
		r, t, day, err := f.resolve(cmd, args, c)
		if err != nil {
			return err
		}
		if batch == 0 && !x.Changed("batch") {
			batch = samples
		}
		q := r.Request(prompt, cached, output, samples, batch, f.of())
		q.Batched, q.Judge = batchPrice, judge
		if x.Changed("draft") {
			if q.Draft, err = readDraft(draft); err != nil {
				return err
			}
		}
		switch attention {
		case "causal":
		case "full":
			q.Convention = cost.Convention{Full: true}
		default:
			return fault.Unknown(cmd.CommandPath(), "attention", attention, []string{"causal", "full"})
		}
		warnings := r.Warnings
		if price != "" {
			p, more, err := t.Price(price, day)
			if err != nil {
				return err
			}
			q.Price, warnings = p.For(prompt+cached), append(warnings, more...)
		}
		a, err := scenario.Estimate(q)
		if err != nil {
			return err
		}
		a.Assumed = append(a.Assumed, r.Assumed...)
		warn(cmd.ErrOrStderr(), warnings)
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), &costEstimateReport{Schema: "lab/cost-estimate/1", Model: r.Name, Hardware: r.Hardware,
				Prompt: prompt, Cached: cached, Output: output, Samples: samples, Batch: batch, answerJSON: newAnswer(a, warnings)})
		}
		where := ""
		if r.Hardware != "" {
			where = " on " + r.Hardware
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s%s: %d prompt tokens (%d cached before them), %d × %d output tokens, batch %d\n\n", plainLine(r.Name), plainLine(where), prompt, cached, samples, output, batch)
		writeAnswer(cmd.OutOrStdout(), a)
		return nil
	}
	return cmd
}

// readDraft reads the pairs of --draft.
func readDraft(pairs map[string]string) (*cost.Draft, error) {
	d := &cost.Draft{Verify: 1}
	length := math.NaN()
	names := []string{"acceptance", "length", "cost", "operations", "verify"}
	to := map[string]*float64{"acceptance": &d.Accept, "length": &length, "cost": &d.Cost, "operations": &d.OpRatio, "verify": &d.Verify}
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if to[name] == nil {
			return nil, fault.Unknown("lab cost estimate: --draft", "setting", name, names)
		}
		v, err := strconv.ParseFloat(pairs[name], 64)
		if err != nil {
			return nil, fault.New(fault.Usage, "lab cost estimate", "--draft", "%s is %s, no number", name, fault.Quote(pairs[name], 40))
		}
		*to[name] = v
	}
	for _, name := range names[:3] {
		if _, ok := pairs[name]; !ok {
			return nil, fault.New(fault.Usage, "lab cost estimate", "--draft", "%s is missing", name).Fix("for example: --draft acceptance=0.7,length=4,cost=0.05")
		}
	}
	if length != math.Trunc(length) || math.Abs(length) > 1<<20 {
		return nil, fault.New(fault.Usage, "lab cost estimate", "--draft", "length = %g is no number of tokens", length)
	}
	d.Length = int64(length)
	return d, nil
}
