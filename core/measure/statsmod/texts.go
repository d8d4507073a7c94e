package statsmod

import (
	"lab/core/dist"
	"lab/core/measure"
	"lab/core/script"
	"lab/core/script/std"
)

// textMembers are the functions of texts that are not samples of a model, and of
// scores.
func textMembers() []script.Member {
	text := script.Param{Name: "text", Type: textType(), Meaning: textMeaning}
	texts := script.Param{Name: "texts", Type: script.List(textType()), Meaning: "each " + textMeaning}
	n := func(most float64) script.Param {
		return script.Param{Name: "n", Type: script.Int(), Range: script.Between(1, most), Unit: "tokens", Meaning: "length of the n-grams"}
	}
	ofText := func(name, doc string, f func([]any) (float64, error)) script.Member {
		return script.Member{Name: name, Returns: "float", Doc: doc, Params: []script.Param{text},
			Func: func(c *script.Call) (any, error) { return f(tokensOf(c.Any("text"))) }}
	}
	ofGrams := func(name, doc string, f func([]any, int) (float64, error)) script.Member {
		return script.Member{Name: name, Returns: "float", Doc: doc, Params: []script.Param{text, n(64)},
			Func: func(c *script.Call) (any, error) { return f(tokensOf(c.Any("text")), int(c.Int("n"))) }}
	}
	return []script.Member{
		ofText("type_token", "Returns distinct tokens over tokens; falls with length.", measure.TypeToken[any]),
		ofGrams("distinct", "Returns distinct n-grams over n-grams (Li et al. 2016).", measure.Distinct[any]),
		ofGrams("once", "Returns the share of n-grams that occur once (the scripts of Holtzman et al. 2020).", measure.Once[any]),
		ofGrams("seq_rep", "Returns the share of n-grams that repeat an earlier one (Welleck et al. 2020).", measure.SeqRep[any]),
		ofText("diversity", "Returns the product of 1 - seq_rep over n = 2, 3, 4 (Su et al. 2022).", measure.Diversity[any]),
		{Name: "rep", Returns: "float", Doc: "Returns the share of tokens that occur among the window tokens before them (Welleck et al. 2020).",
			Params: []script.Param{text, {Name: "window", Type: script.Int(), Range: script.Between(1, 1e9), Unit: "tokens", Meaning: "how far back to look"}},
			Func: func(c *script.Call) (any, error) {
				return measure.Rep(tokensOf(c.Any("text")), int(c.Int("window")))
			}},
		{Name: "loop", Returns: "record: period (0 without a loop), repeats, start", Doc: "Returns the loop that a text ends in: its smallest period, whole rounds, and the index where it begins.",
			Params:  []script.Param{text},
			Options: []script.Param{{Name: "repeats", Type: script.Int(), Default: int64(3), Range: script.Between(2, 1e9), Meaning: "how many rounds make a loop"}},
			Func: func(c *script.Call) (any, error) {
				l, err := measure.FindLoop(tokensOf(c.Any("text")), int(c.Int("repeats")))
				return script.Record{Name: "loop", Fields: map[string]any{"period": l.Period, "repeats": l.Repeats, "start": l.Start}}, err
			}},
		{Name: "zipf", Returns: "float", Doc: "Returns the Zipf exponent of all texts together.", Params: []script.Param{texts},
			Options: []script.Param{{Name: "method", Type: script.String(), Default: "regression", Choices: []string{"regression", "mle"},
				Meaning: "regression of log count on log rank over the top 5,000 (Holtzman et al. 2020), or maximum likelihood"}},
			Func: func(c *script.Call) (any, error) {
				counts := measure.Counts(tokenLists(c.List("texts")))
				if c.String("method") == "mle" {
					return measure.ZipfMLE(counts)
				}
				return measure.ZipfRegression(counts)
			}},
		{Name: "self_bleu", Returns: "list of float", Doc: "Returns BLEU-n of each text against the others (Zhu et al. 2018), smoothed by method 1 of Chen and Cherry 2014.",
			Params:  []script.Param{texts},
			Options: []script.Param{{Name: "n", Type: script.Int(), Default: int64(4), Range: script.Between(1, 64), Unit: "tokens", Meaning: "longest n-grams"}},
			Func: func(c *script.Call) (any, error) {
				lists, n := tokenLists(c.List("texts")), int(c.Int("n"))
				return settled(c, func() ([]float64, error) { return measure.SelfBLEU(lists, n) }, func(v []float64) any { return v })
			}},
		{Name: "unique", Returns: "int", Doc: "Returns how many distinct outputs there are.", Params: []script.Param{outputsParam()},
			Func: func(c *script.Call) (any, error) { return measure.Unique(outputsOf(c.List("outputs"))), nil }},
		unseen("coverage", "Returns the Good–Turing estimate of the chance that the next output was seen before.", measure.Coverage),
		unseen("chao1", "Returns a lower bound for how many distinct outputs there are, seen or not (Chao 1984).", measure.Chao1),
		scored("exact_match", "Returns the share of outputs that equal a text, white space at both ends aside.", "want", "the text",
			func(outputs []string, want string) ([]bool, error) { return measure.ExactMatch(outputs, want), nil }),
		scored("regex_score", "Returns the share of outputs in which a regular expression matches.", "expression", "RE2 syntax", measure.Matches),
		{Name: "pass_at_k", Returns: "float", Doc: "Returns the unbiased chance that one of k samples is right (Chen et al. 2021).",
			Params: []script.Param{
				{Name: "n", Type: script.Int(), Range: script.Between(1, 1e9), Meaning: "samples drawn"},
				{Name: "right", Type: script.Int(), Range: script.Between(0, 1e9), Meaning: "those that are right, at most n"},
				{Name: "k", Type: script.Int(), Range: script.Between(1, 1e9), Meaning: "at most n"}},
			Func: func(c *script.Call) (any, error) {
				return measure.PassAtK(int(c.Int("n")), int(c.Int("right")), int(c.Int("k")))
			}},
		{Name: "kl", Returns: "list of float", Doc: "Returns KL(q‖p) in bits of each distribution from the true one in the same place; infinite where q has a token that p rules out.",
			Params: []script.Param{
				{Name: "q", Type: script.List(script.Host[*std.Distribution]()), Meaning: "distributions"},
				{Name: "p", Type: script.List(script.Host[*std.Distribution]()), Meaning: "the true ones"}},
			Func: func(c *script.Call) (any, error) { return measure.KL(distributions(c, "q"), distributions(c, "p")) }},
	}
}

func unseen(name, doc string, f func([]int, float64) (measure.Estimate, error)) script.Member {
	return script.Member{Name: name, Returns: estimateKind, Doc: doc, Params: []script.Param{outputsParam()}, Options: []script.Param{levelOption},
		Func: func(c *script.Call) (any, error) {
			outputs := outputsOf(c.List("outputs"))
			e, err := f(measure.Counts([][]string{outputs}), c.Float("level"))
			return estimateOf(e), err
		}}
}

func scored(name, doc, param, meaning string, f func([]string, string) ([]bool, error)) script.Member {
	return script.Member{Name: name, Returns: estimateKind, Doc: doc,
		Params:  []script.Param{outputsParam(), {Name: param, Type: script.String(), Meaning: meaning}},
		Options: intervalOptions(shareMethods...),
		Func: func(c *script.Call) (any, error) {
			outputs, given, iv := outputsOf(c.List("outputs")), c.String(param), interval(c)
			return settled(c, func() (measure.Estimate, error) {
				hits, err := f(outputs, given)
				if err != nil {
					return measure.Estimate{}, err
				}
				return measure.Proportion(hits, iv)
			}, estimateOf)
		}}
}

func distributions(c *script.Call, name string) []dist.Distribution {
	list := c.List(name)
	out := make([]dist.Distribution, len(list))
	for i, v := range list {
		out[i] = v.(*std.Distribution).Distribution
	}
	return out
}
