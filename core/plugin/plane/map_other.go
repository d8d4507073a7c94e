//go:build !unix

package plane

import (
	"errors"
	"os"
)

var errNoPlane = errors.New("shared memory is not supported on this system")

func allocateAndMap(*os.File, int64) ([]byte, error) { return nil, errNoPlane }
func mapShared(*os.File, int64) ([]byte, error)      { return nil, errNoPlane }
func unmap([]byte) error                             { return nil }
func openNoFollow(string) (*os.File, error)          { return nil, errNoPlane }
