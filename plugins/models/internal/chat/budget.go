package chat

import (
	"runtime/metrics"
	"sync"
	"time"

	"github.com/ardanlabs/jinja"

	"lab/core/fault"
)

// Bounds of one rendering. A template of a known model takes a few hundred
// ticks; recursion ends before the stack does.
const (
	mostTicks  = 20_000
	mostText   = 16 << 20 // bytes of one variable, or elements of a list
	mostMemory = 1 << 30  // bytes by which the heap may grow meanwhile
	longest    = 5 * time.Second
)

// tick is the function that a watched template calls in every round of a loop,
// in every call of a macro, and after every assignment with what was assigned.
const tick = "lab_tick"

// budget is what is left for one rendering to do.
type budget struct {
	mu     sync.Mutex
	ticks  int
	begun  time.Time
	memory uint64
	failed error
}

func newBudget() *budget { return &budget{begun: time.Now(), memory: heap()} }

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// spent remembers and returns a limit error.
func (b *budget) spent(format string, args ...any) error {
	return b.fail(fault.New(fault.Limit, "chat template", "", format, args...).Fix("the file's template is damaged or hostile"))
}

// fail remembers the first error, which the library wraps in its own words.
func (b *budget) fail(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
	}
	return b.failed
}

// tick fails when the template did too much.
func (b *budget) tick(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	b.ticks++
	if b.ticks > mostTicks {
		return jinja.Undefined(), b.spent("it goes round more than %d times", mostTicks)
	}
	if time.Since(b.begun) > longest {
		return jinja.Undefined(), b.spent("it took longer than %v", longest)
	}
	if b.ticks%16 == 0 && heap() > b.memory+mostMemory {
		return jinja.Undefined(), b.spent("it takes more than %d bytes", mostMemory)
	}
	for _, a := range args {
		switch {
		case a.IsString() && len(a.AsString()) > mostText:
			return jinja.Undefined(), b.spent("a variable holds %d bytes; the most is %d", len(a.AsString()), mostText)
		case a.IsList() && a.AsList().Len() > mostText/64:
			return jinja.Undefined(), b.spent("a list has %d elements; the most is %d", a.AsList().Len(), mostText/64)
		}
	}
	return jinja.NewString(""), nil
}

// span is range, of at most as many numbers as there are ticks.
func (b *budget) span(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	from, step, n := []int64{0, 0}, int64(1), len(args)
	for _, a := range args {
		if !a.IsInt() {
			n = 0
		}
	}
	switch n {
	case 1:
		from[1] = args[0].AsInt()
	case 3:
		step = args[2].AsInt()
		fallthrough
	case 2:
		from[0], from[1] = args[0].AsInt(), args[1].AsInt()
	default:
		return jinja.Undefined(), wrong("range takes one to three whole numbers")
	}
	if step == 0 {
		return jinja.Undefined(), wrong("range with a step of 0")
	}
	var out []jinja.Value
	for i := from[0]; step > 0 && i < from[1] || step < 0 && i > from[1]; i += step {
		if len(out) == mostTicks {
			return jinja.Undefined(), b.spent("a range has more than %d numbers", mostTicks)
		}
		out = append(out, jinja.NewInt(i))
	}
	return jinja.NewList(out), nil
}
