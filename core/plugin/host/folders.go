package host

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"lab/core/fault"
	"lab/core/plugin/internal/child"
)

// A private folder is named so that folders of dead hosts can be told from
// anybody else's. Until it is locked it has a name of its own: one that is
// called as below and not locked has no owner any more.
const (
	folderPrefix = "lab-plug-"
	newPrefix    = "lab-plug-new-"
)

var (
	folderName = regexp.MustCompile(`^lab-plug-[0-9]+$`)
	newName    = regexp.MustCompile(`^lab-plug-new-[0-9]+$`)
	pluginName = regexp.MustCompile(`^[0-9]+$`)
	planeName  = regexp.MustCompile(`^plane-[0-9]+$`)
)

// longestParent is how long the path may be in which a private folder is made.
// The address of a unix socket holds 103 bytes on the tightest system (104 with
// its end), of which the folder's name with ten digits, the number of a process
// with six, and go-plugin's name for the socket with ten are taken.
const longestParent = 103 - len("/"+folderPrefix) - 10 - len("/") - 6 - len("/plugin") - 10

// youngest is the age below which a folder with its first name is not taken for
// a dead host's: it is about to be locked.
const youngest = time.Minute

// folders makes the one private folder for sockets when it is first needed.
type folders struct {
	parent string   // of the folder; empty: chosen
	others []string // further folders in which hosts leave things when they are killed
	log    *slog.Logger
	warn   func(format string, args ...any)

	mu     sync.Mutex
	path   string
	lock   *os.File
	made   int
	kept   []string      // folders to be told to the keeper once there is one
	keeper *child.Keeper // nil without one
}

// next makes a folder for one more process, in the private folder of this host,
// and returns it with who is to watch over the process.
func (f *folders) next() (string, *child.Keeper, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.prepare(); err != nil {
		return "", nil, err
	}
	f.made++
	path := filepath.Join(f.path, strconv.Itoa(f.made))
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, fault.Wrap(err, fault.Plugin, "socket folder", "")
	}
	return path, f.keeper, nil
}

// prepare makes the private folder, with mode 0700, after it has removed what
// hosts that were killed have left; and starts the keeper.
func (f *folders) prepare() error {
	if f.path != "" {
		return nil
	}
	parent, err := socketParent(f.parent)
	if err != nil {
		return err
	}
	sweep(parent, f.log)
	for _, other := range f.others {
		if other != parent {
			sweep(other, f.log)
		}
	}
	path, lock, err := privateFolder(parent)
	if err != nil {
		return fault.Wrap(err, fault.Plugin, "socket folder", "").
			Fix("set TMPDIR to a folder that can be written to")
	}
	f.path, f.lock = path, lock
	if f.keeper, err = child.StartKeeper(); err != nil {
		f.warn("a plugin that ignores the end of its host would survive it: there is no shell to watch over them (%v)", err)
	}
	for _, path := range append(f.kept, path) {
		f.keeper.Folder(path)
	}
	return nil
}

// keep has another private folder removed when this host is killed.
func (f *folders) keep(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		f.kept = append(f.kept, path)
		return
	}
	f.keeper.Folder(path)
}

// socketParent returns a folder in which sockets can have an address.
func socketParent(given string) (string, error) {
	parent := given
	if given == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", fault.Wrap(err, fault.Plugin, "socket folder", fault.Quote(parent, 120))
	}
	problem := unfit(parent)
	if problem == "" {
		return parent, nil
	}
	const cure = "a folder whose path has at most %d bytes, no '|', no '%%' and nothing unprintable"
	if given != "" {
		return "", fault.New(fault.Plugin, "socket folder", fault.Quote(parent, 120), "%s", problem).Fix("choose "+cure, longestParent)
	}
	const short = "/tmp"
	if info, err := os.Stat(short); err != nil || !info.IsDir() {
		return "", fault.New(fault.Plugin, "socket folder", fault.Quote(parent, 120), "%s, and there is no %s", problem, short).
			Fix("set TMPDIR to "+cure, longestParent)
	}
	return short, nil
}

// unfit says why the path of a folder cannot begin the address of a socket; it
// returns "" when it can. A '|' ends a field of the handshake, which is one line,
// and '%' begins an escape in the addresses of gRPC.
func unfit(path string) string {
	if len(path) > longestParent {
		return fmt.Sprintf("its path of %d bytes is too long for the address of a socket", len(path))
	}
	for _, c := range path {
		if c == '|' || c == '%' || c == utf8.RuneError || !unicode.IsPrint(c) {
			return fmt.Sprintf("its path has %q, which the address of a socket cannot have", c)
		}
	}
	return ""
}

// privateFolder makes a folder with mode 0700 and a name that cannot be guessed,
// and locks it, which tells other hosts that its owner lives. The path returned
// is absolute: whoever removes the folder may have another working folder.
func privateFolder(parent string) (string, *os.File, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", nil, err
	}
	made, err := os.MkdirTemp(parent, newPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockFolder(made)
	if err != nil {
		_ = os.Remove(made)
		return "", nil, err
	}
	path := filepath.Join(parent, folderPrefix+strings.TrimPrefix(filepath.Base(made), newPrefix))
	if err := os.Rename(made, path); err != nil {
		_ = os.Remove(made)
		_ = lock.Close()
		return "", nil, err
	}
	return path, lock, nil
}

// remove deletes the folder with all that killed plugins left in it.
func (f *folders) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return
	}
	if err := os.RemoveAll(f.path); err != nil {
		f.log.Warn("the socket folder was not removed", "error", err)
	}
	_ = f.lock.Close()
	f.keeper.Close()
	f.path, f.lock, f.keeper = "", nil, nil
}

// sweep removes the folders of hosts that were killed: private ones of this
// user that nobody has locked. Only what a host makes is removed from them, so
// that a folder of another origin survives even under such a name.
func sweep(parent string, log *slog.Logger) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		unlocked := newName.MatchString(e.Name())
		if !e.IsDir() || !unlocked && !folderName.MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o700 || !ownedByUs(info) || unlocked && time.Since(info.ModTime()) < youngest {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock, err := lockFolder(path)
		if err != nil {
			continue // its owner lives
		}
		removeRemains(path)
		_ = lock.Close()
		log.Debug("removed the folder of a host that was killed", "folder", path)
	}
}

func removeRemains(path string) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		inner := filepath.Join(path, e.Name())
		switch {
		case e.Type().IsRegular() && planeName.MatchString(e.Name()):
			_ = os.Remove(inner)
		case e.IsDir() && pluginName.MatchString(e.Name()):
			child.RemoveSockets(inner)
		}
	}
	_ = os.Remove(path)
}
