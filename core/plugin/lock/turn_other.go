//go:build !unix

package lock

// lockFolder takes no lock: plugins run on unix systems only.
func lockFolder(string) (unlock func(), err error) { return func() {}, nil }
