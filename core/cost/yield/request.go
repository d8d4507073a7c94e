package yield

import (
	"fmt"
	"math"
	"slices"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/cost/tables"
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
)

// Request is what a user asks of stored runs, by the names of the tables. The zero
// value of a field leaves out what it would say.
type Request struct {
	Quality Quality
	Judge   []Quality // in place of Quality, that of each run
	Options

	// Price is the name in the price table whose rates of tokens give USD, on the day
	// AsOf; BatchPrices takes those of the batch endpoint.
	Price       string
	AsOf        tables.Date
	BatchPrices bool

	// Setup says on what the seconds are spent. Its hardware, or USDPerHour, gives their
	// USD; Load and PUE, with Watts or the hardware's design power, their joules. With a
	// model, FLOP and seconds are those of the same tokens on that model and the
	// hardware, and not what the run counted. Numbers must be known: the intervals of
	// a report are of what was sampled.
	Setup scenario.Setup
	Batch int64 // sequences that the model decodes together; 0: 1
}

// Answer answers a request about runs: the settings of the first, then those of the
// next. Several runs add the axis "run" with their names. Warnings are in the report.
func (q *Request) Answer(t *tables.Tables, runs []*store.Stored, names []string) (*Report, error) {
	if len(runs) == 0 || len(runs) != len(names) || q.Judge != nil && len(q.Judge) != len(runs) {
		return nil, fault.New(fault.Internal, op, "", "%d runs and %d names", len(runs), len(names))
	}
	pricing, warnings, err := q.pricing(t)
	if err != nil {
		return nil, err
	}
	o := q.Options
	var settings []Setting
	var longest int64
	for i, run := range runs {
		quality := q.Quality
		if q.Judge != nil {
			quality = q.Judge[i]
		}
		j, err := Stored(run, quality, *pricing, measure.Interval{Level: o.Level})
		if err != nil {
			return nil, err
		}
		if j.Set && (o.AtLeast != nil || !slices.Equal(o.N, []int{1}) && o.N != nil) {
			return nil, fault.New(fault.Usage, op, q.Quality.Name, "it is of sets of answers: single ones are not useful, and none is the best of n").
				Fix("leave out n and at_least, or take a measure of single answers")
		}
		if j.Boolean && o.AtLeast == nil {
			one := 1.0
			if o.Smaller {
				one = 0
			}
			o.AtLeast = &one
		}
		o.Count, o.Share = j.Count, j.Boolean
		longest = max(longest, j.Longest)
		for _, s := range j.Settings {
			if len(runs) > 1 {
				s.Axes = append([]Axis{{"run", names[i]}}, s.Axes...)
			}
			settings = append(settings, s)
		}
	}
	r, err := Compute(settings, o)
	if err != nil {
		return nil, err
	}
	r.Warnings = append(warnings, r.warnings()...)
	return r, pricing.fits(longest)
}

// pricing looks up what the request names.
func (q *Request) pricing(t *tables.Tables) (*Pricing, []string, error) {
	if err := q.check(); err != nil {
		return nil, nil, err
	}
	p := &Pricing{Batch: q.BatchPrices}
	var warnings []string
	if q.Price != "" {
		list, w, err := t.Price(q.Price, q.AsOf)
		if err != nil {
			return nil, nil, err
		}
		p.List, warnings = &list, append(warnings, w...)
	}
	hardware := q.Setup.Device
	if q.Setup.Hardware != "" {
		h, err := t.Hardware(q.Setup.Hardware)
		if err != nil {
			return nil, nil, err
		}
		hardware = &h
	}
	more, err := q.rent(p, hardware)
	if err != nil {
		return nil, nil, err
	}
	if err := q.power(p, hardware); err != nil {
		return nil, nil, err
	}
	if q.Setup.Model != "" || q.Setup.Arch != nil {
		if hardware == nil {
			return nil, nil, fault.New(fault.Usage, op, "model", "times on another model need a device").Fix("name hardware of the table: lab cost hardware")
		}
		if err := q.served(t, p); err != nil {
			return nil, nil, err
		}
	}
	return p, append(warnings, more...), p.Check()
}

// check refuses what the request cannot mean.
func (q *Request) check() error {
	s := &q.Setup
	for _, u := range []struct {
		name string
		v    *cost.Uncertain
	}{{"efficiency of compute", s.Compute}, {"efficiency of weights", s.Weights}, {"efficiency of the cache", s.Cache}, {"offset", s.Offset}, {"watts", s.Watts}, {"load", s.Load}, {"pue", s.PUE}, {"usd_per_hour", s.USDPerHour}} {
		if u.v != nil && !u.v.IsKnown() {
			return fault.New(fault.Usage, op, u.name, "it is an interval, and those of a report are of what was sampled").Fix("give a number, and ask for each end by itself")
		}
	}
	if chips := s.Chips; chips != 0 && !(chips > 0 && !math.IsInf(chips, 1)) {
		return fault.New(fault.Usage, op, "chips", "%v is not above 0 and finite", chips)
	}
	if q.Batch < 0 {
		return fault.New(fault.Usage, op, "batch", "%d is below 1", q.Batch)
	}
	if s.Model == "" && s.Arch == nil && (q.Batch != 0 || s.BytesPerWeight != 0 || s.BytesPerElement != 0 || s.Compute != nil || s.Weights != nil || s.Cache != nil || s.Offset != nil || s.Usable != 0 || s.MaxContext != 0) {
		return fault.New(fault.Usage, op, "", "a batch, bytes, efficiencies and an offset are of another model, and none is named").Fix("name a model of the table: lab cost models")
	}
	return nil
}

func (q *Request) chips() float64 {
	if q.Setup.Chips == 0 {
		return 1
	}
	return q.Setup.Chips
}

// rent sets what hours cost.
func (q *Request) rent(p *Pricing, h *tables.Hardware) ([]string, error) {
	switch {
	case q.Setup.USDPerHour != nil:
		p.Rent = &Rent{q.Setup.USDPerHour.Median * q.chips(), "given"}
	case p.List != nil || h == nil:
	case h.USDPerHour == nil:
		p.RentWhy = "no price of an hour of " + h.Name + " is known"
	default:
		usd, warnings, err := h.HourUSD(q.AsOf)
		if err != nil {
			return nil, err
		}
		p.Rent = &Rent{usd * q.chips(), fmt.Sprintf("%s, %s, %s", h.Name, h.Source, h.AsOf)}
		return warnings, nil
	}
	return nil, nil
}

// power sets what seconds take in joules.
func (q *Request) power(p *Pricing, h *tables.Hardware) error {
	s := &q.Setup
	if s.Watts == nil && s.Load == nil && s.PUE == nil {
		p.PowerWhy = noPower
		return nil
	}
	if s.Load == nil || s.PUE == nil {
		return fault.New(fault.Usage, op, "", "joules need watts, load and PUE, and not all are given").Fix("give load (the share of the watts that is drawn) and pue (1 for a bare device)")
	}
	p.Power = &cost.Power{Load: s.Load.Median, PUE: s.PUE.Median}
	switch {
	case s.Watts != nil:
		p.Power.Watts, p.PowerNote = s.Watts.Median*q.chips(), "given"
	case h == nil:
		return fault.New(fault.Usage, op, "", "a load and a PUE are given without watts").Fix("give watts, or hardware with a known power")
	default:
		w, err := h.PowerWatts()
		if err != nil {
			return err
		}
		p.Power.Watts, p.PowerNote = w*q.chips(), "design power of "+h.Name+", a stand-in for a measurement"
	}
	_, err := cost.Energy(1, *p.Power)
	return err
}

// served sets the other model on its device.
func (q *Request) served(t *tables.Tables, p *Pricing) error {
	setup := q.Setup
	setup.Watts, setup.Load, setup.PUE, setup.USDPerHour = nil, nil, nil, nil // those are settled
	r, err := setup.Resolve(t, q.AsOf)
	if err != nil {
		return err
	}
	v := r.Serving
	e := cost.Efficiency{Compute: v.Compute.Median, Weights: v.Weights.Median, Cache: v.Cache.Median}
	m := &Served{Name: r.Name, Arch: r.Arch, Batch: max(q.Batch, 1), Memory: v.Memory * v.Usable * v.Device.Chips, Device: fmt.Sprintf("%g x %s", v.Device.Chips, r.Hardware),
		Serving: cost.Serving{Format: *r.Format, Device: v.Device, Efficiency: e, Model: v.Model, Offset: v.Offset.Median, Routing: v.Routing}}
	m.Note = fmt.Sprintf("%s, peak %.4g/s, %g bytes a weight, %g a cached element, %s", m.Device, v.Device.Peak, r.Format.Weight, r.Format.Cache, v.Model)
	if e.IsFloor() {
		m.Note += ", a floor: efficiencies of 1"
	} else {
		m.Note += fmt.Sprintf(", efficiencies %g, %g, %g", e.Compute, e.Weights, e.Cache)
	}
	p.As = m
	return nil
}

// fits refuses a batch whose weights and cache do not fit the memory.
func (p *Pricing) fits(longest int64) error {
	m := p.As
	if m == nil || m.Memory == 0 {
		return nil
	}
	fit, err := m.Arch.MaxBatch(longest, m.Memory, 1, m.Serving.Format)
	if err != nil || fit.MaxBatch >= m.Batch {
		return err
	}
	need := fit.Weights + float64(m.Batch)*fit.PerSeq
	return fault.New(fault.Limit, op, m.Name, "a batch of %d at %d tokens needs %.4g GB, and %s have %.4g GB: %.4g GB are missing", m.Batch, longest, need/1e9, m.Device, fit.Usable/1e9, (need-fit.Usable)/1e9).
		Fix("a batch of %d fits; or take more chips, or fewer bytes a weight", fit.MaxBatch)
}

// Why joules and USD are not known where nobody asked for them.
const (
	noPower = "no watts, load and PUE are given"
	noPrice = "no price is given"
)

// Unknown says which units are not known, and why, once for all settings; those that
// nobody asked for are left out.
func (r *Report) Unknown() []string {
	var out []string
	for _, u := range Units() {
		for i := range r.Settings {
			if why, ok := r.Settings[i].Absent[u]; ok && why != noPower && why != noPrice {
				if text := fmt.Sprintf("%s are not known: %s", u, why); !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// fewPrompts is how many prompts an interval over prompts should have: with 6 the
// quantile of t is 1.3 times that of the normal distribution, with 2 it is 6.5 times.
const fewPrompts = 6

// warnings say what a reader of the rows should know.
func (r *Report) warnings() []string {
	var out []string
	few := 0
	for i := range r.Settings {
		s := &r.Settings[i]
		if s.fewest() < r.N[len(r.N)-1] && s.Prompts[0].Set == nil {
			few++
		}
		if s.Failed > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d samples failed, and what they took is not known", s, s.Failed, s.Failed+s.Attempts()))
		}
	}
	if few > 0 {
		out = append(out, fmt.Sprintf("%d of %d settings have fewer than %d attempts at a prompt, and no row for so many", few, len(r.Settings), r.N[len(r.N)-1]))
	}
	if n := len(r.Settings[0].Prompts); n > 1 && n < fewPrompts && !r.FixedPrompts {
		out = append(out, fmt.Sprintf("%d prompts say little of others, so that intervals over them are wide; fixed_prompts makes intervals over the answers to these", n))
	}
	const most = 20
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}
