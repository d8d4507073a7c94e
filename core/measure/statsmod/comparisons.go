package statsmod

import (
	"lab/core/measure"
	"lab/core/script"
)

var (
	pairedTests = []string{"t", "wilcoxon", "sign", "permutation"}
	groupTests  = []string{"welch", "mann_whitney", "permutation"}
)

// sides are the two settings of a comparison.
func sides(t script.Type, meaning string) []script.Param {
	return []script.Param{{Name: "a", Type: t, Meaning: meaning}, {Name: "b", Type: t, Meaning: "the same of the other setting"}}
}

// comparisonMembers are the functions that compare settings.
func comparisonMembers() []script.Member {
	test := func(choices []string) script.Param {
		return script.Param{Name: "test", Type: script.String(), Default: choices[0], Choices: choices, Meaning: "of no difference, in either direction"}
	}
	alpha := script.Param{Name: "alpha", Type: script.Float(), Default: 0.05, Range: script.Interval(0, 1, true, true), Meaning: "level of the two-sided t test"}
	plan := []script.Param{
		{Name: "paired", Type: script.Bool(), Default: false, Meaning: "whether pairs under the same random numbers are compared"},
		{Name: "correlation", Type: script.Float(), Default: 0.0, Range: script.Interval(-1, 1, false, true), Meaning: "of the values of a pair"},
		alpha,
	}
	difference := script.Param{Name: "difference", Type: script.Float(), Meaning: "of the means, the smallest that matters; not 0"}
	sd := script.Param{Name: "sd", Type: script.Float(), Range: script.MoreThan(0), Meaning: "standard deviation of single values"}
	adjusted := func(name, doc string, f func([]float64) ([]float64, error)) script.Member {
		return script.Member{Name: name, Returns: "list of float", Doc: doc, Params: []script.Param{numbers("p", "one p for each comparison made, also those not reported")},
			Func: func(c *script.Call) (any, error) { return f(floats(c, "p")) }}
	}
	return []script.Member{
		{Name: "paired", Returns: "record: difference, a, b, unpaired (estimates), var_a, var_b, var_difference, correlation, variance_reduction, factor, only_a, only_b, test",
			Doc: "Compares two settings pair by pair, as samples under the same random numbers are. unpaired is the difference as if they were drawn independently; " +
				"factor says how many times as many independent values would tell as much.",
			Params:  sides(script.Either(script.Numbers(), script.Map(script.Number())), "numbers in the order of the pairs, or by key; keys that one side lacks are left out and counted"),
			Options: append(intervalOptions(meanMethods...), test(pairedTests)),
			Func:    paired},
		{Name: "compare", Returns: "record: difference (an estimate, Welch's interval), test", Doc: "Compares the means of two independent groups.",
			Params:  sides(script.Numbers(), "numbers"),
			Options: []script.Param{levelOption, {Name: "resamples", Type: script.Int(), Default: int64(9999), Range: script.Between(99, 1e6), Meaning: "of the permutation test"}, seedOption, test(groupTests)},
			Func:    compare},
		{Name: "mcnemar", Returns: testKind, Doc: "Returns McNemar's exact test of pairs of right and wrong.", Params: sides(script.List(script.Bool()), "truth values in the order of the pairs"),
			Func: func(c *script.Call) (any, error) {
				t, err := measure.McNemar(bools(c, "a"), bools(c, "b"))
				return testOf(t), err
			}},
		adjusted("holm", "Returns p values adjusted so that any false rejection has at most the chance alpha (Holm 1979).", measure.Holm),
		adjusted("benjamini_hochberg", "Returns p values adjusted so that the expected share of false rejections is at most q (Benjamini and Hochberg 1995).", measure.BenjaminiHochberg),
		{Name: "best", Returns: "record: cell, naive, corrected (estimates), split_cell, by_chance, cells, note",
			Doc:    "Returns the cell with the best mean and what remains of its mean when the luck of being chosen is taken out. by_chance is what the best of as many equal settings gains by luck.",
			Params: []script.Param{{Name: "cells", Type: script.List(script.Numbers()), Meaning: "the values of each setting, at least four of each"}},
			Options: []script.Param{
				{Name: "smaller", Type: script.Bool(), Default: false, Meaning: "whether small is good"},
				{Name: "correction", Type: script.String(), Default: measure.CorrectSplit, Choices: []string{measure.CorrectSplit, measure.CorrectBootstrap, measure.CorrectShrink},
					Meaning: "choose on one half and measure on the other; subtract the bootstrap's bias; or shrink to the mean of all (at least four cells)"},
				levelOption, resamplesOption, seedOption},
			Func: best},
		{Name: "needed_n", Returns: "int", Doc: "Returns the smallest number of pairs, or of values in each group, with which a difference is found with the chance power.",
			Params:  []script.Param{difference, sd},
			Options: append(plan, script.Param{Name: "power", Type: script.Float(), Default: 0.8, Range: script.Interval(0, 1, true, true), Meaning: "chance to find the difference"}),
			Func: func(c *script.Call) (any, error) {
				p := planOf(c)
				p.Power = c.Float("power")
				return settled(c, func() (int, error) { return measure.NeededN(p) }, func(n int) any { return n })
			}},
		{Name: "power", Returns: "float", Doc: "Returns the chance that n pairs, or n values in each group, find a difference.",
			Params:  []script.Param{difference, sd, {Name: "n", Type: script.Int(), Range: script.Between(2, 1e9), Meaning: "pairs, or values in each group"}},
			Options: plan,
			Func:    func(c *script.Call) (any, error) { return measure.PowerOf(planOf(c), int(c.Int("n"))) }},
		{Name: "until_significant", Returns: "record: n, p (lists, one entry for each look), alpha, threshold, naive, corrected (0: never), note",
			Doc:    "Looks at the first values again and again, each time at twice as many, and says when a difference was first significant: naive at alpha, which peeking makes too easy, and corrected at alpha over the number of looks.",
			Params: sides(script.Numbers(), "numbers in the order they were drawn"),
			Options: []script.Param{{Name: "paired", Type: script.Bool(), Default: true, Meaning: "paired t, or Welch's t"},
				{Name: "first", Type: script.Int(), Default: int64(8), Range: script.Between(2, 1e9), Meaning: "values at the first look"}, alpha},
			Func: func(c *script.Call) (any, error) {
				l, err := measure.UntilSignificant(measure.Pairs{A: floats(c, "a"), B: floats(c, "b")}, c.Bool("paired"), int(c.Int("first")), c.Float("alpha"))
				return script.Record{Name: "looks", Fields: map[string]any{"n": l.N, "p": l.P, "alpha": l.Alpha, "threshold": l.Threshold,
					"naive": l.Naive, "corrected": l.Corrected, "note": l.Note}}, err
			}},
	}
}

func planOf(c *script.Call) measure.Plan {
	return measure.Plan{Difference: c.Float("difference"), SD: c.Float("sd"), Paired: c.Bool("paired"), Correlation: c.Float("correlation"), Alpha: c.Float("alpha")}
}

// pairsOf returns the two sides matched by key, or by place.
func pairsOf(c *script.Call) (measure.Pairs, error) {
	switch a := c.Any("a").(type) {
	case []float64:
		if b, ok := c.Any("b").([]float64); ok {
			return measure.Pairs{A: a, B: b}, nil
		}
	case map[string]any:
		if b, ok := c.Any("b").(map[string]any); ok {
			return measure.MatchKeys(keyed(a), keyed(b))
		}
	}
	return measure.Pairs{}, wrong(c, "one side is a list and the other a map").Fix("give two lists in the same order, or two maps with the same keys")
}

func keyed(m map[string]any) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		out[k] = v.(float64)
	}
	return out
}

func paired(c *script.Call) (any, error) {
	p, err := pairsOf(c)
	if err != nil {
		return nil, err
	}
	iv, name := interval(c), c.String("test")
	type outcome struct {
		measure.Comparison
		test measure.Test
	}
	return settled(c, func() (o outcome, err error) {
		if o.Comparison, err = measure.ComparePairs(p, iv); err != nil {
			return o, err
		}
		o.test, err = measure.TestPairs(name, p, iv.Resamples, iv.Seed)
		return o, err
	}, func(o outcome) any {
		return script.Record{Name: "comparison", Fields: map[string]any{
			"difference": estimateOf(o.Difference), "a": estimateOf(o.A), "b": estimateOf(o.B), "unpaired": estimateOf(o.Unpaired),
			"var_a": o.VarA, "var_b": o.VarB, "var_difference": o.VarDifference, "correlation": o.Correlation,
			"variance_reduction": o.VarianceReduction, "factor": o.Factor, "only_a": p.OnlyA, "only_b": p.OnlyB, "test": testOf(o.test)}}
	})
}

func compare(c *script.Call) (any, error) {
	a, b, level, name := floats(c, "a"), floats(c, "b"), c.Float("level"), c.String("test")
	resamples, seed := int(c.Int("resamples")), uint64(c.Int("seed"))
	type outcome struct {
		difference measure.Estimate
		test       measure.Test
	}
	return settled(c, func() (o outcome, err error) {
		if o.difference, err = measure.WelchInterval(a, b, level); err != nil {
			return o, err
		}
		o.test, err = measure.TestGroups(name, a, b, resamples, seed)
		return o, err
	}, func(o outcome) any {
		return script.Record{Name: "comparison", Fields: map[string]any{"difference": estimateOf(o.difference), "test": testOf(o.test)}}
	})
}

func best(c *script.Call) (any, error) {
	list := c.List("cells")
	cells := make([][]float64, len(list))
	for j, v := range list {
		cells[j] = v.([]float64)
	}
	smaller, correction := c.Bool("smaller"), c.String("correction")
	iv := measure.Interval{Level: c.Float("level"), Resamples: int(c.Int("resamples")), Seed: uint64(c.Int("seed"))}
	return settled(c, func() (measure.Best, error) { return measure.BestOf(cells, smaller, correction, iv) }, func(b measure.Best) any {
		return script.Record{Name: "best", Fields: map[string]any{"cell": b.Cell, "naive": estimateOf(b.Naive), "corrected": estimateOf(b.Corrected),
			"split_cell": b.SplitCell, "by_chance": b.ByChance, "cells": b.Cells, "note": b.Note}}
	})
}
