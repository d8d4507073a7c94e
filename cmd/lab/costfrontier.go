package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/fault"
)

// costFrontierReport is the answer of lab cost frontier; docs/json.md describes its
// JSON form.
type costFrontierReport struct {
	Schema   string              `json:"schema"`
	Model    string              `json:"model"`
	Hardware string              `json:"hardware"`
	Context  int64               `json:"context"`
	MaxBatch int64               `json:"max_batch"`
	Points   []frontierPointJSON `json:"points"`
	Assumed  []string            `json:"assumed"`
	Warnings []string            `json:"warnings"`
}

type frontierPointJSON struct {
	Batch      int64          `json:"batch"`
	Fits       bool           `json:"fits"`
	Dominated  bool           `json:"dominated"`
	Quantities []quantityJSON `json:"quantities"`
}

func costFrontierCommand(c *costFlags) *cobra.Command {
	f := &servingFlags{}
	var context int64
	var batches []int64
	cmd := &cobra.Command{
		Use:   "frontier [MODEL]",
		Short: "Compute throughput against latency over the batch",
		Long: `Computes for each batch what one user and one chip get while decoding, in tokens/s,
and what a million output tokens cost where a chip-hour has a price. A batch that
does not fit into the memory is marked, and so is one that another batch beats for
both the user and the chip.` + uncertainHelp,
		Example: `  lab cost frontier llama-3-8b --context 4096 --hardware h100 --usd-per-hour 2
  lab cost frontier llama-3-70b --context 8192 --batches 1,4,16,64 --hardware h100 --chips 8 --cache 0.3..0.5`,
		Args: oneModel("lab cost frontier llama-3-8b --context 4096 --hardware h100"),
	}
	cmd.Flags().Int64Var(&context, "context", 0, "tokens of each sequence (required)")
	cmd.Flags().Int64SliceVar(&batches, "batches", []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, "sequences that decode together")
	f.flags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("context") {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "--context is missing").Fix("give the tokens of each sequence: --context 4096")
		}
		r, _, _, err := f.resolve(cmd, args, c)
		if err != nil {
			return err
		}
		curve, err := scenario.Frontier(r, context, batches, f.of())
		if err != nil {
			return err
		}
		warn(cmd.ErrOrStderr(), r.Warnings)
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), newFrontierReport(r, curve, context))
		}
		writeFrontier(cmd, r, curve, context)
		return nil
	}
	return cmd
}

func newFrontierReport(r *scenario.Resolved, curve *scenario.Curve, context int64) *costFrontierReport {
	out := &costFrontierReport{Schema: "lab/cost-frontier/1", Model: r.Name, Hardware: r.Hardware, Context: context, MaxBatch: curve.MaxBatch,
		Points: []frontierPointJSON{}, Assumed: append([]string{}, curve.Assumed...), Warnings: append([]string{}, r.Warnings...)}
	for _, p := range curve.Points {
		one := frontierPointJSON{Batch: p.Batch, Fits: p.Fits, Dominated: p.Dominated,
			Quantities: []quantityJSON{newQuantity("step_seconds", p.Step), newQuantity("per_user", p.PerUser), newQuantity("per_chip", p.PerChip)}}
		if p.Million != nil {
			one.Quantities = append(one.Quantities, newQuantity("usd_per_million", *p.Million))
		}
		out.Points = append(out.Points, one)
	}
	return out
}

func writeFrontier(cmd *cobra.Command, r *scenario.Resolved, curve *scenario.Curve, context int64) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s decoding on %s × %s, sequences of %d tokens\n\n", plainLine(r.Name), amount(r.Serving.Device.Chips), plainLine(r.Hardware), context)
	cell := func(q cost.Quantity, scale float64) string {
		s := digits(q.Value * scale)
		if q.HasBand() {
			s += fmt.Sprintf(" [%s, %s]", digits(q.Lo*scale), digits(q.Hi*scale))
		}
		return s
	}
	table(w, "batch | step, ms | tokens/s a user | tokens/s a chip | USD per million | ", func(line func(...any)) {
		for _, p := range curve.Points {
			usd, note := "-", ""
			if p.Million != nil {
				usd = cell(*p.Million, 1)
			}
			switch {
			case !p.Fits:
				note = "does not fit"
			case p.Dominated:
				note = "dominated"
			}
			line(p.Batch, cell(p.Step, 1e3), cell(p.PerUser, 1), cell(p.PerChip, 1), usd, note)
		}
	})
	fmt.Fprintln(w)
	if curve.MaxBatch == 0 {
		fmt.Fprintf(w, "not even one sequence fits: %s GB are missing\n", digits(curve.Fit.Missing/1e9))
	} else {
		fmt.Fprintf(w, "%d sequences fit: %s GB usable, %s GB of weights, %s GB of cache each\n", curve.MaxBatch, digits(curve.Fit.Usable/1e9), digits(curve.Fit.Weights/1e9), digits(curve.Fit.PerSeq/1e9))
	}
	if curve.Points[0].Step.Kind == cost.Bound {
		fmt.Fprintln(w, "times are floors: every efficiency is 1")
	}
	for _, text := range curve.Assumed {
		fmt.Fprintf(w, "assumed: %s\n", plainLine(text))
	}
}
