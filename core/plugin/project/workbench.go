package project

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"lab/core/fault"
	"lab/core/plugin/internal/private"
)

// Workbench is a private folder for plugins that are built for one command. Each
// has a folder of its own in it, to be searched for plugins. Not safe for
// concurrent use.
type Workbench struct {
	dir   *private.Folder
	made  int
	built map[string]built // by path as given
}

type built struct {
	source Source
	state  Snapshot
	folder string
}

const benchPrefix = "lab-bench-"

// NewWorkbench makes a workbench in the folder for temporary files, and removes
// those of processes that were killed. The folder can be read by this user only.
func NewWorkbench() (*Workbench, error) {
	parent := os.TempDir()
	dir, err := private.Make(parent, benchPrefix)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "plugin", "temporary folder").Fix("set TMPDIR to a folder that can be written to")
	}
	private.Sweep(parent, benchPrefix, func(path string) { _ = os.RemoveAll(path) })
	return &Workbench{dir: dir, built: map[string]built{}}, nil
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
	folder := filepath.Join(w.dir.Path(), strconv.Itoa(w.made))
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
	if err := w.dir.Remove(); err != nil {
		return fault.Wrap(err, fault.Usage, "plugin", "temporary folder")
	}
	return nil
}
