package samplers

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLedger measures chains of three stages with their ledger. The metric
// x-bare is how many times longer they take than without, the two in turns; the
// copy of a fresh row is in both.
//
// What to expect: the ledger weighs every token of the row before the chain and
// of each row that a stage changed, which a chain alone may do for a few tokens
// or for none; a row that a stage left as it was costs one look at it.
func BenchmarkLedger(b *testing.B) {
	for _, c := range []speedCase{
		{name: "temperature, top_p", stages: draws(with("temperature", "temperature", 0.8), with("top_p", "top_p", 0.95))},
		{name: "top_k, top_p", stages: draws(with("top_k", "top_k", 40), with("top_p", "top_p", 0.95))},
		{name: "nothing", stages: draws(with("temperature", "temperature", 1.0), with("top_p", "top_p", 1.0))},
	} {
		for _, n := range []int{1312, 32000, 262144} {
			for kind, in := range speedInputs {
				b.Run(fmt.Sprintf("%s/%s/%d", c.name, in.name, n), func(b *testing.B) {
					s := newSpeedRun(b, c, speedRow(kind, n), 0.7)
					var bare, with time.Duration
					for b.Loop() {
						start := time.Now()
						s.call.Ledger = false
						s.once(b)
						middle := time.Now()
						s.call.Ledger = true
						s.once(b)
						bare, with = bare+middle.Sub(start), with+time.Since(middle)
					}
					b.ReportMetric(with.Seconds()/bare.Seconds(), "x-bare")
					b.ReportMetric(float64(with.Nanoseconds()-bare.Nanoseconds())/float64(b.N), "ledger-ns/op")
				})
			}
		}
	}
}
