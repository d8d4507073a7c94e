package std

import (
	"bytes"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/param"
	"lab/core/script"
)

// Model is an open model as a script holds it.
type Model struct {
	env *Env
	*experiment.Model
}

func (e *Env) model(c *script.Call) (any, error) {
	var given []param.Setting
	for _, key := range sortedKeys(c.Map("settings")) {
		given = append(given, param.Setting{Name: key, Value: c.Map("settings")[key], Origin: origin(c)})
	}
	if err := OutsideApply(c); err != nil {
		return nil, err
	}
	var opened *experiment.Model
	err := c.Blocking(func() (err error) {
		opened, err = e.Session.Model(c.Context(), c.String("ref"), given)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Model{env: e, Model: opened}, nil
}

func promptParam(meaning string) script.Param {
	return script.Param{Name: "prompt", Type: script.String(), Meaning: meaning}
}

// seedRange is what a seed may be; script ints are at most 2^63-1.
var seedRange = script.AtLeast(0)

// Class implements script.Object.
func (*Model) Class() script.Class {
	return script.Class{
		Name: "model", Doc: "An open model with frozen weights.",
		Members: append([]script.Member{
			getter("name", "string", "Its name.", func(m *Model) any { return m.Info().Name }),
			getter("architecture", "string", "Its architecture.", func(m *Model) any { return m.Info().Architecture }),
			getter("digest", "string", "SHA-256 of the weights when it was opened.", func(m *Model) any { return m.Info().Digest }),
			getter("parameters", "int", "Number of parameters.", func(m *Model) any { return m.Info().Parameters }),
			getter("vocab_size", "int", "Number of tokens.", func(m *Model) any { return m.Info().VocabSize }),
			getter("context_length", "int", "Most tokens in one sequence.", func(m *Model) any { return m.Info().ContextLength }),
			getter("deterministic", "bool", "Whether scores are the same whatever the batch.", func(m *Model) any { return m.Info().Deterministic }),
			{
				Name: "encode", Doc: "Returns the tokens of a prompt, begin token included when the model asks for one.", Returns: "list of int",
				Params: []script.Param{promptParam("the text")},
				Func: func(c *script.Call) (any, error) {
					return blocking(c, func() ([]int32, error) {
						return script.Self[*Model](c).Encode(c.Context(), []byte(c.String("prompt")))
					})
				},
			},
			{
				Name: "piece", Doc: "Returns the bytes of one token.", Returns: "bytes",
				Params: []script.Param{{Name: "token", Type: script.Int(), Range: script.AtLeast(0)}},
				Func: func(c *script.Call) (any, error) {
					m := script.Self[*Model](c)
					id := c.Int("token")
					if id >= int64(m.Info().VocabSize) {
						return nil, outside(id, m.Info().VocabSize)
					}
					return append([]byte{}, m.Piece(int32(id))...), nil
				},
			},
			{
				Name: "next", Doc: "Returns the model distribution over the token after a prompt.", Returns: "distribution",
				Params: []script.Param{promptParam("the context")},
				Func:   func(c *script.Call) (any, error) { return script.Self[*Model](c).next(c) },
			},
			{
				Name: "generate", Doc: "Generates samples that continue a prompt; sample i depends on model, chain, seed and i only.", Returns: "list of sample",
				Params: []script.Param{{Name: "prompt", Type: script.Either(script.String(), script.Host[*Conversation]()), Meaning: "the text to continue, or a conversation of model.chat to answer"}},
				Options: append([]script.Param{
					{Name: "chain", Type: chainParam.Type, Default: "sample", Meaning: chainParam.Meaning},
					{Name: "samples", Type: script.Int(), Default: int64(1), Range: script.Between(1, 1e6), Meaning: "how many samples"},
					{Name: "first_sample", Type: script.Int(), Default: int64(0), Range: script.Between(0, 1<<32-1), Meaning: "index of the first sample"},
					{Name: "seed", Type: script.Int(), Range: seedRange, Meaning: "run seed; left out, lab.seed"},
					{Name: "max_tokens", Type: script.Int(), Default: int64(48), Range: script.Between(1, 1e6), Unit: "tokens", Meaning: "most tokens per sample"},
					{Name: "stop", Type: script.List(script.String()), Meaning: "stop strings; they may span tokens"},
					{Name: "batch", Type: script.Int(), Default: int64(32), Range: script.Between(1, 4096), Meaning: "most samples in one forward call; changes the speed, never the result"},
					{Name: "ledger", Type: script.Bool(), Default: true, Meaning: "record both distributions and every stage at every step"},
				}, passOptions()...),
				Func: func(c *script.Call) (any, error) { return script.Self[*Model](c).generate(c) },
			},
			chatMember(),
			searchMember(),
			detectMember(),
			{
				Name: "surprisal_bits", Doc: "Returns -log2 of the probability that the model continues a prompt with a text; infinite when the model rules it out.", Returns: "float",
				Params: []script.Param{promptParam("the context"), {Name: "text", Type: script.String(), Meaning: "the continuation"}},
				Func: func(c *script.Call) (any, error) {
					return blocking(c, func() (float64, error) {
						scored, _, err := script.Self[*Model](c).Score(c.Context(), []byte(c.String("prompt")), [][]byte{[]byte(c.String("text"))},
							generate.ScoreOptions{Sums: true})
						if err != nil {
							return 0, err
						}
						return scored[0].Bits, nil
					})
				},
			},
			{
				Name: "verify", Doc: "Computes the SHA-256 of the weights now; raises when it is not the one at open.", Returns: "string",
				Func: func(c *script.Call) (any, error) {
					return blocking(c, func() (string, error) { return script.Self[*Model](c).Verify(c.Context()) })
				},
			},
		}, scoreMembers()...),
	}
}

// String implements fmt.Stringer.
func (m *Model) String() string { return "<model " + m.Info().Name + ">" }

// blocking runs slow work without the interpreter lock, and not inside a sampler.
func blocking[T any](c *script.Call, work func() (T, error)) (out T, err error) {
	if err := OutsideApply(c); err != nil {
		return out, err
	}
	err = c.Blocking(func() (err error) {
		out, err = work()
		return err
	})
	return out, err
}

func outside(id int64, vocab int) error {
	return fault.New(fault.Script, "token", "", "%d is outside the vocabulary, 0 to %d", id, vocab-1)
}

func (m *Model) next(c *script.Call) (any, error) {
	return blocking(c, func() (*Distribution, error) {
		prompt := []byte(c.String("prompt"))
		p, err := m.Next(c.Context(), prompt)
		if err != nil {
			return nil, err
		}
		d, err := dist.NewModel(&p.Scores)
		if err != nil {
			return nil, err
		}
		return &Distribution{model: m, prompt: prompt, history: p.Tokens, row: p.Scores, Distribution: d.Distribution}, nil
	})
}

func (m *Model) generate(c *script.Call) (any, error) {
	built, err := m.env.chainOf(c, c.Any("chain"))
	if err != nil {
		return nil, err
	}
	seed := m.env.Seed
	if c.Given("seed") {
		seed = uint64(c.Int("seed"))
	}
	further := passes(c)
	prompt, tokens, err := m.promptOf(c.Any("prompt"))
	if err != nil {
		return nil, err
	}
	jobs := make([]generate.Job, c.Int("samples"))
	for i := range jobs {
		jobs[i] = generate.Job{Prompt: prompt, Tokens: tokens, Chain: built, Seed: seed,
			Sample: uint64(c.Int("first_sample")) + uint64(i), MaxTokens: int(c.Int("max_tokens")), Stop: c.Strings("stop"), Passes: further}
	}
	opt := generate.Options{Batch: int(c.Int("batch")), Ledger: c.Bool("ledger")}
	r, err := blocking(c, func() (*generate.Result, error) { return m.run(c, jobs, opt) })
	if err != nil {
		return nil, err
	}
	for _, w := range r.Warnings {
		c.Warn("%s", w)
	}
	return m.samples(built, r), nil
}

func (m *Model) run(c *script.Call, jobs []generate.Job, opt generate.Options) (*generate.Result, error) {
	if m.env.Track != nil {
		step, done := m.env.Track(m.Info().Name, len(jobs))
		opt.OnStep = step
		defer done()
	}
	return m.Run(c.Context(), jobs, opt)
}

func (m *Model) samples(built *chain.Chain, r *generate.Result) []*Sample {
	out := make([]*Sample, len(r.Samples))
	for i := range r.Samples {
		out[i] = &Sample{Sample: &r.Samples[i], chain: built.String(), cost: &r.Costs[i]}
	}
	return out
}

// tokenOf returns the token that an argument names: an id, or the exact text
// of one token.
func (m *Model) tokenOf(arg any) (int32, error) {
	switch v := arg.(type) {
	case int64:
		if v < 0 || v >= int64(m.Info().VocabSize) {
			return 0, outside(v, m.Info().VocabSize)
		}
		return int32(v), nil
	case string:
		for id, piece := range m.Pieces() {
			if len(piece) > 0 && bytes.Equal(piece, []byte(v)) {
				return int32(id), nil
			}
		}
		return 0, fault.New(fault.Script, "token", "", "%s is not one token of model %q", fault.Quote(v, 40), m.Info().Name).
			Fix("pieces carry their leading space: \" nice\"; model.encode shows them")
	}
	return 0, fault.New(fault.Internal, "token", "", "unexpected %T", arg)
}
