// Package profile measures what the calls of one model take on this machine, over
// contexts and batches, and sets three numbers beside each other: what was
// measured, what fitted constants say, and the floor below which the machine
// cannot come.
//
// It owns the order of the steps and the report; how calls are timed is
// core/plugin/bench, what is fitted core/cost/steptime, what the machine can do
// core/machine. It guesses no architecture: the work of a call is what the backend
// counts. Start with [Measure].
package profile

import (
	"context"
	"fmt"
	"slices"

	"lab/core/cost/steptime"
	"lab/core/fault"
	"lab/core/machine"
	"lab/core/plugin/bench"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
)

// Report is the profile of one model. Seconds are of a call as the caller sees it:
// through the plugin, scores included.
type Report struct {
	Model      string `json:"model"` // as it was asked for
	Name       string `json:"name"`
	Arch       string `json:"architecture"`
	Parameters int64  `json:"parameters"`
	Weights    int64  `json:"weight_bytes"`
	Digest     string `json:"digest"`
	Kernels    string `json:"kernels,omitempty"`
	Threads    string `json:"threads,omitempty"`

	Steps  int     `json:"steps"` // of a visit to a point
	Repeat int     `json:"repeat"`
	Seed   uint64  `json:"seed"`
	Points []Point `json:"points"`

	// Decode and Prefill are the fits; nil where there are too few points.
	Decode  *steptime.Fitted `json:"decode,omitempty"`
	Prefill *steptime.Fitted `json:"prefill,omitempty"`

	// Machine is what the floors are of; nil when it was not calibrated.
	Machine *machine.Rates `json:"machine,omitempty"`
	// Threads that wanted to run before and after, the mean of a minute, this
	// process included; nil where the system does not say.
	LoadBefore *float64 `json:"load_before,omitempty"`
	LoadAfter  *float64 `json:"load_after,omitempty"`

	Notes       []string `json:"notes,omitempty"`
	Interrupted bool     `json:"interrupted,omitempty"`
}

// Point is one context and batch of one phase.
type Point struct {
	Phase   bench.Phase `json:"phase"` // "decode" or "prefill"
	Context int         `json:"context"`
	Batch   int         `json:"batch"`
	Rounds  int         `json:"rounds"`

	Seconds   machine.Spread `json:"seconds"`         // of one call
	Backend   machine.Spread `json:"backend_seconds"` // as the backend counts them
	PerSecond float64        `json:"tokens_per_second"`

	// What the backend counts in a call.
	FLOPs      float64 `json:"flops"`
	BytesMoved float64 `json:"bytes_moved"`
	Base       float64 `json:"weight_bytes"`      // of them, those of a step whose sequences hold nothing
	CacheMoved float64 `json:"cache_bytes_moved"` // the rest
	CacheBytes float64 `json:"cache_bytes"`       // held, of all sequences

	Fitted      float64 `json:"fitted_seconds,omitempty"`
	OverFitted  float64 `json:"measured_over_fitted,omitempty"`
	Floor       float64 `json:"floor_seconds,omitempty"`
	OverFloor   float64 `json:"measured_over_floor,omitempty"`
	OfFLOPs     float64 `json:"mfu,omitempty"` // F14, of the machine's most
	OfBandwidth float64 `json:"mbu,omitempty"` // F14, of the machine's most for so many bytes; of decodes
}

// Options are those of the grid and of the fit.
type Options struct {
	bench.GridOptions
	Form string         // of the fit, see steptime.Options
	At   *machine.Rates // nil: there are no floors
}

// Measure measures a model and fits its constants. What was measured before ctx
// ended comes back with an error of kind Interrupted, and is fitted as far as it
// goes.
func Measure(ctx context.Context, ref string, m *host.Model, opt Options) (*Report, error) {
	grid, err := opt.GridOptions.Check()
	if err != nil {
		return nil, err
	}
	if forms := []string{"sum", "split"}; opt.Form != "" && !slices.Contains(forms, opt.Form) {
		return nil, fault.Unknown("profile", "form", opt.Form, forms)
	}
	info := m.Info()
	r := &Report{Model: ref, Name: info.Name, Arch: info.Architecture, Parameters: info.Parameters, Weights: info.WeightBytes, Digest: info.Digest,
		Kernels: info.Detail(model.DetailKernels), Threads: info.Detail(model.DetailThreads),
		Steps: grid.Steps, Repeat: grid.Repeat, Seed: grid.Seed, Points: []Point{}, Machine: opt.At, LoadBefore: machine.Load()}
	points, err := bench.Grid(ctx, bench.Subject{Label: ref, Model: m}, grid)
	r.LoadAfter = machine.Load()
	if err != nil && (fault.KindOf(err) != fault.Interrupted || len(points) == 0) {
		return nil, err
	}
	r.Interrupted = err != nil
	for i := range points {
		r.Points = append(r.Points, newPoint(&points[i], opt.At))
	}
	if fitErr := r.fit(opt.Form, points); fitErr != nil {
		return nil, fitErr
	}
	return r, err
}

func newPoint(b *bench.Point, at *machine.Rates) Point {
	p := Point{Phase: b.Phase, Context: b.Context, Batch: b.Batch, Rounds: len(b.Seconds), Seconds: machine.NewSpread(b.Seconds), Backend: machine.NewSpread(b.Backend),
		FLOPs: b.Usage.FLOPs, BytesMoved: b.Usage.BytesMoved, Base: b.Empty.BytesMoved, CacheMoved: max(0, b.Usage.BytesMoved-b.Empty.BytesMoved), CacheBytes: b.Usage.CacheBytes}
	t := p.Seconds.Median
	tokens := float64(p.Batch)
	if p.Phase == bench.Prefill {
		tokens = float64(p.Context)
	}
	p.PerSecond = tokens / t
	if at == nil || p.FLOPs == 0 && p.BytesMoved == 0 {
		return p
	}
	// A prompt's tokens read the cache together, so that only weights are sure to be
	// read (F12).
	bytes := p.BytesMoved
	if p.Phase == bench.Prefill {
		bytes = p.Base
	}
	bandwidth := at.BytesPerSecond(int64(bytes))
	p.Floor = floor(at, bytes, p.FLOPs)
	p.OverFloor, p.OfFLOPs = t/p.Floor, p.FLOPs/(t*at.PerSecond())
	if p.Phase == bench.Decode {
		p.OfBandwidth = bytes / (t * bandwidth)
	}
	return p
}

// floor is a lower bound of the seconds of a call, whatever overlaps: all bytes at
// the rate of their working set, or all operations at the machine's most (F9, the
// overlap form with efficiencies of 1).
func floor(at *machine.Rates, bytes, operations float64) float64 {
	return max(bytes/at.BytesPerSecond(int64(bytes)), operations/at.PerSecond())
}

// Prediction is what the fit says of a call, with the machine's floor; nil where
// there is none.
type Prediction struct {
	steptime.Prediction
	Floor *float64
}

// Predict returns what the fit of a phase says of a context and a batch; see
// [steptime.Fitted.Predict]. A phase without a fit is a usage error.
func (r *Report) Predict(phase bench.Phase, context, batch int) (Prediction, error) {
	f := r.Fit(phase)
	if f == nil {
		return Prediction{}, fault.New(fault.Usage, "profile", string(phase), "it has no fit: too few points were measured").Fix("measure more contexts and batches")
	}
	p, err := f.Predict(context, batch)
	out := Prediction{Prediction: p}
	if err == nil && r.Machine != nil && r.counted(phase) {
		bytes := p.Weights + p.Cache
		if phase == bench.Prefill {
			bytes = r.base()
		}
		x := floor(r.Machine, bytes, p.Linear+p.Attention)
		out.Floor = &x
	}
	return out, err
}

// counted reports whether the backend counted what a phase does.
func (r *Report) counted(phase bench.Phase) bool {
	return slices.ContainsFunc(r.Points, func(p Point) bool { return p.Phase == phase && (p.FLOPs > 0 || p.BytesMoved > 0) })
}

// base is the bytes of weights that a prefill reads at least.
func (r *Report) base() float64 {
	for _, p := range r.Points {
		if p.Phase == bench.Prefill {
			return p.Base
		}
	}
	return 0
}

// fit fits both phases. Too few points are a note.
func (r *Report) fit(form string, points []bench.Point) error {
	for _, phase := range []bench.Phase{bench.Decode, bench.Prefill} {
		var calls []steptime.Point
		var at []int
		counted := false
		for i, p := range r.Points {
			if p.Phase != phase {
				continue
			}
			c := steptime.Point{Context: p.Context, Batch: p.Batch, Seconds: p.Seconds.Median}
			if phase == bench.Prefill {
				c.Linear, c.Cache = p.FLOPs, p.CacheMoved
			} else {
				c.Weights, c.Linear, c.Cache = p.Base, points[i].Empty.FLOPs, p.CacheMoved
				c.Attention = max(0, p.FLOPs-c.Linear)
			}
			counted = counted || p.FLOPs > 0 || p.BytesMoved > 0
			calls, at = append(calls, c), append(at, i)
		}
		if len(calls) == 0 {
			continue
		}
		if !counted {
			r.note("its backend counts no FLOP and no bytes: a %s is fitted with tokens", phase)
			for i := range calls {
				calls[i].Cache = float64(calls[i].Context * calls[i].Batch)
				if phase == bench.Prefill {
					calls[i].Linear, calls[i].Cache = float64(calls[i].Context), 0
				}
			}
		}
		f, err := steptime.Fit(calls, steptime.Options{Form: form, Seed: r.Seed, Prefill: phase == bench.Prefill, Uncounted: !counted})
		if err != nil && fault.KindOf(err) == fault.Usage { // too few points
			r.note("%s: %v", phase, err)
			continue
		}
		if err != nil {
			return err
		}
		for i, k := range at {
			r.Points[k].Fitted, r.Points[k].OverFitted = f.Residuals[i].Fitted, f.Residuals[i].Ratio
		}
		if phase == bench.Decode {
			r.Decode = f
		} else {
			r.Prefill = f
		}
	}
	return nil
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Fit returns the fit of a phase; nil when there is none.
func (r *Report) Fit(phase bench.Phase) *steptime.Fitted {
	if phase == bench.Prefill {
		return r.Prefill
	}
	return r.Decode
}
