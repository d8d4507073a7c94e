//go:build !unix

package host

func notExecutable(error) bool { return false }
