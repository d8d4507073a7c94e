package main

import (
	"sync"
	"time"

	"lab/core/cost/costmod"
	"lab/core/cost/tables"
	rows "lab/core/table"
)

// costEnv is the facts that scripts compute costs with: those of lab cost without
// flags, read once when a script first asks. object makes tables of the module table.
func costEnv(object func(*rows.Table) any) *costmod.Env {
	c := &costFlags{now: time.Now}
	return &costmod.Env{Tables: sync.OnceValues(c.load), Today: func() tables.Date { return tables.DateOf(c.now()) }, Table: object}
}
