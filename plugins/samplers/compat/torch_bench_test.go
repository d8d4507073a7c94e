package compat

import (
	"testing"

	"lab/core/dist"
	"lab/core/plugin/sampler"
)

// A rule of a torch system over a large vocabulary: two passes and a radix sort.
func BenchmarkTorchTopP(b *testing.B) {
	set, err := sampler.NewSet(torchSamplers()...)
	if err != nil {
		b.Fatal(err)
	}
	d, err := set.Lookup("top_p")
	if err != nil {
		b.Fatal(err)
	}
	specs, err := d.ParamsFor(VLLM)
	if err != nil {
		b.Fatal(err)
	}
	values, err := specs.Resolve("bench", "top_p", nil)
	if err != nil {
		b.Fatal(err)
	}
	x := gaussian(262_144)
	row := make([]float32, len(x))
	for b.Loop() {
		copy(row, x)
		it := &sampler.Item{Scores: dist.NewDense(row)}
		if err := set.Run(b.Context(), &sampler.Call{Stages: []sampler.Stage{{Sampler: "top_p", System: VLLM, Values: values}}, Items: []*sampler.Item{it}}); err != nil {
			b.Fatal(err)
		}
	}
}

// gaussian returns scores of standard deviation 3, the same every time.
func gaussian(n int) []float32 {
	x := make([]float32, n)
	state := uint32(1)
	for i := range x {
		sum := 0.0
		for range 12 {
			state = state*1664525 + 1013904223
			sum += float64(state>>8) / (1 << 24)
		}
		x[i] = float32(3 * (sum - 6))
	}
	return x
}
