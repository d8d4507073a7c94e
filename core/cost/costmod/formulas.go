package costmod

import (
	"lab/core/cost"
	"lab/core/script"
)

// modelMembers are formulas of an architecture.
func (env *Env) modelMembers() []script.Member {
	whole := func(name, meaning string) script.Param {
		return script.Param{Name: name, Type: script.Int(), Range: script.AtLeast(1), Meaning: meaning}
	}
	bytes := script.Param{Name: "bytes_per_element", Type: script.Float(), Range: script.MoreThan(0), Meaning: "of the cache"}
	absorbed := script.Param{Name: "absorbed", Type: script.Bool(), Default: false, Meaning: "latent attention as inference engines run it"}
	return []script.Member{
		{Name: "size", Returns: "record: total, active, non_embedding, matmul", Doc: "Returns the four parameter counts of a model, none of which is called N (F1).", Params: []script.Param{modelParam},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				s, err := a.Size()
				return script.Record{Name: "size", Fields: map[string]any{"total": s.Total, "active": s.Active, "non_embedding": s.NonEmbedding, "matmul": s.Matmul}}, err
			}},
		{Name: "prefill_flop", Returns: quantityKind, Doc: "Returns the FLOP of a prompt processed at once (F4).", Params: []script.Param{modelParam, whole("tokens", "new ones")},
			Options: []script.Param{tokens("cached", "tokens before them that a cache holds", 0, 0), {Name: "all_scores", Type: script.Bool(), Default: false, Meaning: "scores of every position, not only of the last"}, attentionOption},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				return of("FLOP", "F4", cost.Exact)(a.Prefill(cost.Prefill{New: c.Int("tokens"), Cached: c.Int("cached"), AllLogits: c.Bool("all_scores")}, convention(c)))
			}},
		{Name: "decode_flop", Returns: quantityKind, Doc: "Returns the FLOP of one token at a context that includes it (F3).", Params: []script.Param{modelParam, whole("context", "tokens")}, Options: []script.Param{absorbed},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				return of("FLOP/token", "F3", cost.Exact)(a.Decode(c.Int("context"), cost.Convention{Absorbed: c.Bool("absorbed")}))
			}},
		{Name: "train_flop_per_token", Returns: quantityKind, Doc: "Returns the FLOP of training on a token of sequences of that length: three forward passes, four with recomputation (F5).",
			Params: []script.Param{modelParam, whole("sequence", "tokens")}, Options: []script.Param{attentionOption, {Name: "recompute", Type: script.Bool(), Default: false, Meaning: "all activations once more"}},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				return of("FLOP/token", "F5", cost.Exact)(a.TrainPerToken(c.Int("sequence"), convention(c), c.Bool("recompute")))
			}},
		{Name: "cache_bytes", Returns: quantityKind, Doc: "Returns the bytes of the cache of batch sequences (F2); windows are counted.", Params: []script.Param{modelParam, whole("context", "tokens of each"), whole("batch", "sequences"), bytes},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				return of("bytes", "F2", cost.Exact)(a.Cache(c.Int("context"), c.Int("batch"), c.Float("bytes_per_element")))
			}},
		{Name: "attention_crossover", Returns: quantityKind, Doc: "Returns the context where attention takes as many operations as the weights in a decode step; infinite where windows prevent it (F3).", Params: []script.Param{modelParam}, Options: []script.Param{absorbed},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				return of("tokens", "F3", cost.Exact)(a.AttentionCrossover(cost.Convention{Absorbed: c.Bool("absorbed")}))
			}},
		{Name: "sample_flop", Returns: "record: prefill, decode, shared, apart, judge (FLOP)", Doc: "Returns the FLOP of n completions of a prompt, as for best-of-n, a vote or beams: with the prompt shared, and apart (F20, F22).",
			Params:  []script.Param{modelParam, whole("prompt", "tokens"), whole("output", "tokens of each"), whole("n", "completions")},
			Options: []script.Param{{Name: "judge", Type: script.Bool(), Default: false, Meaning: "every candidate is scored once by the same model"}, attentionOption},
			Func: func(c *script.Call) (any, error) {
				a, err := env.arch(c)
				if err != nil {
					return nil, err
				}
				s, err := a.SampleOperations(c.Int("prompt"), c.Int("output"), c.Int("n"), c.Bool("judge"), convention(c))
				return script.Record{Name: "samples", Fields: map[string]any{"prefill": s.Prefill, "decode": s.Decode, "shared": s.Shared, "apart": s.Apart, "judge": s.Judge}}, err
			}},
	}
}

// decodingMembers are formulas of decoding choices.
func decodingMembers() []script.Member {
	n := func(name, meaning string, least float64) script.Param {
		return script.Param{Name: name, Type: script.Int(), Range: script.AtLeast(least), Meaning: meaning}
	}
	acceptance := script.Param{Name: "acceptance", Type: script.Either(script.Float(), script.Numbers()).Called("number or list of number"), Meaning: "α, the chance that a proposed token is accepted; or one rate for each position, as measured"}
	draft := []script.Param{
		{Name: "cost", Type: script.Float(), Required: true, Range: script.AtLeast(0), Meaning: "seconds of a draft step over those of the model's"},
		{Name: "operations", Type: script.Float(), Default: 0.0, Range: script.AtLeast(0), Meaning: "FLOP of a draft token over those of the model's"},
		{Name: "verify", Type: script.Float(), Default: 1.0, Range: script.AtLeast(1), Meaning: "seconds to verify all proposed tokens over those of one: 1 while memory-bound, length + 1 when compute-bound"}}
	of1 := func(c *script.Call) cost.Draft {
		return cost.Draft{Cost: c.Float("cost"), OpRatio: c.Float("operations"), Verify: c.Float("verify")}
	}
	spec := func(length int64, s cost.Speculative, err error) (any, error) {
		return script.Record{Name: "speculative", Fields: map[string]any{"length": length, "tokens": s.Tokens, "speedup": s.Speedup, "operations": s.Operations}}, err
	}
	return []script.Member{
		{Name: "speculative", Returns: "record: length, tokens (per verification), speedup, operations (over plain decoding)", Doc: "Returns what a draft of that length brings (F17, F18). It buys time with operations, which never fall below 1.",
			Params: []script.Param{acceptance, {Name: "length", Type: script.Int(), Optional: true, Range: script.Between(0, 1<<16), Meaning: "γ, tokens proposed at a time; left out, as many as there are rates"}}, Options: draft,
			Func: func(c *script.Call) (any, error) {
				d := of1(c)
				switch a := c.Any("acceptance").(type) {
				case []float64:
					s, err := d.SpeculativeRates(a)
					return spec(int64(len(a)), s, err)
				case float64:
					if !c.Given("length") {
						return nil, scriptError(c, "one acceptance needs the length of the draft")
					}
					d.Accept, d.Length = a, c.Int("length")
				}
				s, err := d.Speculative()
				return spec(d.Length, s, err)
			}},
		{Name: "best_draft", Returns: "record: length, tokens, speedup, operations", Doc: "Returns the draft length with the greatest speedup, the shortest on ties; 0 means not to speculate (F19).",
			Params: []script.Param{{Name: "acceptance", Type: script.Float(), Range: script.Between(0, 1), Meaning: "α"}}, Options: append([]script.Param{{Name: "most", Type: script.Int(), Default: int64(64), Range: script.Between(0, 1<<16), Meaning: "longest draft"}}, draft...),
			Func: func(c *script.Call) (any, error) {
				d := of1(c)
				d.Accept = c.Float("acceptance")
				length, s, err := d.BestDraft(c.Int("most"))
				return spec(length, s, err)
			}},
		{Name: "pass_at_k", Returns: "float", Doc: "Returns the unbiased chance that one of k samples is right when c of n were (F21).", Params: []script.Param{n("n", "samples drawn", 1), n("c", "of them right", 0), n("k", "samples of one attempt", 1)},
			Func: func(c *script.Call) (any, error) { return cost.PassAtK(c.Int("n"), c.Int("c"), c.Int("k")) }},
		{Name: "retries", Returns: "record: tries (expected), solved (chance), per_solved (tries per solved item)", Doc: "Returns what trying until a verifier is satisfied takes, at most cap times (F21).",
			Params: []script.Param{{Name: "p", Type: script.Float(), Range: script.Between(0, 1), Meaning: "chance that one try is right"}, n("cap", "tries at most", 1)},
			Func: func(c *script.Call) (any, error) {
				r, err := cost.EarlyStop(c.Float("p"), c.Int("cap"))
				return script.Record{Name: "retries", Fields: map[string]any{"tries": r.Tries, "solved": r.Solved, "per_solved": r.PerSolved}}, err
			}},
		{Name: "best_of_n_kl", Returns: "float", Doc: "Returns the bound on KL(best-of-n‖one sample) in nats (F20).", Params: []script.Param{n("n", "samples", 1)},
			Func: func(c *script.Call) (any, error) { return cost.BestOfNKL(c.Int("n")) }},
		{Name: "beam_cache_bytes", Returns: "record: unshared, shared (bytes)", Doc: "Returns the cache of beam search, with the prompt held by each beam and once (F22).",
			Params: []script.Param{{Name: "cache_bytes_per_token", Type: script.Float(), Range: script.MoreThan(0), Meaning: "of the model"}, n("prompt", "tokens", 0), n("output", "tokens", 1), n("beams", "kept at each step", 1)},
			Func: func(c *script.Call) (any, error) {
				b, err := cost.BeamCacheBytes(c.Float("cache_bytes_per_token"), c.Int("prompt"), c.Int("output"), c.Int("beams"))
				return script.Record{Name: "beam_cache", Fields: map[string]any{"unshared": b.Unshared, "shared": b.Shared}}, err
			}},
	}
}
