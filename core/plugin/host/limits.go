package host

import (
	"google.golang.org/grpc"

	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// What an answer may weigh, in bytes. A plugin that is broken, or speaks of
// another vocabulary, must not fill the host's memory; the limits are far above
// what an honest answer has.
const (
	entryBytes     = 8    // of a score with its id
	rowBytes       = 64   // of a row besides its scores
	changeBytes    = 256  // of a line of the ledger
	decodedBytes   = 1024 // of the text of a token, on average over one call
	pieceBytes     = 256  // of the piece of a token, on average over a vocabulary
	encodedBytes   = 64   // of the tokens of one byte of text
	describedBytes = 16 << 20
	templateBytes  = 16 << 20 // of what a chat template adds to a conversation
)

var (
	describeLimit = wire.AtMost(describedBytes)
	smallLimit    = wire.AtMost(0)
	openLimit     = wire.AtMost(2 * 4 * (1 << 24)) // the control and the end tokens of the largest vocabulary
)

// applyLimit bounds the answer to a sampler call. A row comes back with no more
// tokens than it went.
func applyLimit(call *sampler.Call, items []*sampler.Item) grpc.CallOption {
	stages, rows := len(call.Stages), 1
	if call.Rows {
		rows += stages
	}
	size := 0
	for _, it := range items {
		size += rows*(len(it.Scores.Values)*entryBytes+rowBytes) + stages*(sampler.MaxState+changeBytes)
	}
	return wire.AtMost(size)
}

// forwardLimit bounds the answer to a forward, wherever its rows go.
func forwardLimit(vocab int, batch []model.Input) grpc.CallOption {
	size := 0
	for _, in := range batch {
		size += len(in.Scores)*(vocab*entryBytes+rowBytes) + len(in.Hidden)*4 + rowBytes
	}
	return wire.AtMost(size)
}

// encodeLimit bounds the tokens of a text: even one that falls apart into bytes,
// each written as several characters first, has fewer.
func encodeLimit(text []byte) grpc.CallOption { return wire.AtMost(encodedBytes * len(text)) }

// chatLimit bounds the tokens and the text of a conversation; a template may say
// much of its own, and some turns twice.
func chatLimit(size int) grpc.CallOption { return wire.AtMost(templateBytes + 2*(encodedBytes+1)*size) }

// decodeLimit bounds the text of tokens.
func decodeLimit(tokens []int32) grpc.CallOption { return wire.AtMost(decodedBytes * len(tokens)) }

// piecesLimit bounds the texts of a vocabulary.
func piecesLimit(vocab int) grpc.CallOption { return wire.AtMost(pieceBytes * vocab) }
