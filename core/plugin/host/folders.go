package host

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"

	"lab/core/fault"
	"lab/core/plugin/internal/child"
	"lab/core/plugin/internal/private"
)

// folderPrefix begins the names of private folders.
const folderPrefix = "lab-plug-"

// What may be deleted from a private folder whose host is gone.
var (
	pluginName = regexp.MustCompile(`^[0-9]+$`)
	planeName  = regexp.MustCompile(`^plane-[0-9]+$`)
)

// longestParent is how long the path may be in which a private folder is made.
// The address of a unix socket holds 103 bytes on the tightest system (104 with
// its end), of which the folder's name with ten digits, the number of a process
// with six, and go-plugin's name for the socket with ten are taken.
const longestParent = 103 - len("/"+folderPrefix) - 10 - len("/") - 6 - len("/plugin") - 10

// folders makes the one private folder for sockets when it is first needed.
type folders struct {
	parent string   // of the folder; empty: chosen
	others []string // further folders in which hosts leave things when they are killed
	log    *slog.Logger
	warn   func(format string, args ...any)

	mu     sync.Mutex
	own    *private.Folder // nil until it is needed
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
	path := filepath.Join(f.own.Path(), strconv.Itoa(f.made))
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, fault.Wrap(err, fault.Plugin, "socket folder", "")
	}
	return path, f.keeper, nil
}

// prepare makes the private folder, with mode 0700, after it has removed what
// hosts that were killed have left; and starts the keeper.
func (f *folders) prepare() error {
	if f.own != nil {
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
	own, err := private.Make(parent, folderPrefix)
	if err != nil {
		return fault.Wrap(err, fault.Plugin, "socket folder", "").
			Fix("set TMPDIR to a folder that can be written to")
	}
	f.own = own
	if f.keeper, err = child.StartKeeper(); err != nil {
		f.warn("a plugin that ignores the end of its host would survive it: there is no shell to watch over them (%v)", err)
	}
	for _, path := range append(f.kept, own.Path()) {
		f.keeper.Folder(path)
	}
	return nil
}

// keep has another private folder removed when this host is killed.
func (f *folders) keep(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
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

// remove deletes the folder with all that killed plugins left in it.
func (f *folders) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return
	}
	if err := f.own.Remove(); err != nil {
		f.log.Warn("the socket folder was not removed", "error", err)
	}
	f.keeper.Close()
	f.own, f.keeper = nil, nil
}

// sweep removes the folders of hosts that were killed. Only what a host makes is
// removed from them, so that a folder of another origin survives even under such
// a name.
func sweep(parent string, log *slog.Logger) {
	private.Sweep(parent, folderPrefix, func(path string) {
		removeRemains(path)
		log.Debug("removed the folder of a host that was killed", "folder", path)
	})
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
