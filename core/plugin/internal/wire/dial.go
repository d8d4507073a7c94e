package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
)

// Child is a running plugin process.
type Child interface {
	PID() int
	Path() string
	Stdout() io.ReadCloser // its first line, then nothing until it ends
	Done() <-chan struct{}
	Ending() string
	Kill()
}

// DialOptions say how to start a plugin and reach it.
type DialOptions struct {
	// Start starts the process with the given environment in addition to its own.
	Start     func(env []string) (Child, error)
	SocketDir string // existing, of this process alone; the socket is made in it
	Timeout   time.Duration
	TLS       bool
	Log       *slog.Logger
}

// Conn is the connection to a plugin process.
type Conn struct {
	Plugin  PluginClient
	Sampler SamplerClient
	Model   ModelClient

	client *goplugin.Client
	raw    *grpc.ClientConn
	child  Child
}

// Dial starts a plugin, reads its handshake and connects to it. When it fails,
// or ctx ends first, the process has been killed; what its first line and its
// ending were is for the caller to ask the process.
func Dial(ctx context.Context, opt DialOptions) (*Conn, error) {
	link := &link{start: opt.Start, folder: opt.SocketDir}
	var config *tls.Config
	var certificate string
	if opt.TLS {
		var err error
		if config, certificate, err = clientCertificate(); err != nil {
			return nil, err
		}
	}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: map[int]goplugin.PluginSet{Protocol: {setName: &registration{}}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			// go-plugin would have the socket in a folder of its own inside ours; its
			// address has no bytes to spare.
			link.env = append(cmd.Env, SocketDirEnv+"="+opt.SocketDir)
			if opt.TLS {
				link.env = append(link.env, "PLUGIN_CLIENT_CERT="+certificate)
			}
			return link, nil
		},
		SkipHostEnv:      true,
		StartTimeout:     opt.Timeout,
		TLSConfig:        config, // AutoMTLS but for the curve: see clientCertificate
		Logger:           quietLogger(opt.Log),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: opt.SocketDir},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithUnaryInterceptor(watchSize),
			// Each call bounds its own answer; what is left are go-plugin's streams.
			grpc.WithDefaultCallOptions(AtMost(0), grpc.MaxCallSendMsgSize(MaxMessage)),
			grpc.WithInitialWindowSize(windowSize), grpc.WithInitialConnWindowSize(windowSize),
			grpc.WithReadBufferSize(bufferSize), grpc.WithWriteBufferSize(bufferSize),
		},
	})
	type result struct {
		conn *grpc.ClientConn
		err  error
	}
	ready := make(chan result, 1)
	go func() {
		conn, err := connect(client)
		ready <- result{conn, err}
	}()
	var r result
	select {
	case r = <-ready:
	case <-ctx.Done():
		link.abandon()
		r = result{err: ctx.Err()}
	}
	if r.err != nil {
		link.abandon()
		go client.Kill() // returns once the process is gone; removes the socket's folder
		return nil, r.err
	}
	return &Conn{
		Plugin: NewPluginClient(r.conn), Sampler: NewSamplerClient(r.conn), Model: NewModelClient(r.conn),
		client: client, raw: r.conn, child: link.child(),
	}, nil
}

func connect(client *goplugin.Client) (*grpc.ClientConn, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(setName)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return nil, fmt.Errorf("the connection is a %T", raw)
	}
	return conn, nil
}

// Abort ends every call at once; the process is not asked and not touched.
func (c *Conn) Abort() {
	_ = c.raw.Close() // an error says that it is closed already
}

// Close asks the plugin to end and kills it when it has not done so within
// grace. It returns when the process is gone, which after SIGKILL is a matter of
// milliseconds, or of seconds where the machine has far more work than cores.
func (c *Conn) Close(grace time.Duration) error {
	// go-plugin waits without a limit for the answer to its request, and then two
	// seconds for the end; the process decides when this goroutine is over.
	go c.client.Kill()
	if ended(c.child, grace) {
		return nil
	}
	c.child.Kill()
	const limit = 10 * time.Second
	if ended(c.child, limit) {
		return nil
	}
	return fmt.Errorf("process %d did not end within %v of SIGKILL", c.child.PID(), limit)
}

func ended(c Child, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.Done():
		return true
	case <-timer.C:
		return false
	}
}

// quietLogger passes go-plugin's own messages on at debug level: what matters
// of them the host says itself, with the plugin's name.
func quietLogger(log *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "go-plugin", Level: hclog.Debug, Output: io.Discard})
	l.RegisterSink(sink{log})
	return l
}

type sink struct{ log *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	if level < hclog.Debug {
		return
	}
	s.log.Debug(msg, append([]any{"from", name}, args...)...)
}

var errNotUnix = errors.New("it listens elsewhere than on a unix socket")

// PluginToHost lets nothing but unix sockets in the plugin's own folder pass: a
// handshake line must not make the host connect to anything else. The socket
// becomes its owner's alone; the folder is that already.
func (l *link) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" {
		return "", "", fmt.Errorf("%w: %q", errNotUnix, network)
	}
	info, err := os.Lstat(address)
	if err != nil {
		return "", "", err
	}
	if info.Mode()&os.ModeSocket == 0 || !inside(address, l.folder) {
		return "", "", fmt.Errorf("%q is no socket in the folder it was given", address)
	}
	if err := os.Chmod(address, 0o600); err != nil {
		return "", "", err
	}
	return network, address, nil
}

// inside reports whether a file lies in a folder or below it, whatever links
// lead to either.
func inside(path, folder string) bool {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(real, parent)
	return err == nil && filepath.IsLocal(rel)
}

// HostToPlugin implements runner.AddrTranslator.
func (l *link) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// Name implements runner.Runner.
func (l *link) Name() string {
	if c := l.child(); c != nil {
		return c.Path()
	}
	return ""
}

// ID implements runner.AttachedRunner.
func (l *link) ID() string {
	if c := l.child(); c != nil {
		return strconv.Itoa(c.PID())
	}
	return ""
}

// Diagnose implements runner.Runner: the host explains failures itself.
func (l *link) Diagnose(context.Context) string { return "" }
