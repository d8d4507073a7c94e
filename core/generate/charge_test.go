package generate

import (
	"fmt"
	"math"
	"testing"

	"lab/core/plugin/sampler"
	"lab/core/trace"
)

// What the samples of a run cost adds up to what the run took, whatever they share:
// prompts, beginnings of prompts, contexts, steps of a batch, further passes. The
// tolerance is that of adding some thousand shares in float64.
func TestCostsAddUpToTheUsage(t *testing.T) {
	agree := build(t, "point", nil) // all samples of a prompt draw the same tokens
	part := build(t, "count | flat", nil)
	beside := build(t, "beside", map[string][]sampler.Sampler{"p": {beside{}}})
	long := "A prompt of more than sixteen tokens"
	for name, jobs := range map[string][]Job{
		"one sample":                 jobsFor(part, []string{"abc"}, 1),
		"samples of three prompts":   jobsFor(part, []string{"abc", "The weather", "x"}, 5),
		"samples that never part":    jobsFor(agree, []string{"abc", "de"}, 7),
		"prompts that begin alike":   jobsFor(part, []string{long + " one", long + " two", long}, 3),
		"two chains at one context":  append(jobsFor(agree, []string{"abc"}, 4), jobsFor(part, []string{"abc"}, 4)...),
		"further passes of a prompt": withPasses(jobsFor(beside, []string{"abc", "de"}, 3), Pass{Prompt: []byte("zz")}),
	} {
		for _, batch := range []int{1, 2, 64} {
			t.Run(fmt.Sprintf("%s, batch %d", name, batch), func(t *testing.T) {
				e := engine(t, newToy(t))
				for range 2 { // the second run finds its prompts evaluated
					r, err := e.Run(t.Context(), jobs, Options{Batch: batch})
					if err != nil {
						t.Fatal(err)
					}
					var sum trace.Cost
					for i, c := range r.Costs {
						sum = sum.Add(c)
						tokens := len(jobs[i].Prompt)
						if c.CachedTokens < 0 || c.CachedTokens > float64(tokens) {
							t.Errorf("%g of %d tokens of a prompt are cached", c.CachedTokens, tokens)
						}
						if c.Batch > float64(batch) || c.CacheBytes == 0 && c.DecodeTokens > 0 && len(r.Samples[i].Tokens) > 1 {
							t.Errorf("%+v", c)
						}
					}
					for what, x := range map[string][2]float64{
						"tokens":  {sum.DecodeTokens, float64(r.Usage.DecodeTokens)},
						"FLOP":    {sum.FLOPs, float64(r.Usage.FLOPs)},
						"bytes":   {sum.BytesMoved, float64(r.Usage.BytesMoved)},
						"seconds": {sum.DecodeSeconds, r.Usage.DecodeSeconds},
					} {
						if !(math.Abs(x[0]-x[1]) <= 1e-9*x[1]) {
							t.Errorf("%s: the samples' parts add up to %g, the run took %g", what, x[0], x[1])
						}
					}
					if sum.CacheBytes > r.Usage.CacheBytes {
						t.Errorf("a sample saw %d bytes of cache, the run %d", sum.CacheBytes, r.Usage.CacheBytes)
					}
				}
			})
		}
	}
}

func withPasses(jobs []Job, p Pass) []Job {
	for i := range jobs {
		jobs[i].Passes = []Pass{p}
	}
	return jobs
}

// A prompt is paid for by those that wait for it, in equal parts; the samples that
// come later find it there. Samples at one context share their steps.
func TestWhoPays(t *testing.T) {
	e := engine(t, newToy(t))
	jobs := jobsFor(build(t, "point", nil), []string{"abcd"}, 3) // 4 tokens of prompt, 9 generated
	r, err := e.Run(t.Context(), jobs, Options{Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	// The last token that is drawn is not evaluated: 8 are.
	want := []trace.Cost{
		{DecodeTokens: 2 + 4, CachedTokens: 2, DecodeSeconds: 0.125 + 8*0.125, FLOPs: 60, BytesMoved: 500 + 8*500, Batch: 1},
		{DecodeTokens: 2 + 4, CachedTokens: 2, DecodeSeconds: 0.125 + 8*0.125, FLOPs: 60, BytesMoved: 500 + 8*500, Batch: 1},
		{DecodeTokens: 8, CachedTokens: 4, DecodeSeconds: 2, FLOPs: 80, BytesMoved: 8000, Batch: 1},
	}
	for i, c := range r.Costs {
		c.CacheBytes = 0
		if c != want[i] {
			t.Errorf("sample %d cost %+v, want %+v", i, c, want[i])
		}
	}
}
