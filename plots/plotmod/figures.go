package plotmod

import (
	"strconv"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/std"
	"lab/plots"
)

// dense returns the probability of every token of the vocabulary.
func dense(d dist.Distribution) []float64 {
	out := make([]float64, d.Vocab())
	d.Each(func(id int32, p float64) bool {
		out[id] = p
		return true
	})
	return out
}

func (e *Env) reshape(c *script.Call) (any, error) {
	list := c.List("distributions")
	if len(list) == 0 {
		return nil, fault.New(fault.Script, "plot.reshape", "", "the list of distributions is empty")
	}
	first := list[0].(*std.Distribution).Unshaped()
	data := plots.ReshapeData{Prompt: first.Prompt(), Model: dense(first.Distribution), Unlisted: first.Unlisted(), Top: int(c.Int("top"))}
	for _, piece := range first.Model().Pieces() {
		data.Tokens = append(data.Tokens, string(piece))
	}
	for i, v := range list {
		d := v.(*std.Distribution)
		r := d.Reshaping()
		if r == nil {
			return nil, fault.New(fault.Script, "plot.reshape", "", "distribution %d is a model distribution", i).
				Fix("apply a chain to it: d.apply(\"temperature:1\")")
		}
		if d.Unshaped().Model() != first.Model() || d.Prompt() != first.Prompt() {
			return nil, fault.New(fault.Script, "plot.reshape", "", "distribution %d follows another prompt or model than the first", i).
				Fix("draw one figure per prompt")
		}
		data.Panels = append(data.Panels, plots.ReshapePanel{Title: shapes(r.Chain), Sampling: dense(d.Distribution), Unlisted: d.Unlisted()})
	}
	opt, err := e.options(c, first)
	if err != nil {
		return nil, err
	}
	return e.figureOf(c, opt, func(o plots.Options) (*plots.Figure, error) { return plots.Reshape(data, o) })
}

// shapes names the stages of a chain that reshape; a chain that only selects is
// named by its selector.
func shapes(c *chain.Chain) string {
	name := ""
	for _, s := range c.Stages {
		if s.Selects() {
			continue
		}
		if name != "" {
			name += " | "
		}
		name += s.String()
	}
	if name == "" {
		name = c.String()
	}
	return name
}

func (e *Env) temperatures(c *script.Call) (any, error) {
	d := script.Arg[*std.Distribution](c, "distribution").Unshaped()
	data := plots.TemperaturesData{Prompt: d.Prompt(), TopP: c.Float("top_p")}
	for _, t := range c.Floats("temperatures") {
		q, err := atTemperature(c, d, t)
		if err != nil {
			return nil, err
		}
		data.Rows = append(data.Rows, plots.TemperatureRow{Temperature: t, Probs: dense(q.Distribution)})
	}
	opt, err := e.options(c, d)
	if err != nil {
		return nil, err
	}
	return e.figureOf(c, opt, func(o plots.Options) (*plots.Figure, error) { return plots.Temperatures(data, o) })
}

// atTemperature returns the sampling distribution that a temperature makes of a
// model distribution.
func atTemperature(c *script.Call, d *std.Distribution, t float64) (q *std.Distribution, err error) {
	built, err := d.ChainOf(c, "temperature:"+strconv.FormatFloat(t, 'g', -1, 64))
	if err != nil {
		return nil, err
	}
	err = c.Blocking(func() (err error) {
		q, err = d.Reshape(c, built, experiment.Draw{Seed: d.Env().Seed})
		return err
	})
	return q, err
}

func (e *Env) chain(c *script.Call) (any, error) {
	d := script.Arg[*std.Distribution](c, "distribution")
	r := d.Reshaping()
	if r == nil {
		return nil, fault.New(fault.Script, "plot.chain", "", "it is a model distribution, no chain made it").
			Fix("apply a chain to it: d.apply(\"temperature:0.8 | top_p:0.95\")")
	}
	model := d.Unshaped()
	data := plots.ChainData{Prompt: d.Prompt(), Support: model.Support()}
	for i, s := range r.Chain.Stages {
		if s.Selects() {
			continue
		}
		l := r.Ledger[i]
		data.Stages = append(data.Stages, plots.ChainStage{Name: s.String(), Mass: modelMass(model, &r.After[i]),
			Support: l.SupportAfter, TV: l.TV, KLBits: l.KL})
	}
	last := r.Chain.Stages[len(r.Chain.Stages)-1]
	data.Chosen = &plots.ChainChoice{Selector: last.String(), Token: string(d.Model().Piece(r.Chosen)),
		Rank: d.Rank(r.Chosen), Prob: d.P(r.Chosen)}
	opt, err := e.options(c, d)
	if err != nil {
		return nil, err
	}
	return e.figureOf(c, opt, func(o plots.Options) (*plots.Figure, error) { return plots.Chain(data, o) })
}

// modelMass returns the model's probability of the tokens still in a row.
func modelMass(model *std.Distribution, row *dist.Scores) float64 {
	sum := 0.0
	model.Each(func(id int32, p float64) bool {
		if row.Has(id) {
			sum += p
		}
		return true
	})
	return sum
}
