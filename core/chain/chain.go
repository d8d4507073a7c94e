// Package chain is the ordered list of stages between a model's scores and the
// token drawn, and the ledger of what each of them did.
//
// A chain is written as text ([Parse]), checked against the samplers that exist
// ([Build]) and applied to batches of rows ([Chain.Apply]). Consecutive stages
// of one plugin travel in one call. Where a sampler runs, and how rows reach
// it, is the business of the [Catalog]; randomness comes from core/seed.
package chain

import (
	"fmt"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Offer is a sampler that exists, and what applies it.
type Offer struct {
	Plugin      string
	Declaration sampler.Declaration
	Runner      sampler.Runner // the same value for samplers of the same plugin

	// Of a sampler that a script defines: where it does, and the SHA-256 of that
	// file. Empty for one of a plugin, whose digest is recorded with the plugin.
	Defined, SHA256 string
}

// Catalog finds a sampler by its name, an alias or "plugin/name". For an
// unknown one it returns a usage error that names the nearest.
type Catalog interface {
	Sampler(name string) (Offer, error)
}

// Stage is one checked stage of a chain.
type Stage struct {
	Name        string // standard name, whatever alias was written
	Plugin      string
	Declaration sampler.Declaration
	Values      param.Values // with the origin of every value
	System      string       // whose rule it follows; empty: the sampler's own
	Origin      string       // who asked for the stage

	Defined, SHA256 string // as in [Offer]

	qualified bool // asked for as "plugin/name"
	runner    sampler.Runner
	lane      uint32 // of its random numbers
}

// Chain is a list of stages that ends with a selector. It is immutable and safe
// for concurrent use.
type Chain struct {
	Stages []Stage
	groups []group
}

// DefaultSelector is appended to a chain without a selector, DefaultOrigin is
// recorded as who asked for it.
const (
	DefaultSelector = "sample"
	DefaultOrigin   = "default"
)

// Build checks the stages against the catalog and returns the effective chain.
// When no stage selects, [DefaultSelector] is appended. A selector that is not
// last, unknown names and illegal values are usage errors naming the stage.
func Build(requests []Request, catalog Catalog) (*Chain, error) {
	c := &Chain{}
	for i, r := range requests {
		s, err := build(r, i, catalog)
		if err != nil {
			return nil, err
		}
		if n := len(c.Stages); n > 0 && c.Stages[n-1].Selects() {
			return nil, fault.New(fault.Usage, opParse, fmt.Sprintf("stage %d (%s)", i+1, s.Name),
				"it comes after %q, which already selects a token", c.Stages[n-1].Name).Fix("put the selector last")
		}
		c.Stages = append(c.Stages, s)
	}
	if n := len(c.Stages); n == 0 || !c.Stages[n-1].Selects() {
		s, err := build(Request{Name: DefaultSelector, Origin: DefaultOrigin}, len(requests), catalog)
		if err != nil {
			return nil, err
		}
		c.Stages = append(c.Stages, s)
	}
	c.plan()
	return c, nil
}

func build(r Request, index int, catalog Catalog) (Stage, error) {
	subject := fmt.Sprintf("stage %d (%s)", index+1, r.Name)
	offer, err := catalog.Sampler(r.Name)
	if err != nil {
		return Stage{}, fault.Wrap(err, fault.Usage, opParse, subject)
	}
	if err := noFiles(subject, r.Settings); err != nil {
		return Stage{}, err
	}
	d := offer.Declaration
	system, settings, err := compat(r.Settings)
	if err != nil {
		return Stage{}, fault.Wrap(err, fault.Usage, opParse, subject)
	}
	specs, err := d.ParamsFor(system)
	if err != nil {
		return Stage{}, fault.Wrap(err, fault.Usage, opParse, subject)
	}
	values, err := specs.Resolve(opParse, subject, settings)
	if err != nil {
		return Stage{}, err
	}
	return Stage{Name: d.Name, Plugin: offer.Plugin, Declaration: d, Values: values, System: system, Origin: r.Origin,
		Defined: offer.Defined, SHA256: offer.SHA256, qualified: strings.Contains(r.Name, "/"), runner: offer.Runner}, nil
}

// compat splits the reserved setting off the others.
func compat(given []param.Setting) (system string, rest []param.Setting, err error) {
	for _, s := range given {
		if s.Name != sampler.CompatSetting {
			rest = append(rest, s)
			continue
		}
		name, ok := s.Value.(string)
		if !ok || system != "" {
			return "", nil, fault.New(fault.Usage, "", sampler.CompatSetting, "%v is not the name of one system", s.Value)
		}
		system = name
	}
	return system, rest, nil
}

// Compat returns the requests with every stage that does not say otherwise made
// to follow a system's rule. origin is recorded with it.
func Compat(requests []Request, system, origin string) []Request {
	out := make([]Request, len(requests))
	for i, r := range requests {
		if !slices.ContainsFunc(r.Settings, func(s param.Setting) bool { return s.Name == sampler.CompatSetting }) {
			r.Settings = append(slices.Clip(r.Settings),
				param.Setting{Name: sampler.CompatSetting, Value: system, Origin: origin})
		}
		out[i] = r
	}
	return out
}

// Passes returns how many further rows from other model passes the chain's
// stages want, at most.
func (c *Chain) Passes() int {
	n := 0
	for _, s := range c.Stages {
		n = max(n, s.Declaration.Needs.Passes)
	}
	return n
}

// Selects reports whether the stage picks the token rather than reshaping.
func (s Stage) Selects() bool { return s.Declaration.Kind == sampler.Select }

// String returns the stage as Parse reads it, with the values that were given.
// The first setting is written without its name; a stage that was asked for from
// one plugin keeps that plugin's name.
func (s Stage) String() string {
	name := s.Name
	if s.qualified {
		name = s.Plugin + "/" + s.Name
	}
	var parts []string
	for i, v := range s.Values {
		if v.Origin == param.DefaultOrigin {
			continue
		}
		text := quote(param.Format(v.Value))
		if i > 0 {
			text = v.Name + "=" + text
		}
		parts = append(parts, text)
	}
	if s.System != "" {
		parts = append(parts, sampler.CompatSetting+"="+quote(s.System))
	}
	if len(parts) == 0 {
		return name
	}
	return name + ":" + strings.Join(parts, ",")
}

// String returns the chain in its own syntax, the appended selector included.
// Values at their defaults that nobody gave are left out; [Chain.Effective]
// has all of them.
func (c *Chain) String() string {
	parts := make([]string, len(c.Stages))
	for i, s := range c.Stages {
		parts[i] = s.String()
	}
	return strings.Join(parts, " | ")
}

// EffectiveStage is one stage as it ran, for people and for the record.
type EffectiveStage struct {
	Stage    string         `json:"stage"`
	Plugin   string         `json:"plugin"`
	Kind     string         `json:"kind"`
	Origin   string         `json:"origin"`
	Compat   string         `json:"compat,omitempty"`
	Defined  string         `json:"defined,omitempty"` // where a script defines the sampler
	SHA256   string         `json:"sha256,omitempty"`  // of that file
	Settings []EffectiveSet `json:"settings"`
}

// EffectiveSet is one setting of a stage with the origin of its value.
type EffectiveSet struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Effective returns every stage with every value and where it came from.
func (c *Chain) Effective() []EffectiveStage {
	out := make([]EffectiveStage, len(c.Stages))
	for i, s := range c.Stages {
		out[i] = EffectiveStage{Stage: s.Name, Plugin: s.Plugin, Kind: s.Declaration.Kind.String(), Origin: s.Origin, Compat: s.System,
			Defined: s.Defined, SHA256: s.SHA256, Settings: make([]EffectiveSet, len(s.Values))}
		for j, v := range s.Values {
			out[i].Settings[j] = EffectiveSet{Name: v.Name, Value: v.Value, Origin: v.Origin}
		}
	}
	return out
}
