package costmod

import (
	"math"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/cost/tables"
	"lab/core/script"
)

// servingOptions are how a model is served.
func servingOptions() []script.Param {
	u := func(name, unit, meaning string) script.Param {
		return script.Param{Name: name, Type: uncertainType(), Unit: unit, Meaning: meaning}
	}
	size := func(name, unit, meaning string) script.Param {
		return script.Param{Name: name, Type: script.Float(), Range: script.MoreThan(0), Unit: unit, Meaning: meaning}
	}
	return []script.Param{
		{Name: "hardware", Type: script.Either(script.String(), script.Map(script.Any())).Called("name or map"), Meaning: "a name of lab cost hardware, or {name, peak: {bf16: FLOP/s}, bytes_per_s, memory_bytes, watts, usd_per_hour, as_of, source}; without it there are no times"},
		{Name: "dtype", Type: script.String(), Default: "bf16", Choices: tables.Dtypes(), Meaning: "arithmetic type: chooses the peak and, unless given, the bytes"},
		size("chips", "", "devices that serve together; 1 when left out"),
		size("bytes_per_weight", "bytes", "left out, those of dtype"),
		size("bytes_per_element", "bytes", "of the cache; left out, those of dtype, but required where dtype is narrower than two bytes"),
		{Name: "usable", Type: script.Float(), Range: script.Interval(0, 1, true, false), Meaning: "share of the memory that counts; 1 when left out"},
		{Name: "max_context", Type: script.Int(), Range: script.AtLeast(1), Unit: "tokens", Meaning: "of the model, where its record does not say"},
		{Name: "efficiency", Type: script.Either(uncertainType(), script.Map(script.Any())).Called("number, interval or {compute, weights, cache}"), Meaning: "share of the peaks that is reached; left out, 1, which makes times a floor"},
		u("offset", "s", "time of a step that neither arithmetic nor bytes explain, t0; 0 when left out"),
		{Name: "step", Type: script.String(), Default: "split", Choices: []string{"split", "overlap"}, Meaning: "whether the cache is read beside the matrix products or hidden behind them"},
		{Name: "routing", Type: script.String(), Default: "expected", Choices: []string{"same", "expected", "distinct"}, Meaning: "how many experts of a mixture a batch reads"},
		{Name: "power", Type: script.Map(script.Any()), Meaning: "{watts, load, pue} for energy; without watts the design power, which is a stand-in"},
		u("usd_per_hour", "USD", "of a chip; left out, that of the hardware's record"),
	}
}

// serving fills a setup from the options.
func serving(c *script.Call, s *scenario.Setup) error {
	if err := hardware(c, s); err != nil {
		return err
	}
	s.Dtype, s.Overlap, s.Routing = c.String("dtype"), c.String("step") == "overlap", c.String("routing")
	for name, to := range map[string]*float64{"chips": &s.Chips, "bytes_per_weight": &s.BytesPerWeight, "bytes_per_element": &s.BytesPerElement, "usable": &s.Usable} {
		if c.Given(name) {
			*to = c.Float(name)
		}
	}
	if c.Given("max_context") {
		s.MaxContext = int(min(c.Int("max_context"), math.MaxInt32))
	}
	if err := efficiency(c, s); err != nil {
		return err
	}
	var err error
	if s.Offset, err = optional(c, "offset"); err != nil {
		return err
	}
	if s.USDPerHour, err = optional(c, "usd_per_hour"); err != nil {
		return err
	}
	p := pick(c, "power", "watts", "load", "pue")
	s.Watts, s.Load, s.PUE = p.uncertain("watts"), p.uncertain("load"), p.uncertain("pue")
	return p.done()
}

func efficiency(c *script.Call, s *scenario.Setup) error {
	if !c.Given("efficiency") {
		return nil
	}
	m, isMap := c.Any("efficiency").(map[string]any)
	if _, interval := m["median"]; !isMap || interval {
		u, err := uncertain(c.Name()+": efficiency", c.Any("efficiency"))
		s.Compute, s.Weights, s.Cache = u, u, u
		return err
	}
	p := &picker{where: c.Name() + ": efficiency", m: m, names: []string{"compute", "weights", "cache"}}
	s.Compute, s.Weights, s.Cache = p.uncertain("compute"), p.uncertain("weights"), p.uncertain("cache")
	return p.done()
}

func tokens(name, meaning string, least, otherwise int64) script.Param {
	p := script.Param{Name: name, Type: script.Int(), Range: script.AtLeast(float64(least)), Unit: "tokens", Meaning: meaning}
	if otherwise >= 0 {
		p.Default = otherwise
	} else {
		p.Required = true
	}
	return p
}

// answerMembers are whole questions.
func (env *Env) answerMembers() []script.Member {
	u := func(name, meaning string) script.Param {
		return script.Param{Name: name, Type: uncertainType(), Meaning: meaning}
	}
	return []script.Member{
		{Name: "estimate", Returns: "record: a quantity by each name, absent (why, by name), assumed (list), warnings",
			Doc: "Returns what a request costs: parameters, FLOP, bytes, cache, time to first token and per token, throughput, energy and money, as far as the options say. " +
				"A batch that does not fit into the memory raises, and says by how much and what would.",
			Params: []script.Param{modelParam},
			Options: append([]script.Param{tokens("prompt", "new tokens of the prompt", 1, -1), tokens("output", "tokens of each completion", 1, -1), tokens("cached", "tokens of the prompt before them that a cache holds", 0, 0),
				{Name: "samples", Type: script.Int(), Default: int64(1), Range: script.AtLeast(1), Meaning: "completions of the prompt, as for best-of-n or a vote"},
				{Name: "batch", Type: script.Int(), Range: script.AtLeast(1), Meaning: "sequences that decode together; left out, those of the request alone"},
				{Name: "judge", Type: script.Bool(), Default: false, Meaning: "each completion is scored once, with its prompt, by the same model"},
				{Name: "draft", Type: script.Map(script.Any()), Meaning: "speculative decoding: {acceptance, length, cost, operations, verify} as in speculative"},
				attentionOption,
				{Name: "price", Type: script.Either(script.String(), script.Map(script.Any())).Called("name or map"), Meaning: "a name of lab cost prices, or {input, output, cached, cache_write, batch_input, batch_output, as_of, source} in USD per million tokens"},
				{Name: "batch_price", Type: script.Bool(), Default: false, Meaning: "the prices of the provider's batch endpoint"},
				asOfOption, drawsOption, seedOption}, servingOptions()...),
			Func: env.estimate},
		{Name: "breakeven", Returns: "record: a quantity by each name, sentence, absent, assumed, warnings",
			Doc: "Returns after how many tokens, requests and days the sum of all requests has cost as much as training: in FLOP, and with hardware and utilisations in money too.",
			Options: []script.Param{
				{Name: "train", Type: script.Map(script.Any()), Required: true, Meaning: "{params, tokens}, {model, tokens} or {run}, a training run of lab cost models"},
				{Name: "serve", Type: script.Map(script.Any()), Required: true, Meaning: "{tokens_per_request} or {prompt_tokens, output_tokens}, {requests_per_day} on the first day, {growth, growth_days} (0.04: 4% more every 30 days), {limit} (requests a day that growth ends at), {params} or {model} when it is not the trained one"},
				{Name: "hardware", Type: script.String(), Meaning: "that serves, a name of lab cost hardware"},
				{Name: "train_hardware", Type: script.String(), Meaning: "that trained; left out, hardware"},
				{Name: "dtype", Type: script.String(), Default: "bf16", Choices: tables.Dtypes(), Meaning: "arithmetic type"},
				u("train_mfu", "share of the peak in training"), u("serve_mfu", "share of the peak in serving"), u("prefill_mfu", "of prompts, where they are given apart; left out, serve_mfu"),
				u("usd_per_hour", "of a chip; left out, that of the record, or the same on both sides"), u("train_usd_per_hour", "of a chip in training; left out, that of serving on the same hardware"),
				{Name: "start", Type: script.String(), Meaning: `first day of serving, "2026-01-31", for dates`},
				asOfOption, drawsOption, seedOption},
			Func: env.breakeven},
	}
}

func (env *Env) estimate(c *script.Call) (any, error) {
	r, err := env.served(c)
	if err != nil {
		return nil, err
	}
	batch := c.Int("samples")
	if c.Given("batch") {
		batch = c.Int("batch")
	}
	q := r.Request(c.Int("prompt"), c.Int("cached"), c.Int("output"), c.Int("samples"), batch, draws(c))
	q.Convention, q.Batched, q.Judge = convention(c), c.Bool("batch_price"), c.Bool("judge")
	if q.Draft, err = draftOf(c); err != nil {
		return nil, err
	}
	var more []string
	if q.Price, _, more, err = env.price(c, "price", q.Prompt+q.Cached); err != nil {
		return nil, err
	}
	var a *scenario.Answer
	if err := c.Blocking(func() (err error) { a, err = scenario.Estimate(q); return err }); err != nil {
		return nil, err
	}
	a.Assumed = append(a.Assumed, r.Assumed...)
	warnings := append(append([]string{}, r.Warnings...), more...)
	warn(c, warnings)
	return record("estimate", a, map[string]any{"warnings": warnings}), nil
}

func (env *Env) breakeven(c *script.Call) (any, error) {
	t, err := env.Tables()
	if err != nil {
		return nil, err
	}
	q := scenario.Question{Dtype: c.String("dtype"), Draws: draws(c)}
	for name, to := range map[string]*string{"hardware": &q.Hardware, "train_hardware": &q.TrainHardware, "start": &q.Start} {
		if c.Given(name) {
			*to = c.String(name)
		}
	}
	p := pick(c, "train", "params", "model", "tokens", "run")
	q.TrainParams, q.TrainTokens, q.TrainModel, q.Run = p.uncertain("params"), p.uncertain("tokens"), p.text("model"), p.text("run")
	if err := p.done(); err != nil {
		return nil, err
	}
	p = pick(c, "serve", "tokens_per_request", "prompt_tokens", "output_tokens", "requests_per_day", "growth", "growth_days", "limit", "params", "model")
	q.TokensPerRequest, q.PromptTokens, q.OutputTokens, q.RequestsPerDay = p.uncertain("tokens_per_request"), p.uncertain("prompt_tokens"), p.uncertain("output_tokens"), p.uncertain("requests_per_day")
	q.Growth, q.ServeParams, q.ServeModel = p.growth("growth"), p.uncertain("params"), p.text("model")
	q.GrowthDays, _ = p.number("growth_days")
	q.Limit, _ = p.number("limit")
	if err := p.done(); err != nil {
		return nil, err
	}
	for _, o := range []struct {
		name string
		to   **cost.Uncertain
	}{{"train_mfu", &q.TrainMFU}, {"serve_mfu", &q.ServeMFU}, {"prefill_mfu", &q.PrefillMFU}, {"usd_per_hour", &q.USDPerHour}, {"train_usd_per_hour", &q.TrainUSDPerHour}} {
		if *o.to, err = optional(c, o.name); err != nil {
			return nil, err
		}
	}
	day, err := env.day(c)
	if err != nil {
		return nil, err
	}
	b, warnings, err := q.Resolve(t, day)
	if err != nil {
		return nil, err
	}
	var a *scenario.Answer
	if err := c.Blocking(func() (err error) { a, err = b.Answer(); return err }); err != nil {
		return nil, err
	}
	warn(c, warnings)
	return record("breakeven", a, map[string]any{"sentence": b.Sentence(a), "warnings": append([]string{}, warnings...)}), nil
}

// draftOf reads the option draft.
func draftOf(c *script.Call) (*cost.Draft, error) {
	if !c.Given("draft") {
		return nil, nil
	}
	p := pick(c, "draft", "acceptance", "length", "cost", "operations", "verify")
	d := cost.Draft{Accept: p.must("acceptance"), Length: int64(p.must("length")), Cost: p.must("cost"), Verify: 1}
	if n := p.must("length"); n != math.Trunc(n) || math.Abs(n) > 1<<20 {
		p.wrong("length = %g is no number of tokens", n)
	}
	if v, ok := p.number("operations"); ok {
		d.OpRatio = v
	}
	if v, ok := p.number("verify"); ok {
		d.Verify = v
	}
	return &d, p.done()
}
