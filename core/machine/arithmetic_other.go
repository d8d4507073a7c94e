//go:build !amd64

package machine

func float32Loop() loop { return plain() }

// int8Loop has no counterpart in plain Go, which has no such instruction.
func int8Loop() (loop, bool) { return loop{}, false }
