package feedback

import (
	"math"

	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// The choices of mirostat's settings.
const (
	renormalised = "renormalised"
	raw          = "raw"

	refuse = "refuse"
	hold   = "hold"
	follow = "follow"
)

const mirostatSource = "Basu, Ramachandran, Keskar, Varshney 2020, Mirostat: a neural text decoding algorithm that directly controls perplexity (ICLR 2021), algorithm "

// mostMu bounds mu: no run of any length comes near it, and its square is
// finite.
const mostMu = 1e100

// mirostatParams returns the settings that both versions have.
func mirostatParams(own ...param.Spec) param.Specs {
	s := param.Specs{
		{
			Name: "tau", Aliases: []string{"mirostat_tau", "target"}, Type: param.Float, Default: 5.0, Min: 0, Max: 64, Unit: "bits",
			Meaning: "the surprise per token to steer to; mu, the largest surprise that a token may have, starts at twice of it",
		},
		{
			Name: "eta", Aliases: []string{"mirostat_eta", "learning_rate"}, Type: param.Float, Default: 0.1, Min: 0, Max: 100,
			Meaning: "which part of the last deviation mu is moved by; 0 never moves it",
		},
	}
	return append(append(s, own...),
		param.Spec{
			Name: "surprise", Type: param.Text, Default: renormalised, Choices: []string{renormalised, raw},
			Meaning: "which probability of the drawn token is held against tau: renormalised over the tokens kept, as every system does, or raw, of the distribution before the cut, as the script published with the paper does",
		},
		param.Spec{
			Name: "floor", Type: param.Float, Default: -50.0, Min: -mostMu / 2, Max: 0, Unit: "bits",
			Meaning: "mu below this says that tau is out of reach: with raw surprise the likeliest token alone may be more surprising than tau, and mu then falls for ever; renormalised surprise never gets there",
		},
		param.Spec{
			Name: "out_of_reach", Type: param.Text, Default: refuse, Choices: []string{refuse, hold, follow},
			Meaning: "what to do then: refuse ends the run with an error, hold keeps mu at the floor, follow lets it fall as the paper's rule has it",
		},
		param.Spec{
			Name: "ceiling", Type: param.Float, Default: 0.0, Min: 0, Max: mostMu / 2, Unit: "bits",
			Meaning: "the largest value that mu may take; 0 sets none, and then a long stretch of predictable text lifts mu far above any surprise, so that nothing is cut for as long again afterwards",
		},
	)
}

// controller is mirostat's state and rule.
type controller struct {
	op                       string
	mu, tau, eta             float64
	floor, ceiling           float64
	rawSurprise, keep, alone bool // keep: hold mu at the floor; alone: let it fall
}

func newController(op string, row *sampler.Row, set param.Values) (*controller, error) {
	c := &controller{
		op: op, tau: set.Float("tau"), eta: set.Float("eta"), floor: set.Float("floor"), ceiling: set.Float("ceiling"),
		rawSurprise: set.Text("surprise") == raw, keep: set.Text("out_of_reach") == hold, alone: set.Text("out_of_reach") == follow,
	}
	if c.ceiling > 0 && c.ceiling < c.floor {
		return nil, fault.New(fault.Usage, op, "", "ceiling = %v is below floor = %v", c.ceiling, c.floor)
	}
	var err error
	c.mu, err = load(op, row.State, c.bounded(2*c.tau), -mostMu, mostMu)
	return c, err
}

// bounded returns mu with the ceiling applied.
func (c *controller) bounded(mu float64) float64 {
	if c.ceiling > 0 {
		return min(mu, c.ceiling)
	}
	return mu
}

// draw chooses from the row as it was cut and moves mu. before is the natural
// logarithm of the mass, relative to the largest score, of the row before the
// cut; the largest score is always among what is left.
func (c *controller) draw(row *sampler.Row, before float64) error {
	s := row.Scores
	top := float64(vec.Max(s.Values))
	at := vec.Draw(s.Values, s.IDs, top, row.Uniforms[0])
	row.Chosen = s.ID(at)
	mass := before
	if !c.rawSurprise {
		mass = math.Log(vec.Sum(s.Values, s.IDs, top))
	}
	surprise := (top - float64(s.Values[at]) + mass) / math.Ln2
	mu := c.bounded(c.mu - c.eta*(surprise-c.tau))
	switch {
	case mu >= c.floor || c.alone:
	case c.keep:
		mu = c.floor
	default:
		return fault.New(fault.Data, c.op, "", "tau = %v bits is out of reach: mu has fallen to %.4g bits, below floor = %v, and the token just drawn has a %s surprise of %.4g bits",
			c.tau, mu, c.floor, c.kind(), surprise).Fix("raise tau, measure surprise=%s, or choose out_of_reach=%s or %s", renormalised, hold, follow)
	}
	if !(math.Abs(mu) <= mostMu) {
		return fault.New(fault.Data, c.op, "", "mu has moved to %g bits", mu)
	}
	row.State = save(mu)
	return nil
}

func (c *controller) kind() string {
	if c.rawSurprise {
		return raw
	}
	return renormalised
}
