package systems

import (
	"encoding/json"
	"fmt"
	"strings"
)

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
	set("forced_eos", "end", ids, nil, empty, "forced_eos_token_id")
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
	for _, name := range []string{"num_beams", "num_beam_groups"} {
		with(p, target{kind: whole, run: func(d *draft, v any) error { d.search[name] = float64(v.(int64)); return nil }}, name)
	}
	for _, name := range []string{"diversity_penalty", "penalty_alpha", "length_penalty"} {
		with(p, target{kind: number, run: func(d *draft, v any) error { d.search[name] = v.(float64); return nil }}, name)
	}
	with(p, target{kind: text, run: watermarkOf}, "watermarking_config")
	with(p, tokensSetting(), "max_new_tokens")
	with(p, samplesSetting(), "num_return_sequences")
	with(p, stopSetting(), "stop_strings")
	with(p, seedSetting(), "seed")
	known := map[string]string{
		"early_stopping":      "beam search of lab ends a group when no live beam can win any more",
		"constraints":         "constrained beam search is not there; use a grammar or regex stage",
		"force_words_ids":     "constrained beam search is not there; use a grammar or regex stage",
		"max_length":          "it counts the prompt; give max_new_tokens",
		"dola_layers":         "early layers' scores are not offered by any backend",
		"assistant_model":     "give the draft to lab search speculative --draft",
		"forced_decoder_ids":  "lab forces the first token (forced_bos_token_id) and the last",
		"max_time":            "lab ends samples by tokens, not by time",
		"negative_prompt_ids": "give lab generate --negative-prompt",
		"token_healing":       "the prompt's tokens are taken as they are",
	}
	unrelated := []string{"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "transformers_version", "_from_model_config",
		"use_cache", "cache_implementation", "cache_config", "return_legacy_cache", "prefill_chunk_size", "low_memory", "return_dict_in_generate", "output_scores",
		"output_logits", "output_attentions", "output_hidden_states", "trust_remote_code", "max_matching_ngram_size", "prompt_lookup_num_tokens",
		"is_assistant", "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_early_exit",
		"assistant_lookbehind", "target_lookbehind", "compile_config", "disable_compile", "generation_kwargs", "chat_format", "max_window_size", "user_token_id",
		"assistant_token_id", "alignment_heads", "is_multilingual", "lang_to_id", "language", "task", "task_to_id", "no_timestamps_token_id",
		"max_initial_timestamp_index", "prev_sot_token_id", "return_timestamps", "model_type"}
	return &system{
		name: "transformers", compat: "transformers", format: "generation_config.json or the keyword arguments of generate, in JSON",
		order: []string{"cfg", "logit_bias", "encoder_repetition_penalty", "repetition_penalty", "no_repeat_ngram", "encoder_no_repeat_ngram",
			"bad_words", "min_length", "min_new_tokens", "forced_bos", "forced_eos", "repair", "exponential_decay_length_penalty",
			"suppress_tokens", "begin_suppress_tokens", "temperature", "top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta",
			"watermark_green_list", "watermark_synthid", "logit_normalization", "greedy", "sample"},
		params: p, known: known, unrelated: unrelated, finish: finishTransformers,
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

// watermarkOf reads the settings of a green list, or of SynthID where there are
// keys.
func watermarkOf(d *draft, v any) error {
	var f map[string]any
	dec := json.NewDecoder(strings.NewReader(v.(string)))
	dec.UseNumber()
	if err := dec.Decode(&f); err != nil {
		return fmt.Errorf("is no object of settings")
	}
	stage, names := "watermark_green_list", map[string]kind{"greenlist_ratio": number, "bias": number, "hashing_key": whole, "seeding_scheme": text, "context_width": whole}
	if _, ok := f["keys"]; ok {
		stage, names = "watermark_synthid", map[string]kind{"ngram_len": whole, "context_history_size": whole, "sampling_table_size": whole, "sampling_table_seed": whole}
	}
	const from = "transformers watermarking_config"
	for _, name := range sorted(f) {
		switch k, ok := names[name]; {
		case ok:
			x, err := k.convert(f[name])
			if err != nil {
				return fmt.Errorf("has a %s that %w", name, err)
			}
			d.stages[stage] = append(d.stages[stage], stageValue{param: name, value: x, origin: from})
		case name == "keys" && stage == "watermark_synthid":
			var keys []string
			list, _ := f[name].([]any)
			for _, x := range list {
				n, err := whole.convert(x)
				if err != nil {
					return fmt.Errorf("has a key that %w", err)
				}
				keys = append(keys, fmt.Sprint(n))
			}
			d.stages[stage] = append(d.stages[stage], stageValue{param: name, value: strings.Join(keys, " "), origin: from})
		case name == "watermarking_mode" || name == "debug_mode" || name == "skip_first_ngram_calls" && f[name] == false:
		default:
			return fmt.Errorf("has the setting %q", name)
		}
	}
	if len(d.stages[stage]) == 0 {
		d.stages[stage] = []stageValue{{origin: from}}
	}
	return nil
}

// finishTransformers takes the warpers out when nothing is drawn, as the
// pipeline does, and turns beams and contrastive search into a strategy.
func finishTransformers(d *draft) error {
	k, _ := d.number("top_k", "top_k")
	sampled, given := d.given["do_sample"]
	draws := given && (sampled == true || sampled == "true")
	beams := d.search["num_beams"] > 1
	contrasts := !beams && !draws && k > 1 && d.search["penalty_alpha"] > 0
	if draws {
		d.stages["sample"] = []stageValue{{origin: "transformers do_sample"}}
	} else {
		if contrasts {
			delete(d.stages, "top_k") // it is the search's
		}
		d.only("do_sample is off, so the warpers do not run", "cfg", "logit_bias", "encoder_repetition_penalty", "repetition_penalty",
			"no_repeat_ngram", "encoder_no_repeat_ngram", "bad_words", "min_length", "min_new_tokens", "forced_bos", "forced_eos", "repair",
			"exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens", "watermark_green_list", "watermark_synthid", "logit_normalization")
		d.stages["greedy"] = []stageValue{{origin: "transformers default"}}
	}
	if end := d.stages["forced_eos"]; len(end) > 0 && !end[0].off {
		// What counts is the length with the prompt, which max_new_tokens does not say.
		if most, err := whole.convert(d.given["max_length"]); err == nil && d.MaxTokens == nil {
			d.stages["forced_eos"] = append(end, stageValue{param: "max_length", value: most, origin: "transformers max_length"})
		} else {
			d.NoEquivalent = append(d.NoEquivalent, Note{"forced_eos_token_id", show(end[0].value),
				"it acts at the last token, counted with the prompt: give forced_eos:end=ID,max_length=TOKENS, or max_length alone"})
			delete(d.stages, "forced_eos")
		}
	}
	switch {
	case beams:
		d.beams(draws)
	case contrasts:
		d.Strategy = fmt.Sprintf("contrastive:k=%v,alpha=%v", int64(k), d.search["penalty_alpha"])
	}
	d.unsearched(beams, contrasts)
	return nil
}

// beams makes a beam search of the settings.
func (d *draft) beams(draws bool) {
	d.Strategy = fmt.Sprintf("beam:width=%d", int64(d.search["num_beams"]))
	if groups := d.search["num_beam_groups"]; groups > 1 {
		d.Strategy += fmt.Sprintf(",groups=%d", int64(groups))
		if diversity := d.search["diversity_penalty"]; diversity > 0 {
			d.Strategy += fmt.Sprintf(",diversity=%v", diversity)
		}
	}
	rule := "mean"
	switch l, ok := d.search["length_penalty"]; {
	case ok && l == 0:
		rule = "sum"
	case ok && l != 1:
		d.NoEquivalent = append(d.NoEquivalent, Note{"length_penalty", show(l), "sum / tokens^penalty is not a length rule of lab's beam; 1 is length=mean, 0 is length=sum"})
	}
	d.Strategy += ",length=" + rule
	if draws {
		d.NoEquivalent = append(d.NoEquivalent, Note{"do_sample", "true", "beams that draw: lab has beam:stochastic=true, which draws without replacement"})
	}
	// A search takes the place of the draw.
	delete(d.stages, "greedy")
	d.stages["sample"] = []stageValue{{origin: "transformers num_beams"}}
}

// unsearched notes the settings of searches that are not made.
func (d *draft) unsearched(beams, contrasts bool) {
	for _, name := range sorted(d.search) {
		v, why := d.search[name], ""
		switch name {
		case "penalty_alpha":
			if !contrasts && v != 0 {
				why = "contrastive search needs do_sample off, one beam and top_k above 1"
			}
		case "diversity_penalty":
			if v != 0 && !(beams && d.search["num_beam_groups"] > 1) {
				why = "there are no groups of beams"
			}
		case "length_penalty", "num_beam_groups":
			if v != 1 && !beams {
				why = "there are no beams"
			}
		}
		if why != "" {
			d.Off = append(d.Off, Note{name, show(v), why})
		}
	}
}
