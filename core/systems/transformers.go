package systems

import "fmt"

func transformers() *system {
	p := map[string]target{}
	set := func(stage, name string, k kind, def any, off func(any) bool, names ...string) {
		with(p, target{stage: stage, param: name, kind: k, def: def, off: off}, names...)
	}
	set("cfg", "scale", number, nil, is(1), "guidance_scale")
	set("logit_bias", "bias", biases, nil, empty, "sequence_bias")
	set("encoder_repetition_penalty", "encoder_repetition_penalty", number, nil, is(1), "encoder_repetition_penalty")
	set("repetition_penalty", "repetition_penalty", number, nil, is(1), "repetition_penalty")
	set("no_repeat_ngram", "n", whole, nil, is(0), "no_repeat_ngram_size")
	set("encoder_no_repeat_ngram", "n", whole, nil, is(0), "encoder_no_repeat_ngram_size")
	set("bad_words", "tokens", ids, nil, empty, "bad_words_ids")
	set("min_length", "min_length", whole, nil, is(0), "min_length")
	set("min_new_tokens", "min_new_tokens", whole, nil, is(0), "min_new_tokens")
	set("forced_bos", "token", ids, nil, empty, "forced_bos_token_id")
	set("forced_eos", "token", ids, nil, empty, "forced_eos_token_id")
	set("repair", "", truth, nil, isFalse, "remove_invalid_values")
	set("suppress_tokens", "tokens", ids, nil, empty, "suppress_tokens")
	set("begin_suppress_tokens", "tokens", ids, nil, empty, "begin_suppress_tokens")
	set("temperature", "temperature", number, nil, is(1), "temperature")
	set("top_h", "top_h", number, nil, nil, "top_h")
	set("top_k", "top_k", whole, int64(50), is(0), "top_k")
	set("top_p", "top_p", number, nil, oneOrMore, "top_p")
	set("min_p", "min_p", number, nil, is(0), "min_p")
	set("typical", "typical", number, nil, oneOrMore, "typical_p")
	set("epsilon", "epsilon", number, nil, is(0), "epsilon_cutoff")
	set("eta", "epsilon", number, nil, is(0), "eta_cutoff")
	set("logit_normalization", "", truth, nil, isFalse, "renormalize_logits")
	with(p, target{kind: text, run: decayOf}, "exponential_decay_length_penalty")
	with(p, target{kind: truth, run: func(d *draft, v any) error { return nil }}, "do_sample")
	for name, setting := range map[string]string{"num_beams": "width", "num_beam_groups": "groups"} {
		with(p, target{kind: whole, run: func(d *draft, v any) error { d.given["strategy_"+setting] = v; return nil }}, name)
	}
	for name, setting := range map[string]string{"diversity_penalty": "diversity", "penalty_alpha": "alpha", "length_penalty": "length"} {
		with(p, target{kind: number, run: func(d *draft, v any) error { d.given["strategy_"+setting] = v; return nil }}, name)
	}
	with(p, tokensSetting(), "max_new_tokens")
	with(p, samplesSetting(), "num_return_sequences")
	with(p, stopSetting(), "stop_strings")
	with(p, seedSetting(), "seed")
	known := map[string]string{
		"watermarking_config": "give the watermark as a stage: watermark_green_list or watermark_synthid",
		"early_stopping":      "beam search of lab ends a group when no live beam can win any more",
		"constraints":         "constrained beam search is not there; use a grammar or regex stage",
		"force_words_ids":     "constrained beam search is not there; use a grammar or regex stage",
		"max_length":          "it counts the prompt; give max_new_tokens",
		"dola_layers":         "early layers' scores are not offered by any backend",
		"assistant_model":     "give the draft to lab search speculative --draft",
	}
	for _, name := range []string{"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "transformers_version", "_from_model_config",
		"use_cache", "cache_implementation", "return_dict_in_generate", "output_scores", "output_logits", "output_attentions", "output_hidden_states",
		"trust_remote_code", "max_time", "max_matching_ngram_size", "prompt_lookup_num_tokens"} {
		known[name] = "it does not concern the distribution"
	}
	return &system{
		name: "transformers", compat: "transformers", format: "generation_config.json or the keyword arguments of generate, in JSON",
		order: []string{"cfg", "logit_bias", "encoder_repetition_penalty", "repetition_penalty", "no_repeat_ngram", "encoder_no_repeat_ngram",
			"bad_words", "min_length", "min_new_tokens", "forced_bos", "forced_eos", "repair", "exponential_decay_length_penalty",
			"suppress_tokens", "begin_suppress_tokens", "temperature", "top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta",
			"logit_normalization", "greedy", "sample"},
		params: p, known: known, finish: finishTransformers,
	}
}

// decayOf reads [start, factor].
func decayOf(d *draft, v any) error {
	var start, factor float64
	if n, err := fmt.Sscanf(v.(string), "[%g,%g]", &start, &factor); err != nil || n != 2 || start != float64(int64(start)) {
		return fmt.Errorf("is not [start, factor]")
	}
	const from = "transformers exponential_decay_length_penalty"
	d.stages["exponential_decay_length_penalty"] = []stageValue{{param: "start", value: int64(start), origin: from}, {param: "factor", value: factor, origin: from}}
	return nil
}

// finishTransformers takes the warpers out when nothing is drawn, as the
// pipeline does, and turns beams and contrastive search into a strategy.
func finishTransformers(d *draft) error {
	k, _ := d.number("top_k", "top_k")
	sampled, given := d.given["do_sample"]
	draws := given && (sampled == true || sampled == "true")
	if draws {
		d.stages["sample"] = []stageValue{{origin: "transformers do_sample"}}
	} else {
		d.only("do_sample is off, so the warpers do not run", "cfg", "logit_bias", "encoder_repetition_penalty", "repetition_penalty",
			"no_repeat_ngram", "encoder_no_repeat_ngram", "bad_words", "min_length", "min_new_tokens", "forced_bos", "forced_eos", "repair",
			"exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens")
		d.stages["greedy"] = []stageValue{{origin: "transformers default"}}
	}
	if len(d.stages["forced_eos"]) > 0 {
		if d.MaxTokens == nil {
			return d.wrong("forced_eos_token_id", "it acts at the last token, and max_new_tokens is not given")
		}
		d.stages["forced_eos"] = append(d.stages["forced_eos"], stageValue{param: "max_new_tokens", value: int64(*d.MaxTokens), origin: "transformers max_new_tokens"})
	}
	num := func(name string) (float64, bool) {
		switch v := d.given["strategy_"+name].(type) {
		case int64:
			return float64(v), true
		case float64:
			return v, true
		}
		return 0, false
	}
	if beams, ok := num("width"); ok && beams > 1 {
		d.Strategy = fmt.Sprintf("beam:width=%g", beams)
		if groups, ok := num("groups"); ok && groups > 1 {
			d.Strategy += fmt.Sprintf(",groups=%g", groups)
		}
		if diversity, ok := num("diversity"); ok && diversity > 0 {
			d.Strategy += fmt.Sprintf(",diversity=%g", diversity)
		}
		d.Strategy += ",length=mean"
		if l, ok := num("length"); ok && l != 1 {
			if l != 0 {
				d.NoEquivalent = append(d.NoEquivalent, Note{"length_penalty", show(l), "sum / tokens^penalty is not a length rule of lab's beam; 1 is length=mean, 0 is length=sum"})
			} else {
				d.Strategy = d.Strategy[:len(d.Strategy)-len(",length=mean")] + ",length=sum"
			}
		}
		if draws {
			d.NoEquivalent = append(d.NoEquivalent, Note{"do_sample", "true", "beams that draw: lab has beam:stochastic=true, which draws without replacement"})
		}
		// A search takes the place of the draw.
		delete(d.stages, "sample")
		delete(d.stages, "greedy")
		d.stages["sample"] = []stageValue{{origin: "transformers num_beams"}}
	} else if alpha, ok := num("alpha"); ok && alpha > 0 {
		d.Strategy = fmt.Sprintf("contrastive:k=%g,alpha=%g", max(1, k), alpha)
	}
	return nil
}
