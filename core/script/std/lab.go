// Package std is the script module "lab": models, chains, distributions,
// generation, and samplers whose rule is a function of the script (sampler.go,
// row.go, turn.go), as scripts see them.
//
// One file per kind of object. Everything a script holds is immutable; real
// quantities are floats, counts and token ids are ints; failures raise with the
// script's position. The package turns arguments into calls of core/experiment
// and results into objects, and computes nothing itself but the methods of a
// row. Figures are the business of the module "plot", which reads [Distribution]
// values.
package std

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
)

// Env is what the module works with.
type Env struct {
	Session *experiment.Session
	Seed    uint64            // of the run
	Args    map[string]string // values of --set, by key
	// Track begins a long task of total samples and returns what to call after
	// each step and at its end. Nil shows nothing.
	Track func(label string, total int) (step func(finished, tokens int), done func())

	// Sweeps says where sweeps are kept; nil: the script can make none.
	Sweeps *Sweeps
	// Table returns a table as the module table has it; nil: there is none.
	Table func(*table.Table) any

	mu   sync.Mutex
	used map[string]any
}

// Settings returns the arguments the script asked for with the values it got,
// for the record of the run.
func (e *Env) Settings() map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string]any, len(e.used))
	for k, v := range e.used {
		out[k] = v
	}
	return out
}

// Unused returns a usage error naming a --set key that the script never asked
// for, or nil.
func (e *Env) Unused() error {
	used := e.Settings()
	var known, unknown []string
	for k := range used {
		known = append(known, k)
	}
	for k := range e.Args {
		if _, ok := used[k]; !ok {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	sort.Strings(unknown)
	err := fault.Unknown("run", "setting --set", unknown[0], known)
	if len(known) == 0 {
		err.Cure = "the script asks for none (lab.arg)"
	}
	return err
}

// Module returns the module "lab".
func Module(e *Env) script.Module {
	return script.Module{
		Name: "lab",
		Doc:  "Models, chains of stages, distributions over the next token, and generation.",
		Members: []script.Member{
			{
				Name: "seed", Doc: "The run seed, from --seed.", Returns: "int",
				Get: func(*script.Call) (any, error) { return e.Seed, nil },
			},
			{
				Name: "infinity", Doc: "Positive infinity, the surprisal of the impossible.", Returns: "float",
				Get: func(*script.Call) (any, error) { return math.Inf(1), nil },
			},
			{
				Name:    "arg",
				Doc:     "Returns the value of --set name=value, converted to the type of the default, or the default.",
				Returns: "the default's type",
				Params: []script.Param{
					{Name: "name", Type: script.String(), Meaning: "the key of --set"},
					{Name: "default", Type: script.Either(script.String(), script.Int(), script.Float(), script.Bool()),
						Meaning: "what the script uses when nothing is set"},
				},
				Func: e.arg,
			},
			{
				Name: "model", Doc: "Opens a model, once per run.", Returns: "model",
				Params: []script.Param{
					{Name: "ref", Type: script.String(), Default: experiment.DefaultModel,
						Meaning: "a name from lab model list, or the path of a GGUF file"},
					{Name: "settings", Type: script.Map(script.Any()), Optional: true, Meaning: "options of the backend: lab model info"},
				},
				Func: e.model,
			},
			{
				Name: "chain", Doc: "Checks a chain of stages; a selector is appended when there is none.", Returns: "chain",
				Params: []script.Param{chainParam},
				Options: []script.Param{{Name: "compat", Type: script.String(), Default: "",
					Meaning: "follow another system's rules: llama.cpp, transformers, vllm, koboldcpp, webui, exllamav2 or aphrodite"}},
				Func: func(c *script.Call) (any, error) {
					chain, err := e.compatible(c, c.Any("chain"), c.String("compat"))
					return &Chain{chain}, err
				},
			},
			samplerMember(e),
			sweepMember(e),
			runMember(e),
			importMember(e),
			{
				Name: "samplers", Doc: "Lists the names of the samplers of every plugin, and of those defined here.", Returns: "list of string",
				Func: func(c *script.Call) (out any, err error) {
					if err := OutsideApply(c); err != nil {
						return nil, err
					}
					err = c.Blocking(func() error {
						var names []string
						for _, s := range e.Session.Host().Samplers(c.Context()) {
							names = append(names, s.Name)
						}
						out = append(names, e.Session.Defined()...)
						return nil
					})
					return out, err
				},
			},
		},
		Classes: []script.Class{
			(*Model)(nil).Class(), (*Chain)(nil).Class(), (*Distribution)(nil).Class(), (*Scoring)(nil).Class(), (*scored)(nil).Class(), (*token)(nil).Class(),
			(*Sample)(nil).Class(), (*Conversation)(nil).Class(), (*step)(nil).Class(), (*stage)(nil).Class(), (*sequence)(nil).Class(),
			(*Sampler)(nil).Class(), (*row)(nil).Class(), (*turn)(nil).Class(), (*Run)(nil).Class(),
		},
	}
}

// arg converts --set values strictly: what does not read as the default's type
// is refused.
func (e *Env) arg(c *script.Call) (any, error) {
	name, fallback := c.String("name"), c.Any("default")
	value := fallback
	if text, given := e.Args[name]; given {
		var err error
		if value, err = convert(text, fallback); err != nil {
			return nil, fault.New(fault.Usage, "run", "--set "+name, "%s is not a %s", fault.Quote(text, 40), kindOf(fallback)).
				Fix("the script's default is %v", fallback)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.used == nil {
		e.used = map[string]any{}
	}
	e.used[name] = value
	return value, nil
}

func convert(text string, like any) (any, error) {
	switch like.(type) {
	case int64:
		return strconv.ParseInt(text, 10, 64)
	case float64:
		v, err := strconv.ParseFloat(text, 64)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = strconv.ErrRange
		}
		return v, err
	case bool:
		return strconv.ParseBool(text)
	}
	return text, nil
}

func kindOf(v any) string {
	switch v.(type) {
	case int64:
		return "whole number"
	case float64:
		return "number"
	case bool:
		return "true or false"
	}
	return "text"
}

// origin names the script line that asked for something.
func origin(c *script.Call) string { return "script " + c.Position().String() }

// getter declares a value of a host object.
func getter[T any](name, returns, doc string, get func(T) any) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: returns,
		Get: func(c *script.Call) (any, error) { return get(script.Self[T](c)), nil }}
}

func plainText(piece []byte) string { return strings.ToValidUTF8(string(piece), "\uFFFD") }

func short(v float64) string { return fmt.Sprintf("%.4g", v) }
