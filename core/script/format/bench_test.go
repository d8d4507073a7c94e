package format_test

import (
	"os"
	"testing"
	"time"

	"lab/core/script"
	"lab/core/script/format"
)

// BenchmarkSource says how much longer laying out a script takes than parsing it,
// which is part of it.
func BenchmarkSource(b *testing.B) {
	src, err := os.ReadFile("../../../scripts/cost_serving.tengo")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	var laid, parsed time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := format.Source("t", src); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if _, err := script.Parse("t", src); err != nil {
			b.Fatal(err)
		}
		laid, parsed = laid+middle.Sub(start), parsed+time.Since(middle)
	}
	b.ReportMetric(float64(laid)/float64(parsed), "times-parsing")
}
