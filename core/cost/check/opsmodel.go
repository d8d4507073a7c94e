package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"lab/core/cost"
)

// operations is what a file may ask for, by name.
var operations = func() map[string]operation {
	all := map[string]operation{}
	for _, part := range []map[string]operation{modelOperations, trainingOperations, timeOperations, decodingOperations, moneyOperations, lifetimeOperations} {
		maps.Copy(all, part)
	}
	return all
}()

// arch is an architecture in the inputs.
type arch struct{ *cost.Arch }

func (a *arch) UnmarshalJSON(text []byte) (err error) {
	a.Arch, err = cost.ParseArch(text)
	return err
}

// modelOperations are sizes, operations, cache and memory of an architecture.
var modelOperations = map[string]operation{
	"params": op(func(in struct {
		Arch json.RawMessage `json:"arch"`
	}) (map[string]value, error) {
		a, err := cost.ParseArch(in.Arch)
		if err != nil {
			return nil, err
		}
		s, err := a.Size()
		r := collect()
		r.put("total", float64(s.Total))
		r.put("active", float64(s.Active))
		r.put("non_embedding", float64(s.NonEmbedding))
		r.put("matmul", float64(s.Matmul))
		r.err = err
		return r.done()
	}),
	"kv_bytes": op(func(in struct {
		Arch  arch    `json:"arch"`
		Bytes float64 `json:"bytes_per_element"`
		Seq   *int64  `json:"seq"`
		Batch *int64  `json:"batch"`
	}) (map[string]value, error) {
		r := collect()
		r.set("bytes_per_token")(in.Arch.CachePerToken(in.Bytes))
		if in.Seq != nil && in.Batch != nil {
			r.set("bytes_total")(in.Arch.Cache(*in.Seq, *in.Batch, in.Bytes))
		}
		return r.done()
	}),
	"max_context": op(func(in struct {
		Chips    float64 `json:"chips"`
		Memory   float64 `json:"hbm_bytes_per_chip"`
		Share    float64 `json:"kv_fraction"`
		Distinct float64 `json:"chips_holding_distinct_kv"`
		Batch    float64 `json:"batch"`
		Cache    float64 `json:"kv_bytes_per_token"`
	}) (map[string]value, error) {
		if in.Distinct > in.Chips {
			return nil, fmt.Errorf("%g of %g chips hold different parts of the cache", in.Distinct, in.Chips)
		}
		r := collect()
		r.set("context")(cost.MaxContext(in.Distinct, in.Memory, in.Share, in.Batch, in.Cache))
		return r.done()
	}),
	"max_batch": op(func(in struct {
		Arch    arch    `json:"arch"`
		Weight  float64 `json:"bytes_per_weight"`
		Cache   float64 `json:"bytes_per_element"`
		Memory  float64 `json:"memory_bytes"`
		Usable  float64 `json:"usable"`
		Context int64   `json:"context"`
	}) (map[string]value, error) {
		f, err := in.Arch.MaxBatch(in.Context, in.Memory, in.Usable, cost.Format{Weight: in.Weight, Cache: in.Cache})
		r := collect()
		r.put("batch", float64(f.MaxBatch))
		r.err = err
		return r.done()
	}),
	"forward_flops": op(func(in struct {
		Arch   arch   `json:"arch"`
		Seq    int64  `json:"seq"`
		Causal bool   `json:"causal"`
		Logits string `json:"logits"`
	}) (map[string]value, error) {
		all, err := logits(in.Logits)
		if err != nil {
			return nil, err
		}
		f, err := in.Arch.Prefill(cost.Prefill{New: in.Seq, AllLogits: all}, cost.Convention{Full: !in.Causal})
		r := collect()
		r.put("forward", f)
		r.put("train", 3*f)
		r.err = err
		return r.done()
	}),
	"prefill_flops": op(func(in struct {
		Arch   arch   `json:"arch"`
		Seq    int64  `json:"seq"`
		Cached int64  `json:"cached" input:"optional"`
		Logits string `json:"logits"`
	}) (map[string]value, error) {
		all, err := logits(in.Logits)
		if err != nil {
			return nil, err
		}
		f, err := in.Arch.Prefill(cost.Prefill{New: in.Seq, Cached: in.Cached, AllLogits: all}, cost.Convention{})
		if err != nil {
			return nil, err
		}
		s, err := in.Arch.Size()
		r := collect()
		approx := 2 * float64(s.Total) * float64(in.Seq)
		r.put("flops", f)
		r.put("approx_2nd", approx)
		r.put("ratio", f/approx)
		r.err = err
		return r.done()
	}),
	"decode_flops": op(func(in struct {
		Arch     arch    `json:"arch"`
		Contexts []int64 `json:"contexts"`
	}) (map[string]value, error) {
		r := collect()
		for _, c := range in.Contexts {
			r.set("c" + strconv.FormatInt(c, 10))(in.Arch.Decode(c, cost.Convention{}))
		}
		return r.done()
	}),
	"train_flops_per_token": op(func(in struct {
		Arch   arch  `json:"arch"`
		Seq    int64 `json:"seq"`
		Causal bool  `json:"causal"`
	}) (map[string]value, error) {
		r := collect()
		r.set("per_token")(in.Arch.TrainPerToken(in.Seq, cost.Convention{Full: !in.Causal}, false))
		return r.done()
	}),
	"dense_layer_flops": op(func(in struct {
		Layers float64 `json:"layers"`
		Model  float64 `json:"d_model"`
		Mult   float64 `json:"mult"`
	}) (map[string]value, error) {
		r := collect()
		r.set("per_token")(cost.DenseLayers(in.Layers, in.Model, in.Mult))
		return r.done()
	}),
	"attention_flops_crossover": op(func(in struct {
		Arch arch `json:"arch"`
	}) (map[string]value, error) {
		r := collect()
		r.set("context")(in.Arch.AttentionCrossover(cost.Convention{}))
		return r.done()
	}),
	"kv_bytes_crossover": op(func(in struct {
		Arch    arch    `json:"arch"`
		Weight  float64 `json:"bytes_per_weight"`
		Cache   float64 `json:"bytes_per_element"`
		Batches []int64 `json:"batches"`
	}) (map[string]value, error) {
		r := collect()
		for _, b := range in.Batches {
			r.set("context_b" + strconv.FormatInt(b, 10))(in.Arch.CacheCrossover(b, cost.Format{Weight: in.Weight, Cache: in.Cache}))
		}
		return r.done()
	}),
	"moe_distinct": op(func(in struct {
		Cases [][3]float64 `json:"cases"`
	}) (map[string]value, error) {
		r := collect()
		r.each("values", len(in.Cases), func(i int) (float64, error) {
			return cost.DistinctExperts(in.Cases[i][0], in.Cases[i][1], in.Cases[i][2])
		})
		return r.done()
	}),
	"decode_attention_intensity": op(func(in struct {
		Cases []headCase `json:"cases"`
		Bytes float64    `json:"bytes_per_element"`
	}) (map[string]value, error) {
		r := collect()
		r.each("values", len(in.Cases), func(i int) (float64, error) {
			return cost.AttentionIntensity(in.Cases[i].heads, in.Cases[i].kv, in.Bytes)
		})
		return r.done()
	}),
	"weight_bytes": op(func(in struct {
		Params float64 `json:"params"`
		Bits   float64 `json:"bits"`
	}) (map[string]value, error) {
		r := collect()
		r.set("bytes")(cost.WeightBytes(in.Params, in.Bits))
		return r.done()
	}),
}

// headCase is [name, heads, kv_heads].
type headCase struct{ heads, kv float64 }

func (h *headCase) UnmarshalJSON(text []byte) error {
	var name string
	parts := []any{&name, &h.heads, &h.kv}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if len(raw) != len(parts) {
		return fmt.Errorf("a case has a name, heads and kv_heads")
	}
	for i := range raw {
		if err := json.Unmarshal(raw[i], parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func logits(s string) (all bool, err error) {
	switch s {
	case "all":
		return true, nil
	case "last":
		return false, nil
	}
	return false, fmt.Errorf("logits %q is neither all nor last", s)
}
