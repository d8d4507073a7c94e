package compat

import (
	"math"
	"slices"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// koboldCpp returns koboldcpp's rules (October 2024, gpttype_adapter.cpp). Its
// steps were llama.cpp's of that time. Before the chain koboldcpp trims the
// array to its likeliest entries, which a chain here says as a top_k of its own.
func koboldCpp() []Rule {
	return slices.Concat(koboldRescale(), koboldTruncate(), koboldHistory(), koboldSelect())
}

// onKobold is onField with koboldcpp's full sort.
func onKobold(op string, apply func(c *candidates, set param.Values) bool) func(*sampler.Row, param.Values) error {
	return onField(op, func(c *candidates, set param.Values) bool {
		c.intro = true
		return apply(c, set)
	})
}

func koboldRescale() []Rule {
	return []Rule{
		{
			Sampler: "temperature", Term: "temperature",
			Differs: "a temperature of 0 or below divides by 1/256 and keeps the likeliest token, so a large score can overflow, which is refused here",
			Params:  param.Specs{anyFloat("temperature", 0.7, "what the scores are divided by; 0 and negative numbers keep the likeliest token only", "t", "temp")},
			Apply: onKobold("temperature", func(c *candidates, set param.Values) bool {
				c.koboldDivide(float(set, "temperature"))
				return true
			}),
		},
		{
			Sampler: "dynatemp", Term: "dynatemp_range, dynatemp_exponent",
			Differs: "the entropy is measured against the whole vocabulary, masked and truncated tokens included, as when its step is run on its own (count = array: against the tokens left, as inside its chain); a range of 0 or below is plain temperature; a temperature that comes out as 0 is refused here, where koboldcpp divides by it",
			Params:  append(append(dynatempParams(0.7), centred()...), countSpec()),
			Apply:   koboldDynatemp,
		},
		{
			Sampler: "quadratic", Term: "smoothing_factor",
			Differs: "no curve in the releases of October 2024, and there it is a part of the temperature step, after the division",
			Params: param.Specs{
				anyFloat("factor", 0, "how strongly scores below the largest are pulled down; 0 and below is off", "smoothing_factor"),
				curveSpec("koboldcpp of October 2024 has none"),
			},
			Apply: onKobold("quadratic", func(c *candidates, set param.Values) bool {
				factor := float(set, "factor")
				if factor <= 0 || len(c.list) < 2 {
					return false
				}
				c.sort()
				top := c.list[0].logit
				for i, x := range c.list {
					d := x.logit - top
					c.list[i].logit = float32(float32(-factor*d)*d) + top
				}
				return true
			}),
		},
	}
}

// The choices of the setting "count".
const (
	countVocabulary = "vocabulary"
	countArray      = "array"
)

func countSpec() param.Spec {
	return param.Spec{
		Name: "count", Type: param.Text, Default: countVocabulary, Choices: []string{countVocabulary, countArray},
		Meaning: "what the largest possible entropy is that of: vocabulary counts every token, truncated ones too; array counts the tokens that earlier steps left, masked ones included",
	}
}

func koboldDynatemp(row *sampler.Row, set param.Values) error {
	n := row.Scores.Vocab
	if set.Text("count") == countArray {
		n = row.Scores.Len()
	}
	return onKobold("dynatemp", func(c *candidates, set param.Values) bool {
		t, r := float(set, "temperature"), float(set, "range")
		if r <= 0 {
			c.koboldDivide(t)
			return true
		}
		return c.dynatemp(max(0, t-r), max(0, t+r), max(0, float(set, "exponent")), n, (*candidates).over)
	})(row, set)
}

// over divides every score, by 0 as well.
func (c *candidates) over(t float32) {
	for i := range c.list {
		c.list[i].logit /= t
	}
}

func (c *candidates) koboldDivide(t float32) {
	if t > 0 {
		c.over(t)
		return
	}
	c.over(1.0 / 256)
	c.first(1)
}

func koboldTruncate() []Rule {
	return []Rule{
		{
			Sampler: "top_k", Term: "top_k",
			Differs: "which of the tokens tied at the cut survive is an accident of the partial sort",
			Params:  param.Specs{topKSpec(100), exactly(), oneKept()},
			Apply: onKobold("top_k", func(c *candidates, set param.Values) bool {
				k := set.Int("top_k")
				if k <= 0 {
					return false
				}
				c.first(int(min(k, int64(len(c.list)))))
				return true
			}),
		},
		{
			Sampler: "top_p", Term: "top_p",
			Differs: "probabilities and their running sum are float32 in sorted order, so the nucleus of a large vocabulary is too small; p of 1 and above is off, and below 0 keeps one",
			Params:  param.Specs{anyFloat("top_p", 0.92, "mass of the nucleus; 1 and above keeps all, 0 and below keeps the likeliest", "p"), minKeep(1)},
			Apply: onKobold("top_p", func(c *candidates, set param.Values) bool {
				c.sort()
				return c.topP(float(set, "top_p"), whole(set, "min_keep"))
			}),
		},
		{
			Sampler: "min_p", Term: "min_p",
			Differs: "a above 1 keeps one token, and which of several maxima is an accident of the sort; below 0 is off",
			Params:  param.Specs{anyFloat("min_p", 0, "least share of the largest probability; 0 and below is off", "p"), minKeep(1)},
			Apply: onKobold("min_p", func(c *candidates, set param.Values) bool {
				return c.minP(float(set, "min_p"), whole(set, "min_keep"), 0)
			}),
		},
		{
			Sampler: "typical", Term: "typical",
			Differs: "the mass must exceed p instead of reaching it, in float32, and a min_keep of 0 keeps everything",
			Params:  param.Specs{anyFloat("typical", 1, "mass to keep; 1 and above keeps all", "p", "typical_p", "typ_p", "mass"), minKeep(1)},
			Apply: onKobold("typical", func(c *candidates, set param.Values) bool {
				least := whole(set, "min_keep")
				if least == 0 { // one less wraps around there
					least = math.MaxInt32
				}
				return c.typical(float(set, "typical"), least, true)
			}),
		},
		{
			Sampler: "top_a", Term: "top_a",
			Differs: "probabilities are float32; 0 and below is off",
			Params:  param.Specs{anyFloat("top_a", 0, "least probability, as a multiple of the square of the largest; 0 and below is off", "a"), minKeep(1)},
			Apply: onKobold("top_a", func(c *candidates, set param.Values) bool {
				return c.topA(float(set, "top_a"), whole(set, "min_keep"))
			}),
		},
		{
			Sampler: "tfs", Term: "tfs",
			Differs: "keeps one token less than the centred rule, in float32, and spreads the weight evenly when there is no curvature",
			Params:  param.Specs{anyFloat("tfs", 1, "share of the curvature to keep; 1 and above is off", "z", "tfs_z"), minKeep(1)},
			Apply: onKobold("tfs", func(c *candidates, set param.Values) bool {
				return c.tailFree(float(set, "tfs"), whole(set, "min_keep"))
			}),
		},
		{
			Sampler: "xtc", Term: "xtc_probability, xtc_threshold",
			Differs: "subtracts 999 from the excluded scores instead of removing them, and skips when the coin reaches the probability; its coin is the mt19937 that it draws tokens from, here the run's random number",
			Params:  append(xtcParams(0.2), oneKept()),
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   koboldXTC,
		},
	}
}

func (c *candidates) topA(a float32, least int) bool {
	if a <= 0 || len(c.list) < 2 {
		return false
	}
	c.sort()
	c.softmax()
	top := c.list[0].p
	floor := float32(float32(a*top) * top)
	n := 0
	for n < len(c.list) && (c.list[n].p >= floor || n < least) {
		n++
	}
	c.list = c.list[:n]
	return true
}

// tailFree cuts where the running sum of the normalised absolute second
// differences exceeds z.
func (c *candidates) tailFree(z float32, least int) bool {
	if z >= 1 || len(c.list) < 3 {
		return false
	}
	c.sort()
	c.softmax()
	second := make([]float32, len(c.list)-2)
	total := float32(0)
	for i := range second {
		a, b := c.list[i].p-c.list[i+1].p, c.list[i+1].p-c.list[i+2].p
		second[i] = float32(math.Abs(float64(a - b)))
		total += second[i]
	}
	sum := float32(0)
	for i, d := range second {
		if total > 1e-6 {
			sum += d / total
		} else {
			sum += 1 / float32(len(second))
		}
		if sum > z && i >= least {
			c.list = c.list[:i]
			break
		}
	}
	return true
}

func koboldXTC(row *sampler.Row, set param.Values) error {
	c, err := loadXTC(row, set)
	if err != nil {
		return err
	}
	probability, threshold := float(set, "probability"), float(set, "threshold")
	if threshold > 0.5 || probability <= 0 || len(c.list) < 2 || float32(row.Uniforms[0]) >= probability {
		return nil
	}
	c.intro = true
	c.sort()
	c.softmax()
	n := 0
	for n < len(c.list) && c.list[n].p >= threshold {
		n++
	}
	if n < 2 {
		return nil
	}
	for i := range c.list[:n-1] {
		c.list[i].logit -= 999
	}
	return c.store(row, "xtc")
}
