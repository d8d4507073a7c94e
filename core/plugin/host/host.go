package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"lab/core/fault"
	"lab/core/plugin"
	"lab/core/plugin/lock"
)

// Command starts a built-in plugin.
type Command struct {
	Name string   // what the plugin is called here
	Argv []string // program and arguments; see [Self]
	Env  []string // "KEY=VALUE", in addition to what each plugin is given
}

// Options configure a host. The zero value is a host without plugins.
type Options struct {
	Builtins []Command
	// Dirs are searched in order for executables named lab-plugin-NAME. Of two
	// with one name the first wins, and a warning is recorded.
	Dirs []string
	// Lock pins the plugins found in Dirs: one that it does not list is recorded at
	// its first start, one that has changed since is refused. Nil: none is pinned.
	Lock *lock.Lock
	// Unpinned are those of Dirs whose plugins are exempt: what the user has just
	// built.
	Unpinned []string
	// Logger receives the plugins' own messages and what happens to them; nil
	// discards.
	Logger    *slog.Logger
	Deadlines Deadlines
	// Restarts is how often one call is repeated after its plugin died: 0 means
	// 2, a negative number never.
	Restarts int
	TLS      bool // encrypt and authenticate the connection, both ways
	Inline   bool // send all rows as bytes; results are the same to the bit
	// SocketDir and PlaneDir are where private folders are made. Empty: the
	// folder for temporary files, or /tmp where its path is too long for a socket;
	// and /dev/shm, or else the folder for temporary files.
	SocketDir, PlaneDir string
}

// Deadlines are the times after which a plugin is killed. A field of 0 takes
// its default.
type Deadlines struct {
	Start   time.Duration // from launch to the description: 10 s
	Call    time.Duration // sampler calls, tokens and texts, edits: 30 s
	Forward time.Duration // forward and verify: 5 min
	Open    time.Duration // opening a model: 2 min
}

const (
	defaultRestarts = 2
	// closeGrace is how long a plugin may take to end by itself. Together with
	// what follows its kill, Close stays within about two seconds.
	closeGrace = 1500 * time.Millisecond
	// cancelGrace is how long a call may go on after its caller gave up. Ending
	// it means to kill the plugin, which may be writing into shared rows.
	cancelGrace = 250 * time.Millisecond
	// endGrace is how long a plugin whose connection broke may take to end by
	// itself: it is about to, or has nothing more to say.
	endGrace = 2 * time.Second
	// deathLimit is how long SIGKILL may take: milliseconds, unless the machine
	// has far more work than cores.
	deathLimit = 10 * time.Second
)

// Host owns the plugins of one run. Safe for concurrent use.
type Host struct {
	opt      Options
	log      *slog.Logger
	plugs    []*plug // built-ins first, then in the order of the search
	sockets  *folders
	memory   *memory
	stop     context.CancelFunc
	stopping context.Context

	mu       sync.Mutex
	warnings []string
	texts    map[string][]*Model // open models by vocabulary key
	pieces   map[string][][]byte // vocabularies of no model, by key
	closed   bool
}

// New returns a host that knows its plugins and has started none of them. Two
// built-ins of one name, or an illegal name, are usage errors; what is wrong
// with a folder or a file in it is a warning.
func New(opt Options) (*Host, error) {
	opt.Deadlines = opt.Deadlines.orDefault()
	if opt.Restarts == 0 {
		opt.Restarts = defaultRestarts
	}
	h := &Host{opt: opt, log: opt.Logger, texts: map[string][]*Model{}, pieces: map[string][][]byte{}}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.stopping, h.stop = context.WithCancel(context.Background())
	h.memory = newMemory(opt, h.warn, h.log)
	h.sockets = &folders{parent: opt.SocketDir, others: h.memory.parents, log: h.log, warn: h.warn}
	h.memory.keep = h.sockets.keep
	for _, c := range opt.Builtins {
		if !plugin.IsName(c.Name) || len(c.Argv) == 0 {
			return nil, fault.New(fault.Usage, "built-in plugin", fault.Quote(c.Name, 64), "it needs a legal name and a command")
		}
		if h.find(c.Name) != nil {
			return nil, fault.New(fault.Usage, "built-in plugin", fmt.Sprintf("%q", c.Name), "it is given twice")
		}
		h.plugs = append(h.plugs, newPlug(h, c, true))
	}
	h.discover()
	return h, nil
}

func (d Deadlines) orDefault() Deadlines {
	set := func(v *time.Duration, fallback time.Duration) {
		if *v <= 0 {
			*v = fallback
		}
	}
	set(&d.Start, 10*time.Second)
	set(&d.Call, 30*time.Second)
	set(&d.Forward, 5*time.Minute)
	set(&d.Open, 2*time.Minute)
	return d
}

// find returns the plugin of a name, or nil.
func (h *Host) find(name string) *plug {
	for _, p := range h.plugs {
		if p.cmd.Name == name {
			return p
		}
	}
	return nil
}

// named returns the plugin of a name, or a usage error with the nearest one.
func (h *Host) named(name string) (*plug, error) {
	if p := h.find(name); p != nil {
		return p, nil
	}
	names := make([]string, len(h.plugs))
	for i, p := range h.plugs {
		names[i] = p.cmd.Name
	}
	return nil, fault.Unknown("plugin", "plugin", name, names)
}

// warn records something a user should know that stops nothing, once.
func (h *Host) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h.mu.Lock()
	known := slices.Contains(h.warnings, text)
	if !known {
		h.warnings = append(h.warnings, text)
	}
	h.mu.Unlock()
	if !known {
		h.log.Warn(text)
	}
}

// Warnings returns what was recorded so far: plugins of one name, unusable
// folders, shared memory that could not be had, models that were replayed, a lock
// that could not be written, rows that look like probabilities.
func (h *Host) Warnings() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.warnings)
}

// Warm starts plugins in the background, all at once, so that the first call
// finds them running. Errors are left to that call.
func (h *Host) Warm(plugins ...string) {
	for _, name := range plugins {
		if p := h.find(name); p != nil {
			go func() {
				if _, err := p.instance(h.stopping); err != nil {
					h.log.Debug("a plugin could not be warmed up", "plugin", p.cmd.Name, "error", err)
				}
			}()
		}
	}
}

// Close ends every plugin, removes the sockets and the shared memory, and
// returns within about two seconds where the machine is not overloaded. Rows of
// [Model.Rows] must not be used any more: they are unmapped. Closing again does
// nothing.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.stop()
	errs := make([]error, len(h.plugs))
	var wg sync.WaitGroup
	for i, p := range h.plugs {
		wg.Go(func() { errs[i] = p.close() })
	}
	wg.Wait()
	h.memory.close()
	h.sockets.remove()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) isClosed() bool { return h.stopping.Err() != nil }
