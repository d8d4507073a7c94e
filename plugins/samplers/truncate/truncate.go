// Package truncate holds the samplers that remove tokens and leave the scores
// of the others as they are. Renormalising is implied: the sampling
// distribution is always the softmax of what is left.
//
// None of them but the tail-free one sorts the vocabulary: a cut is a score and
// a number of ties, and both are found by counting. Start with [TopK].
package truncate

import (
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// All returns the samplers of the package, in the order in which they are
// listed.
func All() []sampler.Sampler {
	return []sampler.Sampler{TopK{}, TopP{}, MinP{}, TopA{}, Typical{}, Epsilon{}, Eta{}, TailFree{}, TopNSigma{}, TopH{}, XTC{&token.Finder{}},
		PLess{}, PLessNorm{}, MinK{}, EES{}, ConformalTopP{}}
}
