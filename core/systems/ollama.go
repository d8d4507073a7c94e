package systems

func ollama() *system {
	p := map[string]target{}
	set := func(stage, name string, k kind, def any, off func(any) bool, names ...string) {
		with(p, target{stage: stage, param: name, kind: k, def: def, off: off}, names...)
	}
	set("penalties", "repeat", number, 1.1, is(1), "repeat_penalty")
	set("penalties", "frequency", number, nil, is(0), "frequency_penalty")
	set("penalties", "presence", number, nil, is(0), "presence_penalty")
	set("penalties", "last_n", whole, nil, nil, "repeat_last_n")
	set("temperature", "temperature", number, 0.8, is(1), "temperature")
	set("top_k", "top_k", whole, int64(40), notPositive, "top_k")
	set("top_p", "top_p", number, 0.9, oneOrMore, "top_p")
	set("min_p", "min_p", number, nil, notPositive, "min_p")
	set("typical", "typical", number, nil, oneOrMore, "typical_p")
	set("tfs", "tfs", number, nil, oneOrMore, "tfs_z")
	with(p, target{kind: text, run: func(d *draft, v any) error {
		schema := v.(string)
		switch schema {
		case "":
			return nil
		case "json":
			schema = anyObject
		}
		return d.add("json_schema", "schema", schema, "ollama format")
	}}, "format")
	with(p, seedSetting(), "seed")
	with(p, tokensSetting(), "num_predict")
	with(p, stopSetting(), "stop")
	known := map[string]string{"mirostat": "no longer read by its engines", "mirostat_tau": "no longer read by its engines",
		"mirostat_eta": "no longer read by its engines", "penalize_newline": "no longer read by its engines"}
	unrelated := []string{"num_ctx", "num_batch", "num_gpu", "main_gpu", "low_vram", "vocab_only", "f16_kv", "logits_all", "use_mmap", "use_mlock", "num_thread",
		"num_keep", "numa", "model", "prompt", "messages", "stream", "keep_alive", "system", "template", "raw", "think", "suffix", "images", "context",
		"tools", "logprobs", "top_logprobs", "truncate", "shift", "draft_num_predict"}
	return &system{
		name: "ollama", format: "PARAMETER lines of a Modelfile, or a request or its options in JSON", lines: true,
		order:  []string{"json_schema", "penalties", "top_k", "tfs", "typical", "top_p", "min_p", "temperature", "greedy", "sample"},
		params: p, known: known, unrelated: unrelated, finish: finishOllama,
	}
}

// finishOllama makes a temperature of 0 greedy.
func finishOllama(d *draft) error {
	if t, ok := d.number("temperature", "temperature"); ok && t == 0 {
		d.only("temperature 0 is greedy", "json_schema", "penalties")
		d.stages["greedy"] = []stageValue{{origin: "ollama temperature"}}
		return nil
	}
	d.stages["sample"] = []stageValue{{origin: "ollama default"}}
	return nil
}
