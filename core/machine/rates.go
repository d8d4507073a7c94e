package machine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"lab/core/bandwidth"
	"lab/core/fault"
)

const op = "machine"

// Schema is the version of a record of rates.
const Schema = "lab/machine/1"

// Spread is what several passes measured.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"min"`
	Most   float64 `json:"max"`
}

// NewSpread returns the spread of at least one value.
func NewSpread(x []float64) Spread {
	sorted := slices.Sorted(slices.Values(x))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Least: sorted[0], Most: sorted[n-1]}
}

// Memory is how fast a buffer of one size is read.
type Memory struct {
	Buffer    int64  `json:"buffer_bytes"`
	PerSecond Spread `json:"bytes_per_second"`
}

// Arithmetic is how fast one kind of number is multiplied and added; a
// multiply-add is 2 operations.
type Arithmetic struct {
	Kind      string `json:"kind"` // of the instructions: "avx512-vnni", "avx512", "avx2", "go"
	PerSecond Spread `json:"operations_per_second"`
}

// Rates are what a machine can do at most.
type Rates struct {
	Schema   string    `json:"schema"`
	Measured time.Time `json:"measured"` // UTC
	CPU      string    `json:"cpu"`
	OS       string    `json:"os"`
	Arch     string    `json:"arch"`
	Cores    int       `json:"cores"`
	Threads  int       `json:"threads"` // that measured

	// Memory is by size of the buffer, ascending: the small ones are in caches.
	Memory  []Memory    `json:"memory"`
	Float32 Arithmetic  `json:"float32"`
	Int8    *Arithmetic `json:"int8,omitempty"` // nil where there is no such instruction

	// Load is how many other threads wanted to run when the measurement began, on
	// average over a minute; nil where the system does not say.
	Load *float64 `json:"load,omitempty"`
}

// Busy reports whether other work may have hidden what the machine can do: more
// threads than half its cores wanted to run before.
func (r *Rates) Busy() bool { return r.Load != nil && *r.Load > float64(r.Cores)/2 }

// BytesPerSecond returns a rate that reading a working set of so many bytes over
// and over does not exceed: that of the largest buffer not larger than it, since
// what is larger is not read faster. Below the smallest buffer it is that one's.
func (r *Rates) BytesPerSecond(bytes int64) float64 {
	best := r.Memory[0].PerSecond.Most
	for _, m := range r.Memory {
		if m.Buffer <= bytes {
			best = m.PerSecond.Most
		}
	}
	return best
}

// PerSecond returns the most operations a second of any kind: a rate that no
// kernel exceeds, whatever it multiplies.
func (r *Rates) PerSecond() float64 {
	most := r.Float32.PerSecond.Most
	if r.Int8 != nil {
		most = max(most, r.Int8.PerSecond.Most)
	}
	return most
}

// Options say how a machine is measured; the zero value will do.
type Options struct {
	Threads int           // 0: one a core
	Passes  int           // of every measurement; 0: 15
	Each    time.Duration // time of a pass of arithmetic; 0: 20 ms
	Largest int64         // bytes of the largest buffer; 0: 512 MiB
	Now     time.Time     // the day of the record
	// Progress is told how many passes are done, and of what the next is.
	Progress func(done, total int, next string)
}

// The most that may be asked for.
const (
	mostThreads = 1024
	mostPasses  = 1000
	leastBuffer = 1 << 20
	mostBuffer  = 16 << 30
)

func (o Options) check() (Options, error) {
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), mostThreads)
	}
	if o.Passes == 0 {
		o.Passes = 15
	}
	if o.Each == 0 {
		o.Each = 20 * time.Millisecond
	}
	if o.Largest == 0 {
		o.Largest = 512 << 20
	}
	bad := func(format string, args ...any) (Options, error) {
		return o, fault.New(fault.Usage, op, "", format, args...)
	}
	switch {
	case o.Threads < 1 || o.Threads > mostThreads:
		return bad("%d threads are outside 1 to %d", o.Threads, mostThreads)
	case o.Passes < 1 || o.Passes > mostPasses:
		return bad("%d passes are outside 1 to %d", o.Passes, mostPasses)
	case o.Each < time.Microsecond || o.Each > time.Minute:
		return bad("%v for a pass is outside 1µs to 1m", o.Each)
	case o.Largest < leastBuffer || o.Largest > mostBuffer:
		return bad("a buffer of %d bytes is outside 1 MiB to 16 GiB", o.Largest)
	}
	return o, nil
}

// Measure measures this machine, in passes that take every measurement in turn,
// so that a busy moment spoils all alike; one pass more goes before them. It takes
// some seconds and ends early, with an error of kind Interrupted, when ctx does.
func Measure(ctx context.Context, opt Options) (*Rates, error) {
	o, err := opt.check()
	if err != nil {
		return nil, err
	}
	r := &Rates{Schema: Schema, Measured: o.Now.UTC(), CPU: CPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Threads: o.Threads, Load: Load()}
	var measure []func() float64
	var names []string
	for size := int64(leastBuffer); ; size *= 4 {
		size = min(size, o.Largest)
		b, err := bandwidth.New(size, o.Threads)
		if err != nil {
			return nil, err
		}
		r.Memory = append(r.Memory, Memory{Buffer: b.Bytes()})
		times := int(max(1, 64<<20/size))
		names = append(names, fmt.Sprintf("reading %d MiB", size>>20))
		measure = append(measure, func() float64 { return b.Passes(times) })
		if size == o.Largest {
			break
		}
	}
	floats := float32Loop()
	measure, names = append(measure, func() float64 { return floats.rate(o.Threads, o.Each) }), append(names, "float32")
	bytes, ok := int8Loop()
	if ok {
		measure, names = append(measure, func() float64 { return bytes.rate(o.Threads, o.Each) }), append(names, "int8")
	}
	got := make([][]float64, len(measure))
	for pass := range 1 + o.Passes {
		for i, m := range measure {
			if o.Progress != nil {
				o.Progress(pass*len(measure)+i, (1+o.Passes)*len(measure), names[i])
			}
			if ctx.Err() != nil {
				return nil, fault.New(fault.Interrupted, op, "", "the measurement was stopped: %v", context.Cause(ctx))
			}
			if rate := m(); pass > 0 {
				got[i] = append(got[i], rate)
			}
		}
	}
	for i := range r.Memory {
		r.Memory[i].PerSecond = NewSpread(got[i])
	}
	r.Float32 = Arithmetic{floats.kind, NewSpread(got[len(r.Memory)])}
	if ok {
		r.Int8 = &Arithmetic{bytes.kind, NewSpread(got[len(r.Memory)+1])}
	}
	return r, nil
}
