//go:build !linux

package shelf

import "math"

// room takes the disk for endless where it is not asked: a full one then shows
// when it is written to, and the part that is there is gone on with.
func room(string) (int64, error) { return math.MaxInt64, nil }
