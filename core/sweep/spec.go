// Package sweep runs a grid of settings: every cell of it, some samples each,
// through as few model calls as the cells allow.
//
// A [Spec] is what a user wrote. [New] checks it against the samplers and models
// of a session, whole, before anything is generated, and returns a [Plan] whose
// cells are numbered. [Plan.Run] generates what the keeper does not have yet, so
// a sweep that was interrupted goes on where it stopped. Where samples are kept
// is the keeper's business (core/store), what they say is core/measure's.
package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/store"
)

const op = "sweep"

// Spec is a sweep as it was written. Its JSON form is kept with the run and is
// all that a repetition needs besides the plugins and models.
type Spec struct {
	// Grid is a list of products: the cells are those of the first block, then
	// those of the next. A key is a setting or a stage.
	Grid []Block `json:"grid"`

	// Fixed are settings that all cells share; keys as in a block.
	Fixed map[string]any `json:"fixed"`

	Samples int `json:"samples"` // of each cell, at least 1

	// Record is what is kept of a sample besides its tokens: RecordLedger, which
	// "" stands for, RecordSamples, RecordScores, or RecordScores with a colon and N.
	Record string `json:"record,omitempty"`
}

// What is kept of samples.
const (
	RecordSamples = "samples" // nothing else
	RecordLedger  = "ledger"  // both distributions and every stage at every step
	// RecordScores is RecordLedger and the model's whole row at every step, so that
	// other chains can be applied to it later; "scores:N" keeps the N likeliest
	// tokens and the probability of the others together.
	RecordScores = "scores"
)

// Ledger reports whether steps and stages are kept.
func (s *Spec) Ledger() bool { return s.Record != RecordSamples }

// Recording returns which scores are kept.
func (s *Spec) Recording() (store.Recording, error) {
	switch top, isTop := strings.CutPrefix(s.Record, RecordScores+":"); {
	case isTop:
		return store.ParseRecording("top:" + top)
	case s.Record == RecordScores:
		return store.ParseRecording("dense")
	}
	return store.Recording{}, nil
}

// Block is a product of values: one cell for each way to choose a value for
// every key. Values are string, int64, float64, bool or, for stop, a list of
// strings.
type Block map[string][]any

// Off is the value of a stage's key that leaves the stage out.
const Off = "off"

// setting is a key that is not a stage.
type setting struct {
	name, meaning string
	set           func(c *Cell, v any) error
}

// settings lists the keys that are no stages, in the order of a run's columns.
func settings() []setting {
	return []setting{
		{"prompt", "text to continue", func(c *Cell, v any) error { return text(&c.Prompt, v) }},
		{"model", "model that generates", func(c *Cell, v any) error { return text(&c.Model, v) }},
		{"chain", "chain of stages; stages that are keys of the grid are set in it", func(c *Cell, v any) error { return text(&c.chain, v) }},
		{"search", "strategy in place of sampling token by token", func(c *Cell, v any) error { return text(&c.Search, v) }},
		{"seed", "run seed", func(c *Cell, v any) error {
			n, err := whole(v, 0, math.MaxInt64)
			c.Seed = uint64(n)
			return err
		}},
		{"max_tokens", "most tokens per sample", func(c *Cell, v any) error {
			n, err := whole(v, 1, 1e6)
			c.MaxTokens = int(n)
			return err
		}},
		{"stop", "stop strings", func(c *Cell, v any) error { return stops(&c.Stop, v) }},
	}
}

// Keys returns the names of the settings that are no stages, with what they mean.
func Keys() (names, meanings []string) {
	for _, s := range settings() {
		names, meanings = append(names, s.name), append(meanings, s.meaning)
	}
	return names, meanings
}

// defaults returns a cell with nothing set.
func defaults() Cell { return Cell{Model: experiment.DefaultModel, MaxTokens: 64} }

func text(at *string, v any) error {
	s, ok := v.(string)
	if !ok {
		return fault.New(fault.Usage, "", "", "%s is not a text", show(v))
	}
	if s == "" {
		return fault.New(fault.Usage, "", "", "it is empty")
	}
	*at = s
	return nil
}

func whole(v any, least, most int64) (int64, error) {
	n, ok := v.(int64)
	if f, real := v.(float64); real && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		n, ok = int64(f), true
	}
	if !ok {
		return 0, fault.New(fault.Usage, "", "", "%s is not a whole number", show(v))
	}
	if n < least || n > most {
		return 0, fault.New(fault.Usage, "", "", "%d is outside [%d, %d]", n, least, most)
	}
	return n, nil
}

func stops(at *[]string, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	*at = nil
	for _, element := range list {
		var s string
		if err := text(&s, element); err != nil {
			return err
		}
		*at = append(*at, s)
	}
	return nil
}

// show writes a value for a message or a column.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fault.Quote(v, 40)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// check refuses what is wrong with a specification as a whole.
func (s *Spec) check() error {
	if s.Samples < 1 || s.Samples > mostSamples {
		return fault.New(fault.Usage, op, "samples", "%d is outside [1, %d]", s.Samples, mostSamples)
	}
	switch s.Record {
	case "", RecordSamples, RecordLedger, RecordScores:
	default:
		if !strings.HasPrefix(s.Record, RecordScores+":") {
			return fault.Unknown(op, "record", s.Record, []string{RecordSamples, RecordLedger, RecordScores, RecordScores + ":N"})
		}
		if _, err := s.Recording(); err != nil {
			return fault.New(fault.Usage, op, "record", "%s is not scores:N with N from 1", fault.Quote(s.Record, 40))
		}
	}
	if len(s.Grid) == 0 {
		return fault.New(fault.Usage, op, "grid", "it is empty").Fix(`give at least one setting with its values: {temperature: [0.5, 1.0]}`)
	}
	cells := 0
	for i, b := range s.Grid {
		n := 1
		for _, key := range keysOf(b) {
			if len(b[key]) == 0 {
				return fault.New(fault.Usage, op, s.place(i, key), "it has no values")
			}
			if n > mostCells/len(b[key]) {
				return fault.New(fault.Limit, op, "grid", "it has more than %d cells", mostCells).Fix("split it into several sweeps")
			}
			n *= len(b[key])
			if _, twice := s.Fixed[key]; twice {
				return fault.New(fault.Usage, op, s.place(i, key), "it is fixed for all cells as well").Fix("give it once")
			}
		}
		if cells += n; cells > mostCells {
			return fault.New(fault.Limit, op, "grid", "it has more than %d cells", mostCells).Fix("split it into several sweeps")
		}
	}
	return nil
}

// The largest sweep: 4 billion samples.
const (
	mostCells   = 1_000_000
	mostSamples = 1_000_000
)

// place names a key of a block.
func (s *Spec) place(block int, key string) string {
	if len(s.Grid) == 1 {
		return fmt.Sprintf("grid %s", fault.Quote(key, 40))
	}
	return fmt.Sprintf("grid[%d] %s", block, fault.Quote(key, 40))
}

// keysOf returns the keys of a block, settings first.
func keysOf[V any](b map[string]V) []string {
	var out []string
	names, _ := Keys()
	for _, n := range names {
		if _, ok := b[n]; ok {
			out = append(out, n)
		}
	}
	var stages []string
	for key := range b {
		if !slices.Contains(names, key) {
			stages = append(stages, key)
		}
	}
	slices.SortFunc(stages, strings.Compare)
	return append(out, stages...)
}
