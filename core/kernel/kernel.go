package kernel

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"

	"lab/core/fault"
	"lab/core/script/cells"
)

// Config is what a kernel serves.
type Config struct {
	Connection Connection
	Cells      *cells.Session
	Version    string         // of lab
	Language   map[string]any // what notebooks say of the language
	Log        *slog.Logger   // nil: nothing is logged
}

// Kernel is a kernel whose sockets are bound.
type Kernel struct {
	config  Config
	log     *slog.Logger
	signer  *signer
	ctx     context.Context // of the sockets
	close   context.CancelFunc
	shell   *socket
	control *socket
	iopub   *socket
	stdin   *socket
	beat    *socket

	mu        sync.Mutex
	interrupt context.CancelFunc // of the cell at work; nil when there is none
	queue     []*message         // shell requests that wait
	arrived   *sync.Cond
	ending    bool
	count     int
	history   []entry
}

// entry is a cell that was run.
type entry struct {
	line   int
	source string
	output string
}

// socket lets one goroutine at a time send.
type socket struct {
	zmq4.Socket
	mu sync.Mutex
}

func (s *socket) send(frames [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.SendMulti(zmq4.NewMsgFrom(frames...))
}

// New binds the sockets of a kernel. [Kernel.Serve] closes them.
func New(c Config) (*Kernel, error) {
	if err := c.Connection.Validate(); err != nil {
		return nil, err
	}
	if err := register(); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "kernel", "")
	}
	k := &Kernel{config: c, log: c.Log, signer: newSigner(c.Connection.Key)}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	k.arrived = sync.NewCond(&k.mu)
	k.ctx, k.close = context.WithCancel(context.Background())
	quiet := zmq4.WithLogger(log.New(io.Discard, "", 0))
	for _, s := range []struct {
		to   **socket
		made zmq4.Socket
		port int
		name string
	}{
		{&k.shell, zmq4.NewRouter(k.ctx, quiet), c.Connection.Shell, "shell"},
		{&k.control, zmq4.NewRouter(k.ctx, quiet), c.Connection.Control, "control"},
		{&k.stdin, zmq4.NewRouter(k.ctx, quiet), c.Connection.Stdin, "stdin"},
		{&k.iopub, zmq4.NewPub(k.ctx, quiet), c.Connection.IOPub, "iopub"},
		{&k.beat, zmq4.NewRep(k.ctx, quiet), c.Connection.Heartbeat, "heartbeat"},
	} {
		*s.to = &socket{Socket: s.made}
		if err := s.made.Listen(c.Connection.address(s.port)); err != nil {
			k.closeSockets()
			return nil, fault.Wrap(err, fault.Usage, "kernel", s.name+" socket")
		}
	}
	return k, nil
}

func (k *Kernel) closeSockets() {
	k.close()
	for _, s := range []*socket{k.shell, k.control, k.stdin, k.iopub, k.beat} {
		if s != nil && s.Addr() != nil {
			_ = s.Close() // peers may be gone, and nothing is left to do for them
		}
	}
}

// Serve answers requests until one asks for the end or ctx ends, and closes the
// sockets. The cell at work is stopped then; Serve waits 5 s for it at most.
func (k *Kernel) Serve(ctx context.Context) error {
	defer k.closeSockets()
	defer context.AfterFunc(ctx, k.end)()
	k.publish(nil, "status", map[string]any{"execution_state": "starting"})
	var running sync.WaitGroup
	running.Go(k.work)
	go k.receive(k.shell, k.enqueue)
	go k.receive(k.control, k.handleControl)
	go k.receive(k.stdin, func(*message) {})
	go k.echo()
	k.mu.Lock()
	for !k.ending {
		k.arrived.Wait()
	}
	k.mu.Unlock()
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		k.log.Warn("the cell at work does not end; the kernel ends without it")
	}
	time.Sleep(100 * time.Millisecond) // the last messages leave through queues of the library
	return nil
}

// end stops the cell at work and lets Serve return.
func (k *Kernel) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ending = true
	if k.interrupt != nil {
		k.interrupt()
	}
	k.arrived.Broadcast()
}

// Interrupt stops the cell at work; without one it does nothing.
func (k *Kernel) Interrupt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.interrupt != nil {
		k.interrupt()
	}
}

// receive hands the messages of a socket on until the socket is closed. Errors of
// one peer, whose connection ends, are no concern of the others.
func (k *Kernel) receive(s *socket, handle func(*message)) {
	for {
		raw, err := s.Recv()
		switch {
		case k.ctx.Err() != nil:
			return
		case err != nil:
			if !errors.Is(err, io.EOF) {
				k.log.Debug("a connection ended", "error", err)
			}
			continue
		}
		m, err := k.signer.read(raw.Frames)
		if err != nil {
			k.log.Warn("a message was dropped", "reason", err)
			continue
		}
		handle(m)
	}
}

// echo answers heartbeats.
func (k *Kernel) echo() {
	for k.ctx.Err() == nil {
		raw, err := k.beat.Recv()
		if err != nil {
			continue
		}
		if err := k.beat.Send(raw); err != nil {
			k.log.Debug("a heartbeat was not answered", "error", err)
		}
	}
}

func (k *Kernel) enqueue(m *message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, m)
	k.arrived.Broadcast()
}

// work serves the requests of the shell socket in order.
func (k *Kernel) work() {
	for {
		k.mu.Lock()
		for len(k.queue) == 0 && !k.ending {
			k.arrived.Wait()
		}
		if k.ending {
			k.mu.Unlock()
			return
		}
		m := k.queue[0]
		k.queue = k.queue[1:]
		k.mu.Unlock()
		k.serve(k.shell, m)
	}
}

// serve answers one request between "busy" and "idle", which a client waits for
// and which must come whatever happens.
func (k *Kernel) serve(s *socket, m *message) {
	k.publish(m, "status", map[string]any{"execution_state": "busy"})
	defer k.publish(m, "status", map[string]any{"execution_state": "idle"})
	defer func() {
		if p := recover(); p != nil {
			k.log.Error("a request failed", "type", m.header.Type, "panic", p)
		}
	}()
	k.answer(s, m)
}

// reply answers a request on the socket it came from.
func (k *Kernel) reply(s *socket, m *message, kind string, content any) {
	frames, err := k.signer.frames(m.peers, kind, m, content)
	if err == nil {
		err = s.send(frames)
	}
	if err != nil {
		k.log.Warn("an answer was not sent", "type", kind, "error", err)
	}
}

// publish tells all clients.
func (k *Kernel) publish(parent *message, kind string, content any) {
	topic := [][]byte{[]byte("kernel." + k.signer.session + "." + kind)}
	frames, err := k.signer.frames(topic, kind, parent, content)
	if err == nil {
		err = k.iopub.send(frames)
	}
	if err != nil {
		k.log.Warn("a message was not published", "type", kind, "error", err)
	}
}
