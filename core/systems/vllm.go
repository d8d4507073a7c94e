package systems

import (
	"encoding/json"
	"fmt"
	"strings"
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
	set("top_k", "top_k", whole, func(v any) bool { return v == int64(0) || v == int64(-1) }, "top_k")
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
	with(p, target{kind: text, run: structuredOutputs}, "structured_outputs", "guided_decoding")
	with(p, responseFormat(), "response_format")
	with(p, tokensSetting(), "max_tokens", "max_completion_tokens")
	with(p, samplesSetting(), "n")
	with(p, stopSetting(), "stop")
	with(p, seedSetting(), "seed")
	known := map[string]string{
		"best_of":           "rank samples with lab search best_of",
		"use_beam_search":   "give lab search beam",
		"stop_token_ids":    "lab stops at the model's own end tokens and at stop strings",
		"logits_processors": "code; write a sampler plugin", "extra_args": "settings of code; write a sampler plugin", "vllm_xargs": "settings of code; write a sampler plugin",
		"guided_whitespace_pattern": blanksLost, "thinking_token_budget": "lab ends texts by tokens, not thoughts",
		"repetition_detection": "lab does not end a text that repeats itself; add dry or no_repeat_ngram", "trace_decode_token_ids": "it says what is drawn",
		"tools": "lab calls no tools", "tool_choice": "lab calls no tools",
		"length_penalty": "it ranks beams: give lab search beam:length=power", "early_stopping": "it concerns beams: give lab search beam",
	}
	unrelated := []string{"logprobs", "prompt_logprobs", "flat_logprobs", "detokenize", "skip_special_tokens", "spaces_between_special_tokens",
		"include_stop_str_in_output", "truncate_prompt_tokens", "output_kind", "model", "prompt", "messages", "stream", "stream_options", "user", "top_logprobs",
		"echo", "suffix", "add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template", "chat_template_kwargs", "priority",
		"request_id", "return_token_ids", "return_tokens_as_token_ids", "cache_salt", "guided_decoding_backend", "include_reasoning", "parallel_tool_calls", "documents",
		"prompt_logprob_token_ids", "prompt_logprob_start", "logprob_token_ids", "stream_interval", "skip_clone", "output_text_buffer_length", "_eos_token_id",
		"_all_stop_token_ids", "skip_reading_prefix_cache", "routed_experts_prompt_start", "kv_transfer_params", "mm_processor_kwargs", "reasoning_effort",
		"chat_template_content_format", "service_tier", "store", "metadata", "bad_words_token_ids"}
	return &system{
		name: "vllm", compat: "vllm", format: "SamplingParams or an API request, in JSON",
		order: []string{"allowed_tokens", "bad_words", "regex", "grammar", "json_schema", "logit_bias", "min_new_tokens", "ignore_eos", "penalties",
			"temperature", "min_p", "top_k", "top_p", "greedy", "sample"},
		params: p, known: known, unrelated: unrelated, finish: finishVLLM, ones: []string{"best_of", "length_penalty"},
	}
}

// blanksLost is why a pattern of blanks has no equivalent.
const blanksLost = "the stage json_schema has its own rule: blanks=compact, or any"

// structuredOutputs reads the object that took the place of the guided settings,
// or the one between the two.
func structuredOutputs(d *draft, v any) error {
	var f map[string]any
	dec := json.NewDecoder(strings.NewReader(v.(string)))
	dec.UseNumber()
	if err := dec.Decode(&f); err != nil {
		return fmt.Errorf("is no object of regex, choice, grammar or json")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(v.(string)), &raw); err != nil {
		return err
	}
	set := 0
	for _, name := range sorted(f) {
		value, from := f[name], "vllm structured_outputs"
		if value == nil || value == false {
			continue
		}
		var err error
		switch name {
		case "regex", "grammar":
			s, ok := value.(string)
			if !ok {
				return fmt.Errorf("has a %s that is no text", name)
			}
			set++
			err = d.add(name, name, s, from)
		case "choice":
			list, notTexts := textsOf(value)
			if notTexts != nil {
				return fmt.Errorf("has a choice that %w", notTexts)
			}
			pattern, none := choices(list)
			if none != nil {
				return fmt.Errorf("has a choice that %w", none)
			}
			set++
			err = d.add("regex", "regex", pattern, from)
		case "json":
			schema, ok := value.(string) // a schema written as a text
			if !ok {
				schema = string(raw[name])
			}
			set++
			err = d.add("json_schema", "schema", schema, from)
		case "json_object":
			set++
			err = d.add("json_schema", "schema", anyObject, from)
		case "backend", "_backend", "_backend_was_auto", "backend_was_auto", "disable_fallback":
		case "whitespace_pattern", "disable_any_whitespace":
			d.NoEquivalent = append(d.NoEquivalent, Note{name, show(value), blanksLost})
		default:
			return fmt.Errorf("has the setting %q", name)
		}
		if err != nil {
			return err
		}
	}
	if set != 1 {
		return fmt.Errorf("names not one of regex, choice, grammar, json and json_object, but %d", set)
	}
	return nil
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
