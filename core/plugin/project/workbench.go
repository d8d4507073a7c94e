package project

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"lab/core/fault"
)

// Workbench is a private folder for plugins that are built for one command. Each
// has a folder of its own in it, to be searched for plugins. Not safe for
// concurrent use.
type Workbench struct {
	dir   string
	lock  *os.File
	made  int
	built map[string]built // by path as given
}

type built struct {
	source Source
	state  Snapshot
	folder string
}

var benchName = regexp.MustCompile(`^lab-bench-[0-9]+$`)

// youngBench is the age below which a folder is not taken for a dead one's: its
// owner may not have locked it yet.
const youngBench = time.Minute

// NewWorkbench makes a workbench in the folder for temporary files, and removes
// those of processes that were killed. The folder can be read by this user only.
func NewWorkbench() (*Workbench, error) {
	parent := os.TempDir()
	dir, err := os.MkdirTemp(parent, "lab-bench-")
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "plugin", "temporary folder").Fix("set TMPDIR to a folder that can be written to")
	}
	lock, err := lockFolder(dir)
	if err != nil {
		_ = os.Remove(dir)
		return nil, fault.Wrap(err, fault.Usage, "plugin", "temporary folder")
	}
	sweepBenches(parent)
	return &Workbench{dir: dir, lock: lock, built: map[string]built{}}, nil
}

// sweepBenches removes the workbenches of this user that nobody has locked.
func sweepBenches(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !benchName.MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o700 || !ownedByUs(info) || time.Since(info.ModTime()) < youngBench {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock, err := lockFolder(path)
		if err != nil {
			continue // its owner lives
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}

// Plugin builds the plugin at a path, unless it was built on this workbench and
// its source has not changed since, and returns its source and the folder to be
// searched for it. Errors are those of [Detect] and [Build].
func (w *Workbench) Plugin(ctx context.Context, path string, opt BuildOptions) (Source, string, error) {
	src, err := Detect(path, "")
	if err != nil {
		return Source{}, "", err
	}
	state := src.Watched() // before the build: what changes during it is built again
	if old, ok := w.built[path]; ok && old.source == src && old.state.Equal(state) {
		return src, old.folder, nil
	}
	w.made++
	folder := filepath.Join(w.dir, strconv.Itoa(w.made))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return Source{}, "", written(err)
	}
	if _, err := Build(ctx, src, folder, opt); err != nil {
		_ = os.RemoveAll(folder)
		return Source{}, "", err
	}
	if old, ok := w.built[path]; ok {
		_ = os.RemoveAll(old.folder)
	}
	w.built[path] = built{src, state, folder}
	return src, folder, nil
}

// Close removes the workbench with everything on it.
func (w *Workbench) Close() error {
	err := os.RemoveAll(w.dir)
	_ = w.lock.Close()
	if err != nil {
		return fault.Wrap(err, fault.Usage, "plugin", "temporary folder")
	}
	return nil
}
