package grammar

import "math"

// nullProbs returns the probability that each nonterminal is empty. The caller
// has made sure that there is no left recursion; so every production that can
// be empty leads only to nonterminals settled before, and one pass in that
// order is exact.
func nullProbs(g *expanded, order []int32) []float64 {
	eps := make([]float64, len(g.nts))
	for _, a := range order {
		for _, p := range g.nts[a].prods {
			w := p.prob
			for _, s := range p.syms {
				if s < 0 {
					w = 0
					break
				}
				w *= eps[s]
			}
			eps[a] += w
		}
	}
	return eps
}

// nullable returns which nonterminals can be empty, whatever the probability.
func nullable(g *expanded) []bool {
	can := make([]bool, len(g.nts))
	for changed := true; changed; {
		changed = false
		for a := range g.nts {
			for _, p := range g.nts[a].prods {
				empty := !can[a]
				for _, s := range p.syms {
					empty = empty && s >= 0 && can[s]
				}
				if empty {
					can[a], changed = true, true
				}
			}
		}
	}
	return can
}

// leftCorners returns the nonterminals that can begin a production of a.
func leftCorners(g *expanded, can []bool, a int32) []int32 {
	var out []int32
	for _, p := range g.nts[a].prods {
		for _, s := range p.syms {
			if s < 0 {
				break
			}
			out = append(out, s)
			if !can[s] {
				break
			}
		}
	}
	return out
}

// leftmostOrder sorts the nonterminals so that each comes after all that can
// begin it, or names one that can begin itself: left recursion, also through
// symbols that can be empty.
func leftmostOrder(g *expanded, src *source) ([]int32, error) {
	can := nullable(g)
	state := make([]byte, len(g.nts)) // 1 on the path, 2 done
	order := make([]int32, 0, len(g.nts))
	type frame struct {
		nt   int32
		next []int32
	}
	for root := range g.nts {
		if state[root] != 0 {
			continue
		}
		state[root] = 1
		stack := []frame{{int32(root), leftCorners(g, can, int32(root))}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.next) == 0 {
				state[f.nt] = 2
				order = append(order, f.nt)
				stack = stack[:len(stack)-1]
				continue
			}
			s := f.next[0]
			f.next = f.next[1:]
			switch state[s] {
			case 0:
				state[s] = 1
				stack = append(stack, frame{s, leftCorners(g, can, s)})
			case 1:
				return nil, src.wrongAt(g.nts[s].line, "%q can begin with itself (left recursion)", g.nts[s].name).
					Fix("write the repetition on the right: x, then a rest that may be empty")
			}
		}
	}
	return order, nil
}

// expectedLengths returns the expected number of terminals of each
// nonterminal, or an error for one that does not end. The expected lengths
// solve L = t + M L, with M[a][b] the expected number of b in one step of a;
// the iteration from zero converges exactly when the spectral radius of M,
// over what the start symbol reaches, is below one. A grammar so close to one
// that it does not settle in the steps allowed is refused as well: its
// documents would be hundreds of thousands of words long.
//
// Source: Booth and Thompson, "Applying probability measures to abstract
// languages" (IEEE Trans. Computers, 1973).
func expectedLengths(g *expanded, src *source) ([]float64, error) {
	const longest = 1e6
	lengths := make([]float64, len(g.nts))
	size := 0
	for _, nt := range g.nts {
		for _, p := range nt.prods {
			size += 1 + len(p.syms)
		}
	}
	for range min(100_000, maxSteps/size) {
		change := 0.0
		for a := len(g.nts) - 1; a >= 0; a-- {
			sum := 0.0
			for _, p := range g.nts[a].prods {
				for _, s := range p.syms {
					if s < 0 {
						sum += p.prob
					} else {
						sum += p.prob * lengths[s]
					}
				}
			}
			if !(sum <= longest) {
				return nil, src.wrongAt(g.nts[a].line, "%q is expected to go on for more than %g words", g.nts[a].name, longest).
					Fix("give its alternatives that end more weight")
			}
			change = math.Max(change, math.Abs(sum-lengths[a])/math.Max(1, sum))
			lengths[a] = sum
		}
		if change < 1e-13 {
			return lengths, nil
		}
	}
	worst := 0
	for a, n := range lengths {
		if n > lengths[worst] {
			worst = a
		}
	}
	return nil, src.wrongAt(g.nts[worst].line, "the expected length of %q does not settle (it has passed %.0f words)", g.nts[worst].name, lengths[worst]).
		Fix("give its alternatives that end more weight")
}

// checkEnds refuses a nonterminal without any finite derivation, whatever the
// weights; the length check would only say that it is long.
func checkEnds(g *expanded, src *source) error {
	ends := make([]bool, len(g.nts))
	for changed := true; changed; {
		changed = false
		for a := range g.nts {
			for _, p := range g.nts[a].prods {
				all := !ends[a]
				for _, s := range p.syms {
					all = all && (s < 0 || ends[s])
				}
				if all {
					ends[a], changed = true, true
				}
			}
		}
	}
	for a, ok := range ends {
		if !ok {
			return src.wrongAt(g.nts[a].line, "%q never ends", g.nts[a].name).Fix("add an alternative that does not lead back to it")
		}
	}
	return nil
}
