package chat

import (
	"time"

	"github.com/ardanlabs/jinja"

	"lab/core/fault"
)

// Bounds of one rendering. A template of a known model takes a few hundred
// ticks and makes its text a few times over.
const (
	mostTicks = 20_000
	mostText  = 16 << 20  // bytes of one text, or charged at once
	mostMade  = 256 << 20 // bytes of all that is charged
	mostCalls = 100       // macros that call macros
	longest   = 5 * time.Second
)

// tick is the function that a guarded template calls in every round of a loop and
// in every call of a macro.
const tick = "lab_tick"

// budget is what is left for one rendering to do. Every operation that makes
// something charges its size first, so that the sum bounds the memory: nothing
// has to be measured while it is already there. One rendering has one goroutine.
type budget struct {
	ticks, calls int
	total        int64 // bytes charged
	charges      int
	begun        time.Time
	failed       error
	held         []jinja.Value // values whose methods are about to be called
}

func newBudget() *budget { return &budget{begun: time.Now()} }

// spent remembers and returns a limit error.
func (b *budget) spent(format string, args ...any) error {
	return b.fail(fault.New(fault.Limit, "chat template", "", format, args...).Fix("the file's template is damaged or hostile"))
}

// fail remembers the first error, which the library wraps in its own words.
func (b *budget) fail(err error) error {
	if b.failed == nil {
		b.failed = err
	}
	return b.failed
}

// charge takes n bytes, or steps, from what is left.
func (b *budget) charge(n int64) error {
	switch {
	case b.failed != nil:
		return b.failed
	case n < 0 || n > 16*mostText:
		return b.spent("one operation takes %d bytes; the most is %d", n, 16*mostText)
	case b.total+n > mostMade:
		return b.spent("it makes more than %d bytes", mostMade)
	}
	b.total += n
	if b.charges++; b.charges%64 == 0 && time.Since(b.begun) > longest {
		return b.spent("it took longer than %v", longest)
	}
	return nil
}

// tick fails when the template did too much. A round keeps a scope of names.
func (b *budget) tick(_ []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	b.ticks++
	if b.ticks > mostTicks {
		return jinja.Undefined(), b.spent("it goes round more than %d times", mostTicks)
	}
	if time.Since(b.begun) > longest {
		return jinja.Undefined(), b.spent("it took longer than %v", longest)
	}
	return jinja.NewString(""), b.charge(1 << 10)
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
