package grammar

import (
	"math/rand/v2"

	"lab/core/fault"
)

// maxDocument bounds a sampled document, in tokens.
const maxDocument = 1 << 20

// Sample draws one document from the language by rewriting the start symbol
// from the left, and returns its tokens, EOS last and without BOS. It is
// independent of [State]: the two agree in distribution, which the tests use.
// A document longer than about a million tokens is a limit error.
func (l *Language) Sample(r *rand.Rand) ([]int32, error) {
	return l.derive(r, nil)
}

// derive is Sample with a hook that sees every production used.
func (l *Language) derive(r *rand.Rand, used func(nt, prod int)) ([]int32, error) {
	var out []int32
	stack := []int32{l.tok.Vocab().EOS, l.symbols}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s < l.symbols {
			if out = append(out, s); len(out) > maxDocument {
				return nil, fault.New(fault.Limit, "grammar", l.name, "a sampled document is longer than %d tokens", maxDocument)
			}
			continue
		}
		nt := s - l.symbols
		prods := l.nts[nt].prods
		i, u := 0, r.Float64()
		for ; i < len(prods)-1; i++ {
			if u -= prods[i].prob; u < 0 {
				break
			}
		}
		if used != nil {
			used(int(nt), i)
		}
		for j := len(prods[i].syms) - 1; j >= 0; j-- {
			stack = append(stack, prods[i].syms[j])
		}
	}
	return out, nil
}
