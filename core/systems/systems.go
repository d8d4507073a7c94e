// Package systems turns the sampling settings of other systems into chains:
// their flags, generation_config.json, requests and Modelfiles.
//
// For each system there is a table of its settings, what they become, its
// defaults and the order in which it applies them. The chain that results
// follows the system's own rules where lab knows them (compat), and whatever
// has no equivalent is said, never dropped. The rules themselves are samplers;
// nothing is applied here. Start with [Import].
package systems

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lab/core/chain"
	"lab/core/fault"
)

// Note is one setting and what became of it.
type Note struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// Imported is what the settings of a system become.
type Imported struct {
	System   string
	Requests []chain.Request // the chain, in the system's order
	Strategy string          // of lab search, when the settings ask for one; else empty

	// What the settings say about the run rather than the distribution; nil or
	// empty when they do not say.
	Seed      *uint64
	MaxTokens *int
	Samples   *int
	Stop      []string

	Off          []Note // settings at a value that changes nothing
	NoEquivalent []Note // settings that lab cannot follow, with the reason
	Unrelated    []Note // settings that concern neither the distribution nor how long a text gets
}

// system is another system's settings.
type system struct {
	name   string
	compat string            // the rules that its stages follow; empty: lab's own
	format string            // what Import reads
	lines  bool              // it is lines, if neither flags nor JSON
	order  []string          // names of stages, as the system applies them
	params map[string]target // by normalised name of the setting
	known  map[string]string // settings without equivalent: why
	// objects are settings that mean something else in JSON than as a flag.
	objects   map[string]target
	unrelated []string // settings that do not concern the distribution
	switches  []string // flags that take no value
	programs  []string // how the names of programs begin whose command lines are read
	escaped   []string // flags in whose texts a backslash has a meaning
	ones      []string // settings without equivalent that ask for nothing when they are 1
	// finish sets what depends on several settings.
	finish func(*draft) error
}

// target is what one setting becomes.
type target struct {
	stage, param string
	kind         kind
	def          any              // the system's default when that is on; nil: nothing
	off          func(v any) bool // values that turn the stage off
	run          func(*draft, any) error
}

type kind uint8

const (
	number kind = iota + 1
	whole
	truth
	text
	texts  // a list of texts
	seeds  // a whole number of up to 64 bits, with or without a sign
	ids    // token ids, or sequences of them; a text that is a number is an id
	words  // texts that stand for tokens, digits as well, or token ids as numbers
	biases // a map or list of tokens and numbers
)

// stageValue is one setting of a stage in the making.
type stageValue struct {
	param  string
	value  any
	origin string
	off    bool
}

// draft is an import under way.
type draft struct {
	*Imported
	sys    *system
	stages map[string][]stageValue
	order  []string
	given  map[string]any     // by normalised name
	search map[string]float64 // settings of a search rather than of the chain
	own    []string           // stages that follow lab's rule, not the system's
}

// Systems returns the names that Import takes, in the order of listings.
func Systems() []string {
	var out []string
	for _, s := range all() {
		out = append(out, s.name)
	}
	return out
}

func all() []*system { return []*system{llamaCpp(), transformers(), vllm(), ollama(), koboldCpp()} }

// Format says which settings a system is read from.
func Format(name string) string {
	if s, err := find(name); err == nil {
		return s.format
	}
	return ""
}

func find(name string) (*system, error) {
	var names []string
	for _, s := range all() {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return nil, fault.Unknown("chain import", "system", name, names)
}

// Import reads settings of a system: command-line flags, a JSON object, or the
// lines of a Modelfile, told apart by how they begin. Settings nobody gave have
// the system's defaults. A setting that the system does not have is a usage
// error with the nearest known one.
func Import(name, settings string) (*Imported, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	given, err := read(s, settings)
	if err != nil {
		return nil, err
	}
	d := &draft{Imported: &Imported{System: s.name}, sys: s, stages: map[string][]stageValue{}, order: s.order,
		given: map[string]any{}, search: map[string]float64{}}
	for _, g := range given {
		if err := d.take(g); err != nil {
			return nil, err
		}
	}
	d.defaults()
	if s.finish != nil {
		if err := s.finish(d); err != nil {
			return nil, err
		}
	}
	d.assemble()
	return d.Imported, nil
}

// pair is one setting as it was given.
type pair struct {
	name   string
	value  any  // string from flags and lines; JSON values from objects
	object bool // it stood in a JSON object
}

// normal returns a name without leading dashes, in snake_case.
func normal(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
}

func (d *draft) take(g pair) error {
	key := normal(g.name)
	if old, twice := d.given[key]; twice {
		return d.wrong(g.name, "it is given twice (%s, then %s)", show(old), show(g.value))
	}
	d.given[key] = g.value
	why, lost := d.sys.known[key]
	t, ok := d.sys.params[key]
	if other, differs := d.sys.objects[key]; differs && g.object {
		t, ok = other, true
	}
	switch unrelated := slices.Contains(d.sys.unrelated, key); {
	case !ok && !lost && !unrelated:
		return d.unknown(g.name, key)
	case g.value == nil: // JSON null: the default
		return nil
	case lost && d.sys.asksNothing(key, g):
		d.Off = append(d.Off, Note{g.name, show(g.value), "this value asks for nothing"})
		return nil
	case lost:
		d.NoEquivalent = append(d.NoEquivalent, Note{g.name, show(g.value), why})
		return nil
	case unrelated:
		d.Unrelated = append(d.Unrelated, Note{g.name, show(g.value), "it does not concern the distribution"})
		return nil
	}
	v, err := t.kind.convert(g.value)
	if err != nil {
		return d.wrong(g.name, "%s %v", show(g.value), err)
	}
	if t.run != nil {
		if err := t.run(d, v); err != nil {
			return d.wrong(g.name, "%s %v", show(g.value), err)
		}
		return nil
	}
	if err := d.free(t); err != nil {
		return d.wrong(g.name, "%v", err)
	}
	d.set(t, v, d.sys.name+" "+g.name)
	return nil
}

// asksNothing reports whether a setting without equivalent has a value that asks
// for nothing: false, 0, an empty text, list or object, or 1 where that is it.
func (s *system) asksNothing(key string, g pair) bool {
	if word, ok := g.value.(string); ok && !g.object && word != "" { // as JSON would have it
		g.value = word == "true"
		if word != "false" {
			g.value = json.Number(word)
		}
	}
	switch x := g.value.(type) {
	case bool:
		return !x
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	case json.Number:
		f, err := x.Float64()
		return err == nil && (f == 0 || f == 1 && slices.Contains(s.ones, key))
	}
	return false
}

// free returns an error when a setting of a stage has a value already.
func (d *draft) free(t target) error {
	for _, s := range d.stages[t.stage] {
		if s.param == t.param {
			return fmt.Errorf("it is the same setting as %s, which was given %s", strings.TrimPrefix(s.origin, d.sys.name+" "), show(s.value))
		}
	}
	return nil
}

// add gives a setting of a stage that turns nothing off its value.
func (d *draft) add(stage, param string, v any, origin string) error {
	t := target{stage: stage, param: param}
	if err := d.free(t); err != nil {
		return err
	}
	d.set(t, v, origin)
	return nil
}

// set gives a stage a value.
func (d *draft) set(t target, v any, origin string) {
	off := t.off != nil && t.off(v)
	if off && !strings.HasSuffix(origin, defaultSuffix) {
		d.Off = append(d.Off, Note{strings.TrimPrefix(origin, d.sys.name+" "), show(v), "this value turns " + t.stage + " off"})
	}
	list := d.stages[t.stage]
	at := slices.IndexFunc(list, func(s stageValue) bool { return s.param == t.param })
	one := stageValue{t.param, v, origin, off}
	if at >= 0 {
		list[at] = one
		return
	}
	d.stages[t.stage] = append(list, one)
}

const defaultSuffix = " default"

// defaults fills in what the system does when nobody says otherwise.
func (d *draft) defaults() {
	for _, key := range sorted(d.sys.params) {
		t := d.sys.params[key]
		if t.def == nil || slices.ContainsFunc(d.stages[t.stage], func(s stageValue) bool { return s.param == t.param }) {
			continue
		}
		d.set(t, t.def, d.sys.name+defaultSuffix)
	}
}

// number returns a value of a stage that is a number, and whether it is set.
func (d *draft) number(stage, param string) (float64, bool) {
	for _, s := range d.stages[stage] {
		if s.param == param {
			switch v := s.value.(type) {
			case float64:
				return v, true
			case int64:
				return float64(v), true
			}
		}
	}
	return 0, false
}

func (d *draft) wrong(name, format string, args ...any) error {
	return fault.New(fault.Usage, "chain import", d.sys.name+" "+name, format, args...)
}

func (d *draft) unknown(name, key string) error {
	names := slices.Concat(sorted(d.sys.params), sorted(d.sys.known), d.sys.unrelated)
	e := fault.New(fault.Usage, "chain import", d.sys.name, "%s is not one of its settings, or not one that concerns sampling", fault.Quote(name, 40))
	if near := fault.Suggest(key, names); near != "" {
		return e.Fix("did you mean %q?", near)
	}
	return e.Fix("leave it out; known are %s", strings.Join(sorted(d.sys.params), ", "))
}

func show(v any) string {
	s := []rune(fmt.Sprint(v))
	switch v.(type) {
	case []any, map[string]any:
		if b, err := json.Marshal(v); err == nil {
			s = []rune(string(b))
		}
	}
	if len(s) > 60 {
		return string(s[:59]) + "…"
	}
	return string(s)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
