package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
)

// Setup is how a model is served, by names of the tables and plain numbers. Zero
// values and nil are not given; what then holds is said in the comments and in the
// answer's Assumed.
type Setup struct {
	Model string     // a name of the tables; empty: Arch
	Arch  *cost.Arch // an architecture of one's own

	Hardware string           // a name of the tables; empty and no Device: no times
	Device   *tables.Hardware // a device of one's own
	Dtype    string           // arithmetic type: chooses the peak and, unless given, bytes; bf16
	Chips    float64          // 1

	BytesPerWeight  float64 // those of Dtype
	BytesPerElement float64 // of the cache; those of Dtype, which must then have two or more
	Usable          float64 // share of the memory that counts; 1
	MaxContext      int     // of the model, where its record does not say

	Compute, Weights, Cache *cost.Uncertain // efficiencies; 1, a floor
	Offset                  *cost.Uncertain // seconds a step; 0
	Overlap                 bool            // instead of split step times
	Routing                 string          // same, expected or distinct experts of a batch; expected

	Watts, Load, PUE *cost.Uncertain // Watts: the design power; without Load and PUE there is no energy
	USDPerHour       *cost.Uncertain // of a chip; that of the device's record
}

// Resolved is a setup with its names looked up.
type Resolved struct {
	Arch     *cost.Arch
	Format   *cost.Format
	Serving  *Serving
	Name     string // of the model
	Hardware string
	Assumed  []string
	Warnings []string
}

// Bytes returns the bytes of an element of an arithmetic type of [tables.Dtypes].
func Bytes(dtype string) (float64, error) {
	switch dtype {
	case "fp64":
		return 8, nil
	case "fp32", "tf32":
		return 4, nil
	case "bf16", "fp16":
		return 2, nil
	case "fp8", "int8":
		return 1, nil
	case "fp6":
		return 0.75, nil
	case "fp4", "int4":
		return 0.5, nil
	}
	return 0, fault.Unknown("cost", "arithmetic type", dtype, tables.Dtypes())
}

// Resolve looks the names up. Unknown ones are usage errors with the nearest.
func (s Setup) Resolve(t *tables.Tables, day tables.Date) (*Resolved, error) {
	r := &Resolved{}
	if err := s.model(t, r); err != nil {
		return nil, err
	}
	if err := s.format(r); err != nil {
		return nil, err
	}
	return r, s.serving(t, day, r)
}

func (s Setup) model(t *tables.Tables, r *Resolved) error {
	switch {
	case s.Arch != nil && s.Model != "":
		return usage("cost", "both a model's name and an architecture are given")
	case s.Arch != nil:
		a := *s.Arch
		r.Arch, r.Name = &a, "the architecture given"
	case s.Model == "":
		return usage("cost", "no model is given").Fix("name one of lab cost models, or give its architecture")
	default:
		m, err := t.Model(s.Model)
		if err != nil {
			return err
		}
		if r.Arch, err = m.Architecture(); err != nil {
			return err
		}
		r.Name = m.Name
	}
	if s.MaxContext != 0 {
		r.Arch.MaxContext = s.MaxContext
	}
	if r.Arch.MaxContext == 0 {
		r.Assumed = append(r.Assumed, "the longest context of "+r.Name+" is not known: none is refused")
	}
	return nil
}

func (s Setup) dtype() string {
	if s.Dtype == "" {
		return "bf16"
	}
	return s.Dtype
}

func (s Setup) format(r *Resolved) error {
	each, err := Bytes(s.dtype())
	if err != nil {
		return err
	}
	f := cost.Format{Weight: s.BytesPerWeight, Cache: s.BytesPerElement}
	if f.Weight == 0 {
		f.Weight = each
	}
	if f.Cache == 0 {
		if each < 2 {
			return usage("cost", "a cache of %s elements is not a matter of course", s.dtype()).Fix("give bytes_per_element: caches are often kept wider than weights")
		}
		f.Cache = each
	}
	r.Format = &f
	r.Assumed = append(r.Assumed, fmt.Sprintf("%g bytes per weight, %g per cached element", f.Weight, f.Cache))
	return nil
}

func (s Setup) serving(t *tables.Tables, day tables.Date, r *Resolved) error {
	if s.Hardware == "" && s.Device == nil {
		return nil
	}
	h, err := s.device(t)
	if err != nil {
		return err
	}
	chips := s.Chips
	if chips == 0 {
		chips = 1
	}
	d, err := h.Device(s.dtype(), chips)
	if err != nil {
		return err
	}
	r.Hardware = h.Name
	r.Assumed = append(r.Assumed, fmt.Sprintf("%s at %s, %s", h.Name, s.dtype(), strings.TrimPrefix(fmt.Sprintf("%s (%s)", h.AsOf, h.Source), " ")))
	v := &Serving{Device: d, Memory: h.MemoryBytes, Usable: s.Usable, Compute: given(s.Compute, 1), Weights: given(s.Weights, 1), Cache: given(s.Cache, 1), Offset: given(s.Offset, 0)}
	if v.Usable == 0 {
		v.Usable = 1
		r.Assumed = append(r.Assumed, "the whole memory counts as usable")
	}
	if s.Overlap {
		v.Model = cost.Overlap
	}
	switch s.Routing {
	case "", "expected":
		v.Routing = cost.Expected
	case "same":
		v.Routing = cost.Same
	case "distinct":
		v.Routing = cost.Distinct
	default:
		return fault.Unknown("cost", "routing", s.Routing, []string{"same", "expected", "distinct"})
	}
	if err := s.power(h, v); err != nil {
		return err
	}
	switch {
	case s.USDPerHour != nil:
		v.USDPerHour, v.PriceNote = s.USDPerHour, "at the price per chip-hour given"
	case h.USDPerHour != nil:
		usd, warnings, err := h.HourUSD(day)
		if err != nil {
			return err
		}
		u := cost.Known(usd)
		v.USDPerHour, v.PriceNote = &u, fmt.Sprintf("rented at %g USD a chip-hour, %s (%s)", usd, h.AsOf, h.Source)
		r.Warnings = append(r.Warnings, warnings...)
	}
	r.Serving = v
	return nil
}

// device returns the device of the setup.
func (s Setup) device(t *tables.Tables) (*tables.Hardware, error) {
	if s.Device != nil {
		if s.Hardware != "" {
			return nil, usage("cost", "both the name of a device and a device are given")
		}
		return s.Device, nil
	}
	h, err := t.Hardware(s.Hardware)
	return &h, err
}

func (s Setup) power(h *tables.Hardware, v *Serving) error {
	if s.Load == nil && s.PUE == nil && s.Watts == nil {
		return nil
	}
	if s.Load == nil || s.PUE == nil {
		return usage("cost", "energy needs watts, load and PUE, and not all are given").Fix("give load (the share of the watts that is drawn) and pue (1 for a bare device)")
	}
	p := &Power{Load: *s.Load, PUE: *s.PUE, Note: "at the watts given"}
	if s.Watts != nil {
		p.Watts = *s.Watts
	} else {
		w, err := h.PowerWatts()
		if err != nil {
			return err
		}
		p.Watts, p.Note = cost.Known(w), "at the design power of "+h.Name+", a stand-in for measured watts"
	}
	v.Power = p
	return nil
}

func given(u *cost.Uncertain, otherwise float64) cost.Uncertain {
	if u == nil {
		return cost.Known(otherwise)
	}
	return *u
}

// Request is the request of [Estimate] with this serving.
func (r *Resolved) Request(prompt, cached, output, samples, batch int64, d Draws) Request {
	return Request{Arch: r.Arch, Prompt: prompt, Cached: cached, Output: output, Samples: samples, Batch: batch, Format: r.Format, Serving: r.Serving, Draws: d}
}

// Uncertain reads a number of a command line: "0.4" is known, "0.3..0.5" an
// interval, "0.3..0.4..0.5" the 5% point, the median and the 95% point. The ends of an
// interval are above 0; with growth they are shares above −1, see [Growth].
func Uncertain(text string, growth bool) (cost.Uncertain, error) {
	var x []float64
	for _, part := range strings.Split(text, "..") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return cost.Uncertain{}, usage("cost", "%s is no number", fault.Quote(text, 40)).Fix("write 0.4, an interval 0.3..0.5, or 0.3..0.4..0.5 with the median in the middle")
		}
		x = append(x, v)
	}
	if growth {
		return Growth(x)
	}
	return Between(x)
}

// Between makes an uncertain number of one, two or three: known, an interval, or
// 5% point, median and 95% point.
func Between(x []float64) (cost.Uncertain, error) {
	switch len(x) {
	case 1:
		return cost.Known(x[0]), nil
	case 2:
		return cost.Range(x[0], x[1])
	case 3:
		return cost.LogNormal(x[1], x[0], x[2])
	}
	return cost.Uncertain{}, usage("cost", "%d numbers make no interval", len(x)).Fix("give one, two (lo, hi) or three (lo, median, hi)")
}

// Growth makes the 1 + share of [Use.Growth] of one, two or three shares, which
// may be negative.
func Growth(x []float64) (cost.Uncertain, error) {
	shifted := make([]float64, len(x))
	for i, v := range x {
		shifted[i] = 1 + v
		if !(shifted[i] > 0) {
			return cost.Uncertain{}, usage("cost", "growth = %g leaves nothing", v).Fix("0.04 is 4%% more, -0.04 is 4%% less")
		}
	}
	return Between(shifted)
}
