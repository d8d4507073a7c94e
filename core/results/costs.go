package results

import (
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
)

// Costs returns a row for every sample whose cost was measured: cell, what the grid
// varies, sample, prompt_tokens, tokens (their number) and the columns of
// costs.parquet. They are measurements: another run of the same sweep has others.
func Costs(run *store.Stored) (*table.Table, error) {
	of := []struct {
		name  string
		value func(*trace.Cost) float64
	}{
		{"prefill_tokens", func(c *trace.Cost) float64 { return c.PrefillTokens }},
		{"decode_tokens", func(c *trace.Cost) float64 { return c.DecodeTokens }},
		{"cached_tokens", func(c *trace.Cost) float64 { return c.CachedTokens }},
		{"prefill_seconds", func(c *trace.Cost) float64 { return c.PrefillSeconds }},
		{"decode_seconds", func(c *trace.Cost) float64 { return c.DecodeSeconds }},
		{"flops", func(c *trace.Cost) float64 { return c.FLOPs }},
		{"bytes_moved", func(c *trace.Cost) float64 { return c.BytesMoved }},
		{"decode_batch", func(c *trace.Cost) float64 { return c.Batch }},
	}
	cells, samples, prompt, tokens, cache := []int64{}, []int64{}, []int64{}, []int64{}, []int64{}
	values := make([][]float64, len(of))
	err := run.Records(false, func(r *store.Record) error {
		if r.Cost == nil || r.Failure != "" {
			return nil
		}
		cells, samples, prompt, tokens = append(cells, int64(r.Cell)), append(samples, int64(r.Sample)), append(prompt, int64(r.PromptTokens)), append(tokens, int64(len(r.Trace.Tokens)))
		cache = append(cache, r.Cost.CacheBytes)
		for i, f := range of {
			values[i] = append(values[i], f.value(r.Cost))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	columns := []table.Named{{Name: "cell", Column: table.Of(cells)}, {Name: "sample", Column: table.Of(samples)}, {Name: "prompt_tokens", Column: table.Of(prompt)}, {Name: "tokens", Column: table.Of(tokens)}}
	for i, f := range of {
		columns = append(columns, table.Named{Name: f.name, Column: table.Of(values[i])})
	}
	return beside(run, append(columns, table.Named{Name: "cache_bytes", Column: table.Of(cache)}))
}
