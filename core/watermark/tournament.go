package watermark

import (
	"strconv"
	"strings"

	"lab/core/fault"
)

// Tournament gives the bits by which SynthID Text reweighs a distribution, one
// for each key and token (Dathathri et al. 2024, Scalable watermarking for
// identifying large language model outputs; hashes and bit table of the
// transformers library). It is immutable and safe for concurrent use.
type Tournament struct {
	before  int // tokens of a context
	keys    []uint64
	table   []uint8
	history int
}

const (
	hashFactor = 6364136223846793005
	hashStep   = 1
)

// NewTournament returns the bits for n-grams of a length, with one depth for
// each key. The table of bits has a size and a seed; a context that is equal to
// one of the last `history` ones gives no mark.
func NewTournament(ngram int, keys []int64, size int, seed uint32, history int) *Tournament {
	t := &Tournament{before: ngram - 1, table: make([]uint8, size), history: history}
	for _, k := range keys {
		t.keys = append(t.keys, uint64(k))
	}
	rng := newTorch(seed)
	for i := range t.table {
		t.table[i] = uint8(rng.word() & 1)
	}
	return t
}

// mostKeys bounds the depth of a tournament.
const mostKeys = 256

// ParseKeys reads a list of whole numbers separated by blanks or commas. It
// returns a usage error for anything else, for an empty list and for one of more
// than 256.
func ParseKeys(text string) ([]int64, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) })
	if len(words) == 0 || len(words) > mostKeys {
		return nil, fault.New(fault.Usage, "watermark", "", "%d keys are given", len(words)).
			Fix("keys are 1 to %d whole numbers, one for each depth", mostKeys)
	}
	out := make([]int64, len(words))
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, fault.New(fault.Usage, "watermark", "", "key %d of %d, %s, is not a whole number", i+1, len(words), fault.Quote(w, 40)).
				Fix("separate whole numbers by blanks")
		}
		out[i] = n
	}
	return out, nil
}

// Depth returns the number of bits of a token.
func (t *Tournament) Depth() int { return len(t.keys) }

// Context returns the hash of the context of the token at a place: of the
// tokens before it, with zeros where there are too few.
func (t *Tournament) Context(tokens []int32, place int) uint64 {
	h := uint64(1)
	for i := place - t.before; i < place; i++ {
		token := uint64(0)
		if i >= 0 {
			token = uint64(uint32(tokens[i]))
		}
		h = (h+token)*hashFactor + hashStep
	}
	return h
}

// Repeated reports whether the context of a place was that of one of the places
// remembered before it, of which the first is from.
func (t *Tournament) Repeated(tokens []int32, from, place int) bool {
	h := t.Context(tokens, place)
	for i := max(from, place-t.history); i < place; i++ {
		if t.Context(tokens, i) == h {
			return true
		}
	}
	return false
}

// Token returns the hash of a token after a context's.
func (t *Tournament) Token(context uint64, token int32) uint64 {
	return (context+uint64(uint32(token)))*hashFactor + hashStep
}

// Bit returns the bit of a token's hash at a depth, 0 or 1.
func (t *Tournament) Bit(hash uint64, depth int) uint8 {
	h := int64((hash+t.keys[depth])*hashFactor + hashStep)
	at := h % int64(len(t.table))
	if at < 0 {
		at += int64(len(t.table))
	}
	return t.table[at]
}

// Share returns the part of the table that is 1: the probability that a bit of a
// token chosen without the keys is.
func (t *Tournament) Share() float64 {
	ones := 0
	for _, b := range t.table {
		ones += int(b)
	}
	return float64(ones) / float64(len(t.table))
}
