package main

import (
	"context"
	"testing"

	"lab/core/machine"
	"lab/core/plugin/bench"
	"lab/core/profile"
)

// BenchmarkProfile measures tiny at 5 contexts and 6 batches and prints how far the
// fitted constants are from the measured times: the median of |measured/fitted - 1|
// is to be within 15 %. On a machine that does other things it says those.
func BenchmarkProfile(b *testing.B) {
	s := openBench(b)
	ctx := context.Background()
	m, err := s.Model(ctx, "tiny", nil)
	if err != nil {
		b.Fatal(err)
	}
	at, err := machine.Measure(ctx, machine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var p *profile.Report
	for b.Loop() {
		p, err = profile.Measure(ctx, "tiny", m.Handle(), profile.Options{At: at,
			GridOptions: bench.GridOptions{Context: []int{0, 32, 64, 128, 224}, Batch: []int{1, 2, 4, 8, 16, 32}, Repeat: 9}})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*p.Decode.MedianResidual, "%-decode-residual")
	b.ReportMetric(100*p.Decode.MostResidual, "%-decode-most")
	b.ReportMetric(100*p.Prefill.MedianResidual, "%-prefill-residual")
	least := p.Points[0].OverFloor
	for _, x := range p.Points {
		least = min(least, x.OverFloor)
	}
	b.ReportMetric(least, "least-measured/floor")
	b.ReportMetric(0, "ns/op")
	if p.LoadAfter != nil {
		b.ReportMetric(*p.LoadAfter, "load")
	}
}
