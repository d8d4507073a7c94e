//go:build !unix

package store

import "os"

// take cannot lock files here: the name in the file is all that keeps two
// processes apart.
func take(*os.File) (bool, error) { return true, nil }

// errFull is an error that nothing is: the system's is not known here.
var errFull = os.ErrInvalid
