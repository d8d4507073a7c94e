package transformer

import (
	"fmt"
	"math"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// hyper are the sizes and constants of a model, all within the bounds that
// readHyper enforces.
type hyper struct {
	vocab    int // rows of the embedding table
	context  int // most tokens in one sequence
	trained  int // the context that the file names
	width    int // of the residual stream
	layers   int
	heads    int // query heads
	kvHeads  int // key and value heads; a divisor of heads
	headSize int
	ffn      int // width inside the feed-forward layer
	experts  experts
	parallel bool // layers may lack a norm in front of the feed-forward layer
	epsilon  float32

	rope      rotation // where a row attends to everything before it
	localRope rotation // in layers with a window

	// A layer whose number modulo pattern is below pattern-1 attends to the
	// last window positions only, the row's own among them; with a pattern of 0
	// every layer does. A window of 0 is none.
	window, pattern int

	queryScale   float32       // products of queries and keys are multiplied by it
	attentionCap float32       // s becomes cap*tanh(s/cap) before the softmax; 0: as it is
	logitCap     float32       // the same for the scores of the tokens
	cacheFormat  kernel.Format // of keys and values in the cache, F32 or Q8_0
	embedScale   float32       // the rows of the embedding table are multiplied by it; 0: as they are
}

// local reports whether a layer has a window.
func (h *hyper) local(layer int) bool {
	return h.window > 0 && (h.pattern == 0 || layer%h.pattern < h.pattern-1)
}

// first is the first position that a row at a position attends to in a layer.
func (h *hyper) first(layer, position int) int {
	if !h.local(layer) {
		return 0
	}
	return max(0, position-h.window+1)
}

// group is the number of query heads that share a key head.
func (h *hyper) group() int { return h.heads / h.kvHeads }

// kvBytes is the cache of one token: a key and a value per layer and key head
// (formula F2 of the cost model).
func (h *hyper) kvBytes() int64 {
	return 2 * int64(h.layers) * int64(h.kvHeads) * int64(h.lineBytes())
}

// meta reads the metadata of one architecture and remembers the first error and
// which keys were asked for.
type meta struct {
	file   *gguf.File
	name   string // the file, for messages
	prefix string // "llama."
	known  map[string]bool
	err    error
}

func newMeta(file *gguf.File, name, architecture string) *meta {
	return &meta{file: file, name: name, prefix: architecture + ".", known: map[string]bool{}}
}

func (m *meta) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *meta) wrong(key, format string, args ...any) {
	m.fail(fault.New(fault.Data, "open model", m.name, "metadata %q %s", key, fmt.Sprintf(format, args...)))
}

// whole returns a number from low to high. A missing one is fallback, or an
// error when fallback is negative.
func (m *meta) whole(suffix string, low, high, fallback int) int {
	key := m.prefix + suffix
	m.known[key] = true
	n, found, err := m.file.Int(key)
	switch {
	case err != nil:
		m.fail(err)
	case !found && fallback < 0:
		m.wrong(key, "is missing")
	case found && (n < int64(low) || n > int64(high)):
		m.wrong(key, "is %d, outside [%d, %d]", n, low, high)
	case found:
		return int(n)
	}
	return max(fallback, low)
}

// real returns a number in (0, high]. A missing one is fallback, or an error
// when fallback is 0.
func (m *meta) real(suffix string, high, fallback float64) float64 {
	key := m.prefix + suffix
	m.known[key] = true
	x, found, err := m.file.Float(key)
	switch {
	case err != nil:
		m.fail(err)
	case !found && fallback == 0:
		m.wrong(key, "is missing")
	case found && !(x > 0 && x <= high):
		m.wrong(key, "is %g, outside (0, %g]", x, high)
	case found:
		return x
	}
	return fallback
}

// has reports whether a key is there at all.
func (m *meta) has(suffix string) bool {
	_, found := m.file.Value(m.prefix + suffix)
	return found
}

// flag returns a truth value, or fallback where it is missing.
func (m *meta) flag(suffix string, fallback bool) bool {
	key := m.prefix + suffix
	m.known[key] = true
	v, found, err := m.file.Bool(key)
	if err != nil {
		m.fail(err)
	}
	if !found {
		return fallback
	}
	return v
}

// only refuses any value of a key but want, which is what its absence means.
func (m *meta) only(suffix string, want any, why string) {
	key := m.prefix + suffix
	m.known[key] = true
	var got any
	var found bool
	var err error
	switch want.(type) {
	case bool:
		got, found, err = anyOf(m.file.Bool(key))
	case int64:
		got, found, err = anyOf(m.file.Int(key))
	default:
		got, found, err = anyOf(m.file.Text(key))
	}
	if err != nil {
		m.fail(err)
	} else if found && got != want {
		m.fail(fault.New(fault.Model, "open model", m.name, "metadata %q is %v: %s", key, show(got), why))
	}
}

func anyOf[T any](v T, found bool, err error) (any, bool, error) { return v, found, err }

func show(v any) string {
	if s, ok := v.(string); ok {
		return fault.Quote(s, 40)
	}
	return fmt.Sprint(v)
}

// about marks keys that describe a model without changing what it computes.
func (m *meta) about(suffixes ...string) {
	for _, s := range suffixes {
		m.known[m.prefix+s] = true
	}
}

// finish returns the first error. A key of the architecture that nobody asked
// for is one: it may change the computation in a way that is not known here.
func (m *meta) finish() error {
	for _, key := range m.file.Keys() {
		if strings.HasPrefix(key, m.prefix) && !m.known[key] {
			m.fail(fault.New(fault.Model, "open model", m.name, "metadata %s is not understood", fault.Quote(key, 80)).
				Fix("it may change what the model computes, so it is not ignored"))
		}
	}
	return m.err
}

// Bounds of the hyperparameters: far beyond any model that fits a machine, and
// small enough that no product of two of them overflows.
const (
	maxContext  = 1 << 24
	maxWidth    = 1 << 20
	maxLayers   = 1 << 12
	maxHeads    = 1 << 14
	maxHeadSize = 1 << 16
	maxExperts  = 1 << 12
)

// readDecoder reads what all architectures have, for a vocabulary of so many
// tokens; epsilon is the key of the norms' constant.
func readDecoder(m *meta, vocab int, epsilon string) hyper {
	h := hyper{
		vocab:   vocab,
		context: m.whole("context_length", 1, maxContext, -1),
		width:   m.whole("embedding_length", 1, maxWidth, -1),
		layers:  m.whole("block_count", 1, maxLayers, -1),
		ffn:     m.whole("feed_forward_length", 1, maxWidth, -1),
		heads:   m.whole("attention.head_count", 1, maxHeads, -1),
		epsilon: float32(m.real(epsilon, 1, 0)),
	}
	h.trained = h.context
	h.kvHeads = m.whole("attention.head_count_kv", 1, maxHeads, h.heads)
	if h.heads%h.kvHeads != 0 {
		m.wrong(m.prefix+"attention.head_count_kv", "is %d, no divisor of the %d query heads", h.kvHeads, h.heads)
	}
	split := h.width / h.heads
	if split*h.heads != h.width || split == 0 {
		split = -1 // then the head size must be given
	}
	h.headSize = m.whole("attention.key_length", 1, maxHeadSize, split)
	if v := m.whole("attention.value_length", 1, maxHeadSize, h.headSize); v != h.headSize {
		m.wrong(m.prefix+"attention.value_length", "is %d, but keys have %d elements; they must be alike", v, h.headSize)
	}
	if n := m.whole("vocab_size", 1, math.MaxInt32, vocab); n != vocab {
		m.wrong(m.prefix+"vocab_size", "is %d, but the tokenizer has %d tokens", n, vocab)
	}
	h.queryScale = float32(1 / math.Sqrt(float64(h.headSize)))
	m.only("attention.causal", true, "only causal attention is computed")
	m.about("tensor_data_layout")
	return h
}

// rmsEpsilon and normEpsilon are the keys of the norms' constants.
const (
	rmsEpsilon  = "attention.layer_norm_rms_epsilon"
	normEpsilon = "attention.layer_norm_epsilon"
)

// readRotary reads what architectures with rotated heads and RMS norms have.
func readRotary(m *meta, vocab int) hyper {
	h := readDecoder(m, vocab, rmsEpsilon)
	h.rope = readRotation(m, &h)
	h.localRope = h.rope
	m.only("use_parallel_residual", false, "parallel residuals are not supported")
	return h
}
