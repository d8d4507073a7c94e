package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns for how long the calling thread has run; ok is false where
// the system does not say. Other work that takes the core is not in it.
func threadTime() (d time.Duration, ok bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
