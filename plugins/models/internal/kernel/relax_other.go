//go:build !amd64

package kernel

import "runtime"

// Relax is what to do between two looks at a word that another thread will write.
func Relax() { runtime.Gosched() }
