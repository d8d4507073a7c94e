package plotmod

import (
	"math"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/std"
	"lab/plots"
)

// Figures of distributions beside their draws, of several distributions, and of
// requests over time.

func (e *Env) calibrationMember() script.Member {
	return script.Member{
		Name: "calibration", Returns: "figure",
		Doc: "Draws how often each token was drawn first against its probability, with the band that 95 % of binomial draws keep to, and chi-squared.",
		Params: []script.Param{
			{Name: "distribution", Type: script.Host[*std.Distribution](), Meaning: "the distribution drawn from, of distribution.apply or model.next"},
			{Name: "samples", Type: script.List(script.Host[*std.Sample]()), Meaning: "samples of its prompt and chain; their first tokens count"},
		},
		Options: own(),
		Func:    e.calibration,
	}
}

func (e *Env) calibration(c *script.Call) (any, error) {
	q := script.Arg[*std.Distribution](c, "distribution")
	if q.Unlisted() > 0 {
		return nil, fault.New(fault.Script, c.Name(), "distribution", "its backend lists only the likeliest tokens, %v of the mass is unlisted", q.Unlisted()).
			Fix("apply a chain that keeps listed tokens only: \"top_k:20\"")
	}
	d := plots.CalibrationData{Prompt: q.Prompt(), Probs: dense(q.Distribution)}
	d.Counts = make([]int, len(d.Probs))
	for _, piece := range q.Model().Pieces() {
		d.Tokens = append(d.Tokens, string(piece))
	}
	for i, v := range c.List("samples") {
		tokens := v.(*std.Sample).Tokens
		if len(tokens) == 0 {
			continue
		}
		id := int(tokens[0])
		if id < 0 || id >= len(d.Counts) {
			return nil, fault.New(fault.Script, c.Name(), "samples", "sample %d begins with token %d, the distribution has %d", i, id, len(d.Counts)).
				Fix("take samples of the same model")
		}
		d.Counts[id]++
	}
	o, err := e.options(c, q)
	if err != nil {
		return nil, failure(err)
	}
	if footer := c.String("footer"); footer != "" {
		o.Footer = footer
	}
	return e.figureOf(c, o, func(o plots.Options) (*plots.Figure, error) { return plots.Calibration(d, o) })
}

func (e *Env) ridgelineMember() script.Member {
	return script.Member{
		Name: "ridgeline", Returns: "figure",
		Doc:    "Draws up to eight distributions below each other over the rank of their tokens, their height the square root of the probability.",
		Params: []script.Param{{Name: "distributions", Type: script.List(script.Host[*std.Distribution]()), Meaning: "from the top"}},
		Options: own(
			script.Param{Name: "labels", Type: script.List(script.Either(script.Float(), script.String())), Optional: true, Meaning: "of the rows; left out, the chains"},
			script.Param{Name: "by", Type: script.String(), Default: "", Meaning: "what the labels are values of"},
		),
		Func: e.ridgeline,
	}
}

func (e *Env) ridgeline(c *script.Call) (any, error) {
	d := plots.RidgelineData{By: c.String("by")}
	list, labels := c.List("distributions"), c.List("labels")
	if c.Given("labels") && len(labels) != len(list) {
		return nil, fault.New(fault.Script, c.Name(), "option labels", "%d labels for %d distributions", len(labels), len(list))
	}
	for i, v := range list {
		q := v.(*std.Distribution)
		if q.Unlisted() > 0 {
			return nil, fault.New(fault.Script, c.Name(), "distributions", "%v of the mass of distribution %d is unlisted", q.Unlisted(), i).
				Fix("apply a chain that keeps listed tokens only: \"top_k:20\"")
		}
		row := plots.RidgelineRow{Label: "model distribution", Probs: dense(q.Distribution)}
		if r := q.Reshaping(); r != nil {
			row.Label = shapes(r.Chain)
		}
		if c.Given("labels") {
			row.Label = text(labels[i])
		}
		if p := q.Prompt(); i == 0 {
			d.Prompt = p
		} else if d.Prompt != p { // of several prompts none is named
			d.Prompt = ""
		}
		d.Rows = append(d.Rows, row)
	}
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Ridgeline(d, o) })
}

func (e *Env) timelineMember() script.Member {
	return script.Member{
		Name: "timeline", Returns: "figure",
		Doc:    "Draws where the time of requests goes: a row per request, a bar per span from the rows of a table, and a tick at the first token.",
		Params: []script.Param{tableParam()},
		Options: own(
			script.Param{Name: "request", Type: script.String(), Default: "request", Meaning: "column that names the request"},
			script.Param{Name: "kind", Type: script.String(), Default: "kind", Meaning: "column that says what took the time; prefill, decode, sampling and plugin have fixed colours"},
			script.Param{Name: "from", Type: script.String(), Default: "from_ms", Meaning: "column of the start, ms"},
			script.Param{Name: "to", Type: script.String(), Default: "to_ms", Meaning: "column of the end, ms"},
			script.Param{Name: "first_token", Type: script.String(), Default: "", Meaning: "column of the time of a request's first token, ms"},
		),
		Func: e.timeline,
	}
}

func (e *Env) timeline(c *script.Call) (any, error) {
	r := newReader(c)
	requests, kind := r.kinds("request"), r.words("kind", c.String("kind"))
	from, to := r.numbers("from", c.String("from")), r.numbers("to", c.String("to"))
	var first []float64
	if name := c.String("first_token"); name != "" {
		first = r.numbers("first_token", name)
	}
	if r.err != nil {
		return nil, r.err
	}
	var d plots.TimelineData
	for _, name := range requests.names {
		d.Requests = append(d.Requests, plots.TimelineRequest{Name: name, TTFTMS: math.NaN()})
	}
	if len(from) == 0 {
		d.Requests = nil
	}
	for i := range from {
		q := &d.Requests[requests.of[i]]
		q.Spans = append(q.Spans, plots.TimeSpan{Kind: kind[i], FromMS: from[i], ToMS: to[i]})
		if first != nil && math.IsNaN(q.TTFTMS) {
			q.TTFTMS = first[i]
		}
	}
	return e.drawn(c, func(o plots.Options) (*plots.Figure, error) { return plots.Timeline(d, o) })
}
