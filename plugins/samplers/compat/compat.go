// Package compat holds what other systems make of our samplers: their names for
// a method, their ranges and defaults, and their own rule where it differs.
//
// The families (truncate, rescale, penalty, ...) know one rule each, the
// catalogue's superset. A stage that is asked for with compat=SYSTEM follows
// that system's rule instead, which reproduces its answers: float32 sums in its
// order, its ties, its off-by-ones. Each system has one file, which lists its
// [Rule]s; arithmetic that several systems share (they were copied from one
// another, or run on the same library) lies in a file of its own. Start with
// [Follow], which puts the rules onto the samplers.
package compat

import (
	"fmt"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// The systems, by the names that declarations, chains and golden files use.
const (
	LlamaCpp     = "llama.cpp"
	KoboldCpp    = "koboldcpp"
	ExLlamaV2    = "exllamav2"
	Transformers = "transformers"
	VLLM         = "vllm"
	WebUI        = "webui"
	Aphrodite    = "aphrodite"
)

// Rule is what one system makes of one sampler.
type Rule struct {
	Sampler string // our standard name
	Term    string // what the system calls the method or its setting
	Differs string // how its rule differs from ours, one sentence; empty: it does not

	// Params are settings whose range, default or meaning is another in the
	// system, by name; ones that our sampler does not have are added.
	Params param.Specs

	// Needs are added to what the sampler needs: the larger of the two.
	Needs sampler.Needs

	// Apply is the system's rule; nil: the sampler's own.
	Apply func(row *sampler.Row, set param.Values) error
}

// rules returns the rules of every system, by its name.
func rules() []struct {
	system string
	rules  []Rule
} {
	return []struct {
		system string
		rules  []Rule
	}{
		{LlamaCpp, llamaCpp()}, {KoboldCpp, koboldCpp()}, {ExLlamaV2, exLlamaV2()},
		{Transformers, transformers()}, {VLLM, vllm()}, {WebUI, webUI()}, {Aphrodite, aphrodite()},
	}
}

// Follow returns the samplers, in their order, able to follow the rules of other
// systems. It panics for a rule of a sampler that is not in the list, which is a
// defect of this package that every start of the plugin would show.
func Follow(list []sampler.Sampler) []sampler.Sampler {
	out := slices.Clone(list)
	index := map[string]int{}
	for i, s := range list {
		index[s.Declare().Name] = i
	}
	for _, of := range rules() {
		for _, r := range of.rules {
			i, ok := index[r.Sampler]
			if !ok {
				panic(fmt.Sprintf("compat: %s has a rule for %q, which is no sampler", of.system, r.Sampler))
			}
			f, ok := out[i].(*follower)
			if !ok {
				f = &follower{Sampler: out[i], decl: out[i].Declare(), apply: map[string]func(*sampler.Row, param.Values) error{}}
				out[i] = f
			}
			f.add(of.system, r)
		}
	}
	return out
}

// follower is a sampler that can follow the rules of systems.
type follower struct {
	sampler.Sampler
	decl  sampler.Declaration
	apply map[string]func(*sampler.Row, param.Values) error // by system
}

func (f *follower) add(system string, r Rule) {
	f.decl.Systems = append(f.decl.Systems, sampler.System{Name: system, Term: r.Term, Differs: r.Differs, Params: r.Params})
	n := &f.decl.Needs
	if n.History >= 0 && (r.Needs.History < 0 || r.Needs.History > n.History) {
		n.History = r.Needs.History
	}
	n.Uniforms = max(n.Uniforms, r.Needs.Uniforms)
	n.Passes = max(n.Passes, r.Needs.Passes)
	n.TokenTexts = n.TokenTexts || r.Needs.TokenTexts
	f.apply[system] = r.Apply
	if r.Apply == nil {
		f.apply[system] = f.Sampler.Apply
	}
}

// Declare returns the sampler's declaration with the systems it can follow.
func (f *follower) Declare() sampler.Declaration { return f.decl }

// Apply follows the rule that the row asks for.
func (f *follower) Apply(row *sampler.Row, set param.Values) error {
	if row.System == "" {
		return f.Sampler.Apply(row, set)
	}
	apply := f.apply[row.System]
	if apply == nil {
		return fault.New(fault.Internal, f.decl.Name, "", "the rule of %q was asked for, which is not declared", row.System)
	}
	return apply(row, set)
}
