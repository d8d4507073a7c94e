package compat

import (
	"math"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// llamaSelect holds the steps that choose a token. Each has its own mt19937.
func llamaSelect() []Rule {
	return []Rule{
		{Sampler: "greedy", Term: "greedy"},
		{
			Sampler: "sample", Term: "dist (--seed)",
			Differs: "the random number is a double from the stage's own mt19937, and float32 weights are added up in the array's order, not that of ids; a single candidate takes no random number",
			Params:  param.Specs{seedSpec(), orderSpec()},
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   llamaDist,
		},
		{
			Sampler: "mirostat_v1", Term: "mirostat 1 (--mirostat 1)",
			Differs: "probabilities and the state mu are float32, the random number comes from the stage's own mt19937 and candidates are drawn from in sorted order",
			Params:  mirostatParams(),
			Needs:   sampler.Needs{Uniforms: 1},
			Apply: func(row *sampler.Row, set param.Values) error {
				return mirostat(row, set, false, func(c *candidates, mu float32) {
					c.list = c.list[:min(max(c.zipf(mu, set.Int("m"), row.Scores.Vocab), 1), len(c.list))]
				})
			},
		},
		{
			Sampler: "mirostat_v2", Term: "mirostat 2 (--mirostat 2)",
			Differs: "probabilities and the state mu are float32, the random number comes from the stage's own mt19937 and candidates are drawn from in sorted order",
			Params:  mirostatParams(),
			Needs:   sampler.Needs{Uniforms: 1},
			Apply: func(row *sampler.Row, set param.Values) error {
				return mirostat(row, set, false, (*candidates).surprise)
			},
		},
		{
			Sampler: "adaptive_p", Term: "adaptive-p (--adaptive-target, --adaptive-decay)",
			Differs: "all numbers are float32, the random number comes from the stage's own mt19937 and candidates are drawn from in the array's order; a negative target draws from the row as it is",
			Params:  param.Specs{seedSpec(), orderSpec()},
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   llamaAdaptive,
		},
		{Sampler: "logit_bias", Term: "logit-bias (--logit-bias)"},
		{Sampler: "infill", Term: "infill"},
		{
			Sampler: "grammar", Term: "grammar (--grammar, --grammar-file)",
			Differs: "its sampling draws without the grammar first and masks only when the pick is illegal, which gives the same law; control tokens are texts there",
		},
		{
			Sampler: "json_schema", Term: "--json-schema",
			Differs: "it writes a grammar of its own for the schema, which passes over some keywords and allows other blanks; here the schema is followed to the letter",
		},
		{Sampler: "ignore_eos", Term: "--ignore-eos"},
	}
}

// The choices of the setting "order".
const (
	orderAuto  = "auto"
	orderID    = "id"
	orderScore = "score"
)

func orderSpec() param.Spec {
	return param.Spec{
		Name: "order", Type: param.Text, Default: orderAuto, Choices: []string{orderAuto, orderID, orderScore},
		Meaning: "order in which the running sum meets the candidates: id as after steps that do not sort, score (descending, ties by id) as after those that do; auto is id for a row that lists the whole vocabulary and score otherwise",
	}
}

// loadOrdered is load with the order that the settings ask for.
func loadOrdered(row *sampler.Row, set param.Values, op string) (*candidates, error) {
	c, err := load(row, op)
	if err != nil {
		return nil, err
	}
	switch set.Text("order") {
	case orderID:
		c.byID()
	case orderScore:
		c.byScore()
	}
	return c, nil
}

func llamaDist(row *sampler.Row, set param.Values) error {
	c, err := loadOrdered(row, set, "sample")
	if err != nil {
		return err
	}
	g, _, err := generator(row, set, "sample")
	if err != nil {
		return err
	}
	row.Chosen = c.list[c.weighted(g)].id
	g.keep(row)
	return nil
}

// weighted draws a place by float32 weights that are added up in float64.
func (c *candidates) weighted(g *mt19937) int {
	if len(c.list) == 1 {
		return 0
	}
	top := negInf
	for _, x := range c.list {
		top = max(top, x.logit)
	}
	total := 0.0
	for i := range c.list {
		c.list[i].p = expf(c.list[i].logit - top)
		total += float64(c.list[i].p)
	}
	target, run, last := total*g.double(), 0.0, 0
	for i, x := range c.list {
		if x.p > 0 { // a masked token is not drawn, whatever rounding does
			last = i
			if run += float64(x.p); run >= target {
				break
			}
		}
	}
	return last
}

// mirostat cuts the sorted array, draws from what is left and moves mu by how
// far the surprise of the draw, after renormalising, is from tau. intro is
// koboldcpp's sort.
func mirostat(row *sampler.Row, set param.Values, intro bool, cut func(c *candidates, mu float32)) error {
	const op = "mirostat"
	c, err := load(row, op)
	if err != nil {
		return err
	}
	c.intro = intro
	tau := float(set, "tau")
	g, extra, err := generator(row, set, op, 2*tau)
	if err != nil {
		return err
	}
	c.sort()
	c.softmax()
	cut(c, extra[0])
	c.softmax()
	at := c.discrete(g)
	row.Chosen = c.list[at].id
	surprise := -log2f(c.list[at].p)
	mu := extra[0] - float32(float(set, "eta")*(surprise-tau))
	g.keep(row, mu)
	return c.store(row, op)
}

// zipf returns how many tokens are to stay by Zipf's exponent, as the m
// likeliest show it. A number beyond int32, and none at all, is its lowest one.
func (c *candidates) zipf(mu float32, m int64, vocab int) int {
	products, squares := float32(0), float32(0)
	for i := 0; int64(i) < m-1 && i < len(c.list)-1; i++ {
		t := logf(float32(i+2) / float32(i+1))
		b := logf(c.list[i].p / c.list[i+1].p)
		products += float32(t * b)
		squares += float32(t * t)
	}
	s := products / squares
	e := s - 1
	k := powf(float32(e*powf(2, mu))/(1-powf(float32(vocab), -e)), 1/s)
	if !(k > math.MinInt32 && k < -float32(math.MinInt32)) {
		return math.MinInt32
	}
	return int(k)
}

// surprise keeps the tokens before the first one whose surprise exceeds mu bits.
func (c *candidates) surprise(mu float32) {
	n := 0
	for n < len(c.list) && !(-log2f(c.list[n].p) > mu) {
		n++
	}
	c.list = c.list[:max(n, 1)]
}

// llamaAdaptive gives the tokens whose probability is near a moving target the
// largest scores. The target moves against a decaying mean of the probabilities
// that were picked, primed as if the target had been met so far.
func llamaAdaptive(row *sampler.Row, set param.Values) error {
	const op = "adaptive_p"
	c, err := loadOrdered(row, set, op)
	if err != nil {
		return err
	}
	target := float(set, "target")
	decay := min(max(float(set, "decay"), 0), 0.99)
	g, extra, err := generator(row, set, op, target/(1-decay), 1/(1-decay))
	if err != nil {
		return err
	}
	c.softmax()
	if target < 0 {
		row.Chosen = c.list[c.discrete(g)].id
		g.keep(row, extra...)
		return nil
	}
	before := make([]float32, len(c.list))
	for i, x := range c.list {
		before[i] = x.p
	}
	c.nearTarget(min(max(float32(2*min(target, 1))-extra[0]/extra[1], 0), 1))
	c.softmax()
	at := c.discrete(g)
	row.Chosen = c.list[at].id
	g.keep(row, before[at]+float32(decay*extra[0]), 1+float32(decay*extra[1]))
	return c.store(row, op)
}

// nearTarget scores every token that is not masked by how near its probability
// is to the target: quadratic nearby, linear far off.
func (c *candidates) nearTarget(target float32) {
	const peak, sharpness = float32(5), float32(10)
	perWidth := 1 / float32(0.3)
	for i, x := range c.list {
		if x.logit == negInf {
			continue
		}
		d := float32(math.Abs(float64(float32((x.p - target) * perWidth))))
		c.list[i].logit = peak - float32(float32(sharpness*d)*d)/(1+d)
	}
	c.sorted = false // by the new scores
}
