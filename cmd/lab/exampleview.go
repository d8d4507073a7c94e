package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plots"
	"lab/plots/canvas"
)

// exampleShift makes scores of both signs out of logarithms, as models have them.
const exampleShift = 3

// scoresOf returns the row of given probabilities.
func scoresOf(p []float64) dist.Scores {
	v := make([]float32, len(p))
	for i, x := range p {
		v[i] = float32(math.Log(x) + exampleShift)
	}
	return dist.NewDense(v)
}

// view is what an example shows.
type view struct {
	example
	about         string    // the words before the token
	before, after []float64 // by token; before is NaN where the score is
	chosen        int32     // -1: the sampler selects none
}

// run applies the example with a set of samplers.
func (e example) run(ctx context.Context, set *sampler.Set) (*view, error) {
	d, values, err := e.settings(set)
	if err != nil {
		return nil, err
	}
	v := &view{example: e, about: "The weather today is", before: weatherRow()}
	if e.tokens == nil {
		v.tokens = exampleTokens
	} else {
		v.about = "The weather today as JSON:"
	}
	if e.ending {
		v.about, v.before = "The weather today is nice", endingRow()
	}
	if len(e.context) > 0 {
		v.about = ""
		for _, id := range e.context {
			v.about += v.tokens[id]
		}
		v.about = strings.TrimSpace(v.about)
	}
	it := &sampler.Item{Scores: scoresOf(v.before), History: e.context, Prompt: e.prompt, Step: e.step}
	if err := v.model(&it.Scores); err != nil {
		return nil, err
	}
	u := make([]float64, d.Needs.Uniforms)
	copy(u, e.uniforms)
	it.Uniforms = [][]float64{u}
	for k := range d.Needs.Passes {
		it.Passes = append(it.Passes, scoresOf(e.passes[min(k, len(e.passes)-1)]))
	}
	call := &sampler.Call{Stages: []sampler.Stage{{Sampler: d.Name, Values: values}}, Items: []*sampler.Item{it},
		Vocabulary: "example", EndOfText: []int32{exampleEnd}}
	lookup := func(string) func(int32) []byte {
		return func(id int32) []byte { return []byte(v.tokens[id]) }
	}
	if err := set.WithTexts(lookup).Run(ctx, call); err != nil {
		return nil, err
	}
	after, err := dist.NewSampling(&it.Scores)
	if err != nil {
		return nil, err
	}
	v.chosen = it.Chosen
	for id := range v.tokens {
		v.after = append(v.after, after.P(int32(id)))
	}
	return v, nil
}

// settings returns the declaration and the settings of the example's stage.
func (e example) settings(set *sampler.Set) (d sampler.Declaration, values param.Values, err error) {
	requests, err := chain.Parse(e.stage, "example")
	if err != nil {
		return d, nil, err
	}
	if len(requests) != 1 {
		return d, nil, fault.New(fault.Internal, "example", e.stage, "it has %d stages", len(requests))
	}
	if d, err = set.Lookup(requests[0].Name); err != nil {
		return d, nil, err
	}
	values, err = d.Params.Resolve("example", d.Name, requests[0].Settings)
	return d, values, err
}

// model breaks the scores that the example wants broken, and fills in the
// distribution of the others.
func (v *view) model(row *dist.Scores) error {
	sound := row.Clone()
	for _, id := range v.broken {
		row.Values[id], sound.Values[id] = float32(math.NaN()), float32(math.Inf(-1))
	}
	d, err := dist.NewModel(&sound)
	if err != nil {
		return err
	}
	for id := range v.before {
		v.before[id] = d.P(int32(id))
	}
	for _, id := range v.broken {
		v.before[id] = math.NaN()
	}
	return nil
}

// told says what the sampler was given besides the scores, and what it chose;
// empty when there was nothing.
func (v *view) told() string {
	var out []string
	if v.prompt > 0 {
		out = append(out, "all of the context is prompt")
	}
	if v.step > 0 {
		out = append(out, fmt.Sprintf("%d tokens were generated so far", v.step))
	}
	if v.ending {
		out = append(out, v.names(exampleEnd)+" ends a text")
	}
	if len(v.broken) > 0 {
		out = append(out, "the score of "+v.names(v.broken...)+" is NaN")
	}
	if len(v.passes) > 0 {
		out = append(out, "filled bars on the left are the further pass, outlines the model's own distribution")
	}
	for _, u := range v.uniforms {
		out = append(out, fmt.Sprintf("the uniform number is %g", u))
	}
	if v.chosen >= 0 {
		out = append(out, "the token chosen is "+v.names(v.chosen))
	}
	if len(out) == 0 {
		return ""
	}
	text := strings.Join(out, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func (v *view) names(ids ...int32) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = canvas.Visible(v.tokens[id])
	}
	return strings.Join(out, " ")
}

// figure draws the example.
func (v *view) figure() (*plots.Figure, error) {
	d := plots.ReshapeData{Prompt: v.about, Tokens: v.tokens, Model: v.before, Top: len(v.tokens)}
	for i, p := range v.passes {
		d.Panels = append(d.Panels, plots.ReshapePanel{Title: v.passNames[i], Sampling: p})
	}
	d.Panels = append(d.Panels, plots.ReshapePanel{Title: v.stage, Sampling: v.after})
	o := plots.Options{Width: 5.2, Footer: v.told(), Subtitle: "Next token after “" + v.about + "”, ranked by the model."}
	switch {
	case len(v.passes) > 0:
		o.Title = v.stage + ": what it compares with, and what comes of it"
	case v.chosen >= 0 && d.Panels[0].Sampling[v.chosen] < 1:
		o.Title = v.stage + " chooses " + v.names(v.chosen) + " from the filled bars"
	case len(v.broken) > 0:
		o.Title = v.stage + " gives " + v.names(v.broken...) + " a score"
	}
	if len(d.Panels) > 2 {
		o.Width = 7
	}
	return plots.Reshape(d, o)
}

// text draws the example in a terminal: a line for each token with its
// probability before and after as bars of a common scale.
func (v *view) text(w io.Writer) {
	largest := 0.0
	for id := range v.tokens {
		for _, p := range []float64{v.before[id], v.after[id]} {
			if p > largest { // not NaN
				largest = p
			}
		}
	}
	scale := 24 / (barWidth * largest) // 24 cells for the longest bar
	side := func(p float64, gone string) string {
		if p > 0 {
			return fmt.Sprintf("%.3f %s", p, bar(p*scale))
		}
		return gone
	}
	fmt.Fprintf(w, "  %s%s%s\n", pad("token", 10), pad("before", 32), "after")
	for id, token := range v.tokens {
		line := "  " + pad(canvas.Visible(token), 10) + pad(side(v.before[id], "NaN"), 32) + side(v.after[id], "cut")
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	if told := v.told(); told != "" {
		fmt.Fprintln(w, "  "+told)
	}
}
