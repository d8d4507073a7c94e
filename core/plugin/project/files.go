package project

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lab/core/fault"
)

// Bounds on what is copied into a plugin.
const (
	mostFiles = 1 << 14
	mostBytes = 8 << 30
)

// left names what never belongs to a plugin, whatever lies in its project:
// caches, what lab itself writes while a plugin is tried, and, beside these,
// every name that begins with a dot and every virtual environment.
var left = []string{"__pycache__", "runs", "lab.lock"}

// leftOut reports whether an entry of a project's folder is no part of a plugin.
func leftOut(path string, e fs.DirEntry) bool {
	name := e.Name()
	if strings.HasPrefix(name, ".") || slices.Contains(left, name) {
		return true
	}
	if e.IsDir() {
		_, err := os.Stat(filepath.Join(path, "pyvenv.cfg"))
		return err == nil
	}
	return false
}

// cached reports whether an entry is a cache that Python writes beside its files.
func cached(_ string, e fs.DirEntry) bool { return e.IsDir() && e.Name() == "__pycache__" }

// pluginFiles returns the files of a folder that belong to a plugin, relative to
// it, in the order of their names. A symbolic link to a file counts as the file;
// one to a folder, and anything that is neither, is refused.
func pluginFiles(dir string, skip func(path string, e fs.DirEntry) bool) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		bad := func(problem string, args ...any) *fault.Error {
			return fault.New(fault.Usage, "plugin", fault.Quote(path, 160), problem, args...)
		}
		switch {
		case err != nil:
			return fault.Wrap(err, fault.Usage, "plugin", fault.Quote(path, 160))
		case path == dir:
			return nil
		case skip(path, e):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case len(files) == mostFiles:
			return fault.New(fault.Limit, "plugin", fault.Quote(dir, 160), "its folder holds more than %d files", mostFiles).
				Fix("give the plugin a folder of its own")
		}
		info, err := os.Stat(path)
		if err != nil {
			return bad("it cannot be read: %v", err)
		}
		if !info.Mode().IsRegular() {
			return bad("it is neither a file nor a folder (%v)", e.Type()).Fix("a plugin consists of files; name it .%s to leave it out", e.Name())
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return bad("%v", err)
		}
		files = append(files, rel)
		return nil
	})
	return files, err
}

// copyFiles copies files of one folder into another, which is made.
func copyFiles(ctx context.Context, from, to string, files []string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return written(err)
	}
	var total int64
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return fault.New(fault.Interrupted, "plugin", "", "copying it was cancelled")
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return written(err)
		}
		n, err := copyFile(filepath.Join(from, name), target, mostBytes-total)
		if err != nil {
			return err
		}
		total += n
	}
	return nil
}

// copyFile copies a regular file of at most most bytes to a new one, with its
// permission to execute.
func copyFile(from, to string, most int64) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, fault.Wrap(err, fault.Usage, "plugin", "")
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, fault.Wrap(err, fault.Usage, "plugin", "")
	}
	if info.Size() > most {
		return 0, fault.New(fault.Limit, "plugin", fault.Quote(from, 160), "with it, the plugin has more than %d GiB", mostBytes>>30)
	}
	mode := os.FileMode(0o644)
	if info.Mode().Perm()&0o111 != 0 {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, written(err)
	}
	n, err := io.Copy(out, io.LimitReader(in, most+1))
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return 0, written(err)
	}
	return n, nil
}

// written is the error of something that cannot be written.
func written(err error) error { return fault.Wrap(err, fault.Usage, "plugin", "write") }

// Snapshot is the state of files at one moment, by which a change is noticed.
type Snapshot map[string]string

// Equal reports whether nothing changed between two snapshots.
func (s Snapshot) Equal(o Snapshot) bool {
	if len(s) != len(o) {
		return false
	}
	for path, state := range s {
		if other, ok := o[path]; !ok || other != state {
			return false
		}
	}
	return true
}

// Add notes a file: its size, its time of change and its mode, or that it is not
// there.
func (s Snapshot) Add(path string) {
	info, err := os.Stat(path)
	if err != nil {
		s[path] = "gone"
		return
	}
	s[path] = fmt.Sprintf("%d %d %v", info.Size(), info.ModTime().UnixNano(), info.Mode())
}

// mostWatched bounds the files that a snapshot notes.
const mostWatched = 1 << 14

// Watched notes what the source is made of, as far as it lies in the folder or,
// for Go, in the Go files of its module. What cannot be read is left out: the
// build will say so.
func (src Source) Watched() Snapshot {
	s := Snapshot{}
	switch src.Form {
	case Program:
		s.Add(src.File)
		s.addFolder(src.File+folderSuffix, func(string) bool { return true })
	case PythonProject:
		s.addFolder(src.Dir, func(string) bool { return true })
	case GoPackage:
		s.addFolder(src.Dir, func(string) bool { return true })
		if root := moduleRoot(src.Dir); root != "" {
			s.addFolder(root, func(name string) bool {
				return strings.HasSuffix(name, ".go") || name == "go.mod" || name == "go.sum"
			})
		}
	}
	return s
}

func (s Snapshot) addFolder(dir string, wanted func(name string) bool) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil, path != dir && leftOut(path, e):
			if e != nil && e.IsDir() {
				return filepath.SkipDir
			}
		case len(s) >= mostWatched:
			return filepath.SkipAll
		case !e.IsDir() && wanted(e.Name()) && !strings.HasPrefix(e.Name(), prefix):
			s.Add(path)
		}
		return nil
	})
}

// moduleRoot returns the folder with the go.mod that a folder belongs to, or "".
func moduleRoot(dir string) string {
	for {
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && info.Mode().IsRegular() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
