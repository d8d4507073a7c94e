package wire

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/rpc"
	"runtime/debug"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"lab/core/fault"
)

// Services are what a plugin process offers. Sampler and Model may be nil.
type Services struct {
	Plugin  PluginServer
	Sampler SamplerServer
	Model   ModelServer

	Log     *slog.Logger
	LogFile io.Writer // where go-plugin's own warnings go
	// Ready is called once, before the first call is handled and after go-plugin
	// has put its own files in place of os.Stdout and os.Stderr.
	Ready func()
}

// Window and buffer sizes. The defaults of gRPC make a row of a megabyte wait
// for a dozen window updates.
const (
	windowSize = 16 << 20
	bufferSize = 256 << 10
)

// Serve prints the handshake line to os.Stdout and serves until the host asks
// for the end. It returns then; it exits the process itself, with code 1, when
// the socket cannot be made.
func Serve(s Services) {
	var once sync.Once
	ready := func() { once.Do(s.Ready) }
	goplugin.Serve(&goplugin.ServeConfig{
		VersionedPlugins: map[int]goplugin.PluginSet{Protocol: {setName: &registration{services: s}}},
		HandshakeConfig:  handshake(),
		Logger: hclog.New(&hclog.LoggerOptions{
			Name: "go-plugin", Level: hclog.Warn, Output: s.LogFile, JSONFormat: true,
		}),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options,
				grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
				grpc.InitialWindowSize(windowSize), grpc.InitialConnWindowSize(windowSize),
				grpc.ReadBufferSize(bufferSize), grpc.WriteBufferSize(bufferSize),
				grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
					ready()
					return guard(ctx, s.Log, info.FullMethod, func() (any, error) { return next(ctx, req) })
				}),
				grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
					ready()
					return next(srv, stream)
				}),
			)...)
		},
	})
}

// guard turns the errors of a handler into statuses, and its panics into
// crashes, with the trace in the log.
func guard(ctx context.Context, log *slog.Logger, method string, call func() (any, error)) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "a handler panicked", "call", method, "panic", fmt.Sprint(p), "trace", string(debug.Stack()))
			out, err = nil, ToStatus(&Crash{fault.New(fault.Plugin, "", "", "it panicked: %v", p)})
		}
	}()
	out, err = call()
	if err != nil {
		return nil, ToStatus(err)
	}
	return out, nil
}

// registration is go-plugin's view of our services, on both sides.
type registration struct{ services Services }

func (r *registration) GRPCServer(_ *goplugin.GRPCBroker, server *grpc.Server) error {
	RegisterPluginServer(server, r.services.Plugin)
	if r.services.Sampler != nil {
		RegisterSamplerServer(server, r.services.Sampler)
	}
	if r.services.Model != nil {
		RegisterModelServer(server, r.services.Model)
	}
	return nil
}

func (r *registration) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// Server and Client belong to go-plugin's other transport, which we do not
// speak.
func (r *registration) Server(*goplugin.MuxBroker) (any, error) {
	return nil, fmt.Errorf("only gRPC is spoken")
}

func (r *registration) Client(*goplugin.MuxBroker, *rpc.Client) (any, error) {
	return nil, fmt.Errorf("only gRPC is spoken")
}
