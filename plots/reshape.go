package plots

import (
	"fmt"
	"math"

	"lab/core/fault"
	"lab/plots/canvas"
)

// ReshapeData is one next-token distribution and what some rules make of it.
// All slices are index-aligned: entry i is token i. They are not kept.
type ReshapeData struct {
	Prompt   string    // words before the token; may be empty
	Tokens   []string  // the bytes of each token
	Model    []float64 // model distribution; sums to 1 - Unlisted
	Unlisted float64   // model mass of tokens that a top-N backend did not list
	Panels   []ReshapePanel
	Top      int // token rows shown, 1 to 40; 0: 16, and 8 above six panels
}

// ReshapePanel is one rule's result.
type ReshapePanel struct {
	Title    string    // the rule: "top_p:0.9"
	Sampling []float64 // sampling distribution; sums to 1 - Unlisted
	Unlisted float64   // its mass on unlisted tokens
}

const (
	reshapeName   = "reshape"
	reshapeWidth  = 7.0
	reshapePanels = 36 // above, no panel could be read
	reshapeTop    = 40
)

// outcome is what one panel states, computed from the two distributions.
type outcome struct {
	title     string
	kept      int     // tokens with sampling mass, among those with model mass
	added     int     // tokens with sampling mass that have no model mass
	mass      float64 // model mass on the kept tokens
	factor    float64 // sampling/model when it is the same on every kept token, else NaN
	tv        float64 // half the L1 distance
	undefined int
	other     float64 // sampling mass of the tokens not shown
	unlisted  float64
}

// reshape is the figure's content, ready to be drawn.
type reshape struct {
	data      ReshapeData
	rows      []int // tokens shown, by falling model probability
	ranks     []int // their places in the model distribution
	support   int   // tokens with model mass
	rest      int   // tokens with mass anywhere that are not shown
	restModel float64
	undefined int
	outcomes  []outcome
	emptyWhy  string
}

// Reshape draws what each rule does to one next-token distribution: for every
// rule a panel with the likeliest tokens, the sampling distribution as filled
// bars, the model distribution as outlines, removed tokens dashed and marked
// "cut", and one bar for all other tokens together. Tokens are ranked by model
// probability, ties by lowest index; the tokens shown are the ones with the
// largest probability in any of the distributions.
//
// Errors: fault.Usage for Top, the number of panels and options; fault.Data for
// slices of different length and for impossible probabilities. NaN and infinite
// probabilities are left out and counted; without a token or a panel the picture
// says so.
func Reshape(d ReshapeData, o Options) (fig *Figure, err error) {
	defer guard(reshapeName, &err)
	if o, err = o.resolve(reshapeName, reshapeWidth); err != nil {
		return nil, err
	}
	r, err := newReshape(d)
	if err != nil {
		return nil, err
	}
	return r.draw(o)
}

// newReshape checks the data and computes what the picture states.
func newReshape(d ReshapeData) (*reshape, error) {
	if len(d.Panels) > reshapePanels {
		return nil, fault.New(fault.Usage, "figure "+reshapeName, "panels", "%d are more than %d", len(d.Panels), reshapePanels).
			Fix("draw several figures")
	}
	if d.Top < 0 || d.Top > reshapeTop {
		return nil, fault.New(fault.Usage, "figure "+reshapeName, "top", "%d is outside 1 to %d", d.Top, reshapeTop).
			Fix("the other tokens are summed in one bar; the table of a generation lists them all")
	}
	if d.Top == 0 {
		d.Top = 16
		if len(d.Panels) > 6 {
			d.Top = 8
		}
	}
	if len(d.Tokens) != len(d.Model) {
		return nil, badNumber(reshapeName, "model", "%d probabilities for %d tokens", len(d.Model), len(d.Tokens))
	}
	for i, p := range d.Panels {
		if len(p.Sampling) != len(d.Model) {
			return nil, badNumber(reshapeName, panelName(i, p), "%d probabilities for %d tokens", len(p.Sampling), len(d.Model))
		}
	}
	r := &reshape{data: d}
	switch {
	case len(d.Tokens) == 0:
		r.emptyWhy = "no tokens"
	case len(d.Panels) == 0:
		r.emptyWhy = "no rules"
	}
	if r.emptyWhy != "" {
		return r, nil
	}
	return r, r.compute()
}

func panelName(i int, p ReshapePanel) string {
	return fmt.Sprintf("panel %d (%s)", i+1, fault.Quote(p.Title, 40))
}

func (r *reshape) compute() error {
	d := &r.data
	var err error
	if r.undefined, err = checkMass(reshapeName, "model", d.Model, d.Unlisted); err != nil {
		return err
	}
	for i, p := range d.Panels {
		o := outcome{title: p.Title, unlisted: p.Unlisted}
		if o.undefined, err = checkMass(reshapeName, panelName(i, p), p.Sampling, p.Unlisted); err != nil {
			return err
		}
		o.compare(d.Model, p.Sampling, d.Unlisted)
		r.outcomes = append(r.outcomes, o)
	}
	if r.undefined == len(d.Model) {
		r.emptyWhy = fmt.Sprintf("all %s probabilities are undefined", canvas.Count(r.undefined))
		return nil
	}
	r.choose()
	return nil
}

// compare fills in what sampling does to model.
func (o *outcome) compare(model, sampling []float64, unlisted float64) {
	least, most := math.Inf(1), 0.0
	for i, m := range model {
		s := sampling[i]
		if !defined(m) || !defined(s) {
			continue
		}
		o.tv += math.Abs(m-s) / 2
		switch {
		case s > 0 && m > 0:
			o.kept++
			o.mass += m
			least, most = min(least, s/m), max(most, s/m)
		case s > 0:
			o.added++
		}
	}
	o.tv += math.Abs(unlisted-o.unlisted) / 2
	// Float32 scores carry seven digits: a common factor agrees to five.
	o.factor = math.NaN()
	if o.kept > 0 && o.added == 0 && most-least <= 1e-5*most {
		o.factor = most
	}
}

// choose picks the rows and sums up the rest.
func (r *reshape) choose() {
	d := &r.data
	best := make([]float64, len(d.Model)) // in any of the distributions
	for i, m := range d.Model {
		best[i] = share(m)
		if best[i] > 0 {
			r.support++
		}
	}
	for _, p := range d.Panels {
		for i, s := range p.Sampling {
			best[i] = max(best[i], share(s))
		}
	}
	shown := largest(d.Top, best)
	// By model probability; largest passes over zeros, so one is added.
	keys := make([]float64, len(shown))
	for k, i := range shown {
		keys[k] = 1 + share(d.Model[i])
	}
	for _, k := range largest(len(shown), keys) {
		r.rows = append(r.rows, shown[k])
		best[shown[k]] = 0 // counted
	}
	r.rank()
	for i, b := range best {
		if !(b > 0) {
			continue
		}
		r.rest++
		r.restModel += share(d.Model[i])
		for k, p := range d.Panels {
			r.outcomes[k].other += share(p.Sampling[i])
		}
	}
}

// rank finds the place of every row in the model distribution, 1 for the
// likeliest, ties by lowest index.
func (r *reshape) rank() {
	for _, i := range r.rows {
		own, rank := share(r.data.Model[i]), 1
		for j, m := range r.data.Model {
			if m >= own && defined(m) && (m > own || j < i) {
				rank++
			}
		}
		r.ranks = append(r.ranks, rank)
	}
}
