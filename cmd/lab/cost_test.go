package main

import (
	"testing"
	"time"

	"lab/core/fault"
)

// Prices are wanted for the day of the clock, unless a day is given.
func TestTheDayOfPrices(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 2, 28, 23, 59, 0, 0, time.FixedZone("west", -3600)) }
	for _, row := range []struct{ asOf, want string }{{"", "2026-02-28"}, {"2025-12-31", "2025-12-31"}} {
		c := &costFlags{asOf: row.asOf, now: clock}
		if day, err := c.day(); err != nil || string(day) != row.want {
			t.Errorf("--as-of %q is %q (%v), want %q", row.asOf, day, err, row.want)
		}
	}
	for _, bad := range []string{"2026-02-29", "today", "2026-2-1", "2026-02-01T00:00:00Z"} {
		c := &costFlags{asOf: bad, now: clock}
		if day, err := c.day(); fault.KindOf(err) != fault.Usage {
			t.Errorf("--as-of %q is %q (%v), want a usage error", bad, day, err)
		}
	}
}
