package yield

import (
	"math"
	"slices"

	"lab/core/cost"
	"lab/core/fault"
	"lab/core/measure"
)

const op = "yield"

// Unit is what an answer takes some of.
type Unit int

// The units, and how many there are.
const (
	Tokens  Unit = iota // of prompt and completion, whatever was thrown away included
	FLOP                // 2 per multiply-add
	Seconds             // of the device, not of waiting
	Joules
	USD
	units
)

var unitNames = [units]string{"tokens", "flop", "seconds", "joules", "usd"}

// String returns the name that columns and options have.
func (u Unit) String() string { return unitNames[u] }

// Units returns all of them.
func Units() []Unit { return []Unit{Tokens, FLOP, Seconds, Joules, USD} }

// UnitNamed returns the unit of a name; an unknown one is a usage error.
func UnitNamed(name string) (Unit, error) {
	i := slices.Index(unitNames[:], name)
	if i < 0 {
		return 0, fault.Unknown(op, "unit", name, unitNames[:])
	}
	return Unit(i), nil
}

// Spend is what an attempt took of one unit: the part of the prompt, which
// attempts at one prompt may share, and its own.
type Spend struct{ Prompt, Own float64 }

// Attempt is one answer: what it is worth, NaN where that is not defined, and what
// it took.
type Attempt struct {
	Value float64
	Spent [units]Spend // of units that [Setting.Known] holds
}

// Prompt is the attempts at one prompt.
type Prompt struct {
	Text     string
	Attempts []Attempt
	// Set is the value of the attempts as a whole, for measures of sets; the values of
	// attempts are then not looked at.
	Set *measure.Estimate
}

// Source says how an amount is known.
type Source struct {
	Kind cost.Kind `json:"kind"`
	Note string    `json:"note"`
}

// Axis is one of the settings that the grid of a run varies.
type Axis struct {
	Name  string
	Value any
}

// Setting is the attempts under one choice of settings, at one or more prompts.
type Setting struct {
	Axes    []Axis
	Cells   []int // of the run
	Failed  int   // attempts that gave no answer; what they took is not known
	Prompts []Prompt
	Known   map[Unit]Source // the units that every attempt has
	Absent  map[Unit]string // why others are not known
}

// Attempts returns how many there are.
func (s *Setting) Attempts() int {
	n := 0
	for i := range s.Prompts {
		n += len(s.Prompts[i].Attempts)
	}
	return n
}

// fewest returns the attempts at the prompt with the fewest.
func (s *Setting) fewest() int {
	n := math.MaxInt
	for i := range s.Prompts {
		n = min(n, len(s.Prompts[i].Attempts))
	}
	return n
}

// check refuses settings that nothing can be said of.
func (s *Setting) check() error {
	if len(s.Prompts) == 0 || s.fewest() == 0 {
		return fault.New(fault.Data, op, "", "a setting has no attempts")
	}
	for i := range s.Prompts {
		for j := range s.Prompts[i].Attempts {
			a := &s.Prompts[i].Attempts[j]
			if math.IsInf(a.Value, 0) {
				return fault.New(fault.Data, op, "", "the value of attempt %d at prompt %d is infinite", j, i)
			}
			for u := range s.Known {
				if sp := a.Spent[u]; !(sp.Prompt >= 0 && sp.Own >= 0) || math.IsInf(sp.Prompt+sp.Own, 1) {
					return fault.New(fault.Data, op, "", "attempt %d at prompt %d took %v and %v %s", j, i, sp.Prompt, sp.Own, u)
				}
			}
		}
	}
	return nil
}
