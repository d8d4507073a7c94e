package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"lab/core/measure"
	"lab/core/results"
	"lab/core/trace"
)

// compareReport is the answer of lab runs compare.
type compareReport struct {
	Schema   string          `json:"schema"`
	A        string          `json:"a"`
	B        string          `json:"b"`
	Measures []measuredPairs `json:"measures"`
}

type measuredPairs struct {
	Measure   string      `json:"measure"`
	SameSeeds bool        `json:"same_seeds"`
	Overall   pairsJSON   `json:"overall"`
	Cells     []pairsJSON `json:"cells"`
}

// pairsJSON is a comparison of pairs; cell is -1 for all cells together.
type pairsJSON struct {
	Cell              int              `json:"cell"`
	Pairs             int              `json:"pairs"`
	OnlyA             int              `json:"only_a"`
	OnlyB             int              `json:"only_b"`
	MeanA             measure.Estimate `json:"mean_a"`
	MeanB             measure.Estimate `json:"mean_b"`
	Difference        measure.Estimate `json:"difference"`
	Unpaired          measure.Estimate `json:"unpaired"`
	P                 trace.Real       `json:"p"`
	Correlation       trace.Real       `json:"correlation"`
	VarianceReduction trace.Real       `json:"variance_reduction"`
	Factor            trace.Real       `json:"factor"`
}

func newPairs(c results.CellPairing) pairsJSON {
	return pairsJSON{Cell: c.Cell, Pairs: c.Pairs, OnlyA: c.OnlyA, OnlyB: c.OnlyB, MeanA: c.A, MeanB: c.B, Difference: c.Difference, Unpaired: c.Unpaired,
		P: trace.Real(c.Test.P), Correlation: trace.Real(c.Correlation), VarianceReduction: trace.Real(c.VarianceReduction), Factor: trace.Real(c.Factor)}
}

func runsCompareCommand() *cobra.Command {
	var names []string
	var level float64
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two runs by measures of their samples, pair by pair",
		Long: `Compares two runs of the same grid of which something differs, such as the model or
a stage that all cells share. Samples of the same cell and index are pairs: they have
the same prompt and, with equal seeds, the same random numbers, which usually makes the difference far
more certain than independent samples would; the report says by how much. With several
prompts the interval over all cells treats each prompt as a cluster. p is of Student's t
test of the paired differences, two-sided, and not corrected for looking at many cells
or measures.`,
		Example: `  lab runs compare before after --measure distinct_2,model_surprisal_bits`,
		Args:    twoRuns("lab runs compare before after"),
	}
	cmd.Flags().StringSliceVarP(&names, "measure", "m", []string{"length_tokens", "distinct_2"}, "measures to compare; names as in stats.measures, lab help scripting")
	cmd.Flags().Float64Var(&level, "level", 0.95, "confidence of the intervals, in (0, 1)")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := openRun(args[0])
		if err != nil {
			return err
		}
		b, err := openRun(args[1])
		if err != nil {
			return err
		}
		r := &compareReport{Schema: "lab/run-compare/1", A: a.Dir, B: b.Dir}
		for _, name := range names {
			p, err := results.Compare(a, b, name, measure.Interval{Level: level})
			if err != nil {
				return err
			}
			m := measuredPairs{Measure: p.Measure, SameSeeds: p.SameSeeds, Overall: newPairs(p.Overall), Cells: []pairsJSON{}}
			for _, c := range p.Cells {
				m.Cells = append(m.Cells, newPairs(c))
			}
			r.Measures = append(r.Measures, m)
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		r.write(cmd.OutOrStdout(), level)
		return nil
	}
	return cmd
}

func (r *compareReport) write(w io.Writer, level float64) {
	fmt.Fprintf(w, "a = %s, b = %s; difference a - b with its %g %% interval\n", r.A, r.B, 100*level)
	for _, m := range r.Measures {
		fmt.Fprintf(w, "\n%s\n", m.Measure)
		if !m.SameSeeds {
			fmt.Fprintln(w, "the seeds differ: the pairs share their prompts, not their random numbers")
		}
		table(w, "cell | pairs | a | b | difference | interval | p | pairing is worth", func(line func(...any)) {
			for _, c := range append(append([]pairsJSON{}, m.Cells...), m.Overall) {
				cell := "all"
				if c.Cell >= 0 {
					cell = fmt.Sprint(c.Cell)
				}
				worth := "nothing varies"
				if f := float64(c.Factor); math.IsInf(f, 1) {
					worth = "all differences are equal"
				} else if !math.IsNaN(f) {
					worth = fmt.Sprintf("%.2f times as many samples", f)
				}
				p := "-"
				if v := float64(c.P); !math.IsNaN(v) {
					p = fmt.Sprintf("%.3g", v)
				}
				line(cell, c.Pairs, fmt.Sprintf("%.4g", c.MeanA.Value), fmt.Sprintf("%.4g", c.MeanB.Value), fmt.Sprintf("%+.4g", c.Difference.Value),
					fmt.Sprintf("[%.4g, %.4g]", c.Difference.Lo, c.Difference.Hi), p, worth)
			}
		})
		if n := m.Overall.OnlyA + m.Overall.OnlyB; n > 0 {
			fmt.Fprintf(w, "%d samples have no counterpart and are left out\n", n)
		}
	}
}
