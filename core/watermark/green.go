package watermark

import (
	"math/bits"

	"lab/core/fault"
)

// The schemes by which a green list is seeded.
const (
	LeftHash = "lefthash" // by the token before
	SelfHash = "selfhash" // by the candidate itself and the tokens before
)

// tableSize is the length of the table that the self-hashing scheme looks
// tokens up in, a prime.
const tableSize = 1_000_003

// Green tells green tokens from others: those among the first
// floor(ratio * vocabulary) of a pseudo-random permutation that depends on the
// key and the context (Kirchenbauer et al. 2023, A watermark for large language
// models, algorithms 2 and 3, with the seeds and permutations of the
// transformers library). It is immutable and safe for concurrent use.
type Green struct {
	vocab, size int
	key         int64
	width       int
	table       []int32 // of the self-hashing scheme; nil for the other
}

// NewGreen returns the green lists of a vocabulary. The context is the last
// width tokens, of which the scheme [LeftHash] uses the last one only. A usage
// error says that no token, or every one, would be green.
func NewGreen(vocab int, ratio float64, key int64, scheme string, width int) (*Green, error) {
	g := &Green{vocab: vocab, size: int(float64(vocab) * ratio), key: key, width: width}
	if g.size < 1 || g.size >= vocab {
		return nil, fault.New(fault.Usage, "watermark", "", "ratio = %v makes %d of %d tokens green", ratio, g.size, vocab).
			Fix("choose a ratio that leaves tokens on both sides")
	}
	if scheme == SelfHash {
		g.table = make([]int32, tableSize)
		newTorch(uint32(key)).permute(g.table, tableSize)
	}
	return g, nil
}

// Share returns the part of the vocabulary that is green: the probability that
// a token chosen without the key is.
func (g *Green) Share() float64 { return float64(g.size) / float64(g.vocab) }

// Context returns the part of the tokens before a place that its green list
// depends on, and whether there are enough of them.
func (g *Green) Context(before []int32) (context []int32, ok bool) {
	if len(before) < g.width {
		return nil, false
	}
	use := 1
	if g.table != nil {
		use = g.width - 1
	}
	return before[len(before)-use:], true
}

// Has reports whether a token is green after a context, which is what
// [Green.Context] returned. A token outside the vocabulary is not.
func (g *Green) Has(context []int32, token int32) bool {
	if token < 0 || int(token) >= g.vocab {
		return false
	}
	return newTorch(g.seed(context, token)).among(int(token), g.vocab, g.size)
}

// List fills order, of the length of the vocabulary, so that its first entries
// are the green tokens after a context, and returns those. The scheme must be
// [LeftHash]: with the other, being green is a matter between the context and
// one token.
func (g *Green) List(context []int32, order []int32) []int32 {
	newTorch(g.seed(context, 0)).permute(order, g.size)
	return order[:g.size]
}

// seed returns what the generator is seeded with: a number modulo 2^64 - 1, of
// which it takes the lower half.
func (g *Green) seed(context []int32, token int32) uint32 {
	if g.table == nil {
		hi, lo := bits.Mul64(uint64(g.key), uint64(uint32(context[len(context)-1])))
		sum, carry := bits.Add64(hi, lo, 0)
		return uint32(reduced(sum + carry))
	}
	// Products are of 64 bits with a sign, and wrap around.
	b := g.entry(token)
	least := g.key * b * b
	for _, t := range context {
		least = min(least, g.key*g.entry(t)*b)
	}
	if least < 0 {
		return uint32(uint64(least) - 1)
	}
	return uint32(least)
}

func (g *Green) entry(token int32) int64 { return int64(g.table[uint32(token)%tableSize]) + 1 }

// reduced is x modulo 2^64 - 1.
func reduced(x uint64) uint64 {
	if x == 1<<64-1 {
		return 0
	}
	return x
}
