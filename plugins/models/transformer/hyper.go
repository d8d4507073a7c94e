package transformer

import (
	"fmt"
	"math"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
)

// hyper are the sizes and constants of a model, all within the bounds that
// readHyper enforces.
type hyper struct {
	vocab    int // rows of the embedding table
	context  int // most tokens in one sequence
	width    int // of the residual stream
	layers   int
	heads    int // query heads
	kvHeads  int // key and value heads; a divisor of heads
	headSize int
	ffn      int // width inside the feed-forward layer
	epsilon  float32

	ropeSize  int     // leading elements of a head that are rotated; even
	ropeBase  float64 // of the angles' geometric series
	ropeScale float64 // positions are divided by it
}

// group is the number of query heads that share a key head.
func (h *hyper) group() int { return h.heads / h.kvHeads }

// kvBytes is the cache of one token: a key and a value in float32 per layer
// and key head (formula F2 of the cost model).
func (h *hyper) kvBytes() int64 {
	return 2 * int64(h.layers) * int64(h.kvHeads) * int64(h.headSize) * 4
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
)

// readLlama reads the hyperparameters of the llama architecture for a
// vocabulary of so many tokens.
func readLlama(m *meta, vocab int) hyper {
	h := hyper{
		vocab:   vocab,
		context: m.whole("context_length", 1, maxContext, -1),
		width:   m.whole("embedding_length", 1, maxWidth, -1),
		layers:  m.whole("block_count", 1, maxLayers, -1),
		ffn:     m.whole("feed_forward_length", 1, maxWidth, -1),
		heads:   m.whole("attention.head_count", 1, maxHeads, -1),
		epsilon: float32(m.real("attention.layer_norm_rms_epsilon", 1, 0)),
	}
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
	readRope(m, &h)
	m.only("attention.causal", true, "only causal attention is computed")
	m.only("expert_count", int64(0), "mixtures of experts are not supported")
	m.only("expert_used_count", int64(0), "mixtures of experts are not supported")
	m.only("use_parallel_residual", false, "parallel residuals are not supported")
	m.about("tensor_data_layout", "rope.scaling.original_context_length", "rope.scaling.finetuned")
	return h
}

// readRope reads the rotary position embedding.
func readRope(m *meta, h *hyper) {
	h.ropeSize = m.whole("rope.dimension_count", 2, maxWidth, h.headSize)
	if h.ropeSize > h.headSize || h.ropeSize%2 != 0 {
		m.wrong(m.prefix+"rope.dimension_count", "is %d; it must be even and at most the head size %d", h.ropeSize, h.headSize)
	}
	h.ropeBase = m.real("rope.freq_base", math.MaxFloat32, 10000)
	// Scaling is linear unless the file says otherwise; scale_linear is the
	// factor's old name.
	h.ropeScale = m.real("rope.scaling.factor", 1<<20, m.real("rope.scale_linear", 1<<20, 1))
	kind, found, err := m.file.Text(m.prefix + "rope.scaling.type")
	m.about("rope.scaling.type")
	switch {
	case err != nil:
		m.fail(err)
	case found && kind == "none":
		h.ropeScale = 1
	case found && kind != "linear":
		m.fail(fault.New(fault.Model, "open model", m.name, "metadata %q is %s", m.prefix+"rope.scaling.type", fault.Quote(kind, 40)).
			Fix("known: linear, none"))
	}
	if h.ropeBase <= 1 {
		m.wrong(m.prefix+"rope.freq_base", "is %g; it must be above 1", h.ropeBase)
	}
}
