package main

import (
	"sync"
	"time"

	"lab/core/cost/costmod"
	"lab/core/cost/tables"
)

// costEnv is the facts that scripts compute costs with: those of lab cost without
// flags, read once when a script first asks.
func costEnv() *costmod.Env {
	c := &costFlags{now: time.Now}
	return &costmod.Env{Tables: sync.OnceValues(c.load), Today: func() tables.Date { return tables.DateOf(c.now()) }}
}
