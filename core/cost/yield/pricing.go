package yield

import (
	"fmt"
	"math"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
)

// Pricing says what attempts took besides tokens. The zero value takes what the run
// counted: FLOP and seconds, but no joules and no USD.
type Pricing struct {
	// As computes FLOP and seconds of the same tokens on another model and device.
	As *Served
	// List gives the USD of tokens; Batch takes its batch rates.
	List  *tables.Price
	Batch bool
	// Rent gives the USD of seconds; not together with List.
	Rent *Rent
	// Power gives the joules of seconds.
	Power     *cost.Power
	PowerNote string // where the watts are from
}

// Rent is what a second of the device costs.
type Rent struct {
	USDPerHour float64 // of all chips together
	Note       string  // where it is from
}

// Served is a model and how it is served.
type Served struct {
	Name    string
	Arch    *cost.Arch
	Serving cost.Serving
	Batch   int64 // sequences that are decoded together; each takes its share of a step
	Note    string
}

// Check refuses what cannot be priced.
func (p *Pricing) Check() error {
	switch {
	case p.List != nil && p.Rent != nil:
		return fault.New(fault.Usage, op, "", "a price of tokens and a price of hours are given").Fix("give one of the two")
	case p.Rent != nil && (!(p.Rent.USDPerHour > 0) || math.IsInf(p.Rent.USDPerHour, 1)):
		return fault.New(fault.Usage, op, "", "%v USD an hour", p.Rent.USDPerHour).Fix("give a price above 0")
	case p.As != nil && p.As.Batch < 1:
		return fault.New(fault.Usage, op, "", "batch = %d is below 1", p.As.Batch)
	case p.Batch && p.List == nil:
		return fault.New(fault.Usage, op, "", "batch rates are asked for without a price of tokens")
	}
	return nil
}

// pricer prices the attempts of one setting.
type pricer struct {
	*Pricing
	counters
	search bool
	known  map[Unit]Source
	absent map[Unit]string
	served map[[3]int64][2]Spend // FLOP and seconds by prompt, output and own tokens
}

// of returns the pricer of a setting, which knows of each unit how it is known, or why
// it is not.
func (p *Pricing) of(g *group, c counters) *pricer {
	r := &pricer{Pricing: p, counters: c, search: g.search != "", known: map[Unit]Source{}, absent: map[Unit]string{}, served: map[[3]int64][2]Spend{}}
	if r.search && c.why != "" {
		r.absent[Tokens] = c.why
	} else if r.search {
		r.known[Tokens] = Source{cost.Measured, c.note}
	} else {
		r.known[Tokens] = Source{cost.Exact, "tokens of prompt and completion"}
	}
	counts := func(u Unit, rate float64) {
		switch {
		case c.why != "":
			r.absent[u] = c.why
		case rate == 0:
			r.absent[u] = "the backend counts none"
		default:
			r.known[u] = Source{cost.Measured, c.note}
		}
	}
	switch m := p.As; {
	case m == nil:
		counts(FLOP, c.flop+c.attemptFLOP)
		counts(Seconds, c.ownSeconds+c.attemptSeconds)
	case r.has(Tokens):
		r.known[FLOP] = Source{cost.Exact, "F3 and F4 of " + m.Name + ", " + cost.Convention{}.String()}
		r.known[Seconds] = Source{m.Serving.Efficiency.Kind(), fmt.Sprintf("F9 and F12 of %s, batch %d, %s", m.Name, m.Batch, m.Note)}
	default:
		r.absent[FLOP], r.absent[Seconds] = c.why, c.why
	}
	from := func(u, needs Unit, given bool, otherwise, note string) {
		switch {
		case !given:
			r.absent[u] = otherwise
		case !r.has(needs):
			r.absent[u] = r.absent[needs]
		default:
			r.known[u] = Source{cost.Scenario, note}
		}
	}
	power, rent, list := "", "", ""
	if w := p.Power; w != nil {
		power = fmt.Sprintf("F15, %g W (%s), load %g, PUE %g", w.Watts, p.PowerNote, w.Load, w.PUE)
	}
	from(Joules, Seconds, p.Power != nil, "no power is given", power)
	if p.List != nil {
		list = fmt.Sprintf("F16, list price of %s of %s (%s)", p.List.Name, p.List.AsOf, p.List.Source)
		from(USD, Tokens, true, "", list)
		return r
	}
	if p.Rent != nil {
		rent = fmt.Sprintf("F16, %g USD an hour (%s)", p.Rent.USDPerHour, p.Rent.Note)
	}
	from(USD, Seconds, p.Rent != nil, "no price is given", rent)
	return r
}

func (r *pricer) has(u Unit) bool { _, ok := r.known[u]; return ok }

// spend returns what an attempt took of the known units.
func (r *pricer) spend(w work) (out [units]Spend, err error) {
	own := float64(w.output) // tokens that were generated, those thrown away too
	out[Tokens] = Spend{float64(w.prompt), own}
	if r.search {
		own = max(r.tokens-float64(w.prompt), own)
		out[Tokens] = Spend{Own: r.tokens}
	}
	switch {
	case r.As != nil && r.has(Tokens):
		if out[FLOP], out[Seconds], err = r.serve(w, own); err != nil {
			return out, err
		}
	case r.search:
		out[FLOP], out[Seconds] = Spend{Own: r.attemptFLOP}, Spend{Own: r.attemptSeconds}
	default:
		steps := max(own-1, 0) // the first token comes with the prompt
		out[FLOP] = Spend{r.flop * float64(w.prompt), r.flop * steps}
		out[Seconds] = Spend{r.promptSeconds * float64(w.prompt), r.ownSeconds * steps}
	}
	if r.has(Joules) {
		perSecond, err := cost.Energy(1, *r.Power)
		if err != nil {
			return out, err
		}
		out[Joules] = out[Seconds].times(perSecond)
	}
	switch {
	case !r.has(USD):
	case r.List == nil:
		out[USD] = out[Seconds].times(r.Rent.USDPerHour / 3600)
	default:
		list := r.List.For(w.prompt)
		prompt, err := list.Bill(cost.Ledger{Prompt: w.prompt}, r.Batch)
		if err != nil {
			return out, err
		}
		// The prompt decides the tier, so the output is billed with it.
		output, err := list.Bill(cost.Ledger{Output: w.output, Wasted: max(int64(math.Round(own))-w.output, 0)}, r.Batch)
		if err != nil {
			return out, err
		}
		out[USD] = Spend{prompt.Total(), output.Total()}
	}
	return out, nil
}

func (s Spend) times(v float64) Spend { return Spend{s.Prompt * v, s.Own * v} }

// serve computes FLOP and seconds of the tokens of an attempt on the other model:
// the prompt by itself, then each further token at the mean of the contexts it is
// at, as a share of a step of the batch.
func (r *pricer) serve(w work, own float64) (flop, seconds Spend, err error) {
	key := [3]int64{w.prompt, w.output, int64(math.Round(own))}
	if known, ok := r.served[key]; ok {
		return known[0], known[1], nil
	}
	m := r.As
	if w.prompt < 1 {
		return flop, seconds, fault.New(fault.Data, op, "", "a prompt of %d tokens cannot be computed for another model", w.prompt)
	}
	prefill := cost.Prefill{New: w.prompt}
	if flop.Prompt, err = m.Arch.Prefill(prefill, cost.Convention{}); err != nil {
		return flop, seconds, err
	}
	if seconds.Prompt, err = m.Arch.Prompt(prefill, 0, m.Serving); err != nil {
		return flop, seconds, err
	}
	if w.output > 1 {
		each := (own - 1) / float64(w.output-1) // more than 1 where a search threw tokens away
		run, err := m.Arch.DecodeRun(w.prompt, w.output-1, cost.Convention{})
		if err != nil {
			return flop, seconds, err
		}
		step, err := m.Arch.Step(w.prompt+max(w.output/2, 1), m.Batch, m.Serving)
		if err != nil {
			return flop, seconds, err
		}
		flop.Own, seconds.Own = run*each, step.Total/float64(m.Batch)*float64(w.output-1)*each
	}
	r.served[key] = [2]Spend{flop, seconds}
	return flop, seconds, nil
}
