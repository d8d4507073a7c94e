package statsmod

import (
	"lab/core/measure"
	"lab/core/script"
)

// estimateMembers are the functions that make an estimate of numbers.
func estimateMembers() []script.Member {
	values := numbers("values", "finite numbers")
	ofValues := func(name, doc string, methods []string, f func([]float64, measure.Interval) (measure.Estimate, error)) script.Member {
		return script.Member{Name: name, Returns: estimateKind, Doc: doc, Params: []script.Param{values}, Options: intervalOptions(methods...),
			Func: func(c *script.Call) (any, error) {
				x, iv := floats(c, "values"), interval(c)
				return settled(c, func() (measure.Estimate, error) { return f(x, iv) }, estimateOf)
			}}
	}
	ofSums := func(name, doc, num, numMeaning, den, denMeaning string, f func(a, b []float64, iv measure.Interval) (measure.Estimate, error)) script.Member {
		return script.Member{Name: name, Returns: estimateKind, Doc: doc, Params: []script.Param{numbers(num, numMeaning), numbers(den, denMeaning)},
			Options: intervalOptions(meanMethods...),
			Func: func(c *script.Call) (any, error) {
				a, b, iv := floats(c, num), floats(c, den), interval(c)
				return settled(c, func() (measure.Estimate, error) { return f(a, b, iv) }, estimateOf)
			}}
	}
	order := []string{measure.MethodExact, measure.MethodBootstrap, measure.MethodClusterBootstrap}
	return []script.Member{
		ofValues("mean", "Returns the mean.", append(append([]string(nil), meanMethods...), measure.MethodWilson, measure.MethodExact), measure.Mean),
		ofValues("median", "Returns the median.", order, measure.Median),
		{Name: "quantile", Returns: estimateKind, Doc: "Returns a quantile, linear between values.",
			Params:  []script.Param{values, {Name: "q", Type: script.Float(), Range: script.Interval(0, 1, true, true), Meaning: "0.5 is the median"}},
			Options: intervalOptions(order...),
			Func: func(c *script.Call) (any, error) {
				x, q, iv := floats(c, "values"), c.Float("q"), interval(c)
				return settled(c, func() (measure.Estimate, error) { return measure.Quantile(x, q, iv) }, estimateOf)
			}},
		{Name: "proportion", Returns: estimateKind, Doc: "Returns the share of true among truth values.",
			Params:  []script.Param{{Name: "hits", Type: script.List(script.Bool()), Meaning: "such as whether each text is valid"}},
			Options: intervalOptions(shareMethods...),
			Func: func(c *script.Call) (any, error) {
				hits, iv := bools(c, "hits"), interval(c)
				return settled(c, func() (measure.Estimate, error) { return measure.Proportion(hits, iv) }, estimateOf)
			}},
		ofSums("ratio", "Returns the ratio of sums, sum num / sum den, in which long texts weigh more.", "num", "finite numbers", "den", "positive numbers", measure.Ratio),
		ofSums("perplexity", "Returns 2^(sum of bits / sum of tokens), the perplexity of all texts together.", "bits", "surprisal of each text", "tokens", "tokens of each text", measure.Perplexity),
		{Name: "clustering", Returns: "record: clusters, icc, design_effect, effective_n", Doc: "Returns how values of one cluster resemble each other: the intraclass correlation and the design effect of Kish.",
			Params: []script.Param{values, {Name: "by", Type: script.List(script.String()), Meaning: "the cluster of each value"}},
			Func: func(c *script.Call) (any, error) {
				d, err := measure.Clustering(floats(c, "values"), c.Strings("by"))
				return script.Record{Name: "clustering", Fields: map[string]any{"clusters": d.Clusters, "icc": d.ICC, "design_effect": d.Effect, "effective_n": d.EffectiveN}}, err
			}},
	}
}
