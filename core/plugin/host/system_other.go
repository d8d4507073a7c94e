//go:build !unix

package host

import (
	"io/fs"
	"os"
)

func lockFolder(path string) (*os.File, error) { return os.Open(path) }
func ownedByUs(fs.FileInfo) bool               { return false }
func notExecutable(error) bool                 { return false }
