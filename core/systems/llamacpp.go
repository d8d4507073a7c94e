package systems

import (
	"fmt"
	"strings"
)

// llamaSamplers are the names that --samplers takes, and our stages.
var llamaSamplers = map[string][]string{
	"penalties": {"penalties"}, "dry": {"dry"}, "top_n_sigma": {"top_n_sigma"}, "top_k": {"top_k"},
	"typ_p": {"typical"}, "typical": {"typical"}, "typical_p": {"typical"}, "top_p": {"top_p"}, "min_p": {"min_p"}, "xtc": {"xtc"},
	"temperature": {"dynatemp", "temperature"}, "infill": {"infill"}, "adaptive_p": {"adaptive_p"},
}

// llamaSequence are the letters that --sampler-seq takes.
var llamaSequence = map[rune]string{'e': "penalties", 'd': "dry", 's': "top_n_sigma", 'k': "top_k", 'y': "typ_p", 'p': "top_p",
	'm': "min_p", 'x': "xtc", 't': "temperature", 'i': "infill", 'a': "adaptive_p"}

// llamaHead runs before the samplers that can be ordered.
var llamaHead = []string{"logit_bias", "ignore_eos", "grammar", "json_schema"}

func llamaCpp() *system {
	p := map[string]target{}
	set := func(stage, name string, k kind, def any, off func(any) bool, names ...string) {
		with(p, target{stage: stage, param: name, kind: k, def: def, off: off}, names...)
	}
	set("temperature", "temperature", number, 0.8, is(1), "temp", "temperature")
	set("dynatemp", "range", number, nil, is(0), "dynatemp_range")
	set("dynatemp", "exponent", number, nil, nil, "dynatemp_exp", "dynatemp_exponent")
	set("top_k", "top_k", whole, int64(40), notPositive, "top_k")
	set("top_p", "top_p", number, 0.95, oneOrMore, "top_p")
	set("min_p", "min_p", number, 0.05, notPositive, "min_p")
	set("typical", "typical", number, nil, oneOrMore, "typical", "typical_p", "typ_p")
	set("top_n_sigma", "top_n_sigma", number, nil, notPositive, "top_nsigma", "top_n_sigma")
	set("xtc", "probability", number, nil, notPositive, "xtc_probability")
	set("xtc", "threshold", number, nil, nil, "xtc_threshold")
	set("penalties", "repeat", number, nil, is(1), "repeat_penalty")
	set("penalties", "frequency", number, nil, is(0), "frequency_penalty")
	set("penalties", "presence", number, nil, is(0), "presence_penalty")
	set("penalties", "last_n", whole, nil, nil, "repeat_last_n")
	set("dry", "multiplier", number, nil, notPositive, "dry_multiplier")
	set("dry", "base", number, nil, nil, "dry_base")
	set("dry", "allowed_length", whole, nil, nil, "dry_allowed_length")
	set("dry", "last_n", whole, nil, nil, "dry_penalty_last_n")
	set("dry", "breakers", ids, nil, nil, "dry_sequence_breaker", "dry_sequence_breakers")
	set("adaptive_p", "target", number, nil, func(v any) bool { x, _ := v.(float64); return x < 0 }, "adaptive_target")
	set("adaptive_p", "decay", number, nil, nil, "adaptive_decay")
	set("mirostat", "", whole, nil, is(0), "mirostat")
	set("mirostat", "tau", number, nil, nil, "mirostat_ent", "mirostat_tau")
	set("mirostat", "eta", number, nil, nil, "mirostat_lr", "mirostat_eta")
	set("logit_bias", "bias", biases, nil, empty, "l", "logit_bias")
	set("ignore_eos", "", truth, nil, isFalse, "ignore_eos")
	set("grammar", "grammar", text, nil, empty, "grammar")
	set("json_schema", "schema", text, nil, empty, "j", "json_schema")
	with(p, target{kind: text, run: func(d *draft, v any) error { return d.llamaOrder(strings.Split(v.(string), ";")) }}, "samplers")
	with(p, target{kind: text, run: func(d *draft, v any) error {
		var names []string
		for _, r := range v.(string) {
			if llamaSequence[r] == "" {
				return fmt.Errorf("has the letter %q, which is no sampler", r)
			}
			names = append(names, llamaSequence[r])
		}
		return d.llamaOrder(names)
	}}, "sampler_seq", "sampling_seq")
	with(p, seedSetting(), "s", "seed")
	with(p, tokensSetting(), "n", "predict", "n_predict", "max_tokens")
	with(p, stopSetting(), "r", "reverse_prompt", "stop")
	return &system{
		name: "llama.cpp", compat: "llama.cpp",
		format: "flags (--temp 0.8 --top-k 40) or a server request in JSON",
		order: append(append([]string{}, llamaHead...), "penalties", "dry", "top_n_sigma", "top_k", "typical", "top_p", "min_p", "xtc",
			"dynatemp", "temperature", "mirostat_v1", "mirostat_v2", "adaptive_p", "sample"),
		params: p, known: llamaUnknown(), finish: finishLlama,
	}
}

func llamaUnknown() map[string]string {
	out := map[string]string{
		"grammar_file": "a file; give its text with --grammar", "json_schema_file": "a file; give its text with --json-schema",
		"n_probs": "a number of probabilities to return; lab records the whole distribution", "min_keep": "applied by llama.cpp to every truncation; give min_keep to the stages",
		"sampling_threads": "it changes no distribution",
	}
	for _, name := range []string{"m", "model", "c", "ctx_size", "ngl", "n_gpu_layers", "t", "threads", "p", "prompt", "b", "batch_size", "f", "file",
		"stream", "cache_prompt", "n_keep", "messages", "logprobs", "top_logprobs", "n_ctx", "host", "port", "cnv", "no_cnv"} {
		out[name] = "it does not concern sampling"
	}
	return out
}

// llamaOrder sets the order of the samplers; those not named do not run.
func (d *draft) llamaOrder(names []string) error {
	order := append([]string{}, llamaHead...)
	for _, n := range names {
		n = strings.ReplaceAll(strings.TrimSpace(n), "-", "_")
		stages, ok := llamaSamplers[n]
		if !ok && n != "" {
			return fmt.Errorf("names the sampler %q; known are %s", n, strings.Join(sorted(llamaSamplers), ", "))
		}
		order = append(order, stages...)
	}
	d.order = append(order, "mirostat_v1", "mirostat_v2", "sample")
	return nil
}

// finishLlama applies what llama.cpp decides from several settings: the extended
// temperature, mirostat in place of the whole chain, and the seed of each stage.
func finishLlama(d *draft) error {
	d.extendTemperature()
	if name, err := d.mirostat(); err != nil {
		return err
	} else if name != "" {
		d.only("mirostat replaces every stage but the temperature", "logit_bias", "ignore_eos", "grammar", "json_schema", "dynatemp", "temperature", name)
		d.seedStages(name)
		return nil
	}
	if t, ok := d.number("adaptive_p", "target"); ok && t >= 0 {
		d.order = append(without(d.order, "adaptive_p", "sample"), "adaptive_p")
		d.seedStages("adaptive_p", "xtc")
		return nil
	}
	delete(d.stages, "adaptive_p")
	d.stages["sample"] = []stageValue{{origin: "llama.cpp default"}}
	d.seedStages("sample", "xtc")
	return nil
}

// seedStages hands the seed to stages that draw with llama.cpp's generator.
func (d *draft) seedStages(names ...string) {
	for _, n := range names {
		if d.Seed != nil && len(d.stages[n]) > 0 {
			d.stages[n] = append(d.stages[n], stageValue{param: "seed", value: int64(*d.Seed), origin: d.sys.name + " seed"})
		}
	}
}

func without(list []string, names ...string) []string {
	var out []string
	for _, s := range list {
		drop := false
		for _, n := range names {
			drop = drop || s == n
		}
		if !drop {
			out = append(out, s)
		}
	}
	return out
}
