package std

import (
	"lab/core/chain"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/script"
	"lab/core/search"
	"lab/core/systems"
	"lab/core/watermark"
)

// sequence is one continuation that a strategy found, as a script holds it.
type sequence struct{ *search.Sequence }

// Class implements script.Object.
func (*sequence) Class() script.Class {
	return script.Class{Name: "sequence", Doc: "One continuation that a search found.", Members: []script.Member{
		getter("text", "string", "The completion without the prompt.", func(s *sequence) any { return s.Text }),
		getter("tokens", "list of int", "Its tokens, the one that ended it included.", func(s *sequence) any { return s.Tokens }),
		getter("stop", "string", `Why it ended: "end_of_text", "max_tokens" or "context_full".`, func(s *sequence) any { return s.Stop.Reason }),
		getter("model_bits", "float", "-log2 of its probability under the model.", func(s *sequence) any { return float64(s.ModelBits) }),
		getter("sampling_bits", "float", "-log2 of its probability under the distributions drawn from.", func(s *sequence) any { return float64(s.SamplingBits) }),
		getter("score", "float", "What the strategy ranks by; larger is better.", func(s *sequence) any { return float64(s.Score) }),
	}}
}

func searchMember() script.Member {
	return script.Member{
		Name: "search", Doc: "Finds continuations with a strategy that looks at more than one distribution: beam, best_of, enumerate, contrastive or speculative (lab help strategies).",
		Returns: "map: sequences (list of sequence, the best first), score_is, usage (what it took, as in model.usage), and for enumerate listed_mass and unlisted_mass, for speculative acceptance and tokens_per_call",
		Params: []script.Param{
			{Name: "strategy", Type: script.String(), Meaning: `the strategy with its settings: "beam:width=4,length=mean"`},
			promptParam("the text to continue"),
		},
		Options: []script.Param{
			{Name: "chain", Type: chainParam.Type, Default: "sample", Meaning: chainParam.Meaning},
			{Name: "draft", Type: script.Host[*Model](), Meaning: "the model that proposes tokens to speculative decoding"},
			{Name: "seed", Type: script.Int(), Range: seedRange, Meaning: "run seed; left out, lab.seed"},
			{Name: "max_tokens", Type: script.Int(), Default: int64(24), Range: script.Between(1, 1e6), Unit: "tokens", Meaning: "most tokens per sequence"},
		},
		Func: func(c *script.Call) (any, error) { return script.Self[*Model](c).search(c) },
	}
}

func (m *Model) search(c *script.Call) (any, error) {
	strategy, set, err := search.Parse(c.String("strategy"), origin(c))
	if err != nil {
		return nil, err
	}
	built, err := m.env.chainOf(c, c.Any("chain"))
	if err != nil {
		return nil, err
	}
	task := search.Task{Engine: m.Engine, Prompt: []byte(c.String("prompt")), Chain: built, Seed: m.env.Seed, MaxTokens: int(c.Int("max_tokens"))}
	if c.Given("seed") {
		task.Seed = uint64(c.Int("seed"))
	}
	if d, ok := c.Any("draft").(*Model); ok {
		task.Draft = d.Engine
	}
	r, err := blocking(c, func() (*search.Result, error) { return search.Run(c.Context(), task, strategy, set) })
	if err != nil {
		return nil, err
	}
	list := make([]*sequence, len(r.Sequences))
	for i := range r.Sequences {
		list[i] = &sequence{&r.Sequences[i]}
	}
	out := map[string]any{"sequences": list, "score_is": r.ScoreIs, "usage": usageMap(r.Usage)}
	if r.Listed != nil {
		out["listed_mass"], out["unlisted_mass"] = *r.Listed, *r.Unlisted
	}
	if s := r.Speculation; s != nil {
		out["acceptance"], out["tokens_per_call"] = s.Acceptance, s.PerCall
	}
	return out, nil
}

// passOptions are the options of a further model pass.
func passOptions() []script.Param {
	return []script.Param{
		{Name: "negative_prompt", Type: script.String(), Default: "", Meaning: "prompt of a further model pass, for stages such as cfg; empty: the same prompt"},
		{Name: "second_model", Type: script.Host[*Model](), Meaning: "model of a further pass, for stages such as contrastive; it must share the vocabulary"},
	}
}

// passes returns the further passes that options ask for.
func passes(c *script.Call) []generate.Pass {
	other, _ := c.Any("second_model").(*Model)
	prompt := c.String("negative_prompt")
	if other == nil && prompt == "" {
		return nil
	}
	p := generate.Pass{Prompt: []byte(prompt)}
	if other != nil {
		p.Engine = other.Engine
	}
	return []generate.Pass{p}
}

func detectMember() script.Member {
	return script.Member{
		Name: "detect", Doc: "Tests generated tokens for a watermark; only these are scored, and repeated contexts are dropped.",
		Returns: "map: method, statistic, tokens, scored, repeated, short, score, expected, z, p, ln_p, tail",
		Params: []script.Param{
			{Name: "mark", Type: script.String(), Meaning: `the stage that set the mark, with its settings: "watermark_green_list:key=7"`},
			{Name: "text", Type: script.Either(script.String(), script.Host[*Sample]()), Meaning: "a sample of generate, or a text"},
		},
		Options: []script.Param{promptParamWithDefault()},
		Func:    func(c *script.Call) (any, error) { return script.Self[*Model](c).detect(c) },
	}
}

func promptParamWithDefault() script.Param {
	return script.Param{Name: "prompt", Type: script.String(), Default: "", Meaning: "what the text followed; without it the first tokens have no known context"}
}

func (m *Model) detect(c *script.Call) (any, error) {
	method, settings, err := Mark(c.String("mark"))
	if err != nil {
		return nil, err
	}
	return blocking(c, func() (map[string]any, error) {
		prompt, generated, err := m.tokensOf(c)
		if err != nil {
			return nil, err
		}
		r, err := watermark.Detect(c.Context(), method, settings, prompt, generated, m.Info().VocabSize)
		if err != nil {
			return nil, err
		}
		return map[string]any{"method": r.Method, "statistic": r.Statistic, "tokens": int64(r.Tokens), "scored": int64(r.Scored),
			"repeated": int64(r.Repeated), "short": int64(r.Short), "score": r.Score, "expected": r.Expected, "z": r.Z, "p": r.P, "ln_p": r.LnP, "tail": r.Tail}, nil
	})
}

// tokensOf returns the tokens of the prompt and those to be tested.
func (m *Model) tokensOf(c *script.Call) (prompt, generated []int32, err error) {
	text := c.String("prompt")
	if text != "" {
		if prompt, err = m.Encode(c.Context(), []byte(text)); err != nil {
			return nil, nil, err
		}
	}
	if s, ok := c.Any("text").(*Sample); ok {
		return prompt, s.Tokens, nil
	}
	return m.Continuation(c.Context(), text, c.Any("text").(string))
}

// Mark reads a watermark as a stage is written: the name of its sampler, and the
// settings that its detector takes.
func Mark(text string) (method string, settings map[string]any, err error) {
	requests, err := chain.Parse(text, "mark")
	if err != nil {
		return "", nil, err
	}
	if len(requests) != 1 {
		return "", nil, fault.New(fault.Usage, "watermark", fault.Quote(text, 60), "it is %d stages, and one is wanted", len(requests)).
			Fix("for example watermark_green_list:key=7")
	}
	m, err := watermark.Find(requests[0].Name)
	if err != nil {
		return "", nil, err
	}
	settings = map[string]any{}
	for _, s := range requests[0].Settings {
		name := s.Name
		if name == "" && len(m.Settings) > 0 {
			name = m.Settings[0].Name
		}
		settings[name] = s.Value
	}
	return m.Name, settings, nil
}

func importMember(e *Env) script.Member {
	return script.Member{
		Name: "import_chain", Doc: "Turns another system's sampling settings into a chain in that system's order and under its rules (lab chain import --help).",
		Returns: "map: chain, strategy, no_equivalent (list of string)",
		Params: []script.Param{
			{Name: "system", Type: script.String(), Choices: systems.Systems(), Meaning: "whose settings they are"},
			{Name: "settings", Type: script.String(), Meaning: "flags, JSON, or the lines of a Modelfile"},
		},
		Func: func(c *script.Call) (any, error) {
			if err := OutsideApply(c); err != nil {
				return nil, err
			}
			in, err := systems.Import(c.String("system"), c.String("settings"))
			if err != nil {
				return nil, err
			}
			var built *chain.Chain
			if err := c.Blocking(func() (err error) {
				built, err = e.Session.Build(c.Context(), in.Requests)
				return err
			}); err != nil {
				return nil, err
			}
			lost := []string{}
			for _, n := range in.NoEquivalent {
				lost = append(lost, n.Setting+": "+n.Why)
			}
			return map[string]any{"chain": &Chain{built}, "strategy": in.Strategy, "no_equivalent": lost}, nil
		},
	}
}

// compatOf makes stages follow a system's rules, when an option names one.
func compatOf(requests []chain.Request, system, from string) []chain.Request {
	if system == "" {
		return requests
	}
	return chain.Compat(requests, system, from)
}
