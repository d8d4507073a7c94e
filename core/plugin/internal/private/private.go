// Package private makes folders for what a process needs while it runs: readable
// by this user alone, with names that cannot be guessed. It also finds those that
// processes left behind when they were killed.
//
// What is in a folder is its owner's affair, and so is what may be deleted from
// one that was left. Start with [Make].
package private

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A folder is locked for as long as its owner lives. Until it is locked it has a
// name of its own, so that one with its last name and no lock has no owner.
const unlocked = "new-"

// youngest is the age below which a folder with its first name is not taken for
// a dead process's: it is about to be locked.
const youngest = time.Minute

// Folder is a folder of this process.
type Folder struct {
	path string
	lock *os.File
}

// Make makes a folder with mode 0700 in parent, called prefix and at most ten
// digits, and locks it, which tells other processes that its owner lives.
func Make(parent, prefix string) (*Folder, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(parent, prefix+unlocked)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(made)
	if err != nil {
		_ = os.Remove(made)
		return nil, err
	}
	path := filepath.Join(parent, prefix+strings.TrimPrefix(filepath.Base(made), prefix+unlocked))
	if err := os.Rename(made, path); err != nil {
		_ = os.Remove(made)
		_ = lock.Close()
		return nil, err
	}
	return &Folder{path, lock}, nil
}

// Path returns the folder's absolute path: whoever removes it may have another
// working folder.
func (f *Folder) Path() string { return f.path }

// Remove deletes the folder with all that is in it, and gives up the lock.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.path)
	_ = f.lock.Close()
	return err
}

// Sweep calls remove for every folder in parent that was made with the same prefix
// and whose owner is gone: of this user, with mode 0700, and locked by nobody.
// They stay locked for as long as remove runs. Links are not followed.
func Sweep(parent, prefix string, remove func(path string)) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	name := regexp.MustCompile(`^` + regexp.QuoteMeta(prefix) + `(` + unlocked + `)?[0-9]+$`)
	for _, e := range entries {
		match := name.FindStringSubmatch(e.Name())
		if match == nil || !e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o700 || !ownedByUs(info) || match[1] != "" && time.Since(info.ModTime()) < youngest {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock, err := lockFolder(path)
		if err != nil {
			continue // its owner lives
		}
		remove(path)
		_ = lock.Close()
	}
}
