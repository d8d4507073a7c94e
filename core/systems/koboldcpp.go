package systems

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// koboldOrder are the stages of koboldcpp's sampler numbers. Number 5 is the
// temperature with its dynamic form, smoothing and, in current versions,
// top-n-sigma behind it; 2 is top-p followed by min-p.
var koboldOrder = [][]string{
	0: {"top_k"}, 1: {"top_a"}, 2: {"top_p", "min_p"}, 3: {"tfs"}, 4: {"typical"},
	5: {"temperature", "dynatemp", "quadratic", "top_n_sigma"}, 6: {"penalties"},
}

func koboldCpp() *system {
	p := map[string]target{}
	set := func(stage, name string, k kind, def any, off func(any) bool, names ...string) {
		with(p, target{stage: stage, param: name, kind: k, def: def, off: off}, names...)
	}
	set("logit_bias", "bias", biases, nil, empty, "logit_bias")
	with(p, target{kind: words, run: func(d *draft, v any) error {
		if v == "" {
			d.Off = append(d.Off, Note{"banned_tokens", "[]", "this value turns bad_words off"})
			return nil
		}
		d.NoEquivalent = append(d.NoEquivalent, Note{"banned_tokens", show(v), "what contains one of the texts is banned there; the stage bans the tokens of just these texts"})
		return d.add("bad_words", "tokens", v, "koboldcpp banned_tokens")
	}}, "banned_tokens")
	set("ignore_eos", "", truth, nil, isFalse, "use_default_badwordsids", "ban_eos_token")
	with(p, target{stage: "grammar", param: "grammar", kind: text, off: empty, run: func(d *draft, v any) error {
		if s := strings.TrimSpace(v.(string)); strings.HasPrefix(s, "{") && json.Valid([]byte(s)) { // a schema, of which it makes a grammar
			d.own = append(d.own, "json_schema")
			return d.add("json_schema", "schema", s, "koboldcpp grammar")
		}
		d.set(target{stage: "grammar", param: "grammar", off: empty}, v, "koboldcpp grammar")
		return nil
	}}, "grammar")
	set("dry", "multiplier", number, nil, notPositive, "dry_multiplier")
	set("dry", "base", number, nil, nil, "dry_base")
	set("dry", "allowed_length", whole, nil, nil, "dry_allowed_length")
	set("dry", "last_n", whole, nil, nil, "dry_penalty_last_n")
	with(p, target{stage: "dry", param: "breakers", kind: text, def: "", run: func(d *draft, v any) error {
		var list []any // as a list, or as the JSON text of one
		dec := json.NewDecoder(strings.NewReader(v.(string)))
		dec.UseNumber()
		if err := dec.Decode(&list); err != nil {
			return fmt.Errorf("is not a list of texts")
		}
		breakers, err := wordsOf(list)
		if err != nil {
			return err
		}
		return d.add("dry", "breakers", breakers, "koboldcpp dry_sequence_breakers")
	}}, "dry_sequence_breakers")
	set("penalties", "repeat", number, nil, is(1), "rep_pen")
	set("penalties", "last_n", whole, nil, nil, "rep_pen_range")
	set("penalties", "slope", number, nil, nil, "rep_pen_slope")
	set("penalties", "presence", number, nil, is(0), "presence_penalty")
	set("temperature", "temperature", number, 0.7, is(1), "temperature")
	set("dynatemp", "range", number, nil, is(0), "dynatemp_range")
	set("dynatemp", "exponent", number, nil, nil, "dynatemp_exponent")
	set("quadratic", "factor", number, nil, is(0), "smoothing_factor")
	set("quadratic", "curve", number, nil, nil, "smoothing_curve")
	set("top_n_sigma", "top_n_sigma", number, nil, notPositive, "nsigma")
	set("top_k", "top_k", whole, int64(100), notPositive, "top_k")
	set("top_a", "top_a", number, nil, is(0), "top_a")
	set("top_p", "top_p", number, 0.92, oneOrMore, "top_p")
	set("min_p", "min_p", number, nil, is(0), "min_p")
	set("tfs", "tfs", number, nil, oneOrMore, "tfs")
	set("typical", "typical", number, nil, oneOrMore, "typical")
	set("xtc", "probability", number, nil, is(0), "xtc_probability")
	set("xtc", "threshold", number, nil, nil, "xtc_threshold")
	set("adaptive_p", "target", number, nil, func(v any) bool { x, _ := v.(float64); return x < 0 }, "adaptive_target")
	set("adaptive_p", "decay", number, nil, nil, "adaptive_decay")
	set("mirostat", "", whole, nil, is(0), "mirostat")
	set("mirostat", "tau", number, nil, nil, "mirostat_tau")
	set("mirostat", "eta", number, nil, nil, "mirostat_eta")
	with(p, target{kind: text, run: func(d *draft, v any) error {
		var numbers []int
		if err := json.Unmarshal([]byte(v.(string)), &numbers); err != nil {
			return fmt.Errorf("is not a list of sampler numbers")
		}
		return d.koboldOrder(numbers)
	}}, "sampler_order")
	with(p, seedSetting(), "sampler_seed")
	with(p, tokensSetting(), "max_length")
	with(p, stopSetting(), "stop_sequence", "stop")
	known := map[string]string{
		"banned_strings":       "strings are banned by backtracking there; lab bans tokens (banned_tokens)",
		"grammar_retain_state": "each sample has its own grammar state",
		"bypass_eos":           "lab ends a text at the model's end tokens; add the stage ignore_eos",
		"custom_token_bans":    "give logit_bias with -999 for each of the ids",
		"reasoning_effort":     "lab ends texts by tokens, not thoughts", "tools": "lab calls no tools", "using_openai_tools": "lab calls no tools",
		"guidance_scale": "give lab generate --negative-prompt and a stage cfg", "negative_prompt": "give lab generate --negative-prompt and a stage cfg",
	}
	unrelated := []string{"prompt", "max_context_length", "memory", "genkey", "quiet", "trim_stop", "render_special", "images", "audio", "stream", "n", "logprobs",
		"replace_instruct_placeholders", "use_story", "use_memory", "use_authors_note", "use_world_info", "singleline", "frmttriminc", "frmtrmblln", "frmtrmspch",
		"model", "add_bos_token", "gui_settings", "streaming", "can_abort", "api_server", "adapter", "chat_template_kwargs"}
	s := &system{name: "koboldcpp", compat: "koboldcpp", format: "a generate request in JSON", params: p, known: known, unrelated: unrelated, finish: finishKobold,
		ones: []string{"guidance_scale"}}
	s.order = koboldStages([]int{6, 0, 1, 3, 4, 2, 5})
	return s
}

// koboldHead runs before the stages that can be ordered; the cut to 5000
// candidates comes before the penalties.
var koboldHead = []string{"logit_bias", "bad_words", "ignore_eos", "grammar", "json_schema", "dry", trimStage}

func koboldStages(numbers []int) []string {
	order := slices.Clone(koboldHead)
	for _, n := range numbers {
		order = append(order, koboldOrder[n]...)
	}
	return append(order, "xtc", "adaptive_p", "sample")
}

func (d *draft) koboldOrder(numbers []int) error {
	for i, n := range numbers {
		if n < 0 || n >= len(koboldOrder) || slices.Contains(numbers[:i], n) {
			return fmt.Errorf("has the sampler number %d, which is none of 0 to 6 or there twice", n)
		}
	}
	d.order = koboldStages(numbers)
	return nil
}

// finishKobold joins the dynamic temperature with the temperature, and lets
// mirostat and adaptive-p replace the draw.
func finishKobold(d *draft) error {
	if curve, ok := d.number("quadratic", "curve"); ok && curve != 1 {
		d.own = append(d.own, "quadratic") // the releases whose rules compat follows had no curve
	}
	d.extendTemperature()
	if name, err := d.mirostat(); err != nil {
		return err
	} else if name != "" {
		// In this order, whatever sampler_order says.
		d.order = append(slices.Clone(koboldHead), "penalties", "temperature", "dynatemp", "quadratic", name)
		d.only("mirostat replaces the truncations", d.order...)
		d.seedStages(name)
		return nil
	}
	if t, ok := d.number("adaptive_p", "target"); ok && t >= 0 {
		top, _ := d.number("top_p", "top_p")
		if least, _ := d.number("min_p", "min_p"); t > 0 && top >= 1 && least <= 0 {
			d.stages["min_p"] = []stageValue{{param: "min_p", value: 0.002, origin: "koboldcpp adaptive_target"}}
		}
		return nil
	}
	d.drop("adaptive_p", "adaptive-p is off")
	d.stages["sample"] = []stageValue{{origin: "koboldcpp default"}}
	d.seedStages("sample")
	return nil
}
