package std

import (
	"sort"
	"strings"

	"lab/core/chain"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/script"
)

// Chain is a chain of stages as a script holds it.
type Chain struct{ *chain.Chain }

// chainParam is an argument that takes a chain in any of its forms.
var chainParam = script.Param{
	Name:    "chain",
	Type:    script.Either(script.String(), script.Host[*Chain](), script.Host[*Sampler](), script.List(script.Any())),
	Meaning: `text ("temperature:0.8 | top_p:0.95"), a chain, a sampler, or a list of stages, each text, a sampler of lab.sampler, or [name or sampler, {setting: value}]`,
}

// Class implements script.Object.
func (*Chain) Class() script.Class {
	return script.Class{Name: "chain", Doc: "An ordered list of stages that ends with a selector.", Members: []script.Member{
		getter("text", "string", "The chain in its own syntax, with the values that were given.", func(c *Chain) any { return c.String() }),
		getter("stages", "list of string", "The names of the stages, in order.", func(c *Chain) any {
			names := make([]string, len(c.Stages))
			for i, s := range c.Stages {
				names[i] = s.Name
			}
			return names
		}),
	}}
}

// chainOf builds the chain that an argument describes. Text and lists are
// parsed and checked; every value's origin is the line of the call.
func (e *Env) chainOf(c *script.Call, arg any) (*chain.Chain, error) { return e.compatible(c, arg, "") }

// compatible is chainOf under another system's rules, when one is named.
func (e *Env) compatible(c *script.Call, arg any, system string) (*chain.Chain, error) {
	if err := OutsideApply(c); err != nil {
		return nil, err
	}
	from := origin(c)
	var requests []chain.Request
	switch v := arg.(type) {
	case *Chain:
		if system != "" {
			return nil, fault.New(fault.Script, "chain", "", "a chain that was checked already cannot follow %q", system).
				Fix("give its stages as text or a list")
		}
		return v.Chain, nil
	case string:
		r, err := chain.Parse(v, from)
		if err != nil {
			return nil, err
		}
		requests = r
	case *Sampler:
		requests = []chain.Request{{Name: v.decl.Name, Origin: from}}
	case []any:
		for i, element := range v {
			r, err := stageOf(element, i, from)
			if err != nil {
				return nil, err
			}
			requests = append(requests, r...)
		}
	}
	var built *chain.Chain
	err := c.Blocking(func() (err error) {
		built, err = e.Session.Build(c.Context(), compatOf(requests, system, from))
		return err
	})
	return built, err
}

// stageOf reads one element of a list: text, which may hold several stages, a
// sampler, or [name or sampler, {setting: value}].
func stageOf(element any, index int, from string) ([]chain.Request, error) {
	if text, ok := element.(string); ok {
		return chain.Parse(text, from)
	}
	pair, ok := element.([]any)
	if !ok {
		pair = []any{element} // a sampler
	}
	var name string
	var given map[string]any
	switch len(pair) {
	case 2:
		given, _ = pair[1].(map[string]any)
		fallthrough
	case 1:
		name, _ = pair[0].(string)
		if s, ok := pair[0].(*Sampler); ok {
			name = s.decl.Name
		}
	}
	if name == "" || len(pair) == 2 && given == nil {
		return nil, fault.New(fault.Script, "chain", "", "element %d is neither a text, a sampler nor [name or sampler, {setting: value}]", index)
	}
	r := chain.Request{Name: strings.TrimSpace(name), Origin: from}
	for _, key := range sortedKeys(given) {
		if given[key] == nil {
			return nil, fault.New(fault.Script, "chain", "", "setting %q of element %d (%s) is undefined", key, index, name)
		}
		r.Settings = append(r.Settings, param.Setting{Name: key, Value: given[key], Origin: from})
	}
	return []chain.Request{r}, nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
