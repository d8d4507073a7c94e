//go:build !unix

package child

import (
	"errors"
	"runtime"
)

// Start refuses: process groups, inherited pipes and unix sockets as used here
// exist on unix systems only.
func Start(Config) (*Process, error) {
	return nil, errors.New("plugins are not supported on " + runtime.GOOS)
}

func killGroup(int) {}
