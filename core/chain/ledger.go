package chain

import (
	"fmt"
	"math"

	"lab/core/dist"
	"lab/core/fault"
)

// Entry is what one stage did at one step.
type Entry struct {
	Stage  string
	Plugin string
	dist.Change
}

// Ledger is what the stages of a chain did at one step, in their order. The
// first entry's "before" is the model distribution, the last one's "after" the
// sampling distribution.
type Ledger []Entry

// chainTolerance bounds the difference between one stage's "after" and the next
// one's "before". Both are float64 sums over the same float32 scores; a plugin
// may add them in another order, which moves an entropy of up to 20 bits by
// less than 1e-9.
const chainTolerance = 1e-9

// Check returns a plugin error when an entry breaks an identity of its own
// ([dist.Change.Check]) or does not start where the entry before it ended.
func (l Ledger) Check() error {
	subject := func(i int) string {
		return fmt.Sprintf("stage %d (%s) of plugin %q", i+1, l[i].Stage, l[i].Plugin)
	}
	for i := range l {
		e := &l[i]
		if err := e.Check(); err != nil {
			return fault.Wrap(err, fault.Plugin, "ledger", subject(i))
		}
		if i == 0 {
			continue
		}
		p := &l[i-1]
		if e.SupportBefore != p.SupportAfter || !(math.Abs(e.EntropyBefore-p.EntropyAfter) <= chainTolerance) ||
			e.RankBefore != p.RankAfter {
			return fault.New(fault.Plugin, "ledger", subject(i),
				"it starts from %d tokens, %.12g bits, rank %d, but stage %d left %d tokens, %.12g bits, rank %d",
				e.SupportBefore, e.EntropyBefore, e.RankBefore, i, p.SupportAfter, p.EntropyAfter, p.RankAfter).
				Fix("the plugin miscounts its ledger; rebuild it against this release")
		}
	}
	return nil
}
