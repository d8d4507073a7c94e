package report

import (
	"bytes"
	"testing"
)

// BenchmarkThousandSamples is the page of 1,000 samples of 64 tokens: reading and
// measuring the run without and with figures, and writing it; B/page is its size.
func BenchmarkThousandSamples(b *testing.B) {
	run := stored(b, made{cells: 10, samples: 100, tokens: 64})
	var page bytes.Buffer
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			if _, err := Run(run, Options{Name: "grid", Examples: DefaultExamples, Figures: []string{None}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("figures", func(b *testing.B) {
		for b.Loop() {
			if _, err := Run(run, Options{Name: "grid"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		r, err := Run(run, Options{Name: "grid", Examples: DefaultExamples})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			page.Reset()
			if err := r.HTML(&page); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(page.Len()), "B/page")
	})
}
