package machine

import (
	"testing"
	"time"
)

// BenchmarkLoops prints the rate of every loop, and what the widest is of plain Go:
// a loop that was optimised away would show.
func BenchmarkLoops(b *testing.B) {
	loops := []loop{plain(), float32Loop()}
	if l, ok := int8Loop(); ok {
		loops = append(loops, l)
	}
	best := make([]float64, len(loops))
	for b.Loop() {
		for i, l := range loops {
			best[i] = max(best[i], l.rate(1, 5*time.Millisecond))
		}
	}
	for i, l := range loops {
		b.ReportMetric(best[i]/1e9, l.kind+"-Gop/s")
	}
	b.ReportMetric(best[1]/best[0], "float32/go")
	b.ReportMetric(0, "ns/op")
}
