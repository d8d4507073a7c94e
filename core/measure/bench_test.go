package measure

import (
	"math/rand/v2"
	"testing"
	"time"
)

// texts returns n texts of 64 tokens from a vocabulary of 500.
func texts(n int) [][]int32 {
	rng := rand.New(rand.NewPCG(1, 1))
	out := make([][]int32, n)
	for i := range out {
		out[i] = make([]int32, 64)
		for j := range out[i] {
			out[i][j] = int32(rng.ExpFloat64() * 60)
		}
	}
	return out
}

// timeOf returns the shortest of three runs.
func timeOf(f func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 3 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// Self-BLEU of four times as many texts takes about four times as long, not
// sixteen.
func BenchmarkSelfBLEU(b *testing.B) {
	few, many := texts(128), texts(512)
	for b.Loop() {
		_, _ = SelfBLEU(few, 4)
	}
	b.ReportMetric(float64(timeOf(func() { _, _ = SelfBLEU(many, 4) }))/float64(timeOf(func() { _, _ = SelfBLEU(few, 4) })), "time-4x-texts/time")
}

// A loop is looked for in linear time, also where every suffix repeats.
func BenchmarkFindLoop(b *testing.B) {
	worst := func(n int) []int32 {
		out := make([]int32, n)
		out[n-2] = 1 // ends in no loop, and everything before it matches
		return out
	}
	few, many := worst(10_000), worst(40_000)
	for b.Loop() {
		_, _ = FindLoop(few, 3)
	}
	b.ReportMetric(float64(timeOf(func() { _, _ = FindLoop(many, 3) }))/float64(timeOf(func() { _, _ = FindLoop(few, 3) })), "time-4x-tokens/time")
}

// The bootstrap of 1,999 resamples against the t interval of the same values.
func BenchmarkMeanIntervals(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 1000)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	student := func() { _, _ = Mean(x, Interval{}) }
	drawn := func() { _, _ = Mean(x, Interval{Method: MethodBCa}) }
	for b.Loop() {
		student()
	}
	b.ReportMetric(float64(timeOf(drawn))/float64(timeOf(student)), "bootstrap-time/t-time")
}

// The exact rank test at its largest.
func BenchmarkMannWhitneyExact(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 3))
	x, y := make([]float64, exactRanks/2), make([]float64, exactRanks/2)
	for i := range x {
		x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	more := append(append([]float64(nil), x...), 0)
	for b.Loop() {
		_, _ = MannWhitney(x, y)
	}
	b.ReportMetric(float64(timeOf(func() { _, _ = MannWhitney(x, y) }))/float64(timeOf(func() { _, _ = MannWhitney(more, y) })), "exact-time/normal-time")
}
