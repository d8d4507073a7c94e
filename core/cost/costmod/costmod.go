// Package costmod is the script module "cost": what training and inference cost,
// as scripts ask for it.
//
// It turns arguments into calls of core/cost and core/cost/scenario and results
// into immutable objects and records, and computes nothing itself. What a formula
// is and where it comes from stands there.
package costmod

import (
	"lab/core/cost/scenario"
	"lab/core/cost/tables"
	"lab/core/fault"
	"lab/core/machine"
	"lab/core/script"
	"lab/core/table"
)

// Env is what the module needs from its surroundings.
type Env struct {
	// Tables returns the facts; it is called when a script first asks for one, and
	// again for each further question, so it should keep them.
	Tables func() (*tables.Tables, error)
	// Today returns the day for which prices are wanted.
	Today func() tables.Date
	// Table returns a table as the module table has it; nil: there is none, and no yield.
	Table func(*table.Table) any
	// Machine returns what this machine can do at most; nil rates where it was not
	// calibrated, with why. A nil function is a machine that was not.
	Machine func() (rates *machine.Rates, why string)
	// Progress is told how far a measurement is, and that it is over; may be nil.
	Progress func(done, total int, next string)
	Done     func()
}

// Module returns the module "cost".
func Module(env *Env) script.Module {
	var members []script.Member
	for _, part := range [][]script.Member{env.answerMembers(), env.curveMembers(), env.factMembers(), env.modelMembers(), env.measureMembers(), decodingMembers(), env.moneyMembers(), lifetimeMembers()} {
		members = append(members, part...)
	}
	return script.Module{
		Name: "cost",
		Doc: "What training and inference cost: operations, bytes, seconds, joules and money, from an architecture, a device and a price. Numbers come as quantities that say their unit, " +
			"formula and how far to trust them. Where an uncertain number is accepted, 0.4 is known, [0.3, 0.5] an interval and {median: 0.4, lo: 0.3, hi: 0.5} has its 5 and 95% points; results then have bands. " +
			"docs/cost.md explains the formulas.",
		Classes: []script.Class{Quantity{}.Class(), (*Profile)(nil).Class()},
		Members: append(members, env.yieldMember()),
	}
}

const quantityKind = "quantity"

// The options of what is drawn.
var (
	drawsOption = script.Param{Name: "draws", Type: script.Int(), Default: int64(2000), Range: script.Between(100, 1e6), Meaning: "of the Monte Carlo that finds bands, where an input is uncertain"}
	seedOption  = script.Param{Name: "seed", Type: script.Int(), Default: int64(0), Range: script.AtLeast(0), Meaning: "of what is drawn; equal seeds give equal bits"}
)

func draws(c *script.Call) scenario.Draws {
	return scenario.Draws{N: int(c.Int("draws")), Seed: uint64(c.Int("seed"))}
}

var asOfOption = script.Param{Name: "as_of", Type: script.String(), Meaning: `day for which prices are wanted, "2026-01-31"; left out, today, so give it where a result must stay the same`}

// day returns the day that prices are wanted for.
func (env *Env) day(c *script.Call) (tables.Date, error) {
	if !c.Given("as_of") {
		return env.Today(), nil
	}
	d := tables.Date(c.String("as_of"))
	if !d.Valid() {
		return "", fault.New(fault.Script, c.Name(), "as_of", "%s is no day", fault.Quote(string(d), 40)).Fix(`write it as "2026-01-31"`)
	}
	return d, nil
}

// warn hands warnings to the run.
func warn(c *script.Call, warnings []string) {
	for _, w := range warnings {
		c.Warn("%s", w)
	}
}
