package store

import (
	"testing"

	"lab/core/trace"
)

// BenchmarkFinish reports what writing the tables costs for a step of three
// stages with real-looking numbers.
func BenchmarkFinish(b *testing.B) {
	const cells, samples, steps = 16, 64, 48
	rec := func(cell, sample int) Record {
		r := Record{Cell: cell, Sample: sample, Trace: trace.Sample{Sample: uint64(sample), Tokens: make([]int32, steps)}}
		for i := range steps {
			x := trace.Real(float64(cell*977+sample*31+i*7919%1009) / 4096)
			s := trace.Step{Step: i, Token: int32(i), Piece: []byte(" word"), Model: &trace.Side{Prob: x, SurprisalBits: x, EntropyBits: x, Rank: i, Support: 1300},
				Sampling: &trace.Side{Prob: x, SurprisalBits: x, EntropyBits: x, Rank: i, Support: 40}}
			for _, n := range []string{"temperature", "top_p", "sample"} {
				s.Stages = append(s.Stages, trace.Stage{Stage: n, Plugin: "samplers", KeptMass: x, EntropyBeforeBits: x, EntropyAfterBits: x, KLBits: x, TV: x, ChosenProbBefore: x, ChosenProbAfter: x})
			}
			r.Trace.Steps = append(r.Trace.Steps, s)
		}
		return r
	}
	for b.Loop() {
		b.StopTimer()
		r, err := Create(b.TempDir(), manifest(cells, samples), columns(cells))
		if err != nil {
			b.Fatal(err)
		}
		for cell := range cells {
			for sample := range samples {
				if err := r.Put(rec(cell, sample)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.StartTimer()
		if _, err := r.Finish(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := r.Close(Session{}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(cells*samples*steps), "ns/step")
}
