package scenario

import (
	"lab/core/cost"
)

// Point is one batch of a frontier.
type Point struct {
	Batch     int64
	Step      cost.Quantity  // seconds
	PerUser   cost.Quantity  // tokens/s
	PerChip   cost.Quantity  // tokens/s
	Million   *cost.Quantity // USD per million output tokens while decoding; nil without a price per chip-hour
	Fits      bool
	Dominated bool // at the medians of the inputs
}

// Curve is a throughput-latency frontier.
type Curve struct {
	Points   []Point
	MaxBatch int64 // that fits; 0: not even one sequence
	Fit      cost.Fit
	Assumed  []string
}

// Frontier returns what each batch gives a user and a chip at a context of that
// many tokens ([cost.Arch.Frontier]), with bands where inputs are uncertain.
func Frontier(r *Resolved, context int64, batches []int64, d Draws) (*Curve, error) {
	const op = "cost frontier"
	v := r.Serving
	if v == nil {
		return nil, usage(op, "no hardware is given").Fix("a frontier needs a device: name one of lab cost hardware")
	}
	if v.Memory == 0 {
		return nil, usage(op, "the memory of the device is not known")
	}
	s := cost.Serving{Format: *r.Format, Device: v.Device, Model: v.Model, Routing: v.Routing, Offset: v.Offset.Median,
		Efficiency: cost.Efficiency{Compute: v.Compute.Median, Weights: v.Weights.Median, Cache: v.Cache.Median}}
	points, fit, err := r.Arch.Frontier(context, batches, v.Memory*v.Device.Chips, v.Usable, s)
	if err != nil {
		return nil, err
	}
	var in inputs
	in.list = []cost.Uncertain{v.Compute, v.Weights, v.Cache, v.Offset}
	if v.USDPerHour != nil {
		in.list = append(in.list, *v.USDPerHour)
	}
	kind := s.Efficiency.Kind()
	c := &Curve{MaxBatch: fit.MaxBatch, Fit: fit, Assumed: r.Assumed}
	for _, p := range points {
		w, err := r.Arch.StepWork(context, p.Batch, *r.Format, v.Routing)
		if err != nil {
			return nil, err
		}
		step := func(x []float64) (float64, error) {
			t, err := cost.StepTimeOf(w, v.Device, cost.Efficiency{Compute: x[0], Weights: x[1], Cache: x[2]}, v.Model, x[3])
			return t.Total, err
		}
		of := func(f func(t float64, x []float64) (float64, error), unit, formula string, kind cost.Kind, note string) (q cost.Quantity) {
			if err != nil {
				return q
			}
			q, err = in.quantity(d, func(x []float64) (float64, error) {
				t, err := step(x)
				if err != nil {
					return 0, err
				}
				return f(t, x)
			}, func(v float64) cost.Quantity { return cost.Of(v, unit, formula, kind, note) })
			return q
		}
		n := float64(p.Batch)
		one := Point{Batch: p.Batch, Fits: p.Fits, Dominated: p.Dominated,
			Step:    of(func(t float64, _ []float64) (float64, error) { return t, nil }, "s", "F9", kind, ""),
			PerUser: of(func(t float64, _ []float64) (float64, error) { return 1 / t, nil }, "tokens/s", "F13", kind, ""),
			PerChip: of(func(t float64, _ []float64) (float64, error) { return n / t / v.Device.Chips, nil }, "tokens/s", "F13", kind, "")}
		if v.USDPerHour != nil {
			q := of(func(t float64, x []float64) (float64, error) { return cost.USDPerMillion(x[4], v.Device.Chips, n/t) }, "USD/million tokens", "F16", cost.Scenario, v.PriceNote)
			one.Million = &q
		}
		if err != nil {
			return nil, err
		}
		c.Points = append(c.Points, one)
	}
	return c, nil
}
