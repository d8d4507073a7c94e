package systems

import (
	"encoding/json"
	"fmt"
)

func vllm() *system {
	p := map[string]target{}
	set := func(stage, name string, k kind, off func(any) bool, names ...string) {
		with(p, target{stage: stage, param: name, kind: k, off: off}, names...)
	}
	set("allowed_tokens", "tokens", ids, empty, "allowed_token_ids")
	set("bad_words", "tokens", words, empty, "bad_words", "_bad_words_token_ids")
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
	with(p, target{kind: texts, run: func(d *draft, v any) error {
		pattern, err := choices(v.([]string))
		if err != nil {
			return err
		}
		return d.add("regex", "regex", pattern, "vllm guided_choice")
	}}, "guided_choice")
	with(p, target{kind: text, run: structuredOutputs}, "structured_outputs")
	with(p, responseFormat(), "response_format")
	with(p, tokensSetting(), "max_tokens", "max_completion_tokens")
	with(p, samplesSetting(), "n")
	with(p, stopSetting(), "stop")
	with(p, seedSetting(), "seed")
	known := map[string]string{
		"best_of":           "rank samples with lab search best_of",
		"use_beam_search":   "give lab search beam",
		"stop_token_ids":    "lab stops at the model's own end tokens and at stop strings",
		"logits_processors": "code; write a sampler plugin",
		"tools":             "lab calls no tools", "tool_choice": "lab calls no tools",
		"length_penalty": "it ranks beams: give lab search beam:length=power", "early_stopping": "it concerns beams: give lab search beam",
	}
	unrelated := []string{"logprobs", "prompt_logprobs", "flat_logprobs", "detokenize", "skip_special_tokens", "spaces_between_special_tokens",
		"include_stop_str_in_output", "truncate_prompt_tokens", "output_kind", "model", "prompt", "messages", "stream", "stream_options", "user", "top_logprobs",
		"echo", "suffix", "add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template", "chat_template_kwargs", "priority",
		"request_id", "return_token_ids", "return_tokens_as_token_ids", "cache_salt", "guided_decoding_backend", "include_reasoning", "parallel_tool_calls", "documents"}
	return &system{
		name: "vllm", compat: "vllm", format: "SamplingParams or an API request, in JSON",
		order: []string{"allowed_tokens", "bad_words", "regex", "grammar", "json_schema", "logit_bias", "min_new_tokens", "ignore_eos", "penalties",
			"temperature", "min_p", "top_k", "top_p", "greedy", "sample"},
		params: p, known: known, unrelated: unrelated, finish: finishVLLM,
	}
}

// structuredOutputs reads the object that took the place of the guided settings.
func structuredOutputs(d *draft, v any) error {
	var f struct {
		Regex, Grammar string
		Choice         []string
		JSON           json.RawMessage
		Object         bool `json:"json_object"`
	}
	if err := json.Unmarshal([]byte(v.(string)), &f); err != nil {
		return fmt.Errorf("is no object of regex, choice, grammar or json")
	}
	const from = "vllm structured_outputs"
	schema := string(f.JSON)
	if s := ""; json.Unmarshal(f.JSON, &s) == nil { // a schema written as a text
		schema = s
	}
	switch {
	case f.Regex != "":
		return d.add("regex", "regex", f.Regex, from)
	case f.Grammar != "":
		return d.add("grammar", "grammar", f.Grammar, from)
	case schema != "":
		return d.add("json_schema", "schema", schema, from)
	case f.Object:
		return d.add("json_schema", "schema", anyObject, from)
	}
	pattern, err := choices(f.Choice)
	if err != nil {
		return fmt.Errorf("names neither regex, choice, grammar nor json")
	}
	return d.add("regex", "regex", pattern, from)
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
