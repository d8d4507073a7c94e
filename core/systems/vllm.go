package systems

func vllm() *system {
	p := map[string]target{}
	set := func(stage, name string, k kind, off func(any) bool, names ...string) {
		with(p, target{stage: stage, param: name, kind: k, off: off}, names...)
	}
	set("allowed_tokens", "tokens", ids, empty, "allowed_token_ids")
	set("bad_words", "tokens", ids, empty, "bad_words", "_bad_words_token_ids")
	set("logit_bias", "bias", biases, empty, "logit_bias")
	set("min_new_tokens", "min_new_tokens", whole, is(0), "min_tokens")
	set("ignore_eos", "", truth, isFalse, "ignore_eos")
	set("penalties", "repeat", number, is(1), "repetition_penalty")
	set("penalties", "frequency", number, is(0), "frequency_penalty")
	set("penalties", "presence", number, is(0), "presence_penalty")
	set("temperature", "temperature", number, is(1), "temperature")
	set("min_p", "min_p", number, is(0), "min_p")
	set("top_k", "top_k", whole, notPositive, "top_k")
	set("top_p", "top_p", number, is(1), "top_p")
	set("regex", "regex", text, empty, "guided_regex", "regex")
	set("grammar", "grammar", text, empty, "guided_grammar", "grammar")
	set("json_schema", "schema", text, empty, "guided_json")
	with(p, tokensSetting(), "max_tokens", "max_completion_tokens")
	with(p, samplesSetting(), "n")
	with(p, stopSetting(), "stop")
	with(p, seedSetting(), "seed")
	known := map[string]string{
		"best_of":            "rank samples with lab search best_of",
		"use_beam_search":    "give lab search beam",
		"guided_choice":      "write the choices as a regex: guided_regex",
		"structured_outputs": "give its regex, grammar or json as guided_regex, guided_grammar or guided_json",
		"response_format":    "give its schema as guided_json",
		"stop_token_ids":     "lab stops at the model's own end tokens and at stop strings",
		"logits_processors":  "code; write a sampler plugin",
	}
	for _, name := range []string{"logprobs", "prompt_logprobs", "detokenize", "skip_special_tokens", "spaces_between_special_tokens",
		"include_stop_str_in_output", "truncate_prompt_tokens", "output_kind", "model", "prompt", "messages", "stream", "stream_options", "user", "top_logprobs"} {
		known[name] = "it does not concern the distribution"
	}
	return &system{
		name: "vllm", compat: "vllm", format: "SamplingParams or an API request, in JSON",
		order: []string{"allowed_tokens", "bad_words", "regex", "grammar", "json_schema", "logit_bias", "min_new_tokens", "ignore_eos", "penalties",
			"temperature", "min_p", "top_k", "top_p", "greedy", "sample"},
		params: p, known: known, finish: finishVLLM,
	}
}

// finishVLLM makes a temperature of 0 greedy, before which only what can change
// the best token runs.
func finishVLLM(d *draft) error {
	if t, ok := d.number("temperature", "temperature"); ok && t == 0 {
		d.only("temperature 0 is greedy", "allowed_tokens", "bad_words", "regex", "grammar", "json_schema", "logit_bias", "min_new_tokens", "ignore_eos", "penalties")
		d.stages["greedy"] = []stageValue{{origin: "vllm temperature"}}
		return nil
	}
	d.stages["sample"] = []stageValue{{origin: "vllm default"}}
	return nil
}
