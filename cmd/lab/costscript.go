package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"lab/core/cost/costmod"
	"lab/core/cost/tables"
	"lab/core/machine"
	rows "lab/core/table"
)

// costEnv is the facts that scripts compute costs with: those of lab cost without
// flags, read once when a script first asks. object makes tables of the module table.
// Progress of measurements goes to errOut.
func costEnv(object func(*rows.Table) any, errOut io.Writer) *costmod.Env {
	c := &costFlags{now: time.Now}
	line := &testLine{what: "cost.measure", unit: "measurements", out: errOut, terminal: newProgress(errOut).terminal, last: time.Now()}
	return &costmod.Env{Tables: sync.OnceValues(c.load), Today: func() tables.Date { return tables.DateOf(c.now()) }, Table: object,
		Machine: machineRates, Progress: line.show, Done: line.clear}
}

// machineRates returns what this machine can do at most; nil with the reason where
// nobody measured it.
func machineRates() (r *machine.Rates, why string) {
	r, path, err := machine.Find()
	switch {
	case err != nil:
		return nil, err.Error()
	case r == nil:
		return nil, fmt.Sprintf("%s is not there; lab cost calibrate measures this machine", path)
	}
	return r, ""
}
