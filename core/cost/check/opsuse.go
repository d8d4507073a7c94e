package check

import (
	"fmt"

	"lab/core/cost"
)

// decodingOperations are those of speculative decoding, samples and beams.
var decodingOperations = map[string]operation{
	"speculative": op(func(in struct {
		Alpha float64 `json:"alpha"`
		Gamma int64   `json:"gamma"`
		Cost  float64 `json:"cost_ratio"`
		Ops   float64 `json:"op_ratio"`
	}) (map[string]value, error) {
		s, err := cost.Draft{Accept: in.Alpha, Length: in.Gamma, Cost: in.Cost, OpRatio: in.Ops, Verify: 1}.Speculative()
		r := collect()
		r.put("tokens_per_step", s.Tokens)
		r.put("speedup", s.Speedup)
		r.put("operations", s.Operations)
		r.err = err
		return r.done()
	}),
	"speculative_best": op(func(in struct {
		Cases [][2]float64 `json:"cases"`
		Most  int64        `json:"gamma_max"`
	}) (map[string]value, error) {
		if len(in.Cases) > mostNumbers || in.Most > 1<<12 {
			return nil, fmt.Errorf("%d cases of gamma_max %d are too many", len(in.Cases), in.Most)
		}
		r := collect()
		var best []cost.Speculative
		r.each("gamma", len(in.Cases), func(i int) (float64, error) {
			n, s, err := cost.Draft{Accept: in.Cases[i][0], Cost: in.Cases[i][1], Verify: 1}.BestDraft(in.Most)
			best = append(best, s)
			return float64(n), err
		})
		r.each("speedup", len(best), func(i int) (float64, error) { return best[i].Speedup, nil })
		return r.done()
	}),
	"speculative_batched": op(func(in struct {
		Alpha  float64   `json:"alpha"`
		Gamma  int64     `json:"gamma"`
		Cost   float64   `json:"draft_cost"`
		Verify []float64 `json:"verify_cost_ratio"`
	}) (map[string]value, error) {
		r := collect()
		r.each("speedup", len(in.Verify), func(i int) (float64, error) {
			s, err := cost.Draft{Accept: in.Alpha, Length: in.Gamma, Cost: in.Cost, Verify: in.Verify[i]}.Speculative()
			return s.Speedup, err
		})
		return r.done()
	}),
	"n_samples_flops": op(func(in struct {
		Arch   arch  `json:"arch"`
		Prompt int64 `json:"prompt"`
		Output int64 `json:"output"`
		N      int64 `json:"n"`
	}) (map[string]value, error) {
		s, err := in.Arch.SampleOperations(in.Prompt, in.Output, in.N, false, cost.Convention{})
		r := collect()
		r.put("prefill", s.Prefill)
		r.put("decode_one", s.Decode)
		r.put("shared_prefix", s.Shared)
		r.put("not_shared", s.Apart)
		r.put("ratio", s.Apart/s.Shared)
		r.err = err
		return r.done()
	}),
	"bon_kl": op(func(in struct {
		N []int64 `json:"n"`
	}) (map[string]value, error) {
		r := collect()
		r.each("kl", len(in.N), func(i int) (float64, error) { return cost.BestOfNKL(in.N[i]) })
		return r.done()
	}),
	"pass_at_k": op(func(in struct {
		N    int64   `json:"n"`
		C    int64   `json:"c"`
		K    []int64 `json:"k"`
		Unit float64 `json:"unit_cost"`
	}) (map[string]value, error) {
		work := 0.0
		for _, k := range in.K {
			work += float64(min(in.C, k))
		}
		if work > 1e8 {
			return nil, fmt.Errorf("%d values of k take too long at c = %d", len(in.K), in.C)
		}
		r := collect()
		r.each("pass_at_k", len(in.K), func(i int) (float64, error) { return cost.PassAtK(in.N, in.C, in.K[i]) })
		r.each("cost_per_solved", len(in.K), func(i int) (float64, error) {
			p, err := cost.PassAtK(in.N, in.C, in.K[i])
			if err != nil {
				return 0, err
			}
			return cost.CostPerSolved(in.K[i], in.Unit, p)
		})
		return r.done()
	}),
	"early_stop": op(func(in struct {
		P   float64 `json:"p"`
		Cap int64   `json:"cap"`
	}) (map[string]value, error) {
		e, err := cost.EarlyStop(in.P, in.Cap)
		r := collect()
		r.put("samples", e.Tries)
		r.put("solved", e.Solved)
		r.err = err
		return r.done()
	}),
	"beam_kv": op(func(in struct {
		Cache  float64 `json:"kv_bytes_per_token"`
		Prompt int64   `json:"prompt"`
		Output int64   `json:"output"`
		Beams  int64   `json:"beams"`
	}) (map[string]value, error) {
		b, err := cost.BeamCacheBytes(in.Cache, in.Prompt, in.Output, in.Beams)
		r := collect()
		r.put("no_sharing", b.Unshared)
		r.put("shared_prompt", b.Shared)
		r.err = err
		return r.done()
	}),
}

// prices are the prices of a check, in USD per million tokens.
type prices struct {
	Input  *float64 `json:"input"`
	Cached *float64 `json:"cached"`
	Write  *float64 `json:"cache_write"`
	Output *float64 `json:"output"`
}

func (p *prices) UnmarshalJSON(text []byte) error {
	type plain prices
	return take(text, (*plain)(p))
}

// price is dated by the check itself, whose source says when it was read.
func (p prices) price() *cost.Price {
	return &cost.Price{Name: "the check", Date: "2025-09-05", Source: "the check", Input: p.Input, Cached: p.Cached, Write: p.Write, Output: p.Output}
}

// moneyOperations are bills.
var moneyOperations = map[string]operation{
	"money": op(func(in struct {
		Hours float64 `json:"gpu_hours"`
		USD   float64 `json:"usd_per_gpu_hour"`
	}) (map[string]value, error) {
		r := collect()
		r.set("usd")(cost.Rented(in.Hours, in.USD))
		return r.done()
	}),
	"request_price": op(func(in struct {
		Prompt   int64  `json:"prompt_tokens"`
		Cached   int64  `json:"cached_tokens"`
		Write    int64  `json:"cache_write_tokens"`
		Output   int64  `json:"output_tokens"`
		Includes bool   `json:"prompt_includes_cached"`
		Tier     string `json:"tier" input:"optional"`
		USD      prices `json:"usd_per_m"`
	}) (map[string]value, error) {
		l, err := cost.Usage{Prompt: in.Prompt, Cached: in.Cached, Written: in.Write, Output: in.Output, PromptIncludes: in.Includes}.Ledger()
		if err != nil {
			return nil, err
		}
		b, err := in.USD.price().Bill(l, false)
		r := collect()
		r.put("usd", b.Total())
		r.err = err
		return r.done()
	}),
	"double_count_price": op(func(in struct {
		Prompt int64  `json:"prompt_tokens"`
		Cached int64  `json:"cached_tokens"`
		Output int64  `json:"output_tokens"`
		Bug    string `json:"bug" input:"optional"`
		USD    prices `json:"usd_per_m"`
	}) (map[string]value, error) {
		r := collect()
		r.set("usd")(cost.DoubleCounted(cost.Usage{Prompt: in.Prompt, Cached: in.Cached, Output: in.Output}, in.USD.price()))
		return r.done()
	}),
	"cache_breakeven": op(func(in struct {
		Write []float64 `json:"write_multiplier"`
		Read  float64   `json:"read_multiplier"`
	}) (map[string]value, error) {
		r := collect()
		var all []cost.CacheUse
		r.each("uses", len(in.Write), func(i int) (float64, error) {
			u, err := cost.CacheBreakeven(in.Write[i], in.Read)
			all = append(all, u)
			return float64(u.Uses), err
		})
		r.each("breakeven", len(all), func(i int) (float64, error) { return all[i].Breakeven, nil })
		return r.done()
	}),
	"usd_per_million": op(func(in struct {
		USD  float64 `json:"usd_per_hour"`
		Rate float64 `json:"tokens_per_second"`
	}) (map[string]value, error) {
		r := collect()
		r.set("usd_per_m")(cost.USDPerMillion(in.USD, 1, in.Rate))
		return r.done()
	}),
}

// lifetimeOperations are crossovers and uncertainty.
var lifetimeOperations = map[string]operation{
	"crossover_tokens": op(func(in struct {
		Trained float64 `json:"train_params"`
		Tokens  float64 `json:"train_tokens"`
		Served  float64 `json:"inference_params"`
	}) (map[string]value, error) {
		x, err := cost.CrossoverFLOP(in.Trained, in.Tokens, in.Served)
		r := collect()
		r.put("tokens", x)
		r.put("queries_at_1000", x/1000)
		r.err = err
		return r.done()
	}),
	"crossover_tokens_cost": op(func(in struct {
		Trained    float64 `json:"train_params"`
		Tokens     float64 `json:"train_tokens"`
		TrainMFU   float64 `json:"train_mfu"`
		TrainPrice float64 `json:"train_usd_per_flop_peak"`
		ServeMFU   float64 `json:"inference_mfu"`
		ServePrice float64 `json:"inference_usd_per_flop_peak"`
	}) (map[string]value, error) {
		r := collect()
		r.set("tokens")(cost.CrossoverMoney(in.Trained, in.Tokens, in.Trained,
			cost.Side{MFU: in.TrainMFU, USDPerFLOP: in.TrainPrice}, cost.Side{MFU: in.ServeMFU, USDPerFLOP: in.ServePrice}))
		return r.done()
	}),
	"crossover_days_exponential": op(func(in struct {
		Tokens float64 `json:"tokens"`
		First  float64 `json:"first_day_tokens"`
		Growth float64 `json:"growth_per_day"`
	}) (map[string]value, error) {
		d := cost.Demand{FirstDay: in.First, Growth: in.Growth}
		r := collect()
		r.set("days")(d.Days(in.Tokens))
		r.set("days_if_flat")(cost.Demand{FirstDay: in.First}.Days(in.Tokens))
		r.set("limit_tokens")(d.Reach())
		return r.done()
	}),
	"crossover_days_logistic": op(func(in struct {
		Tokens float64 `json:"tokens"`
		First  float64 `json:"first_day_tokens"`
		Growth float64 `json:"growth_per_day"`
		Limit  float64 `json:"limit_tokens_per_day"`
	}) (map[string]value, error) {
		r := collect()
		r.set("days")(cost.Demand{FirstDay: in.First, Growth: in.Growth, Limit: in.Limit}.Days(in.Tokens))
		return r.done()
	}),
	"amortised": op(func(in struct {
		Training float64   `json:"training_usd"`
		Queries  []float64 `json:"queries"`
		Marginal float64   `json:"marginal_usd"`
	}) (map[string]value, error) {
		r := collect()
		r.each("usd", len(in.Queries), func(i int) (float64, error) { return cost.Amortised(in.Training, in.Queries[i], in.Marginal) })
		r.set("half_point_queries")(cost.Crossover(in.Training, in.Marginal))
		return r.done()
	}),
	"lognormal_product": op(func(in struct {
		Medians []float64 `json:"medians"`
		GSD     []float64 `json:"gsd"`
	}) (map[string]value, error) {
		p, err := cost.LogNormalProduct(in.Medians, in.GSD)
		r := collect()
		r.put("median", p.Median)
		r.put("gsd", p.GSD)
		r.put("p05", p.P05)
		r.put("p95", p.P95)
		r.put("mean", p.Mean)
		r.err = err
		return r.done()
	}),
	"quantile_se": op(func(in struct {
		P       float64 `json:"p"`
		N       int     `json:"n"`
		Density float64 `json:"density"`
	}) (map[string]value, error) {
		r := collect()
		r.set("se")(cost.QuantileSE(in.P, in.N, in.Density))
		return r.done()
	}),
}
