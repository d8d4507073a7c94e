//go:build !linux

package machine

import "time"

// threadTime is not known here.
func threadTime() (time.Duration, bool) { return 0, false }
