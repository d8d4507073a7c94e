package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lab/core/fault"
	"lab/core/plugin"
	"lab/core/plugin/lock"
)

// stagePrefix begins the name of the folder in which a plugin is built before it
// is put into its place beside it.
const stagePrefix = ".lab-install-"

// abandoned is the age from which a staged folder is taken for one that its
// process left behind when it was killed.
const abandoned = time.Hour

// Place is a folder in which plugins are installed: .lab/plugins of a project, or
// lab/plugins of the user's data.
type Place struct {
	Dir string
}

// ProjectPlace returns the place of the plugins of a project's folder.
func ProjectPlace(project string) Place {
	return Place{Dir: filepath.Join(project, ".lab", "plugins")}
}

// UserPlace returns the place of the plugins of this user, XDG_DATA_HOME/lab/plugins
// or its default below the home folder.
func UserPlace() (Place, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return Place{}, fault.New(fault.Usage, "plugin", "", "there is no home folder (%v)", err).Fix("set HOME or XDG_DATA_HOME")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return Place{Dir: filepath.Join(data, "lab", "plugins")}, nil
}

// path returns where a plugin's executable is, or would be.
func (p Place) path(name string) string { return filepath.Join(p.Dir, Executable(name)) }

// Find returns the path of a plugin's executable, and whether anything of the
// plugin is there: the executable or its folder.
func (p Place) Find(name string) (path string, installed bool) {
	path = p.path(name)
	for _, part := range []string{path, path + folderSuffix} {
		if _, err := os.Lstat(part); err == nil {
			return path, true
		}
	}
	return path, false
}

// InstallOptions say how a plugin is installed.
type InstallOptions struct {
	Build   BuildOptions
	Replace bool // put it in the place of one of its name that differs
	// Check is called with the folder that holds the plugin, built and not yet in
	// its place, and returns its version; an error leaves everything as it was.
	Check func(ctx context.Context, folder string) (version string, err error)
}

// Installed is what an installation came to.
type Installed struct {
	Name, Version string
	Path          string // of the executable
	SHA256        string // of the plugin, see lock.Digest
	Before        string // digest of what was there; empty: nothing was
}

// Install builds a plugin, lets it be checked and puts it into its place. Until
// that last step nothing has changed; when the step itself fails what was there
// is put back. A different plugin of the same name is a usage error unless
// Replace is set; the same one is left where it is.
func (p Place) Install(ctx context.Context, src Source, opt InstallOptions) (Installed, error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return Installed{}, fault.Wrap(err, fault.Usage, "install plugin", "folder")
	}
	defer p.tidy()
	p.sweep()
	staged, err := os.MkdirTemp(p.Dir, stagePrefix)
	if err != nil {
		return Installed{}, fault.Wrap(err, fault.Usage, "install plugin", "folder")
	}
	defer os.RemoveAll(staged)
	exe, err := Build(ctx, src, staged, opt.Build)
	if err != nil {
		return Installed{}, err
	}
	done := Installed{Name: src.Name, Path: p.path(src.Name)}
	if done.SHA256, err = lock.Digest(exe); err != nil {
		return Installed{}, err
	}
	if opt.Check != nil {
		if done.Version, err = opt.Check(ctx, staged); err != nil {
			return Installed{}, err
		}
	}
	if ctx.Err() != nil {
		return Installed{}, cancelled(ctx, src.Path)
	}
	if _, there := p.Find(src.Name); there {
		if done.Before, err = lock.Digest(done.Path); err != nil {
			done.Before = "unknown" // half of it is missing, or cannot be read
		}
		switch {
		case done.Before == done.SHA256:
			return done, nil
		case !opt.Replace:
			return Installed{}, fault.New(fault.Usage, "install plugin", src.Name, "another one of that name is installed at %s", done.Path).
				Fix("put this one in its place with --replace, or remove that one: lab plugin remove %s", src.Name)
		}
	}
	return done, swap(exe, done.Path, filepath.Join(staged, "before"))
}

// swap moves a plugin into its place, and what was there into a new folder.
func swap(from, to, aside string) error {
	if err := os.Mkdir(aside, 0o755); err != nil {
		return fault.Wrap(err, fault.Usage, "install plugin", "folder")
	}
	return exchange(from, to, aside)
}

// exchange is swap with a folder that exists. The executable is the last to come
// and the first to go, so that no half of a plugin is found; an error puts
// everything back.
func exchange(from, to, aside string) (err error) {
	var undo []func()
	move := func(from, to string) {
		if err != nil {
			return
		}
		if err = os.Rename(from, to); errors.Is(err, fs.ErrNotExist) {
			err = nil // an executable alone, or nothing there before
			return
		}
		if err == nil {
			undo = append(undo, func() { _ = os.Rename(to, from) })
		}
	}
	kept := filepath.Join(aside, filepath.Base(to))
	move(to, kept)
	move(to+folderSuffix, kept+folderSuffix)
	move(from+folderSuffix, to+folderSuffix)
	move(from, to)
	if err != nil {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
		return fault.Wrap(err, fault.Usage, "install plugin", "folder")
	}
	return nil
}

// Remove deletes a plugin: its executable first, then its folder, then the
// folders of the place that are empty now. It returns what it deleted. A plugin
// that is not there is a usage error.
func (p Place) Remove(name string) ([]string, error) {
	if !plugin.IsName(name) {
		return nil, badName(name)
	}
	path, there := p.Find(name)
	if !there {
		return nil, fault.Unknown("remove plugin", "plugin", name, p.Names())
	}
	var gone []string
	for _, part := range []string{path, path + folderSuffix} {
		if _, err := os.Lstat(part); err != nil {
			continue
		}
		if err := os.RemoveAll(part); err != nil {
			return gone, fault.Wrap(err, fault.Usage, "remove plugin", name)
		}
		gone = append(gone, part)
	}
	p.sweep()
	p.tidy()
	return gone, nil
}

// Names returns the names of the installed plugins.
func (p Place) Names() []string {
	entries, _ := os.ReadDir(p.Dir)
	var names []string
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && !e.IsDir() {
			names = append(names, strings.TrimSuffix(name, ".exe"))
		}
	}
	return names
}

// sweep deletes what installations that were killed have left.
func (p Place) sweep() {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), stagePrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(p.Dir, e.Name()))
		}
	}
}

// tidy deletes the place's folder and the one around it when they are empty.
func (p Place) tidy() {
	if os.Remove(p.Dir) == nil {
		_ = os.Remove(filepath.Dir(p.Dir))
	}
}
