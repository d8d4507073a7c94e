package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"lab/core/fault"
	"lab/core/plugin/internal/child"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/plane"
)

// plug is one plugin under supervision: at most one process at a time, started
// when first needed and again after it died.
type plug struct {
	host     *Host
	cmd      Command
	path     string
	builtin  bool
	unpinned bool // the lock has no say about it
	log      *slog.Logger
	crashes  crashes
	gate     chan struct{} // holds one token: the right to start or close
	granted  []string      // variables it declared; belongs to whoever holds the gate

	mu       sync.Mutex
	current  *instance
	started  int    // processes started so far
	sum      string // digest of its files, once known
	trusting bool   // the user asked to trust it, whatever the lock says
	restarts int    // processes started in place of a dead one
}

// instance is one process of a plugin.
type instance struct {
	number int // of its plugin's processes, from 1
	conn   *wire.Conn
	proc   *child.Process
	about  *about
	folder string // of its socket
	watch  *watch // over its calls

	mu       sync.Mutex
	noPlanes bool // an attachment was refused
	planes   map[uint32]bool
	texts    map[string]bool
}

func newPlug(h *Host, c Command, builtin bool) *plug {
	p := &plug{host: h, cmd: c, path: c.Argv[0], builtin: builtin, gate: make(chan struct{}, 1)}
	p.log = h.log.With("plugin", c.Name)
	p.gate <- struct{}{}
	return p
}

// name is how messages begin that are about the plugin.
func (p *plug) name() string { return fmt.Sprintf("plugin %q", p.cmd.Name) }

// fault returns an error about the plugin during an operation.
func (p *plug) fault(op, problem string, args ...any) *fault.Error {
	return fault.New(fault.Plugin, p.name(), op, problem, args...)
}

// giveUp ends the process and with it all its calls, whether it can be killed or
// not.
func (i *instance) giveUp() {
	i.proc.Kill()
	i.conn.Abort()
}

func (i *instance) dead() bool {
	select {
	case <-i.proc.Done():
		return true
	default:
		return false
	}
}

// instance returns the running process, starting one when there is none.
func (p *plug) instance(ctx context.Context) (*instance, error) {
	if i := p.live(); i != nil {
		return i, nil
	}
	select {
	case <-p.gate:
	case <-ctx.Done():
		return nil, gaveUp(ctx, p.name(), "start")
	case <-p.host.stopping.Done():
		return nil, p.fault("start", "the host is closed")
	}
	defer func() { p.gate <- struct{}{} }()
	if p.host.isClosed() {
		return nil, p.fault("start", "the host is closed")
	}
	if i := p.live(); i != nil {
		return i, nil
	}
	i, err := p.launch(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	i.number = p.started
	if p.started > 1 {
		p.restarts++
	}
	p.current = i
	return i, nil
}

func (p *plug) live() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.dead() {
		return nil
	}
	return p.current
}

// kill ends a process at once and waits for it to be gone, so that nothing
// writes into shared rows any more.
func (p *plug) kill(i *instance) {
	if err := i.proc.KillAndWait(deathLimit); err != nil {
		p.log.Error("a plugin cannot be killed", "error", err)
	}
	p.mu.Lock()
	if p.current == i {
		p.current = nil
	}
	p.mu.Unlock()
	i.watch.stop()
	go func() { // releases what go-plugin holds
		_ = i.conn.Close(0)
		child.RemoveSockets(i.folder)
	}()
}

func (p *plug) close() error {
	select {
	case <-p.gate: // kept: nothing starts after this
	case <-time.After(deathLimit):
		return p.fault("close", "its start has not ended")
	}
	i := p.live()
	if i == nil {
		return nil
	}
	err := i.conn.Close(closeGrace)
	i.watch.stop()
	if err != nil {
		return fault.Wrap(err, fault.Plugin, p.name(), "close")
	}
	return nil
}

// gaveUp is the error of a caller whose context has ended.
func gaveUp(ctx context.Context, op, subject string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.Limit, op, subject, "the deadline passed")
	}
	return fault.New(fault.Interrupted, op, subject, "it was cancelled")
}

// ask makes one call to a process, with a deadline of its own. When the answer
// does not come, or the caller gives up, the process is killed before ask
// returns. again says that the same call may succeed with another process.
func (p *plug) ask(ctx context.Context, i *instance, op string, limit time.Duration, call func(context.Context) error) (again bool, err error) {
	// The call outlives its caller by the grace, and nothing of the caller's
	// context is for the plugin. What ends a call ends the process, so the call
	// itself has a context that never ends: one that can, or a deadline, which
	// would travel with it, costs a fiftieth and an eighth of a hop.
	watched := i.watch.begin(ctx, limit)
	if ctx.Err() != nil { // from here on the watch sees its end
		i.watch.end(watched)
		return false, gaveUp(ctx, p.name(), op)
	}
	err, verdict := wire.FromStatus(call(context.Background()))
	late := i.watch.end(watched)
	if verdict == wire.Gone && late {
		verdict = wire.Late
	}
	switch verdict {
	case wire.Answered:
		if err != nil && !p.builtin { // our own say enough
			err = fault.Wrap(err, fault.Plugin, p.name(), "")
		}
		return false, err
	case wire.Broken:
		p.kill(i)
		return false, fault.Wrap(err, fault.Plugin, p.name(), op).Fix("report it to the plugin's author: %s", words(i.proc))
	}
	if verdict == wire.Gone && ctx.Err() == nil {
		settle(i, endGrace) // lets the process end by itself, so that its own exit status is told
	}
	ended := i.dead()
	p.kill(i)
	switch {
	case ctx.Err() != nil:
		return false, gaveUp(ctx, p.name(), op)
	case p.host.isClosed():
		return false, p.fault(op, "the host was closed during the call")
	case verdict == wire.Late:
		return true, p.fault(op, "it did not answer within %v and was killed; %s", limit, words(i.proc))
	}
	if !ended {
		return true, p.fault(op, "%s; %s", problem(err), words(i.proc))
	}
	return true, p.fault(op, "it died during the call (%s); %s", i.proc.Ending(), words(i.proc))
}

func settle(i *instance, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-i.proc.Done():
	case <-timer.C:
	}
}

// words quotes the newest lines of a process's standard error.
func words(proc *child.Process) string {
	lines := proc.LastLines()
	if len(lines) == 0 {
		return "it wrote nothing to standard error"
	}
	const most = 2000
	text := strings.Join(lines, " | ")
	if len(text) > most {
		text = "… " + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return "its last lines: " + text
}

// repeat runs attempt, each time with a living process, until one attempt is
// not to be made again or the limit of restarts is reached.
func (p *plug) repeat(ctx context.Context, attempt func(*instance) (again bool, err error)) error {
	for tries := 1; ; tries++ {
		i, err := p.instance(ctx)
		if err != nil {
			return err
		}
		again, err := attempt(i)
		if err == nil || !again {
			return err
		}
		if tries > p.host.opt.Restarts {
			var f *fault.Error
			if errors.As(err, &f) && tries > 1 {
				f.Problem = fmt.Sprintf("%d attempts failed, the last like this: %s", tries, f.Problem)
			}
			return err
		}
		p.log.Warn("the plugin is started again and the call repeated", "attempt", tries, "error", err)
	}
}

// attach makes planes known to a process. It reports false when the process
// cannot use them, and rows must travel inline.
func (p *plug) attach(ctx context.Context, i *instance, planes map[uint32]bool) (ok, again bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.noPlanes || !i.about.plane {
		return false, false, nil
	}
	for id := range planes {
		if i.planes[id] {
			continue
		}
		pl, found := p.host.memory.table.Get(id)
		if !found {
			return false, false, nil
		}
		again, err := p.ask(ctx, i, "attach", p.host.opt.Deadlines.Call, func(ctx context.Context) error {
			_, err := i.conn.Plugin.Attach(ctx, &wire.AttachRequest{Thing: &wire.AttachRequest_Plane{Plane: putPlane(pl)}}, smallLimit)
			return err
		})
		if again || ctx.Err() != nil || i.dead() {
			return false, again, err
		}
		if err != nil {
			i.noPlanes = true
			p.host.warn("plugin %q cannot use shared memory, its rows travel as bytes: %v", p.cmd.Name, err)
			return false, false, nil
		}
		i.planes[id] = true
	}
	return true, false, nil
}

func putPlane(p *plane.Plane) *wire.Plane {
	return &wire.Plane{Id: p.ID(), Path: p.Path(), Vocab: uint32(p.Vocab()), Slots: uint32(p.Slots())}
}

// attachTexts hands a vocabulary to a process that has not had it.
func (p *plug) attachTexts(ctx context.Context, i *instance, key string) (again bool, err error) {
	i.mu.Lock()
	known := i.texts[key]
	i.mu.Unlock()
	if known {
		return false, nil
	}
	pieces, err := p.host.piecesOf(ctx, key)
	if err != nil {
		return false, err
	}
	text, ends, err := wire.PutPieces(pieces)
	if err != nil {
		return false, err
	}
	again, err = p.ask(ctx, i, "attach", p.host.opt.Deadlines.Call, func(ctx context.Context) error {
		_, err := i.conn.Plugin.Attach(ctx, &wire.AttachRequest{Thing: &wire.AttachRequest_Vocabulary{
			Vocabulary: &wire.Vocabulary{Key: key, Text: text, Ends: ends}}}, smallLimit)
		return err
	})
	if err != nil {
		return again, err
	}
	i.mu.Lock()
	i.texts[key] = true
	i.mu.Unlock()
	return false, nil
}
