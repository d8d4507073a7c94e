package systems

import (
	"fmt"
	"slices"
	"strings"
)

// llamaSamplers are the names that --samplers takes, and our stages.
var llamaSamplers = map[string][]string{
	"penalties": {"penalties"}, "dry": {"dry"}, "top_n_sigma": {"top_n_sigma"}, "top_k": {"top_k"},
	"typ_p": {"typical"}, "typical": {"typical"}, "typical_p": {"typical"}, "typ": {"typical"}, "top_p": {"top_p"}, "nucleus": {"top_p"},
	"min_p": {"min_p"}, "xtc": {"xtc"}, "temperature": {"dynatemp", "temperature"}, "temp": {"dynatemp", "temperature"}, "infill": {"infill"}, "adaptive_p": {"adaptive_p"},
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
	set("dry", "breakers", words, nil, nil, "dry_sequence_breakers")
	with(p, target{kind: texts, run: func(d *draft, v any) error {
		list := v.([]string)
		if i := slices.Index(list, "none"); i >= 0 { // takes away the ones before it
			list = list[i+1:]
		}
		var of []any
		for _, s := range list {
			of = append(of, s)
		}
		text, err := wordsOf(of)
		if err != nil {
			return err
		}
		return d.add("dry", "breakers", text, d.sys.name+" --dry-sequence-breaker")
	}}, "dry_sequence_breaker")
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
	with(p, target{kind: text, run: llamaLetters}, "sampler_seq", "sampling_seq")
	with(p, responseFormat(), "response_format")
	with(p, seedSetting(), "s", "seed")
	with(p, tokensSetting(), "n", "predict", "n_predict", "max_tokens", "max_completion_tokens")
	with(p, stopSetting(), "r", "reverse_prompt", "stop")
	return &system{
		name: "llama.cpp", compat: "llama.cpp",
		format: "a command line, flags (--temp 0.8 --top-k 40), or a server request in JSON",
		order: append(append([]string{}, llamaHead...), "penalties", "dry", "top_n_sigma", "top_k", "typical", "top_p", "min_p", "xtc",
			"dynatemp", "temperature", "mirostat_v1", "mirostat_v2", "adaptive_p", "sample"),
		params: p, known: llamaUnknown(), finish: finishLlama,
		objects: map[string]target{"n": samplesSetting(), "samplers": {kind: texts, run: func(d *draft, v any) error {
			list := v.([]string)
			if _, list := d.given["samplers"].([]any); !list {
				return llamaLetters(d, v.([]string)[0])
			}
			return d.llamaOrder(list)
		}}},
		unrelated: slices.Concat(llamaSwitches(), llamaUnrelated()), switches: llamaSwitches(), programs: []string{"llama", "main", "server"},
		escaped: []string{"r", "reverse_prompt", "stop", "dry_sequence_breaker"},
	}
}

// llamaLetters reads an order of samplers with a letter for each.
func llamaLetters(d *draft, v any) error {
	var names []string
	for _, r := range v.(string) {
		if llamaSequence[r] == "" {
			return fmt.Errorf("has the letter %q, which is no sampler", r)
		}
		names = append(names, llamaSequence[r])
	}
	return d.llamaOrder(names)
}

func llamaUnknown() map[string]string {
	return map[string]string{
		"grammar_file": "a file; give its text with --grammar", "json_schema_file": "a file; give its text with --json-schema",
		"jf":       "a file; give its text with --json-schema",
		"n_probs":  "a number of probabilities to return; lab records the whole distribution",
		"min_keep": "applied by llama.cpp to every truncation; give min_keep to the stages",
		"lora":     "lab loads no adapters", "lora_scaled": "lab loads no adapters", "control_vector": "lab loads no control vectors",
		"control_vector_scaled": "lab loads no control vectors",
		"md":                    "a draft changes no distribution; give it to lab search speculative --draft", "model_draft": "a draft changes no distribution; give it to lab search speculative --draft",
		"spec_draft_model": "a draft changes no distribution; give it to lab search speculative --draft",
		"draft_max":        "give lab search speculative:draft_tokens=N", "draft": "give lab search speculative:draft_tokens=N",
		"draft_n": "give lab search speculative:draft_tokens=N", "spec_draft_n_max": "give lab search speculative:draft_tokens=N",
		"t_max_predict_ms": "lab ends samples by tokens, not by time",
		"lazy_grammar":     "a grammar acts from the first token on", "grammar_lazy": "a grammar acts from the first token on", "grammar_triggers": "a grammar acts from the first token on",
		"tools": "lab calls no tools", "tool_choice": "lab calls no tools",
	}
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
	if name, err := d.mirostat(); err != nil {
		return err
	} else if name != "" {
		// Whatever --samplers says, and with the plain temperature.
		d.order = append(slices.Clone(llamaHead), "temperature", name)
		d.only("mirostat replaces every stage but the temperature", d.order...)
		d.seedStages(name)
		return nil
	}
	d.extendTemperature()
	if t, ok := d.number("adaptive_p", "target"); ok && t >= 0 {
		d.order = append(without(d.order, "adaptive_p", "sample"), "adaptive_p")
		d.seedStages("adaptive_p", "xtc")
		return nil
	}
	d.drop("adaptive_p", "adaptive-p is off")
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
