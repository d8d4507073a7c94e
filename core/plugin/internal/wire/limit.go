package wire

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// headroom is what any answer may have besides its numbers: names, a fault, the
// framing of messages.
const headroom = 1 << 20

// AtMost bounds the answer to one call, in bytes, with some headroom. The size
// of a message is announced in front of it, so one that is larger is refused
// before memory is taken for it.
func AtMost(bytes int) grpc.CallOption {
	const most = MaxMessage - 1 // one less than a server's limit, so that the two can be told apart
	if bytes < 0 || bytes > most-headroom {
		return grpc.MaxCallRecvMsgSize(most)
	}
	return grpc.MaxCallRecvMsgSize(bytes + headroom)
}

// oversized is the error of an answer that was refused unread.
type oversized struct {
	most   int
	status error
}

func (o *oversized) Error() string {
	return fmt.Sprintf("its answer is larger than the %d bytes that the call can have (%s)", o.most, status.Convert(o.status).Message())
}

// GRPCStatus makes the error the status it came from.
func (o *oversized) GRPCStatus() *status.Status { return status.Convert(o.status) }

// watchSize tells an answer that this side refused for its size from a request
// that the other side did: both have the same status.
func watchSize(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	if status.Code(err) != codes.ResourceExhausted {
		return err
	}
	most := MaxMessage
	for _, o := range opts {
		if m, ok := o.(grpc.MaxRecvMsgSizeCallOption); ok {
			most = m.MaxRecvMsgSize // the last one holds
		}
	}
	text := status.Convert(err).Message()
	ours := strings.Contains(text, fmt.Sprintf("vs. %d)", most)) || strings.HasSuffix(text, fmt.Sprintf("max %d", most))
	if ours && strings.HasPrefix(text, "grpc: ") && strings.Contains(text, "larger than max") {
		return &oversized{most: most, status: err}
	}
	return err
}
