// Package sampler is the contract of a sampling stage: what an author declares
// and implements, and what a host may expect.
//
// A stage is a function of what it is given: scores, history, state and
// uniform numbers in; scores, state and perhaps a chosen token out. It keeps
// nothing between calls, so a crashed plugin can be restarted and a batch split
// in any way without changing a result. An author implements [Sampler] and
// calls plugin.Serve; [Set] runs stages in process and is what serves them.
package sampler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
)

// Kind says what a stage does to a row. The numbers cross the plugin border.
type Kind uint8

const (
	Reshape Kind = iota + 1 // scores to scores
	Select                  // scores to one token; ends a chain
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Reshape:
		return "reshape"
	case Select:
		return "select"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Needs says what a stage must be given besides the scores.
type Needs struct {
	History    int  // newest context tokens wanted; 0 none, -1 the whole context
	Uniforms   int  // uniform numbers wanted per row and step, at most 1024
	TokenTexts bool // the bytes of every vocabulary entry; a Tokens setting that holds a text needs them without saying so
	Passes     int  // further rows of scores from other model passes, at most 8
	Shared     bool // the uniform numbers differ by step only, not by sample
	Raw        bool // as first stage it may be given NaN and +Inf: an explicit repair
}

// Declaration is everything the host knows of a sampler. Validation, help
// pages, completion and the script API all derive from it.
type Declaration struct {
	Name    string   // the standard name, snake_case
	Aliases []string // names other systems use
	Kind    Kind
	Summary string // one sentence: what it does to the distribution, with ties
	Formula string // one line; may be empty
	Source  string // paper, equation or project of the rule
	Params  param.Specs
	Needs   Needs
	Systems []System // other systems that have the method
}

// System is what another system makes of a sampler's method. A stage that is
// asked to be compatible with it ([Stage.System]) follows that system's rule.
type System struct {
	Name    string // "llama.cpp"
	Term    string // what the method or its switch is called there
	Differs string // how its rule differs from the sampler's own; empty: it does not

	// Params are the settings whose range, default or meaning is another there,
	// by name; ones that the sampler does not have are added to its own.
	Params param.Specs
}

// CompatSetting is the setting of a stage, reserved in every sampler, that names
// the system whose rule it follows.
const CompatSetting = "compat"

// System returns what a system makes of the sampler.
func (d Declaration) System(name string) (System, bool) {
	for _, s := range d.Systems {
		if s.Name == name {
			return s, true
		}
	}
	return System{}, false
}

// ParamsFor returns the settings of a stage that follows a system's rule, the
// sampler's own for "". A system that the sampler does not know is a usage
// error with those it does.
func (d Declaration) ParamsFor(system string) (param.Specs, error) {
	if system == "" {
		return d.Params, nil
	}
	s, ok := d.System(system)
	if !ok {
		if len(d.Systems) == 0 {
			return nil, fault.New(fault.Usage, "sampler", d.Name, "no other system's rule for it is known, and %s = %q was asked for", CompatSetting, system).
				Fix("leave %s out for this stage", CompatSetting)
		}
		names := make([]string, len(d.Systems))
		for i, s := range d.Systems {
			names[i] = s.Name
		}
		return nil, fault.New(fault.Usage, "sampler", d.Name, "%q has no such method, or none that is known", system).
			Fix("%s is one of %s; leave it out for the sampler's own rule", CompatSetting, strings.Join(names, ", "))
	}
	specs := append(param.Specs(nil), d.Params...)
	for _, other := range s.Params {
		at := slices.IndexFunc(specs, func(own param.Spec) bool { return own.Name == other.Name })
		if at < 0 {
			specs = append(specs, other)
			continue
		}
		specs[at] = other
	}
	return specs, nil
}

// Validate returns a plugin error when the declaration is incomplete or
// contradicts itself.
func (d Declaration) Validate() error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Plugin, "declaration", "sampler "+fault.Quote(d.Name, 64), format, args...)
	}
	switch {
	case !param.IsName(d.Name):
		return wrong("the name is not snake_case (a-z, 0-9, _, starting with a letter)")
	case d.Kind != Reshape && d.Kind != Select:
		return wrong("its kind is %v, neither reshape nor select", d.Kind)
	case d.Summary == "" || d.Source == "":
		return wrong("it lacks a summary or a source")
	case d.Needs.History < -1 || d.Needs.Uniforms < 0 || d.Needs.Uniforms > 1024 || d.Needs.Passes < 0 || d.Needs.Passes > 8:
		return wrong("its needs are out of range: %+v", d.Needs)
	}
	for _, name := range d.Aliases {
		if !param.IsName(name) {
			return wrong("the alias %q is not snake_case (a-z, 0-9, _, starting with a letter)", name)
		}
	}
	if err := d.checkParams(d.Params); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range d.Systems {
		if s.Name == "" || len(s.Name) > 64 || len(s.Term) > 256 || len(s.Differs) > 2048 || seen[s.Name] {
			return wrong("it names the system %s twice, or at an impossible length", fault.Quote(s.Name, 64))
		}
		seen[s.Name] = true
		specs, err := d.ParamsFor(s.Name)
		if err == nil {
			err = d.checkParams(specs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkParams returns a plugin error when settings are malformed or share a
// name.
func (d Declaration) checkParams(specs param.Specs) error {
	seen := map[string]bool{CompatSetting: true}
	for _, s := range specs {
		if err := s.Validate(); err != nil {
			return fault.Wrap(err, fault.Plugin, "declaration", fmt.Sprintf("sampler %q", d.Name))
		}
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if seen[name] {
				return fault.New(fault.Plugin, "declaration", fmt.Sprintf("sampler %q", d.Name),
					"setting %q is declared twice, or reserved", name)
			}
			seen[name] = true
		}
	}
	return nil
}

// Row is what one stage sees of one sequence at one step. The slices belong to
// the host and are valid during the call only.
type Row struct {
	// Scores is changed in place. It is checked before the call (no NaN, no
	// +Inf, at least one finite score) and after it. A token that was removed
	// stays removed.
	Scores *dist.Scores

	// History is the context so far, prompt first, cut to the newest tokens
	// that the declaration asked for. Prompt is how many of them are prompt.
	History []int32
	Prompt  int

	Step     int       // 0 for the first generated token
	Uniforms []float64 // as many as declared, each in [0, 1), owned by the host
	Passes   []dist.Scores
	Texts    func(id int32) []byte // nil unless declared, or a setting of type Tokens holds a text

	// Vocabulary is the key of the texts: equal keys mean equal texts. Empty
	// when the texts have no key.
	Vocabulary string

	Sample    uint64  // index of the sample among those of one prompt and seed
	EndOfText []int32 // the model's tokens that end a text; may be empty
	System    string  // whose rule to follow, one of the declared systems; empty: the sampler's own

	// State is a copy of what this stage returned for this sequence at the step
	// before, empty at the first step. What the stage leaves here is handed back at the
	// next step; at most 64 KiB.
	State []byte

	// Chosen is the token a Select stage picks; the host sets it to -1 first.
	Chosen int32
}

// Sampler is what an author implements. Apply is called for one row at a time,
// for different rows concurrently; it must depend on nothing but its arguments.
// A panic in it becomes a plugin error.
type Sampler interface {
	Declare() Declaration
	Apply(row *Row, set param.Values) error
}

// Interruptible is a [Sampler] that may take long over a row, such as one that
// runs the code of a script. A [Set] calls ApplyUntil in place of Apply, and
// expects it to return with an error of kind limit or interrupted soon after ctx
// has ended.
type Interruptible interface {
	ApplyUntil(ctx context.Context, row *Row, set param.Values) error
}

// Stage names a sampler of a plugin with its checked settings.
type Stage struct {
	Sampler string
	Values  param.Values
	System  string // whose rule it follows; empty: the sampler's own
}

// Item is one sequence in a [Call]. Slices indexed by stage have one entry for
// each of Call.Stages.
type Item struct {
	Scores   dist.Scores // in and out; may alias shared memory
	History  []int32
	Prompt   int
	Step     int
	Sample   uint64
	States   [][]byte    // by stage, in and out
	Uniforms [][]float64 // by stage, in
	Passes   []dist.Scores

	Chosen  int32         // out: -1 when no stage selected
	Changes []dist.Change // out, by stage, when Call.Ledger is set; the chosen token when a stage selected
	Rows    []dist.Scores // out, by stage: the row after the stage, when Call.Rows is set
}

// Call asks for consecutive stages of one plugin to be applied to a batch.
type Call struct {
	Stages     []Stage
	Items      []*Item
	Ledger     bool    // fill Item.Changes
	Rows       bool    // fill Item.Rows
	Vocabulary string  // key of the vocabulary whose texts stages may ask for
	EndOfText  []int32 // the model's tokens that end a text
}

// Runner applies calls: a [Set] in this process, or a plugin in another. On an
// error the items' Scores, States and results are unspecified.
type Runner interface {
	Run(ctx context.Context, call *Call) error
}
