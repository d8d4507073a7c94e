package canvas

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"lab/core/fault"
)

// WriteFile writes a file whole or not at all: write fills a file of another
// name in the same folder, which then takes the place of path. On an error
// nothing is left behind and an earlier file stays as it was.
//
// Errors: fault.Usage for a folder that is missing or cannot be written to, and
// for a path that is a folder; fault.Data when the disk fails; or the error of
// write.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	const op = "save"
	dir := filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fault.New(fault.Usage, op, path, "this is a folder").Fix("name a file in it")
	}
	f, err := createBeside(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Usage, op, path, "there is no folder %q", dir).Fix("create it first")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Usage, op, path, "folder %q cannot be written to", dir).Fix("choose another folder or change its permissions")
	case err != nil:
		return fault.Wrap(err, fault.Usage, op, path)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fault.Wrap(err, fault.Data, op, path)
	}
	if err := f.Close(); err != nil {
		return fault.Wrap(err, fault.Data, op, path)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fault.Wrap(err, fault.Data, op, path)
	}
	return nil
}

// createBeside opens a new file in the folder of path. os.CreateTemp is not used
// because its files are closed to everyone but their owner.
func createBeside(path string) (*os.File, error) {
	const attempts = 100
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x.part", short(filepath.Base(path)), rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && i < attempts {
			continue
		}
		return f, err
	}
}

// short keeps a name's temporary form below the usual limit of 255 bytes.
func short(name string) string { return name[:min(len(name), 64)] }
