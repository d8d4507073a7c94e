package costmod

import (
	"fmt"
	"math"

	"lab/core/cost"
	"lab/core/script"
)

var nan = math.NaN()

// lifetimeMembers are formulas of training against use, and of uncertainty.
func lifetimeMembers() []script.Member {
	number := func(name, meaning string) script.Param {
		return script.Param{Name: name, Type: script.Float(), Range: script.AtLeast(0), Meaning: meaning}
	}
	law := script.Param{Name: "law", Type: script.Map(script.Float()), Meaning: "coefficients {E, A, B, alpha, beta} of a fit of the loss, E + A/N^alpha + B/D^beta; there is no default, as published fits differ"}
	point := func(p cost.Point, more map[string]any, err error) (any, error) {
		fields := map[string]any{"params": p.Params, "tokens": p.Tokens}
		for k, v := range more {
			fields[k] = v
		}
		return script.Record{Name: "optimum", Fields: fields}, err
	}
	return []script.Member{
		{Name: "train_flop", Returns: quantityKind, Doc: "Returns 6 N D (F6), good while contexts are much shorter than 6 d and N is M.", Params: []script.Param{number("params", "N"), number("tokens", "D")},
			Func: func(c *script.Call) (any, error) {
				return of("FLOP", "F6", cost.Exact)(cost.Train6ND(c.Float("params"), c.Float("tokens")))
			}},
		{Name: "crossover", Returns: quantityKind, Doc: "Returns the uses after which uses of each cost add up to once (F31).", Params: []script.Param{number("once", "in any unit"), number("each", "in the same unit")},
			Func: func(c *script.Call) (any, error) {
				return of("uses", "F31", cost.Exact)(cost.Crossover(c.Float("once"), c.Float("each")))
			}},
		{Name: "amortised", Returns: quantityKind, Doc: "Returns the cost of a use when training is spread over all of them (F31).", Params: []script.Param{number("training", "in any unit"), number("uses", "of all"), number("each", "in the same unit")},
			Func: func(c *script.Call) (any, error) {
				return of("a use", "F31", cost.Scenario)(cost.Amortised(c.Float("training"), c.Float("uses"), c.Float("each")))
			}},
		{Name: "days", Returns: quantityKind, Doc: "Returns the days until demand has added up to total; infinite when it never does (F29, F30).", Params: []script.Param{number("total", "uses")}, Options: demandOptions(),
			Func: func(c *script.Call) (any, error) {
				d, formula, err := demand(c)
				if err != nil {
					return nil, err
				}
				return of("days", formula, cost.Scenario)(d.Days(c.Float("total")))
			}},
		{Name: "uses", Returns: quantityKind, Doc: "Returns the uses of the first days: the inverse of days.", Params: []script.Param{number("days", "from the first on")}, Options: demandOptions(),
			Func: func(c *script.Call) (any, error) {
				d, formula, err := demand(c)
				if err != nil {
					return nil, err
				}
				return of("uses", formula, cost.Scenario)(d.Sum(c.Float("days")))
			}},
		{Name: "optimum", Returns: "record: params, tokens, loss", Doc: "Returns the size and tokens of the least loss for compute FLOP of training (F25).", Params: []script.Param{law, number("compute", "FLOP")},
			Func: func(c *script.Call) (any, error) {
				l, err := loss(c)
				if err != nil {
					return nil, err
				}
				p, err := l.Optimum(c.Float("compute"))
				return point(p, map[string]any{"loss": lossAt(l, p)}, err)
			}},
		{Name: "optimum_with_inference", Returns: "record: params, tokens, loss, flop, and those of the training optimum: base_params, base_tokens, base_flop, saved (share)", Doc: "Returns the size and tokens that reach the loss of the training optimum of quality_params with the least FLOP of training and served tokens together (F26).",
			Params: []script.Param{law, number("quality_params", "the training optimum of this size has the loss wanted"), number("served", "tokens")},
			Func: func(c *script.Call) (any, error) {
				l, err := loss(c)
				if err != nil {
					return nil, err
				}
				base := cost.Point{Params: c.Float("quality_params")}
				if base.Tokens, err = l.TokensFor(base.Params); err != nil {
					return nil, err
				}
				want, err := l.At(base.Params, base.Tokens)
				if err != nil {
					return nil, err
				}
				served := c.Float("served")
				p, err := l.WithInference(want, served)
				flop, baseFLOP := cost.Lifetime(p, served), cost.Lifetime(base, served)
				return point(p, map[string]any{"loss": want, "flop": flop, "base_params": base.Params, "base_tokens": base.Tokens, "base_flop": baseFLOP, "saved": 1 - flop/baseFLOP}, err)
			}},
		{Name: "tokens_at_loss", Returns: "float", Doc: "Returns the training tokens with which a size reaches a loss; infinite when it never does (F24).", Params: []script.Param{law, number("loss", "in the unit of the fit"), number("params", "N")},
			Func: func(c *script.Call) (any, error) {
				l, err := loss(c)
				if err != nil {
					return nil, err
				}
				return l.TokensAt(c.Float("loss"), c.Float("params"))
			}},
		{Name: "product", Returns: "record: median, gsd, p05, p95, mean", Doc: "Returns the product of independent log-normal factors by medians and geometric standard deviations (F33).",
			Params: []script.Param{{Name: "medians", Type: script.Numbers(), Meaning: "of the factors"}, {Name: "gsd", Type: script.Numbers(), Meaning: "geometric standard deviations; 1 is known"}},
			Func: func(c *script.Call) (any, error) {
				p, err := cost.LogNormalProduct(c.Any("medians").([]float64), c.Any("gsd").([]float64))
				return script.Record{Name: "product", Fields: map[string]any{"median": p.Median, "gsd": p.GSD, "p05": p.P05, "p95": p.P95, "mean": p.Mean}}, err
			}},
		{Name: "propagate", Returns: "record: median, p05, p95, and the standard error of each: median_se, p05_se, p95_se, never (share), n", Doc: "Returns the spread of a function of uncertain inputs by Monte Carlo (F33). Inputs are independent; those that are not belong into the function. It may return infinity for never.",
			Params:  []script.Param{{Name: "inputs", Type: script.Map(script.Any()), Meaning: "numbers, [lo, hi] or {median, lo, hi} by name"}, {Name: "f", Type: script.Callback("inputs"), Meaning: "gets a map of numbers and returns one"}},
			Options: []script.Param{drawsOption, seedOption},
			Func:    propagate},
	}
}

func demandOptions() []script.Param {
	return []script.Param{
		{Name: "first_day", Type: script.Float(), Required: true, Range: script.MoreThan(0), Meaning: "uses on the first day"},
		{Name: "growth", Type: script.Float(), Default: 0.0, Range: script.MoreThan(-1), Meaning: "share by which a day's uses grow in growth_days; 0.04 is 4% more"},
		{Name: "growth_days", Type: script.Float(), Default: 30.0, Range: script.MoreThan(0), Unit: "days", Meaning: "period of growth"},
		{Name: "limit", Type: script.Float(), Range: script.MoreThan(0), Meaning: "uses a day that growth ends at"},
	}
}

func demand(c *script.Call) (d cost.Demand, formula string, err error) {
	d = cost.Demand{FirstDay: c.Float("first_day")}
	formula = "F29"
	if c.Given("limit") {
		d.Limit, formula = c.Float("limit"), "F30"
	}
	d.Growth, err = cost.PerDay(c.Float("growth"), c.Float("growth_days"))
	return d, formula, err
}

func loss(c *script.Call) (cost.Loss, error) {
	p := pick(c, "law", "E", "A", "B", "alpha", "beta")
	l := cost.Loss{Name: "given", E: p.must("E"), A: p.must("A"), B: p.must("B"), Alpha: p.must("alpha"), Beta: p.must("beta")}
	return l, p.done()
}

func lossAt(l cost.Loss, p cost.Point) float64 {
	v, err := l.At(p.Params, p.Tokens)
	if err != nil {
		return nan
	}
	return v
}

func propagate(c *script.Call) (any, error) {
	m, f := c.Map("inputs"), c.Func("f")
	names := sorted(m)
	inputs := make([]cost.Uncertain, len(names))
	for i, name := range names {
		u, err := uncertain(c.Name()+": "+name, m[name])
		if err != nil {
			return nil, err
		}
		inputs[i] = *u
	}
	d := draws(c)
	s, err := cost.MonteCarlo(inputs, d.N, d.Seed, func(x []float64) (float64, error) {
		args := make(map[string]any, len(names))
		for i, name := range names {
			args[name] = x[i]
		}
		v, err := f.Call(c.Context(), args)
		if err != nil {
			return 0, err
		}
		switch v := v.(type) {
		case float64:
			return v, nil
		case int64:
			return float64(v), nil
		}
		return 0, scriptError(c, "the function returned %s, no number", fmt.Sprintf("%T", v))
	})
	return script.Record{Name: "spread", Fields: map[string]any{"median": s.Median, "p05": s.P05, "p95": s.P95, "median_se": s.MedianSE, "p05_se": s.P05SE, "p95_se": s.P95SE, "never": s.Never, "n": s.N}}, err
}
