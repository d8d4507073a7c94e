package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/transport"
)

// Bounds on what a peer can make the kernel do before a signature is checked.
const (
	maxFrame     = 64 << 20 // bytes
	maxFrames    = 64       // of one message
	introduction = 5 * time.Second
	patience     = 30 * time.Second // for a peer that does not read
)

// scheme names our transport: TCP with the bounds above.
const scheme = "lab-tcp"

// register makes the transport known to the ZeroMQ library, which keeps its
// transports in a variable of the process.
var register = sync.OnceValue(func() error { return zmq4.RegisterTransport(scheme, guarded{transport.New("tcp")}) })

type guarded struct{ transport.Transport }

func (g guarded) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := g.Transport.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return guardedListener{l}, nil
}

type guardedListener struct{ net.Listener }

func (l guardedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		time.Sleep(10 * time.Millisecond) // the library asks again at once, for ever
		return nil, err
	}
	_ = c.SetReadDeadline(time.Now().Add(introduction)) // a connection that is closed already fails at its first read
	return &guardedConn{Conn: c, need: greeting}, nil
}

// guardedConn follows the frames of ZMTP 3 as they are read: a greeting of 64
// bytes, then frames of a flag byte, a length of one or eight bytes, and the body
// (rfc.zeromq.org/spec/23).
type guardedConn struct {
	net.Conn
	phase  phase
	need   uint64 // bytes until the phase ends
	head   []byte // of the length
	long   bool
	more   bool
	frames int
	known  bool // the peer has introduced itself
}

type phase uint8

const greeting = 64

const (
	inGreeting phase = iota
	inFlags
	inLength
	inBody
)

var errUnruly = errors.New("a frame or message larger than the kernel takes")

func (c *guardedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bad := c.follow(p[:n]); bad != nil {
		_ = c.Conn.Close() // what it says no longer matters
		return 0, bad
	}
	return n, err
}

func (c *guardedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *guardedConn) follow(p []byte) error {
	for len(p) > 0 {
		switch c.phase {
		case inGreeting, inBody:
			n := min(uint64(len(p)), c.need)
			p = p[n:]
			if c.need -= n; c.need == 0 {
				c.ended()
			}
		case inFlags:
			c.more, c.long = p[0]&1 != 0, p[0]&2 != 0
			if c.frames++; c.frames > maxFrames {
				return errUnruly
			}
			c.phase, c.head, p = inLength, c.head[:0], p[1:]
		case inLength:
			want := 1
			if c.long {
				want = 8
			}
			n := min(want-len(c.head), len(p))
			c.head, p = append(c.head, p[:n]...), p[n:]
			if len(c.head) < want {
				break
			}
			c.need = uint64(c.head[0])
			if c.long {
				c.need = binary.BigEndian.Uint64(c.head)
			}
			if c.need > maxFrame {
				return errUnruly
			}
			if c.phase = inBody; c.need == 0 {
				c.ended()
			}
		}
	}
	return nil
}

// ended moves on after the greeting or a body.
func (c *guardedConn) ended() {
	if c.phase == inBody {
		if !c.known {
			c.known = true
			_ = c.Conn.SetReadDeadline(time.Time{}) // fails when it is closed, as will the next read
		}
		if !c.more {
			c.frames = 0
		}
	}
	c.phase = inFlags
}
