package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"lab/core/plugin"
)

const executablePrefix = "lab-plugin-"

// Self returns the command that runs this very program again. On Linux it goes
// through /proc, so that a binary rebuilt or removed in the meantime changes
// nothing.
func Self(args ...string) []string {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" || !readable(path) {
		exe, err := os.Executable()
		if err != nil {
			exe = os.Args[0]
		}
		path = exe
	}
	return append([]string{path}, args...)
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// SearchPath returns the folders in which plugins are looked for: the given
// ones, those of LAB_PLUGIN_PATH, .lab/plugins of the project, and the user's
// data folder, in this order.
func SearchPath(given []string, project string) []string {
	dirs := append([]string(nil), given...)
	for _, d := range filepath.SplitList(os.Getenv("LAB_PLUGIN_PATH")) {
		if d != "" {
			dirs = append(dirs, d)
		}
	}
	if project != "" {
		dirs = append(dirs, filepath.Join(project, ".lab", "plugins"))
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		if home, err := os.UserHomeDir(); err == nil {
			data = filepath.Join(home, ".local", "share")
		}
	}
	if data != "" {
		dirs = append(dirs, filepath.Join(data, "lab", "plugins"))
	}
	return dirs
}

// discover adds the executables of the search path to the known plugins.
func (h *Host) discover() {
	for _, dir := range h.opt.Dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				h.warn("plugin folder %q cannot be read: %v", dir, err)
			}
			continue
		}
		for _, e := range entries {
			name, ok := strings.CutPrefix(e.Name(), executablePrefix)
			if !ok || e.IsDir() {
				continue
			}
			h.add(strings.TrimSuffix(name, ".exe"), filepath.Join(dir, e.Name()))
		}
	}
}

func (h *Host) add(name, path string) {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if !plugin.IsName(name) {
		h.warn("%q is ignored: %q is no legal name of a plugin (a-z, 0-9, '_', '-', starting with a letter)", path, name)
		return
	}
	if other := h.find(name); other != nil {
		kind := other.path
		if other.builtin {
			kind = "the built-in one"
		}
		if other.path != path && !other.unpinned { // what was given for this command is meant to come first
			h.warn("plugin %q at %s is ignored: %s comes first", name, path, kind)
		}
		return
	}
	p := newPlug(h, Command{Name: name, Argv: []string{path}}, false)
	p.unpinned = h.isUnpinned(filepath.Dir(path))
	h.plugs = append(h.plugs, p)
}
