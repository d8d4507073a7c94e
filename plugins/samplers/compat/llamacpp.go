package compat

import (
	"math"
	"slices"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// llamaCpp returns llama.cpp's rules (v0.5.0, src/llama-sampler.cpp).
func llamaCpp() []Rule {
	return slices.Concat(llamaRescale(), llamaTruncate(), llamaHistory(), llamaSelect())
}

// onField is a rule over the array of candidates: apply reports whether it
// changed something, so that a step that is off leaves the row to the bit.
func onField(op string, apply func(c *candidates, set param.Values) bool) func(*sampler.Row, param.Values) error {
	return func(row *sampler.Row, set param.Values) error {
		c, err := load(row, op)
		if err != nil {
			return err
		}
		if !apply(c, set) {
			return nil
		}
		return c.store(row, op)
	}
}

func llamaRescale() []Rule {
	return []Rule{
		{
			Sampler: "temperature", Term: "temp (--temp)",
			Differs: "a temperature of 0 or below keeps the first of the maxima; scores are divided in float32, and a score that overflows is refused here where llama.cpp goes on with infinities",
			Params:  param.Specs{anyFloat("temperature", 0.8, "what the scores are divided by; 0 and negative numbers keep the likeliest token only", "t", "temp")},
			Apply: onField("temperature", func(c *candidates, set param.Values) bool {
				c.divide(float(set, "temperature"))
				return true
			}),
		},
		{
			Sampler: "dynatemp", Term: "temp-ext (--dynatemp-range, --dynatemp-exp)",
			Differs: "the entropy is measured against all candidates in the array, masked ones included; a range of 0 or below is plain temperature",
			Params:  append(dynatempParams(0.8), centred()...),
			Apply: onField("dynatemp", func(c *candidates, set param.Values) bool {
				t, r := float(set, "temperature"), float(set, "range")
				if r <= 0 {
					c.divide(t)
					return true
				}
				return c.dynatemp(max(0, t-r), t+r, float(set, "exponent"), len(c.list), (*candidates).divide)
			}),
		},
	}
}

// divide is llama.cpp's temperature: at 0 and below the first maximum stays and
// the others are masked, not removed.
func (c *candidates) divide(t float32) {
	if t > 0 {
		for i := range c.list {
			c.list[i].logit /= t
		}
		return
	}
	best := 0
	for i, x := range c.list {
		if x.logit > c.list[best].logit {
			best = i
		}
	}
	for i := range c.list {
		if i != best {
			c.list[i].logit = negInf
		}
	}
}

// dynatemp divides by a temperature between lo and hi that the entropy chooses,
// by its share of what n equal tokens have.
func (c *candidates) dynatemp(lo, hi, exponent float32, n int, divide func(*candidates, float32)) bool {
	if n < 2 {
		return false
	}
	most := -logf(1 / float32(n))
	c.sort()
	c.softmax()
	share := powf(c.entropy(true)/most, exponent)
	divide(c, lo+float32((hi-lo)*share))
	return true
}

// llamaTruncate holds the steps that shorten the array.
func llamaTruncate() []Rule {
	return []Rule{
		{
			Sampler: "top_k", Term: "top-k (--top-k)",
			Differs: "which of the tokens tied at the cut survive is an accident of the partial sort",
			Params:  param.Specs{topKSpec(40), exactly(), oneKept()},
			Apply: onField("top_k", func(c *candidates, set param.Values) bool {
				k := set.Int("top_k")
				if k <= 0 {
					return false
				}
				c.first(int(min(k, int64(len(c.list)))))
				return true
			}),
		},
		{
			Sampler: "top_p", Term: "top-p (--top-p)",
			Differs: "the mass is a running float32 sum, so the nucleus is too small by up to 7 percent in large vocabularies; which of tied tokens survive is an accident of the sort; p of 1 and above is off, and below 0 keeps one",
			Params:  param.Specs{anyFloat("top_p", 0.95, "mass of the nucleus; 1 and above keeps all, 0 and below keeps the likeliest", "p"), minKeep(0)},
			Apply: onField("top_p", func(c *candidates, set param.Values) bool {
				return c.topP(float(set, "top_p"), whole(set, "min_keep"))
			}),
		},
		{
			Sampler: "min_p", Term: "min-p (--min-p)",
			Differs: "a above 1 keeps one token, and which of several maxima is an accident of the sort; below 0 is off",
			Params:  param.Specs{anyFloat("min_p", 0.05, "least share of the largest probability; 0 and below is off", "p"), minKeep(0)},
			Apply: onField("min_p", func(c *candidates, set param.Values) bool {
				return c.minP(float(set, "min_p"), whole(set, "min_keep"), 1)
			}),
		},
		{
			Sampler: "typical", Term: "typical (--typical)",
			Differs: "the mass must exceed p instead of reaching it, in float32; one masked token makes the entropy NaN, and the tokens are then taken in order of probability",
			Params:  param.Specs{anyFloat("typical", 1, "mass to keep; 1 and above keeps all", "p", "typical_p", "typ_p", "mass"), minKeep(0)},
			Apply: onField("typical", func(c *candidates, set param.Values) bool {
				least := whole(set, "min_keep")
				return c.typical(float(set, "typical"), max(least, 1), false)
			}),
		},
		{
			Sampler: "top_n_sigma", Term: "top-nsigma (--top-nsigma)",
			Differs: "mean and deviation are running float32 sums in the array's order, and the tokens below the cut are masked, not removed",
			Params:  param.Specs{anyFloat("top_n_sigma", -1, "how many deviations below the largest score a token may be; 0 and below is off", "n", "nsigma"), oneKept()},
			Apply:   onField("top_n_sigma", func(c *candidates, set param.Values) bool { return c.nSigma(float(set, "top_n_sigma")) }),
		},
		{
			Sampler: "xtc", Term: "xtc (--xtc-probability, --xtc-threshold)",
			Differs: "the coin is a float32 from the stage's own mt19937 and the step is skipped when it exceeds the probability; min_keep cancels the step if too few tokens would stay; no protected tokens",
			Params:  append(xtcParams(0.1), minKeep(0), seedSpec()),
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   llamaXTC,
		},
	}
}

// topP keeps the shortest sorted prefix whose running float32 sum reaches p.
// The probabilities are those of the array before it was sorted.
func (c *candidates) topP(p float32, least int) bool {
	if p >= 1 {
		return false
	}
	c.softmax()
	switch {
	case c.sorted:
	case len(c.list) > 1024:
		c.widen(p, least)
	default:
		c.sort()
	}
	sum := float32(0)
	for i, x := range c.list {
		if sum += x.p; sum >= p && i+1 >= least {
			c.list = c.list[:i+1]
			break
		}
	}
	return true
}

// widen sorts a long array only as far as the sum needs: the 256 likeliest by
// buckets, then all of it.
func (c *candidates) widen(p float32, least int) {
	const few = 256
	part := bucketSort(c.list, few)
	sum := float32(0)
	for i, x := range part[:few] {
		if sum += x.p; sum >= p && i+1 >= least {
			c.list, c.sorted = part[:few], true
			return
		}
	}
	c.sort()
}

// minP keeps scores not below the maximum plus ln a. least is the least number
// of tokens, and enough how many the pass over an unsorted array must find to be
// content with.
func (c *candidates) minP(a float32, least, enough int) bool {
	if a <= 0 {
		return false
	}
	if !c.sorted {
		top := float32(-math.MaxFloat32)
		for _, x := range c.list {
			top = max(top, x.logit)
		}
		floor, n := top+logf(a), 0
		for _, x := range c.list {
			if x.logit >= floor {
				n++
			}
		}
		if n >= least && n >= enough {
			c.list = slices.DeleteFunc(c.list, func(x candidate) bool { return !(x.logit >= floor) })
			return true
		}
		c.sort()
	}
	floor, n := c.list[0].logit+logf(a), 1
	for n < len(c.list) && (c.list[n].logit >= floor || n < least) {
		n++
	}
	c.list = c.list[:n]
	return true
}

// typical keeps the prefix, by distance of the surprisal from the entropy, whose
// running sum exceeds p.
func (c *candidates) typical(p float32, least int, guarded bool) bool {
	if p >= 1 {
		return false
	}
	c.sort()
	c.softmax()
	h := c.entropy(guarded)
	distance := make([]float32, len(c.list))
	order := make([]int32, len(c.list))
	for i, x := range c.list {
		distance[i] = float32(math.Abs(float64(-logf(x.p) - h)))
		order[i] = int32(i)
	}
	introsort(order, func(a, b int32) bool { return distance[a] < distance[b] })
	sum, n := float32(0), len(order)
	for i, at := range order {
		if sum += c.list[at].p; sum > p && i+1 >= least {
			n = i + 1
			break
		}
	}
	out := make([]candidate, n)
	for i, at := range order[:n] {
		out[i] = c.list[at]
	}
	c.list, c.sorted = out, false
	return true
}

// nSigma masks the tokens further below the maximum than n deviations.
func (c *candidates) nSigma(n float32) bool {
	if n <= 0 || len(c.list) < 2 {
		return false
	}
	top, sum, valid := c.list[0].logit, float32(0), 0
	for _, x := range c.list {
		if x.logit != negInf {
			top = max(top, x.logit)
			sum += x.logit
			valid++
		}
	}
	mean := sum / float32(valid)
	squares := float32(0)
	for _, x := range c.list {
		if x.logit != negInf {
			d := float64(x.logit - mean)
			squares = float32(float64(squares) + float64(d*d))
		}
	}
	deviation := float32(math.Sqrt(float64(squares / float32(valid))))
	floor := top - float32(n*deviation)
	for i := range c.list {
		if c.list[i].logit < floor {
			c.list[i].logit = negInf
		}
	}
	return true
}

func llamaXTC(row *sampler.Row, set param.Values) error {
	c, err := loadXTC(row, set)
	if err != nil {
		return err
	}
	g, _, err := generator(row, set, "xtc")
	if err != nil {
		return err
	}
	probability, threshold := float(set, "probability"), float(set, "threshold")
	if probability <= 0 || threshold > 0.5 || len(c.list) < 2 {
		return nil
	}
	coin := g.single()
	g.keep(row)
	if coin > probability {
		return nil
	}
	c.sort()
	c.softmax()
	last := 0
	for i, x := range c.list {
		if !(x.p >= threshold) {
			break
		}
		last = i
	}
	if last == 0 || int64(len(c.list)-last) < set.Int("min_keep") {
		return nil
	}
	c.list = c.list[last:]
	return c.store(row, "xtc")
}
