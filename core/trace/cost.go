package trace

import "math"

// Cost is what a sample took, as far as its backend counts: a measurement, not a
// part of what the sample is. It is the sample's share of the calls that were made
// for it: a call is split by the tokens that were evaluated for each sample, samples
// that stand at one context pay equal parts, and a prompt is paid for by the
// samples that began when it was evaluated. The shares of all samples add up to
// what the run took; they depend on what else ran, so they may be fractions.
type Cost struct {
	PrefillTokens  float64 `json:"prefill_tokens"` // evaluated in calls of several tokens
	DecodeTokens   float64 `json:"decode_tokens"`  // and in calls of one
	CachedTokens   float64 `json:"cached_tokens"`  // of the prompt, that it did not pay for
	PrefillSeconds float64 `json:"prefill_seconds"`
	DecodeSeconds  float64 `json:"decode_seconds"`
	FLOPs          float64 `json:"flops"` // 2 per multiply-add
	BytesMoved     float64 `json:"bytes_moved"`
	// CacheBytes is no share: the most KV cache that the model held, of all
	// sequences, after a call of the sample.
	CacheBytes int64 `json:"cache_bytes"`
	// Batch is how many sequences its calls of one token extended, on average; 0
	// when there were none. DecodeSeconds times Batch is about how long it waited.
	Batch float64 `json:"decode_batch"`
}

// Add returns the cost of two parts of one sample; of Batch and CacheBytes the
// larger one.
func (c Cost) Add(o Cost) Cost {
	return Cost{PrefillTokens: c.PrefillTokens + o.PrefillTokens, DecodeTokens: c.DecodeTokens + o.DecodeTokens, CachedTokens: c.CachedTokens + o.CachedTokens,
		PrefillSeconds: c.PrefillSeconds + o.PrefillSeconds, DecodeSeconds: c.DecodeSeconds + o.DecodeSeconds,
		FLOPs: c.FLOPs + o.FLOPs, BytesMoved: c.BytesMoved + o.BytesMoved, CacheBytes: max(c.CacheBytes, o.CacheBytes), Batch: max(c.Batch, o.Batch)}
}

// Sound reports whether every number is finite and none below 0, as measurements
// are.
func (c *Cost) Sound() bool {
	for _, x := range []float64{c.PrefillTokens, c.DecodeTokens, c.CachedTokens, c.PrefillSeconds, c.DecodeSeconds, c.FLOPs, c.BytesMoved, c.Batch} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return false
		}
	}
	return c.CacheBytes >= 0
}
