package sweep

import (
	"encoding/json"
	"slices"
	"strings"

	"lab/core/chain"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// chain returns the chain of a cell: the one that was written, with the values of
// its stages set. Without a written one the stages stand in the order of the list
// of samplers, selectors last.
func (m *maker) chain(written string, stages map[string]any) (*chain.Chain, error) {
	id, err := json.Marshal(stages)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, op, "grid")
	}
	key := written + "\x00" + string(id)
	if c, ok := m.chains[key]; ok {
		return c, m.errors[key]
	}
	c, err := m.build(written, stages)
	m.chains[key], m.errors[key] = c, err
	return c, err
}

func (m *maker) build(written string, stages map[string]any) (*chain.Chain, error) {
	requests, err := chain.Parse(written, "chain")
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(stages))
	for key := range stages {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := m.rank(a) - m.rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	free := written == ""
	left := map[string]bool{} // stages that a cell leaves out
	for _, key := range keys {
		offer, spec, err := m.stage(key)
		if err != nil {
			return nil, err
		}
		name := offer.Declaration.Name
		at, err := m.find(requests, key, name)
		switch {
		case err != nil:
			return nil, err
		case at < 0 && !free:
			return nil, fault.New(fault.Usage, "", key, "the chain %s has no stage %s", fault.Quote(written, 80), name).
				Fix("put the stage into the chain where it belongs, with any value")
		case at < 0:
			requests = append(requests, chain.Request{Name: stageName(key), Origin: "grid"})
			at = len(requests) - 1
		}
		switch v := stages[key].(type) {
		case string:
			if v == Off {
				left[name] = true
				continue
			}
		case bool:
			if spec.Name == "" || spec.Type != param.Bool && !strings.Contains(key, ".") {
				left[name] = left[name] || !v // a switch of the whole stage
				continue
			}
		}
		if spec.Name == "" {
			return nil, fault.New(fault.Usage, "", key, "the stage takes no settings, and %s is neither true nor false", show(stages[key]))
		}
		requests[at].Settings = replaced(requests[at].Settings, offer.Declaration.Params, spec, stages[key])
	}
	requests = slices.DeleteFunc(requests, func(r chain.Request) bool {
		o, err := m.offer(r.Name)
		return err == nil && left[o.Declaration.Name]
	})
	if free {
		if err := m.selectorsLast(requests); err != nil {
			return nil, err
		}
	}
	return m.session.Build(m.ctx, requests)
}

// stageName is the part of a key that names the stage.
func stageName(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}

// find returns the one request for a stage, -1 when there is none.
func (m *maker) find(requests []chain.Request, key, name string) (int, error) {
	found := -1
	for i, r := range requests {
		o, err := m.offer(r.Name)
		if err != nil {
			return -1, err
		}
		if o.Declaration.Name != name {
			continue
		}
		if found >= 0 {
			return -1, fault.New(fault.Usage, "", key, "the chain has the stage %s twice", name).Fix("vary whole chains instead, with the key chain")
		}
		found = i
	}
	return found, nil
}

// replaced returns settings with one of them set.
func replaced(settings []param.Setting, specs param.Specs, spec param.Spec, v any) []param.Setting {
	out := slices.DeleteFunc(slices.Clone(settings), func(s param.Setting) bool {
		if s.Name == "" {
			return specs[0].Name == spec.Name
		}
		other, ok := specs.Find(s.Name)
		return ok && other.Name == spec.Name
	})
	return append(out, param.Setting{Name: spec.Name, Value: v, Origin: "grid"})
}

// selectorsLast puts the stages that select behind the others.
func (m *maker) selectorsLast(requests []chain.Request) error {
	var failed error
	selects := func(r chain.Request) int {
		o, err := m.offer(r.Name)
		if err != nil {
			failed = err
		}
		if o.Declaration.Kind == sampler.Select {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(requests, func(a, b chain.Request) int { return selects(a) - selects(b) })
	return failed
}
