package costmod

import (
	"sort"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
	"lab/core/script"
)

func scriptError(c *script.Call, problem string, args ...any) *fault.Error {
	return fault.New(fault.Script, c.Name(), "", problem, args...)
}

var priceKeys = []string{"name", "input", "output", "cached", "cache_write", "batch_input", "batch_output", "prompt_includes_cached", "as_of", "source"}

// price returns the price of an argument, a name or a map, for a prompt of that
// many tokens, and the record of the name. nil when it was not given.
func (env *Env) price(c *script.Call, arg string, prompt int64) (*cost.Price, *tables.Price, []string, error) {
	if !c.Given(arg) {
		return nil, nil, nil, nil
	}
	if name, ok := c.Any(arg).(string); ok {
		t, err := env.Tables()
		if err != nil {
			return nil, nil, nil, err
		}
		day, err := env.day(c)
		if err != nil {
			return nil, nil, nil, err
		}
		p, warnings, err := t.Price(name, day)
		if err != nil {
			return nil, nil, nil, err
		}
		return p.For(prompt), &p, warnings, nil
	}
	k := pick(c, arg, priceKeys...)
	p := &tables.Price{Fact: tables.Fact{Name: k.text("name"), AsOf: tables.Date(k.text("as_of")), Source: k.text("source")}}
	if p.Name == "" {
		p.Name = "the price given"
	}
	if p.Source == "" {
		p.Source = "the script"
	}
	r := &p.USDPerMillion
	for name, to := range map[string]**float64{"input": &r.Input, "output": &r.Output, "cached": &r.Cached, "cache_write": &r.CacheWrite, "batch_input": &r.BatchInput, "batch_output": &r.BatchOutput} {
		if v, ok := k.number(name); ok {
			*to = &v
		}
	}
	if v, ok := k.m["prompt_includes_cached"]; ok {
		b, isBool := v.(bool)
		if !isBool {
			k.wrong("prompt_includes_cached is neither true nor false")
		}
		p.PromptIncludesCached = &b
	}
	return p.For(prompt), p, nil, k.done()
}

// moneyMembers are bills.
func (env *Env) moneyMembers() []script.Member {
	count := func(name, meaning string) script.Param { return tokens(name, meaning, 0, 0) }
	number := func(name, meaning string) script.Param {
		return script.Param{Name: name, Type: script.Float(), Range: script.AtLeast(0), Meaning: meaning}
	}
	return []script.Member{
		{Name: "bill", Returns: "record: total, prompt, cached, written, output, reasoning (USD), note, warnings", Doc: "Returns what a provider asks for a request (F16). prompt, cached and written are as the provider reports them: its price record says whether the prompt includes the cached ones. A missing price raises; it is not free.",
			Params: []script.Param{{Name: "price", Type: script.Either(script.String(), script.Map(script.Any())).Called("name or map"), Meaning: "a name of lab cost prices, or {input, output, cached, cache_write, batch_input, batch_output, prompt_includes_cached, as_of, source} in USD per million tokens"}},
			Options: []script.Param{count("prompt", "as reported"), count("cached", "read from a cache"), count("written", "written to one"), count("output", "of the answer"), count("reasoning", "hidden ones besides, billed as output"),
				{Name: "batch", Type: script.Bool(), Default: false, Meaning: "the prices of the batch endpoint"}, asOfOption},
			Func: env.bill},
		{Name: "usd_per_million", Returns: quantityKind, Doc: "Returns USD per million tokens from rented chips (F16).", Params: []script.Param{number("usd_per_hour", "of a chip"), number("chips", "rented"), number("tokens_per_second", "of all of them")},
			Func: func(c *script.Call) (any, error) {
				return of("USD/million tokens", "F16", cost.Scenario)(cost.USDPerMillion(c.Float("usd_per_hour"), c.Float("chips"), c.Float("tokens_per_second")))
			}},
		{Name: "cache_breakeven", Returns: "record: uses, breakeven", Doc: "Returns after how many uses a cached prefix costs less than sending it each time, for prices of write and read as multiples of the input price (F16).",
			Params: []script.Param{number("write", "multiple of the input price"), number("read", "multiple of the input price, below 1")},
			Func: func(c *script.Call) (any, error) {
				u, err := cost.CacheBreakeven(c.Float("write"), c.Float("read"))
				return script.Record{Name: "cache_use", Fields: map[string]any{"uses": u.Uses, "breakeven": u.Breakeven}}, err
			}},
		{Name: "conversation", Returns: "record: prompt, cached, output (tokens)", Doc: "Returns the tokens of a chat that sends everything again at each turn: quadratic in turns (F16).",
			Params:  []script.Param{{Name: "turns", Type: script.Int(), Range: script.AtLeast(1), Meaning: "of user and model"}},
			Options: []script.Param{count("system", "before the first turn"), tokens("user", "of each turn", 1, -1), tokens("answer", "of each turn", 1, -1), {Name: "cache", Type: script.Bool(), Default: false, Meaning: "earlier turns are read from a cache"}},
			Func: func(c *script.Call) (any, error) {
				l, err := cost.Conversation(c.Int("system"), c.Int("user"), c.Int("answer"), c.Int("turns"), c.Bool("cache"))
				return script.Record{Name: "conversation", Fields: map[string]any{"prompt": l.Prompt, "cached": l.Cached, "output": l.Output}}, err
			}},
		{Name: "energy", Returns: quantityKind, Doc: "Returns joules: chip-seconds × watts × load × PUE (F15).", Params: []script.Param{number("chip_seconds", "of all chips")},
			Options: []script.Param{{Name: "watts", Type: script.Float(), Required: true, Range: script.MoreThan(0), Meaning: "of a chip at full load; measured, not the design power, for a number to trust"},
				{Name: "load", Type: script.Float(), Required: true, Range: script.Interval(0, 1, true, false), Meaning: "share of the watts that is drawn"},
				{Name: "pue", Type: script.Float(), Required: true, Range: script.AtLeast(1), Meaning: "of the building; 1 for a bare device"}},
			Func: func(c *script.Call) (any, error) {
				return of("J", "F15", cost.Scenario)(cost.Energy(c.Float("chip_seconds"), cost.Power{Watts: c.Float("watts"), Load: c.Float("load"), PUE: c.Float("pue")}))
			}},
	}
}

func (env *Env) bill(c *script.Call) (any, error) {
	prompt := c.Int("prompt")
	p, r, warnings, err := env.price(c, "price", prompt)
	if err != nil {
		return nil, err
	}
	u, err := r.Usage(cost.Usage{Prompt: prompt, Cached: c.Int("cached"), Written: c.Int("written"), Output: c.Int("output"), Reasoning: c.Int("reasoning")})
	if err != nil {
		return nil, err
	}
	l, err := u.Ledger()
	if err != nil {
		return nil, err
	}
	if all := l.PromptTokens(); all != prompt { // reported apart: the tier is of the whole prompt
		p = r.For(all)
	}
	b, err := p.Bill(l, c.Bool("batch"))
	if err != nil {
		return nil, err
	}
	warn(c, warnings)
	return script.Record{Name: "bill", Fields: map[string]any{"total": b.Total(), "prompt": b.Prompt, "cached": b.Cached, "written": b.Written, "output": b.Output, "reasoning": b.Reasoning,
		"note": p.Name + ", " + p.Date + " (" + p.Source + ")", "warnings": append([]string{}, warnings...)}}, nil
}

// factMembers are the tables.
func (env *Env) factMembers() []script.Member {
	list := func(name, doc string, f func(*tables.Tables) []string) script.Member {
		return script.Member{Name: name, Returns: "list of string", Doc: doc, Func: func(*script.Call) (any, error) {
			t, err := env.Tables()
			if err != nil {
				return nil, err
			}
			return f(t), nil
		}}
	}
	return []script.Member{
		list("models", "Returns the names of the models whose architecture is known.", func(t *tables.Tables) (out []string) {
			for _, m := range t.AllModels() {
				out = append(out, m.Name)
			}
			return out
		}),
		list("devices", "Returns the names of the hardware that is known.", func(t *tables.Tables) (out []string) {
			for _, h := range t.AllHardware() {
				out = append(out, h.Name)
			}
			return out
		}),
		{Name: "device", Returns: "record: name, peak (FLOP/s by arithmetic type), bytes_per_s, memory_bytes, watts, usd_per_hour (NaN: not known), as_of, source, origin", Doc: "Returns the facts of a device.",
			Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "of lab cost hardware"}},
			Func: func(c *script.Call) (any, error) {
				t, err := env.Tables()
				if err != nil {
					return nil, err
				}
				h, err := t.Hardware(c.String("name"))
				if err != nil {
					return nil, err
				}
				peak := map[string]any{}
				for d, v := range h.Peak {
					peak[d] = v
				}
				return script.Record{Name: "device", Fields: map[string]any{"name": h.Name, "peak": peak, "bytes_per_s": h.BytesPerS, "memory_bytes": h.MemoryBytes,
					"watts": known(h.Watts), "usd_per_hour": known(h.USDPerHour), "as_of": string(h.AsOf), "source": h.Source, "origin": h.Origin}}, nil
			}},
		{Name: "training_run", Returns: "record: name, params, tokens, flop, device_hours (0: not known), device, as_of, source", Doc: "Returns the facts of the training of a model.",
			Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "of lab cost models"}},
			Func: func(c *script.Call) (any, error) {
				t, err := env.Tables()
				if err != nil {
					return nil, err
				}
				r, err := t.Run(c.String("name"))
				return script.Record{Name: "training_run", Fields: map[string]any{"name": r.Name, "params": r.Parameters, "tokens": r.Tokens, "flop": r.FLOP,
					"device_hours": r.DeviceHours, "device": r.Device, "as_of": string(r.AsOf), "source": r.Source}}, err
			}},
	}
}

func known(v *float64) float64 {
	if v == nil {
		return nan
	}
	return *v
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
