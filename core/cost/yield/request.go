package yield

import (
	"fmt"
	"math"
	"slices"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
)

// Request is what a user asks of stored runs, by the names of the tables. The zero
// value of a field leaves out what it would say.
type Request struct {
	Quality Quality
	Options

	// Price is the name in the price table whose rates of tokens give USD, on the day
	// AsOf; BatchPrices takes those of the batch endpoint.
	Price       string
	AsOf        tables.Date
	BatchPrices bool

	// Hardware is what the seconds are of: its rent and its power give USD and joules
	// where the table has them. USDPerHour and Watts, each of one chip, take their
	// place.
	Hardware   string
	Chips      float64 // 0: 1
	USDPerHour *float64
	Watts      *float64
	Load       float64 // average share of the watts, in (0, 1]; 0: 1
	PUE        float64 // at least 1; 0: 1

	// Model asks what the same tokens take on this model of the table and on Hardware,
	// instead of what the run counted.
	Model      string
	Dtype      string           // of the arithmetic; needed with Model
	Batch      int64            // sequences decoded together; 0: 1
	WeightBits float64          // 0: 16
	CacheBits  float64          // 0: 16
	Efficiency *cost.Efficiency // nil: 1, so that times are floors
}

// Answer answers a request about runs: the settings of the first, then those of the
// next. Several runs add the axis "run" with their names. Warnings are in the report.
func (q *Request) Answer(t *tables.Tables, runs []*store.Stored, names []string) (*Report, error) {
	if len(runs) == 0 || len(runs) != len(names) {
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
		j, err := Stored(run, q.Quality, *pricing, measure.Interval{Level: o.Level})
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
	fits, err := q.fits(t, pricing, longest)
	if err != nil {
		return nil, err
	}
	r.Warnings = append(append(warnings, fits...), r.warnings()...)
	return r, nil
}

// pricing looks up what the request names.
func (q *Request) pricing(t *tables.Tables) (*Pricing, []string, error) {
	p := &Pricing{Batch: q.BatchPrices}
	var warnings []string
	chips := q.Chips
	if chips == 0 {
		chips = 1
	}
	if !(chips > 0) || math.IsInf(chips, 1) {
		return nil, nil, fault.New(fault.Usage, op, "chips", "%v is not above 0 and finite", chips)
	}
	if q.Price != "" {
		list, w, err := t.Price(q.Price, q.AsOf)
		if err != nil {
			return nil, nil, err
		}
		p.List, warnings = &list, append(warnings, w...)
	}
	var hardware *tables.Hardware
	if q.Hardware != "" {
		h, err := t.Hardware(q.Hardware)
		if err != nil {
			return nil, nil, err
		}
		hardware = &h
		p.RentWhy = "no price of an hour of " + h.Name + " is known"
		p.PowerWhy = "the power of " + h.Name + " is not known"
	}
	switch {
	case q.USDPerHour != nil:
		p.Rent = &Rent{*q.USDPerHour * chips, "given"}
	case p.List == nil && hardware != nil && hardware.USDPerHour != nil:
		usd, w, err := hardware.HourUSD(q.AsOf)
		if err != nil {
			return nil, nil, err
		}
		p.Rent = &Rent{usd * chips, fmt.Sprintf("%s, %s, %s", hardware.Name, hardware.Source, hardware.AsOf)}
		warnings = append(warnings, w...)
	}
	power := cost.Power{Load: q.Load, PUE: q.PUE}
	if power.Load == 0 {
		power.Load = 1
	}
	if power.PUE == 0 {
		power.PUE = 1
	}
	switch {
	case q.Watts != nil:
		power.Watts, p.PowerNote = *q.Watts*chips, "given"
	case hardware != nil && hardware.Watts != nil:
		power.Watts, p.PowerNote = *hardware.Watts*chips, "design power of "+hardware.Name+", a stand-in for a measurement"
	case q.Load != 0 || q.PUE != 0:
		return nil, nil, fault.New(fault.Usage, op, "", "a load or PUE is given without watts").Fix("give watts, or hardware with a known power")
	}
	if power.Watts != 0 {
		if _, err := cost.Energy(1, power); err != nil {
			return nil, nil, err
		}
		p.Power = &power
	}
	if q.Model == "" {
		if q.Dtype != "" || q.Batch != 0 || q.WeightBits != 0 || q.CacheBits != 0 || q.Efficiency != nil {
			return nil, nil, fault.New(fault.Usage, op, "", "dtype, batch, weight_bits, cache_bits and efficiency are of another model, and none is named").Fix("name a model of the table: lab cost models")
		}
		return p, warnings, p.Check()
	}
	if hardware == nil {
		return nil, nil, fault.New(fault.Usage, op, "model", "times on %q need a device", q.Model).Fix("name hardware of the table: lab cost hardware")
	}
	served, err := q.served(t, hardware, chips)
	if err != nil {
		return nil, nil, err
	}
	p.As = served
	return p, warnings, p.Check()
}

// served is the other model on its device.
func (q *Request) served(t *tables.Tables, hardware *tables.Hardware, chips float64) (*Served, error) {
	m, err := t.Model(q.Model)
	if err != nil {
		return nil, err
	}
	arch, err := m.Architecture()
	if err != nil {
		return nil, err
	}
	if q.Dtype == "" {
		return nil, fault.New(fault.Usage, op, "dtype", "the arithmetic type is missing").Fix("%s has %v", hardware.Name, hardware.Types())
	}
	device, err := hardware.Device(q.Dtype, chips)
	if err != nil {
		return nil, err
	}
	bits := func(v float64) float64 {
		if v == 0 {
			return 16
		}
		return v
	}
	w, c := bits(q.WeightBits), bits(q.CacheBits)
	if !(w > 0 && w <= 64) || !(c > 0 && c <= 64) {
		return nil, fault.New(fault.Usage, op, "", "%v bits a weight and %v bits of cache are outside (0, 64]", w, c)
	}
	s := &Served{Name: m.Name, Arch: arch, Batch: max(q.Batch, 1)}
	if q.Batch < 0 {
		return nil, fault.New(fault.Usage, op, "batch", "%d is below 1", q.Batch)
	}
	s.Serving = cost.Serving{Format: cost.Format{Weight: w / 8, Cache: c / 8, Activation: 2}, Device: device, Efficiency: cost.Floor(), Routing: cost.Expected}
	s.Note = fmt.Sprintf("%g x %s, %s, %g-bit weights, %g-bit cache", chips, hardware.Name, q.Dtype, w, c)
	if q.Efficiency != nil {
		s.Serving.Efficiency = *q.Efficiency
		s.Note += fmt.Sprintf(", efficiencies %g, %g, %g", q.Efficiency.Compute, q.Efficiency.Weights, q.Efficiency.Cache)
	} else {
		s.Note += ", a floor: efficiencies of 1"
	}
	return s, nil
}

// fits warns where weights and cache of the batch do not fit the memory.
func (q *Request) fits(t *tables.Tables, p *Pricing, longest int64) ([]string, error) {
	if p.As == nil {
		return nil, nil
	}
	h, err := t.Hardware(q.Hardware)
	if err != nil {
		return nil, err
	}
	m := p.As
	fit, err := m.Arch.MaxBatch(longest, h.MemoryBytes*m.Serving.Device.Chips, 1, m.Serving.Format)
	if err != nil {
		return nil, err
	}
	if fit.MaxBatch >= m.Batch {
		return nil, nil
	}
	need := fit.Weights + float64(m.Batch)*fit.PerSeq
	return []string{fmt.Sprintf("%s with a batch of %d at %d tokens needs %.4g GB, and %g x %s have %.4g GB: %d sequences fit, %.4g GB are missing",
		m.Name, m.Batch, longest, need/1e9, m.Serving.Device.Chips, h.Name, fit.Usable/1e9, fit.MaxBatch, (need-fit.Usable)/1e9)}, nil
}

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
	const most = 20
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return out
}
