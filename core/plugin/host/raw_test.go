//go:build unix

package host_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// serveRaw is a plugin without any of our code between it and the wire: it is
// given the bytes of each request and answers with bytes. It knows nothing of
// the lifeline, and of ending only what the host asks for.
func serveRaw(answer func(method string, request []byte) (mem.BufferSlice, error)) {
	path := filepath.Join(os.Getenv(wire.SocketDirEnv), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(1<<31-1),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(stream)
			if strings.HasPrefix(method, "/plugin.") {
				if strings.HasSuffix(method, "/Shutdown") {
					os.Exit(0)
				}
				return flood(stream, method)
			}
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			out, err := answer(method[strings.LastIndex(method, "/")+1:], request)
			if err != nil {
				return err
			}
			return stream.SendMsg(out)
		}))
	fmt.Printf("1|1|unix|%s|grpc|\n", path)
	_ = s.Serve(l)
}

// flood answers go-plugin's own calls: with 1 GiB, nearly, for the stream of a
// plugin's output when that is the plugin's role.
func flood(stream grpc.ServerStream, method string) error {
	if os.Args[2] != "giant-streamstdio" || !strings.HasSuffix(method, "/StreamStdio") {
		return status.Error(codes.Unimplemented, "not here")
	}
	const parts = 1<<10 - 1
	out := megabytes(parts)
	out[0] = mem.SliceBuffer(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), (parts-1)<<20))
	err := stream.SendMsg(out)
	<-stream.Context().Done() // the host wants no more of it
	note("flooded", "")
	return err
}

// megabytes is that many of them, which are all the same one.
func megabytes(n int) mem.BufferSlice {
	out := make(mem.BufferSlice, n)
	part := mem.SliceBuffer(make([]byte, 1<<20))
	for i := range out {
		out[i] = part
	}
	return out
}

// rawCodec passes bytes through.
type rawCodec struct{}

func (rawCodec) Name() string                           { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) { return v.(mem.BufferSlice), nil }
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b := make([]byte, data.Len())
	data.CopyTo(b)
	*v.(*[]byte) = b
	return nil
}

func rawBytes(m proto.Message) (mem.BufferSlice, error) {
	b, err := proto.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

// giant answers one call with 1 GiB, which it does not hold: one megabyte, again
// and again.
func giant(call string) func(string, []byte) (mem.BufferSlice, error) {
	return func(method string, _ []byte) (mem.BufferSlice, error) {
		if strings.EqualFold(method, call) {
			return megabytes(1 << 10), nil
		}
		h := &hostile{role: "giant-" + call}
		switch method {
		case "Describe":
			d, _ := h.Describe(context.Background(), nil)
			return rawBytes(d)
		case "Open":
			o, _ := hostileModel{hostile: h}.Open(context.Background(), nil)
			return rawBytes(o)
		}
		return rawBytes(&wire.AttachResponse{})
	}
}

// An answer of 1 GiB is refused by the size that is announced in front of it:
// the host takes no memory for it, the plugin is ended, and the host goes on.
func TestGiantAnswersAreRefusedUnread(t *testing.T) {
	ctx := context.Background()
	for _, call := range []string{"describe", "attach", "apply", "open", "forward", "pieces", "encode", "decode", "verify", "edit"} {
		t.Run(call, func(t *testing.T) {
			f := newHost(t, func(o *host.Options) { o.Restarts = -1 }, "giant-"+call, "good")
			good, err := f.OpenModel(ctx, "good/chatter", nil)
			if err != nil {
				t.Fatal(err)
			}
			row := good.Rows(1)[0]
			fill(&row)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = callOf(ctx, f, "giant-"+call, call, row)
			runtime.ReadMemStats(&after)
			// What is on its way when the answer is refused is bounded by the windows
			// of the connection, 16 MiB for the call and as much for all.
			if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
				t.Errorf("the host took %d MiB", took>>20)
			}
			if call == "attach" { // one without shared memory is served with bytes
				if w := strings.Join(f.Warnings(), "\n"); err == nil || !strings.Contains(err.Error(), "larger than") {
					t.Errorf("error %v, warnings %s", err, w)
				}
			} else if err == nil || !strings.Contains(err.Error(), "its answer is larger than the") {
				t.Errorf("error: %v", err)
			}
			if k := fault.KindOf(err); k != fault.Plugin {
				t.Errorf("kind %v", k)
			}
			it := &sampler.Item{Scores: row}
			if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}}); err != nil {
				t.Errorf("the other plugin is affected: %v", err)
			}
		})
	}
}

// What a plugin sends without being asked is bounded too.
func TestGiantOutputStreamIsRefusedUnread(t *testing.T) {
	f := newHost(t, nil, "giant-streamstdio")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := f.Plugin(context.Background(), "giant-streamstdio"); err != nil {
		t.Fatal(err)
	}
	f.await("flooded")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
		t.Errorf("the host took %d MiB", took>>20)
	}
	if info, err := f.Plugin(context.Background(), "giant-streamstdio"); err != nil || info.Restarts != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

// callOf makes the one call of a plugin that gets to the named answer.
func callOf(ctx context.Context, f *fixture, name, call string, row dist.Scores) error {
	switch call {
	case "describe":
		_, err := f.Plugin(ctx, name)
		return err
	case "attach", "apply":
		return f.Runner(name).Run(ctx, &sampler.Call{Stages: stages("lie"), Items: []*sampler.Item{{Scores: row}}})
	}
	m, err := f.OpenModel(ctx, name+"/chatter", nil)
	if err != nil {
		return err
	}
	switch call {
	case "pieces":
		_, err = m.Pieces(ctx)
	case "encode":
		_, err = m.Encode(ctx, []byte("x"), model.EncodeOptions{})
	case "decode":
		_, err = m.Decode(ctx, []int32{1})
	case "verify":
		_, err = m.Verify(ctx)
	case "edit":
		err = m.Edit(ctx, []model.Edit{{Op: model.Free, Seq: 1}})
	default:
		_, err = m.Forward(ctx, []model.Input{{Seq: 1, Tokens: []int32{1}, Want: model.Last, Scores: []dist.Scores{dist.NewDense(make([]float32, 50))}}})
	}
	return err
}
