package std

import (
	"errors"
	"fmt"
	"sync"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/sampler"
	"lab/core/script"
)

// Sampler is a sampler whose rule is a function of the script. It runs in this
// process, through the same [sampler.Set] that serves a plugin's, so its rows
// are checked and its ledger is kept as any other's. Its sequences are computed
// one after the other in their order: functions of a script take turns.
type Sampler struct {
	decl    sampler.Declaration
	apply   *script.Func
	set     *sampler.Set
	defined string // "script FILE:LINE:COLUMN"
	sha256  string // of the file that holds the function
}

func samplerMember(e *Env) script.Member {
	return script.Member{
		Name: "sampler", Returns: "sampler",
		Doc: "Defines a sampler whose rule is a function of this script; it stands anywhere in a chain, as a value or by its name, with the same checks and ledger as any other.",
		Options: []script.Param{
			{Name: "name", Type: script.String(), Required: true, Meaning: "snake_case; no other sampler, alias or earlier definition may have it"},
			{Name: "apply", Type: script.Callback("row", "turn"), Required: true,
				Meaning: "the rule. It returns a row made from the one given; or its new scores, one per listed token, where -lab.infinity removes; or, to select, a token id; or a map of row, token and state. It must depend on its arguments alone"},
			{Name: "kind", Type: script.String(), Default: "reshape", Choices: []string{"reshape", "select"}, Meaning: "whether it changes the row, or picks the token and ends the chain"},
			{Name: "params", Type: script.List(script.Map(script.Any())),
				Meaning: "its settings, the first of which can be given without its name: each {name, default, min, max, above, below, choices, unit, meaning}. The default decides the type (1 is a whole number, 1.0 any number); above and below are bounds that are not legal values themselves"},
			{Name: "uniforms", Type: script.Int(), Default: int64(0), Range: script.Between(0, 1024), Meaning: "uniform random numbers wanted at each step, turn.uniforms"},
			{Name: "passes", Type: script.Int(), Default: int64(0), Range: script.Between(0, 8), Meaning: "rows of further model passes wanted, turn.passes"},
			{Name: "summary", Type: script.String(), Default: "", Meaning: "what it does to the distribution, one sentence"},
			{Name: "formula", Type: script.String(), Default: "", Meaning: "its rule in one line"},
			{Name: "source", Type: script.String(), Default: "", Meaning: "who described it"},
		},
		Func: func(c *script.Call) (any, error) { return e.sampler(c) },
	}
}

// sampler declares and registers a sampler of the script.
func (e *Env) sampler(c *script.Call) (*Sampler, error) {
	if err := OutsideApply(c); err != nil {
		return nil, err
	}
	s := &Sampler{defined: origin(c)}
	var once sync.Once
	s.apply = c.Func("apply").Watched(func(variable string) {
		what := "a variable outside of it"
		if variable != "" {
			what = variable + ", " + what
		}
		once.Do(func() {
			s.apply.Warn("sampler %q assigns to %s; results that depend on that depend on batch and order too: return what the next step needs as state", s.decl.Name, what)
		})
	})
	file, ok := s.apply.Source()
	if !ok {
		return nil, fault.New(fault.Script, "sampler", fault.Quote(c.String("name"), 64), "its apply is no function of the script")
	}
	s.sha256 = file.SHA256
	kind := sampler.Reshape
	if c.String("kind") == sampler.Select.String() {
		kind = sampler.Select
	}
	s.decl = sampler.Declaration{
		Name: c.String("name"), Kind: kind, Summary: c.String("summary"), Formula: c.String("formula"), Source: c.String("source"),
		Needs: sampler.Needs{History: -1, Uniforms: int(c.Int("uniforms")), Passes: int(c.Int("passes"))},
	}
	if s.decl.Summary == "" {
		s.decl.Summary = "Does what the apply function of the " + s.defined + " does."
	}
	if s.decl.Source == "" {
		s.decl.Source = s.defined
	}
	for i, entry := range c.List("params") {
		spec, err := specOf(entry.(map[string]any), s.defined)
		if err != nil {
			return nil, fault.Wrap(err, fault.Script, "sampler", fmt.Sprintf("params[%d]", i))
		}
		s.decl.Params = append(s.decl.Params, spec)
	}
	set, err := sampler.NewSet(s)
	if err != nil {
		return nil, asScript(err)
	}
	s.set = set
	offer := chain.Offer{Plugin: experiment.ScriptPlugin, Declaration: s.decl, Runner: s, Defined: s.defined, SHA256: s.sha256}
	return s, c.Blocking(func() error { return e.Session.Define(c.Context(), offer) })
}

// Class implements script.Object.
func (*Sampler) Class() script.Class {
	return script.Class{Name: "sampler", Doc: "A sampler that this script defines: lab.chain([it]) or lab.chain([[it, {setting: value}]]).", Members: []script.Member{
		getter("name", "string", "Its name, by which text chains know it too.", func(s *Sampler) any { return s.decl.Name }),
		getter("kind", "string", `"reshape" or "select".`, func(s *Sampler) any { return s.decl.Kind.String() }),
		getter("summary", "string", "What it does.", func(s *Sampler) any { return s.decl.Summary }),
		getter("params", "list of string", "The names of its settings.", func(s *Sampler) any { return s.decl.Params.Names() }),
		getter("defined", "string", "Where it is defined.", func(s *Sampler) any { return s.defined }),
		getter("sha256", "string", "SHA-256 of the file that its rule is written in.", func(s *Sampler) any { return s.sha256 }),
	}}
}

// String implements fmt.Stringer.
func (s *Sampler) String() string { return "<sampler " + s.decl.Name + ">" }

// asScript returns a fault as one of the script's doing: what declares and
// applies a script's sampler is the script.
func asScript(err error) error {
	var e *fault.Error
	if !errors.As(err, &e) || e.Kind != fault.Plugin {
		return err
	}
	c := *e
	c.Kind = fault.Script
	return &c
}
