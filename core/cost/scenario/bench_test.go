package scenario

import (
	"testing"
	"time"

	"lab/core/cost"
)

// BenchmarkEstimate prints what bands cost: the time of an estimate with 2000 draws
// over that of one whose inputs are known, in the same run.
func BenchmarkEstimate(b *testing.B) {
	u, err := cost.Range(0.4, 0.8)
	if err != nil {
		b.Fatal(err)
	}
	known := resolved(b, Setup{Model: "llama-3.1-405b", Hardware: "h100", Chips: 16})
	banded := resolved(b, Setup{Model: "llama-3.1-405b", Hardware: "h100", Chips: 16, Weights: &u, Cache: &u})
	run := func(r *Resolved) time.Duration {
		start := time.Now()
		if _, err := Estimate(r.Request(4000, 0, 1000, 1, 8, Draws{N: 2000})); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	run(known)
	var one, all time.Duration
	for b.Loop() {
		one += run(known)
		all += run(banded)
	}
	b.ReportMetric(float64(all)/float64(one), "bands/known")
	b.ReportMetric(float64(all.Milliseconds())/float64(b.N), "ms/banded")
}
