package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lab/core/chain"
	"lab/core/fault"
	"lab/core/plugin/param"
)

// ScriptPlugin is what records name as the plugin of a sampler that a script
// defined.
const ScriptPlugin = "script"

// Define adds a sampler that a script defined to those that chains of this
// session can name, as NAME and as script/NAME. A name that a plugin's sampler
// has, an alias included, or that was defined before, is a script error: nothing
// is shadowed. It starts every plugin, to know their samplers.
func (s *Session) Define(ctx context.Context, o chain.Offer) error {
	name := o.Declaration.Name
	if name == ScriptPlugin || !param.IsName(name) {
		return fault.New(fault.Script, "sampler", fault.Quote(name, 64), "the name is not snake_case (a-z, 0-9, _, starting with a letter), or is %q", ScriptPlugin)
	}
	for _, other := range s.host.Samplers(ctx) {
		if other.Name == name || slices.Contains(other.Aliases, name) {
			return fault.New(fault.Script, "sampler", fmt.Sprintf("%q", name), "the plugin %q has a sampler of this name, or with this alias: %s", other.Plugin, other.Name).
				Fix("choose another name; chains would not tell the two apart")
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, twice := s.scripted[name]; twice {
		cure := "define it once and give it settings (params), or choose another name"
		if old.Defined == o.Defined {
			cure = "its definition ran twice, as a file does that is imported twice: import it once and hand on what it defines, and give a sampler settings (params) instead of making several"
		}
		return fault.New(fault.Script, "sampler", fmt.Sprintf("%q", name), "it is defined already, in %s", old.Defined).Fix("%s", cure)
	}
	s.scripted[name] = o
	return nil
}

// Defined returns the names of the samplers that scripts defined, sorted.
func (s *Session) Defined() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.scripted))
}

func (s *Session) scriptSampler(name string) (chain.Offer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.scripted[strings.TrimPrefix(name, ScriptPlugin+"/")]
	return o, ok
}
