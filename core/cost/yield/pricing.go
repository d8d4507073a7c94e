package yield

import (
	"fmt"
	"math"
	"strings"

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

	RentWhy, PowerWhy string // why Rent and Power are nil; "" says that none is given
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
	Batch   int64   // sequences that are decoded together; each takes its share of a step
	Memory  float64 // usable bytes of all chips; 0: not known
	Device  string  // for messages
	Note    string
}

// Check refuses what cannot be priced.
func (p *Pricing) Check() error {
	switch {
	case p.List != nil && p.Rent != nil:
		return fault.New(fault.Usage, op, "", "a price of tokens and a price of hours are given").Fix("give one of the two")
	case p.Rent != nil && (!(p.Rent.USDPerHour > 0) || math.IsInf(p.Rent.USDPerHour, 1)):
		return fault.New(fault.Usage, op, "", "%v USD an hour", p.Rent.USDPerHour).Fix("give a price above 0")
	case p.As != nil && p.As.Arch == nil:
		return fault.New(fault.Usage, op, "", "the other model has no architecture")
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
	rates
	search string // the strategy; empty for sampling
	known  map[Unit]Source
	absent map[Unit]string
	served map[[3]int64][2]Spend // FLOP and seconds by prompt, output and own tokens
}

// Strategies of core/search that evaluate tokens which are never generated.
const (
	speculative = "speculative"
	contrastive = "contrastive"
)

// strategy is the name of a search.
func strategy(search string) string {
	name, _, _ := strings.Cut(search, ":")
	return strings.TrimSpace(name)
}

// of returns the pricer of a setting, which knows of each unit how it is known, or why
// it is not. rate is that of the setting's model.
func (p *Pricing) of(g *group, rate rates) *pricer {
	r := &pricer{Pricing: p, rates: rate, search: strategy(g.search), known: map[Unit]Source{}, absent: map[Unit]string{}, served: map[[3]int64][2]Spend{}}
	note := "counted by the backend: decoding of each sample, prompts at the model's rate, as if samples shared nothing but the prompt"
	switch {
	case r.search == "":
		r.known[Tokens] = Source{cost.Exact, "tokens of prompt and completion"}
	case rate.counted:
		note = "counted by the backend: all that the search evaluated"
		r.known[Tokens] = Source{cost.Measured, note}
	default:
		r.absent[Tokens] = noCost
	}
	counts := func(u Unit, rate float64) {
		switch {
		case !r.counted:
			r.absent[u] = noCost
		case rate == 0:
			r.absent[u] = noCount
		default:
			r.known[u] = Source{cost.Measured, note}
		}
	}
	switch m := p.As; {
	case m == nil:
		counts(FLOP, rate.flop)
		counts(Seconds, rate.promptSeconds+rate.ownSeconds)
	case r.search == speculative:
		r.absent[FLOP] = "what a draft proposed and what the model judged are counted together, and cannot be taken to another model"
		r.absent[Seconds] = r.absent[FLOP]
	case r.has(Tokens):
		r.known[FLOP] = Source{cost.Exact, "F3 and F4 of " + m.Name + ", " + cost.Convention{}.String()}
		r.known[Seconds] = Source{m.Serving.Efficiency.Kind(), fmt.Sprintf("F9 and F12 of %s, batch %d, %s", m.Name, m.Batch, m.Note)}
	default:
		r.absent[FLOP], r.absent[Seconds] = noCost, noCost
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
	from(Joules, Seconds, p.Power != nil, or(p.PowerWhy, noPower), power)
	if p.List != nil {
		list = fmt.Sprintf("F16, list price of %s of %s (%s)", p.List.Name, p.List.AsOf, p.List.Source)
		from(USD, Tokens, true, "", list)
		return r
	}
	if p.Rent != nil {
		rent = fmt.Sprintf("F16, %g USD an hour (%s)", p.Rent.USDPerHour, p.Rent.Note)
	}
	from(USD, Seconds, p.Rent != nil, or(p.RentWhy, noPrice), rent)
	return r
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (r *pricer) has(u Unit) bool { _, ok := r.known[u]; return ok }

// spend returns what an attempt took of the known units.
func (r *pricer) spend(w work) (out [units]Spend, err error) {
	own := float64(w.output) // tokens that were generated, those thrown away too
	out[Tokens] = Spend{float64(w.prompt), own}
	if r.search != "" && r.counted {
		tokens, seconds, flop := searched(w.cost)
		own = max(tokens+w.cost.CachedTokens-float64(w.prompt), own)
		out[Tokens], out[Seconds], out[FLOP] = Spend{Own: tokens}, Spend{Own: seconds}, Spend{Own: flop}
	} else if r.counted {
		out[Seconds], out[FLOP] = r.taken(w)
	}
	if r.As != nil && r.has(FLOP) {
		if out[FLOP], out[Seconds], err = r.serve(w, own); err != nil {
			return out, err
		}
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
		wasted := max(int64(math.Round(own))-w.output, 0)
		if r.search == speculative || r.search == contrastive {
			wasted = 0 // what is proposed or weighed is no output
		}
		output, err := list.Bill(cost.Ledger{Output: w.output, Wasted: wasted}, r.Batch)
		if err != nil {
			return out, err
		}
		out[USD] = Spend{prompt.Total(), output.Total()}
	}
	return out, nil
}

func (s Spend) times(v float64) Spend { return Spend{s.Prompt * v, s.Own * v} }

// serve computes FLOP and seconds of the tokens of an attempt on the other model:
// the prompt as a share of a batch of prompts like it, then each further token at the
// mean of the contexts it is at, as a share of a step of the batch.
func (r *pricer) serve(w work, own float64) (flop, seconds Spend, err error) {
	key := [3]int64{w.prompt, w.output, int64(math.Round(own))}
	if known, ok := r.served[key]; ok {
		return known[0], known[1], nil
	}
	m := r.As
	if w.prompt < 1 {
		return flop, seconds, fault.New(fault.Data, op, "", "a prompt of %d tokens cannot be computed for another model", w.prompt)
	}
	if flop.Prompt, err = m.Arch.Prefill(cost.Prefill{New: w.prompt}, cost.Convention{}); err != nil {
		return flop, seconds, err
	}
	if seconds.Prompt, err = m.prompt(w.prompt, flop.Prompt); err != nil {
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

// prompt returns the seconds of a prompt (F9 of one step that holds the tokens of a
// whole batch of such prompts), whose own FLOP are given. With a batch of 1 it is
// [cost.Arch.Prompt] in one piece.
func (m *Served) prompt(tokens int64, flop float64) (float64, error) {
	b, err := m.Arch.StepBytes(1, tokens*m.Batch, m.Serving.Format, m.Serving.Routing)
	if err != nil {
		return 0, err
	}
	v, n := m.Serving, float64(m.Batch)
	t, err := cost.StepTimeOf(cost.Work{Linear: n * flop, Weights: b.Weights, Cache: b.CacheWrite}, v.Device, v.Efficiency, v.Model, v.Offset)
	return t.Total / n, err
}
