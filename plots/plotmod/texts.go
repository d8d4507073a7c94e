package plotmod

import (
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/std"
	"lab/core/trace"
	"lab/plots"
	"lab/plots/source"
)

// The figures of texts: of one sample or scored text, and of many samples.

func promptOption() script.Param {
	return script.Param{Name: "prompt", Type: script.String(), Default: "", Meaning: "what the text follows, in grey"}
}

// partOptions say which part of a long text is drawn.
func partOptions(noun string) []script.Param {
	return []script.Param{
		{Name: "first", Type: script.Int(), Default: int64(0), Range: script.AtLeast(0), Meaning: "first " + noun + " drawn, from 0"},
		{Name: "most", Type: script.Int(), Default: int64(0), Range: script.AtLeast(0), Meaning: noun + "s drawn; 0 is the figure's own number. All are in the table"},
	}
}

func anyText() script.Type {
	return script.Either(script.Host[*std.Sample](), script.Host[*std.Scoring]())
}

// manySamples is a list of samples, or a map from a name to one.
func manySamples() script.Type {
	list := script.List(script.Host[*std.Sample]())
	return script.Either(list, script.Map(list))
}

// own is the options of a figure with the ones that every figure takes.
func own(options ...script.Param) []script.Param {
	return slices.Concat(options, []script.Param{footerOption()}, common)
}

func (e *Env) tokensMember() script.Member {
	return script.Member{
		Name: "tokens", Returns: "figure",
		Doc:    "Draws a text token by token, coloured by surprisal in bits.",
		Params: []script.Param{{Name: "text", Type: anyText(), Meaning: "a sample with its steps, or what model.score says of a text"}},
		Options: own(append([]script.Param{promptOption(), {Name: "distribution", Type: script.String(), Default: "model", Choices: []string{"model", "sampling"},
			Meaning: "whose surprisal; a scored text has the model's only"}}, partOptions("token")...)...),
		Func: e.tokens,
	}
}

func (e *Env) tokens(c *script.Call) (any, error) {
	var d plots.TokensData
	var err error
	switch v := c.Any("text").(type) {
	case *std.Sample:
		d, err = source.Tokens(c.String("prompt"), v.Sample)
	case *std.Scoring:
		d = source.ScoredTokens(c.String("prompt"), v.Scoring)
	}
	if err != nil {
		return nil, failure(err)
	}
	d.Sampling, d.First, d.Most = c.String("distribution") == "sampling", int(c.Int("first")), int(c.Int("most"))
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Tokens(d, o) })
}

// drawn reads the options that every figure takes and draws.
func (e *Env) drawn(c *script.Call, draw func(plots.Options) (*plots.Figure, error)) (any, error) {
	o, err := e.looks(c, c.String("footer"))
	if err != nil {
		return nil, failure(err)
	}
	return e.figureOf(c, o, func(o plots.Options) (*plots.Figure, error) { return draw(o) })
}

func (e *Env) heatStepsMember() script.Member {
	return script.Member{
		Name: "heat_steps", Returns: "figure",
		Doc:    "Draws the likeliest tokens at every place of a text with their probabilities under the model, the text's own token framed.",
		Params: []script.Param{{Name: "scoring", Type: script.Host[*std.Scoring](), Meaning: "of model.score(text, {prompt: …, top: 8})"}},
		Options: own(append([]script.Param{promptOption(), {Name: "ranks", Type: script.Int(), Default: int64(0), Range: script.Between(0, 12),
			Meaning: "rows; 0 is 5"}}, partOptions("step")...)...),
		Func: e.heatSteps,
	}
}

func (e *Env) heatSteps(c *script.Call) (any, error) {
	s := script.Arg[*std.Scoring](c, "scoring")
	d, err := source.ScoredSteps(c.String("prompt"), s.Scoring, s.Model().Piece)
	if err != nil {
		return nil, failure(err)
	}
	d.Ranks, d.First, d.Most = int(c.Int("ranks")), int(c.Int("first")), int(c.Int("most"))
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.HeatSteps(d, o) })
}

func (e *Env) entropyMember() script.Member {
	return script.Member{
		Name: "entropy", Returns: "figure",
		Doc: "Draws entropy and KL(sampling‖model) against the temperature: the median over prompts and a band from their 5 to their 95 % quantile.",
		Params: []script.Param{
			{Name: "distributions", Type: script.List(script.Host[*std.Distribution]()), Meaning: "model distributions, one per prompt"},
			{Name: "temperatures", Type: script.List(script.Float()), Meaning: "each at least 0"},
		},
		Options: own(),
		Func:    e.entropy,
	}
}

func (e *Env) entropy(c *script.Call) (any, error) {
	var d plots.EntropyData
	for _, t := range c.Floats("temperatures") {
		row := plots.EntropyRow{Temperature: t}
		for _, v := range c.List("distributions") {
			q, err := atTemperature(c, v.(*std.Distribution).Unshaped(), t)
			if err != nil {
				return nil, err
			}
			l := q.Reshaping().Ledger[0]
			row.EntropyBits, row.KLBits = append(row.EntropyBits, float64(l.EntropyAfter)), append(row.KLBits, math.Max(float64(l.KL), 0))
		}
		d.Rows = append(d.Rows, row)
	}
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Entropy(d, o) })
}

// groupsOf reads an argument of type manySamples; the names of a map are sorted.
func groupsOf(c *script.Call, name string) []source.Group {
	list := func(name string, v []any) source.Group {
		g := source.Group{Name: name}
		for _, s := range v {
			g.Samples = append(g.Samples, s.(*std.Sample).Sample)
		}
		return g
	}
	switch v := c.Any(name).(type) {
	case []any:
		return []source.Group{list("samples", v)}
	case map[string]any:
		var out []source.Group
		for _, key := range sortedKeys(v) {
			out = append(out, list(key, v[key].([]any)))
		}
		return out
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func samplesParam() script.Param {
	return script.Param{Name: "samples", Type: manySamples(), Meaning: "a list of samples, or a map from a name to such a list"}
}

func (e *Env) zipfMember() script.Member {
	return script.Member{
		Name: "zipf", Returns: "figure",
		Doc:     "Draws how often the tokens of samples occur against their rank, with the exponent of each line.",
		Params:  []script.Param{samplesParam()},
		Options: own(script.Param{Name: "reference", Type: script.String(), Default: "", Meaning: "the name of the samples drawn in ink, that the others are compared with"}),
		Func: func(c *script.Call) (any, error) {
			d := source.Zipf(groupsOf(c, "samples"))
			if name := c.String("reference"); name != "" {
				var names []string
				found := false
				for i := range d.Texts {
					d.Texts[i].Reference = d.Texts[i].Name == name
					found = found || d.Texts[i].Reference
					names = append(names, d.Texts[i].Name)
				}
				if !found {
					return nil, failure(fault.Unknown(c.Name(), "samples", name, names))
				}
			}
			return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Zipf(d, o) })
		},
	}
}

func (e *Env) repetitionMember() script.Member {
	return script.Member{
		Name: "repetition", Returns: "figure",
		Doc:     "Draws the share of n-grams that occurred before in the same text against its length: the median over the samples and a band from their 5 to their 95 % quantile.",
		Params:  []script.Param{samplesParam()},
		Options: own(script.Param{Name: "n", Type: script.Int(), Default: int64(4), Range: script.Between(1, 32), Unit: "tokens", Meaning: "length of the n-grams"}),
		Func: func(c *script.Call) (any, error) {
			d := source.Repetition(int(c.Int("n")), groupsOf(c, "samples"))
			return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Repetition(d, o) })
		},
	}
}

func (e *Env) pairsMember() script.Member {
	either := script.Either(script.Host[*std.Run](), script.Host[*std.Sample](), script.List(script.Host[*std.Sample]()))
	return script.Member{
		Name: "pairs", Returns: "figure",
		Doc: "Draws when two runs part: the share of pairs that are still the same, and the share of equal tokens, up to each step." +
			" Samples are pairs by cell and index.",
		Params:  []script.Param{{Name: "a", Type: either, Meaning: "a run, a sample or a list of samples"}, {Name: "b", Type: either, Meaning: "another of the same kind"}},
		Options: own(script.Param{Name: "names", Type: script.List(script.String()), Optional: true, Meaning: "of a and b; left out, those of the runs"}),
		Func:    e.pairs,
	}
}

func (e *Env) pairs(c *script.Call) (any, error) {
	var d plots.PairsData
	var err error
	a, isRun := c.Any("a").(*std.Run)
	b, otherIsRun := c.Any("b").(*std.Run)
	switch {
	case isRun != otherIsRun:
		return nil, fault.New(fault.Script, c.Name(), "", "one is a run and the other is not").Fix("take the samples of the run: run.samples(cell)")
	case isRun:
		err = c.Blocking(func() (err error) {
			d, err = source.PairsOfRuns(a.Stored(), b.Stored())
			return err
		})
	default:
		x, y := completions(c.Any("a")), completions(c.Any("b"))
		if len(x) == 1 && len(y) == 1 { // whatever their index
			d = plots.PairsData{Pairs: []plots.Pair{source.Pair(x[0], y[0])}}
		} else {
			d, err = source.Pairs("", "", x, y)
		}
	}
	if err != nil {
		return nil, failure(err)
	}
	if names := c.List("names"); c.Given("names") {
		if len(names) != 2 {
			return nil, fault.New(fault.Script, c.Name(), "option names", "%d names for a and b", len(names))
		}
		d.A, d.B = names[0].(string), names[1].(string)
	}
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Pairs(d, o) })
}

func completions(v any) []*trace.Sample {
	switch x := v.(type) {
	case *std.Sample:
		return []*trace.Sample{x.Sample}
	case []any:
		var out []*trace.Sample
		for _, s := range x {
			out = append(out, s.(*std.Sample).Sample)
		}
		return out
	}
	return nil
}

func (e *Env) outcomesMember() script.Member {
	return script.Member{
		Name: "outcomes", Returns: "figure",
		Doc:    "Draws how far the outcomes of each strategy lie apart over seeds: a row per value of by, from the rows of the table. The title says which median is highest.",
		Params: []script.Param{tableParam()},
		Options: slices.Concat(axisOptions("value", "column of the outcome, one row per sample"), []script.Param{
			{Name: "by", Type: oneOrMore(), Optional: true, Meaning: "column, or columns, that name the strategy"},
			{Name: "facet", Type: oneOrMore(), Optional: true, Meaning: "column, or columns, whose values are the panels"},
			{Name: "rules", Type: script.List(script.Map(script.Any())), Optional: true, Meaning: `reference lines: [{x: 1, label: "human text"}]`},
		}, own()),
		Func: func(c *script.Call) (any, error) {
			d, err := samplesOf(c, "value", "by", false)
			if err != nil {
				return nil, err
			}
			return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Outcomes(d, o) })
		},
	}
}

func (e *Env) gridMember() script.Member {
	return script.Member{
		Name: "grid", Returns: "figure",
		Doc:    "Draws a measure over two settings, a cell per row of the table, coloured by it and the best one framed. A value that is not in the table stands for its mean from group.stats.",
		Params: []script.Param{tableParam()},
		Options: own(
			script.Param{Name: "x", Type: script.String(), Required: true, Meaning: "column of the setting along the axis"},
			script.Param{Name: "y", Type: script.String(), Required: true, Meaning: "column of the setting upwards"},
			script.Param{Name: "value", Type: script.String(), Required: true, Meaning: "column of the measure"},
			bandOption("band", "the value"),
			script.Param{Name: "unit", Type: script.String(), Default: "", Meaning: "of the value"},
			script.Param{Name: "smaller", Type: script.Bool(), Default: false, Meaning: "the smallest value is best"},
			script.Param{Name: "failed", Type: script.String(), Default: "", Meaning: "column that says why a cell failed; null or empty did not"},
		),
		Func: e.grid,
	}
}

func (e *Env) grid(c *script.Call) (any, error) {
	r := newReader(c)
	x, y := r.kinds("x"), r.kinds("y")
	values, name := r.measured("value")
	band := r.interval("band", name)
	var failed []string
	if column := c.String("failed"); column != "" {
		failed = r.words("failed", column)
	}
	if r.err != nil {
		return nil, r.err
	}
	d := plots.GridData{X: plots.Quantity{Name: c.String("x")}, Y: plots.Quantity{Name: c.String("y")}, Value: plots.Quantity{Name: name, Unit: c.String("unit")},
		XNames: x.names, YNames: y.names, Smaller: c.Bool("smaller"), Interval: band.words}
	for i, v := range values {
		cell := plots.GridCell{X: x.of[i], Y: y.of[i], Value: v, Lo: math.NaN(), Hi: math.NaN()}
		if band.lo != nil {
			cell.Lo, cell.Hi = band.lo[i], band.hi[i]
		}
		if failed != nil {
			cell.Failed = failed[i]
		}
		d.Cells = append(d.Cells, cell)
	}
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.SweepGrid(d, o) })
}
