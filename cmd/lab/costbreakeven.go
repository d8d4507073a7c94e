package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lab/core/cost"
	"lab/core/cost/scenario"
)

// costBreakevenReport is the answer of lab cost breakeven; docs/json.md describes its
// JSON form.
type costBreakevenReport struct {
	Schema   string `json:"schema"`
	Sentence string `json:"sentence"`
	answerJSON
}

func costBreakevenCommand(c *costFlags) *cobra.Command {
	q := scenario.Question{}
	d := &drawFlags{}
	var trainParams, trainTokens, serveParams, perRequest, promptTokens, outputTokens, perDay, trainMFU, serveMFU, prefillMFU, usd, trainUSD uncertainFlag
	growth := uncertainFlag{growth: true}
	cmd := &cobra.Command{
		Use:   "breakeven",
		Short: "Compute when the sum of all uses has cost as much as training",
		Long: `Training is paid once, inference at every use. Computes after how many tokens,
requests and days of growing demand the sum of all uses has passed training: in
FLOP always; with --hardware and the utilisation of both sides in device time, and
in money where the price of a chip-hour is known. Says it in a sentence, with the
band that uncertain numbers give.

Training is 6 N D FLOP, a served token 2 N; attention is left out on both sides.` + uncertainHelp,
		Example: `  lab cost breakeven --train-params 8e9 --train-tokens 15e12 --tokens-per-request 700 --requests-per-day 2e6 --growth 0.04
  lab cost breakeven --run llama-3-8b --prompt-tokens 600 --output-tokens 100 --requests-per-day 1e6..4e6 \
      --growth 0..0.08 --hardware h100 --train-mfu 0.35..0.45 --serve-mfu 0.03..0.1 --prefill-mfu 0.4 --start 2026-01-01`,
		Args: cobra.NoArgs,
	}
	x := cmd.Flags()
	x.StringVar(&q.Run, "run", "", "training run, a name of lab cost models: parameters and tokens")
	x.StringVar(&q.TrainModel, "train-model", "", "model of lab cost models, for its parameters")
	x.Var(&trainParams, "train-params", "parameters, those multiplied for a token")
	x.Var(&trainTokens, "train-tokens", "tokens of training")
	x.StringVar(&q.ServeModel, "serve-model", "", "model that serves (default the trained one)")
	x.Var(&serveParams, "serve-params", "its parameters")
	x.Var(&perRequest, "tokens-per-request", "prompt and output together, or:")
	x.Var(&promptTokens, "prompt-tokens", "of a request")
	x.Var(&outputTokens, "output-tokens", "of a request")
	x.Var(&perDay, "requests-per-day", "on the first day")
	x.Var(&growth, "growth", "share by which demand grows in --growth-days; 0.04 is 4% more, negative is decline (default 0)")
	x.Float64Var(&q.GrowthDays, "growth-days", 30, "days of --growth")
	x.Float64Var(&q.Limit, "limit", 0, "requests a day that growth ends at (default none)")
	x.StringVar(&q.Hardware, "hardware", "", "that serves, a name of lab cost hardware")
	x.StringVar(&q.TrainHardware, "train-hardware", "", "that trained (default --hardware)")
	x.StringVar(&q.Dtype, "dtype", "bf16", "arithmetic type")
	x.Var(&trainMFU, "train-mfu", "share of the peak in training")
	x.Var(&serveMFU, "serve-mfu", "share of the peak in serving, of output where prompts are apart")
	x.Var(&prefillMFU, "prefill-mfu", "share of the peak on prompts (default --serve-mfu)")
	x.Var(&usd, "usd-per-hour", "of a chip in serving (default that of the record)")
	x.Var(&trainUSD, "train-usd-per-hour", "of a chip in training")
	x.StringVar(&q.Start, "start", "", `first day of serving, as "2026-01-31", for dates`)
	d.flags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		day, err := c.day()
		if err != nil {
			return err
		}
		t, err := c.load()
		if err != nil {
			return err
		}
		for _, o := range []struct {
			to   **cost.Uncertain
			from *uncertainFlag
		}{{&q.TrainParams, &trainParams}, {&q.TrainTokens, &trainTokens}, {&q.ServeParams, &serveParams}, {&q.TokensPerRequest, &perRequest}, {&q.PromptTokens, &promptTokens},
			{&q.OutputTokens, &outputTokens}, {&q.RequestsPerDay, &perDay}, {&q.Growth, &growth}, {&q.TrainMFU, &trainMFU}, {&q.ServeMFU, &serveMFU}, {&q.PrefillMFU, &prefillMFU},
			{&q.USDPerHour, &usd}, {&q.TrainUSDPerHour, &trainUSD}} {
			*o.to = o.from.value
		}
		q.Draws = d.of()
		b, warnings, err := q.Resolve(t, day)
		if err != nil {
			return err
		}
		a, err := b.Answer()
		if err != nil {
			return err
		}
		warn(cmd.ErrOrStderr(), warnings)
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), &costBreakevenReport{Schema: "lab/cost-breakeven/1", Sentence: b.Sentence(a), answerJSON: newAnswer(a, warnings)})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", plainLine(b.Sentence(a)))
		writeAnswer(cmd.OutOrStdout(), a)
		return nil
	}
	return cmd
}
