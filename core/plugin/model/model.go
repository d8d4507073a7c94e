// Package model is the contract of a model backend: tokens in, one row of
// scores per position out, with sequences that fork and truncate cheaply.
//
// A backend's parameters are frozen: it reports a digest of its weights at
// open and again when asked. An author implements [Backend] and [Model] and
// calls plugin.Serve. The host's client implements [Model] too, so that the
// core does not know whether a model is in this process or another.
package model

import (
	"context"
	"fmt"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
)

// Declaration is everything the host knows of a backend before it opens a
// model.
type Declaration struct {
	Name    string // snake_case; also the reference that opens it without a path
	Summary string
	Source  string
	// Patterns are the references this backend opens besides its own name, as
	// path.Match patterns on the lower-case base name: "*.gguf".
	Patterns []string
	Params   param.Specs // options of Open
}

// Validate returns a plugin error when the declaration is incomplete.
func (d Declaration) Validate() error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Plugin, "declaration", fmt.Sprintf("backend %q", d.Name), format, args...)
	}
	if !param.IsName(d.Name) {
		return wrong("the name is not snake_case (a-z, 0-9, _, starting with a letter)")
	}
	if d.Summary == "" || d.Source == "" {
		return wrong("it lacks a summary or a source")
	}
	for _, s := range d.Params {
		if err := s.Validate(); err != nil {
			return fault.Wrap(err, fault.Plugin, "declaration", fmt.Sprintf("backend %q", d.Name))
		}
	}
	return nil
}

// Info describes an open model. It does not change while the model is open.
type Info struct {
	Name         string
	Architecture string // "llama", "pcfg"
	Description  string // what it was trained on or written for; free text

	VocabSize     int   // tokens; every row of scores has this many
	ContextLength int   // most tokens in one sequence
	Parameters    int64 // numbers, or productions of a grammar
	WeightBytes   int64 // as stored
	Digest        string
	// Deterministic promises that a row's scores are bit-identical whatever the
	// batch, its neighbours, the chunks a prompt arrives in and the threads.
	Deterministic bool
	TopN          int  // tokens listed per row by a backend that sees only the best; 0: all
	Hidden        int  // numbers in a hidden state that Input.Hidden may ask for; 0: none are offered
	Chat          bool // the model is a [Chatter]

	Begin     int32   // token that starts a text, -1 if none
	EndOfText []int32 // tokens that end a text; may be empty
	Control   []int32 // tokens without text of their own, the ones above included

	// Details tell people what else there is to know of the model as it was
	// opened, in the order to be shown; see the names below. No program decides
	// by them.
	Details []Detail
}

// Detail is one line of a model's description. Name is snake_case and stands
// once; Value is one line of printable text of at most 1000 bytes.
type Detail struct{ Name, Value string }

// Names of details that tools look for, so that all backends use the same.
const (
	DetailKernels      = "kernels"       // which implementation of the inner loops runs
	DetailThreads      = "threads"       // workers of a forward pass
	DetailFormats      = "formats"       // how weights are stored, with their shares
	DetailCache        = "cache"         // how keys and values are kept, and what a token takes
	DetailTokenizer    = "tokenizer"     // kind of tokenizer
	DetailChatTemplate = "chat_template" // whether there is one
)

// Detail returns the value of a detail, empty when there is none of the name.
func (i Info) Detail(name string) string {
	for _, d := range i.Details {
		if d.Name == name {
			return d.Value
		}
	}
	return ""
}

// Want says for which positions of an input scores are wanted.
type Want uint8

const (
	None Want = iota // extend the sequence only
	Last             // the last position
	All              // every position given
)

// Rows returns how many rows of scores an input of n tokens asks for.
func (w Want) Rows(n int) int {
	switch w {
	case Last:
		return min(n, 1)
	case All:
		return n
	}
	return 0
}

// Input extends one sequence. Sequences are named by the caller; one that does
// not exist is created when Start is 0.
type Input struct {
	Seq    uint64
	Start  int     // tokens the sequence holds before this call
	Tokens []int32 // at least one
	Want   Want

	// Scores are the caller's rows, Want.Rows(len(Tokens)) of them, dense and
	// of VocabSize values each, in order of position. The backend fills Values;
	// a top-N backend replaces a row by a sparse one.
	Scores []dist.Scores

	// Hidden is the caller's memory for the hidden states from which the wanted
	// scores were computed, Info.Hidden numbers for each row of Scores and in
	// their order; nil when they are not wanted.
	Hidden []float32
}

// Check returns what is wrong with an input to a model described by info, whose
// sequence holds length tokens: a usage error for a request that cannot be
// meant, a limit error when the context would be exceeded. Every backend checks
// its inputs this way before it changes anything.
func (in Input) Check(info Info, length int) error {
	wrong := func(kind fault.Kind, format string, args ...any) *fault.Error {
		return fault.New(kind, "", fmt.Sprintf("sequence %d", in.Seq), format, args...)
	}
	switch rows := in.Want.Rows(len(in.Tokens)); {
	case in.Start != length:
		return wrong(fault.Usage, "the input starts at %d, but the sequence holds %d tokens", in.Start, length)
	case len(in.Tokens) == 0:
		return wrong(fault.Usage, "the input has no tokens")
	case in.Want > All:
		return wrong(fault.Usage, "unknown want %d", in.Want)
	case len(in.Scores) != rows:
		return wrong(fault.Usage, "%d rows of scores for %d wanted", len(in.Scores), rows)
	case len(in.Hidden) > 0 && info.Hidden == 0:
		return wrong(fault.Usage, "hidden states are wanted, which model %q does not offer", info.Name)
	case len(in.Hidden) > 0 && len(in.Hidden) != rows*info.Hidden:
		return wrong(fault.Usage, "%d numbers for %d hidden states of %d", len(in.Hidden), rows, info.Hidden)
	case len(in.Tokens) > info.ContextLength-length:
		return wrong(fault.Limit, "%d tokens and %d more exceed the context of %d", length, len(in.Tokens), info.ContextLength).
			Fix("shorten the prompt or generate fewer tokens")
	}
	for j, token := range in.Tokens {
		if token < 0 || int(token) >= info.VocabSize {
			return wrong(fault.Usage, "token %d at index %d is outside the vocabulary of %d", token, j, info.VocabSize)
		}
	}
	for j := range in.Scores {
		if s := &in.Scores[j]; !s.Dense() || s.Vocab != info.VocabSize || len(s.Values) != info.VocabSize {
			return wrong(fault.Usage, "row %d of scores is not a dense row of %d values", j, info.VocabSize)
		}
	}
	return nil
}

// Op is what an [Edit] does to a sequence.
type Op uint8

const (
	Fork     Op = iota + 1 // To becomes a copy of the first Length tokens of Seq
	Truncate               // Seq keeps its first Length tokens
	Free                   // Seq is forgotten; freeing an unknown one is no error
)

// Edit changes the set of sequences without evaluating anything.
type Edit struct {
	Op     Op
	Seq    uint64
	To     uint64 // Fork: the new sequence, which must not exist
	Length int    // Fork, Truncate
}

// Usage is what one call cost, as far as the backend can tell; the seconds are
// the only part that is not deterministic.
type Usage struct {
	PrefillTokens  int64   `json:"prefill_tokens"` // tokens of inputs longer than one
	DecodeTokens   int64   `json:"decode_tokens"`  // and of single ones
	PrefillSeconds float64 `json:"prefill_seconds"`
	DecodeSeconds  float64 `json:"decode_seconds"`
	FLOPs          int64   `json:"flops"`       // 2 per multiply-add
	BytesMoved     int64   `json:"bytes_moved"` // weights and cache read, cache written
	CacheBytes     int64   `json:"cache_bytes"` // KV cache held after the call, all sequences
	// CachedTokens are those of prompts that a sequence held already and nothing
	// was evaluated for. The loop counts them, not the backend.
	CachedTokens int64 `json:"cached_tokens"`
}

// Add returns the sum of two usages; CacheBytes is the larger of the two, a
// level and not a flow.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		PrefillTokens: u.PrefillTokens + o.PrefillTokens, DecodeTokens: u.DecodeTokens + o.DecodeTokens,
		PrefillSeconds: u.PrefillSeconds + o.PrefillSeconds, DecodeSeconds: u.DecodeSeconds + o.DecodeSeconds,
		FLOPs: u.FLOPs + o.FLOPs, BytesMoved: u.BytesMoved + o.BytesMoved,
		CacheBytes:   max(u.CacheBytes, o.CacheBytes),
		CachedTokens: u.CachedTokens + o.CachedTokens,
	}
}

// Seconds returns the time of prefill and decode together.
func (u Usage) Seconds() time.Duration {
	return time.Duration((u.PrefillSeconds + u.DecodeSeconds) * float64(time.Second))
}

// EncodeOptions says how text becomes tokens.
type EncodeOptions struct {
	Begin   bool // put the begin token in front when the model's policy asks for one
	Special bool // read control tokens written out in the text; off for user text
}

// Vocabulary turns text into tokens and back. Pieces are bytes: a character
// may be split over several tokens. Safe for concurrent use.
type Vocabulary interface {
	Encode(ctx context.Context, text []byte, opt EncodeOptions) ([]int32, error)
	// Decode returns the text of a whole sequence; control tokens add nothing.
	Decode(ctx context.Context, tokens []int32) ([]byte, error)
	// Pieces returns the bytes of every token, empty for control tokens. The
	// caller must not change them.
	Pieces(ctx context.Context) ([][]byte, error)
}

// Model is an open model. Calls for one model come one at a time.
type Model interface {
	Vocabulary
	Info() Info
	// Forward extends every input's sequence and fills its rows. Inputs name
	// distinct sequences. When it fails, no sequence has changed.
	Forward(ctx context.Context, batch []Input) (Usage, error)
	// Edit applies the edits in order; when one fails, those before it stand.
	Edit(ctx context.Context, edits []Edit) error
	// Verify computes the digest of the weights from the bytes in use, now.
	Verify(ctx context.Context) (string, error)
	Close() error
}

// Turn is one message of a conversation.
type Turn struct {
	Role    string // system, user or assistant
	Content string // text of a user: control tokens spelled in it stay text
}

// Conversation is a prompt made of turns, up to where the answer begins.
type Conversation struct {
	Text   []byte // as it reads, with control tokens spelled out
	Tokens []int32
}

// Chatter is a model that knows the form of a conversation. One that says so in
// its Info implements it. An unknown role, or turns in an order that the model
// has no form for, is a usage error. Safe for concurrent use.
type Chatter interface {
	Chat(ctx context.Context, turns []Turn) (Conversation, error)
}

// Backend opens models. ref is the backend's own name or what matched one of
// its patterns: a path.
type Backend interface {
	Declare() Declaration
	Open(ctx context.Context, ref string, set param.Values) (Model, error)
}
