package vec

import (
	"math"

	"golang.org/x/sys/cpu"
)

func machineLevel() level {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasFMA || !x.HasPOPCNT:
		return portable
	case !x.HasAVX512F || !x.HasAVX512DQ || !x.HasAVX512VL:
		return avx2
	}
	return avx512
}

// The functions below hand whole vectors to assembly and the rest to portable
// code. They call it directly and not through variables, so that what they
// point to may stay on the stack.

// width is how many scores are in a vector.
func (l level) width() int {
	if l == avx512 {
		return 16
	}
	return 8
}

// whole returns how many of n scores go to assembly.
func (l level) whole(n int) int {
	if l == portable {
		return 0
	}
	return n &^ (l.width() - 1)
}

func maxOf(l level, values []float32) float32 {
	n := l.whole(len(values))
	rest := portableMax(values[n:])
	if n == 0 {
		return rest
	}
	if l == avx512 {
		return max(rest, maxAVX512(&values[0], n))
	}
	return max(rest, maxAVX2(&values[0], n))
}

func leastOf(l level, values []float32) float32 {
	n := l.whole(len(values))
	rest := portableLeast(values[n:])
	if n == 0 {
		return rest
	}
	if l == avx512 {
		return min(rest, leastAVX512(&values[0], n))
	}
	return min(rest, leastAVX2(&values[0], n))
}

// infinity is the bits of +Inf.
const infinity = 0x7f800000

func finiteOf(l level, values []float32) bool {
	n := l.whole(len(values))
	ok := portableFinite(values[n:])
	switch {
	case n == 0 || !ok:
		return ok
	case l == avx512:
		return finiteAVX512(&values[0], n) < infinity
	}
	return finiteAVX2(&values[0], n) < infinity
}

// narrow is level.whole for passes without code for AVX-512.
func (l level) narrow(n int) int { return min(l, avx2).whole(n) }

func legalOf(l level, values []float32) bool {
	n := l.narrow(len(values))
	if n > 0 {
		signed, unsigned := legalAVX2(&values[0], n)
		if signed >= infinity || unsigned > 1<<31|infinity {
			return false
		}
	}
	return portableLegal(values[n:])
}

func withinOf(l level, values, before []float32) bool {
	n := l.narrow(len(values))
	return portableWithin(values[n:], before[n:]) && (n == 0 || withinAVX2(&values[0], n, &before[0]) == math.MaxUint32)
}

func ascendingOf(l level, ids []int32) bool {
	// The last id has none after it.
	n := l.narrow(max(0, len(ids)-1))
	return portableAscending(ids[n:]) && (n == 0 || ascendingAVX2(&ids[0], n) == math.MaxUint32)
}

func countOf(l level, values []float32, floor float32) int {
	n := l.whole(len(values))
	rest := portableCount(values[n:], floor)
	switch {
	case n == 0:
		return rest
	case l == avx512:
		return rest + int(countAVX512(&values[0], n, floor))
	}
	return rest + int(countAVX2(&values[0], n, floor))
}

func searchIn(l level, dst []int32, values []float32, base int, floor float32) (places []int32, seen int) {
	limit := cap(dst) - len(dst) - slack
	if n := l.whole(len(values)); n > 0 && limit >= 0 {
		to := dst[len(dst):cap(dst)]
		var found int
		if l == avx512 {
			seen, found = searchAVX512(&to[0], limit, &values[0], n, base, floor)
		} else {
			seen, found = searchAVX2(&to[0], limit, &values[0], n, base, floor)
		}
		dst = dst[:len(dst)+found]
		if seen < n {
			return dst, seen
		}
	}
	dst, rest := portableSearch(dst, values[seen:], base+seen, floor)
	return dst, seen + rest
}

func pickIn(l level, dst, values []float32, floor float32) (picked []float32, seen int) {
	limit := cap(dst) - len(dst) - slack
	if n := l.whole(len(values)); n > 0 && limit >= 0 {
		to := dst[len(dst):cap(dst)]
		var found int
		if l == avx512 {
			seen, found = pickAVX512(&to[0], limit, &values[0], n, floor)
		} else {
			seen, found = pickAVX2(&to[0], limit, &values[0], n, floor)
		}
		dst = dst[:len(dst)+found]
		if seen < n {
			return dst, seen
		}
	}
	dst, rest := portablePick(dst, values[seen:], floor)
	return dst, seen + rest
}

func sumGroups(l level, a *sums, values []float32, top float64) {
	switch n := len(values) / lanes; {
	case n == 0:
	case l == avx512:
		sumAVX512(&a[0], &values[0], n, top)
	case l == avx2:
		sumAVX2(&a[0], &values[0], n, top)
	default:
		portableSum(a, values, top)
	}
}

func leanGroups(l level, a, b *sums, values []float32, top float64) {
	switch n := len(values) / lanes; {
	case n == 0:
	case l == avx512:
		leanAVX512(&a[0], &b[0], &values[0], n, top)
	case l == avx2:
		leanAVX2(&a[0], &b[0], &values[0], n, top)
	default:
		portableLean(a, b, values, top)
	}
}

func weighGroups(l level, dst []float64, a, b *sums, values []float32, top float64) {
	switch n := len(values) / lanes; {
	case n == 0:
	case l == avx512:
		weighAVX512(&dst[0], &a[0], &b[0], &values[0], n, top)
	case l == avx2:
		weighAVX2(&dst[0], &a[0], &b[0], &values[0], n, top)
	default:
		portableWeigh(dst, a, b, values, top)
	}
}

func expsInto(l level, dst []float64, values []float32, top float64) {
	groups := len(values) / lanes
	switch {
	case l == portable:
		portableExps(dst, values, top)
		return
	case groups > 0 && l == avx512:
		expsAVX512(&dst[0], &values[0], groups, top)
	case groups > 0:
		expsAVX2(&dst[0], &values[0], groups, top)
	}
	if n := groups * lanes; n < len(values) {
		p := padded(values[n:])
		var w sums
		if l == avx512 {
			expsAVX512(&w[0], &p[0], 1, top)
		} else {
			expsAVX2(&w[0], &p[0], 1, top)
		}
		copy(dst[n:], w[:])
	}
}

func momentGroups(l level, a, b *sums, values []float32, shift float64) {
	switch n := len(values) / lanes; {
	case n == 0:
	case l >= avx2:
		momentsAVX2(&a[0], &b[0], &values[0], n, shift)
	default:
		portableMoments(a, b, values, shift)
	}
}

func sameOf(l level, values, other []float32) bool {
	n := l.narrow(len(values))
	return portableSame(values[n:], other[n:]) && (n == 0 || sameAVX2(&values[0], n, &other[0]) == math.MaxUint32)
}

func compareGroups(l level, s *deltas, t *terms, before []float32, beforeWeights []float64, after []float32, afterWeights []float64) flags {
	n := len(after) / lanes
	if n == 0 {
		return flags{}
	}
	var entered, moved uint32
	switch l {
	case avx512:
		entered, moved = compareAVX512(&s[0][0], &before[0], &beforeWeights[0], &after[0], &afterWeights[0], n, &t[0])
	case avx2:
		entered, moved = compareAVX2(&s[0][0], &before[0], &beforeWeights[0], &after[0], &afterWeights[0], n, &t[0])
	default:
		return portableCompare(s, t, before[:n*lanes], beforeWeights, after[:n*lanes], afterWeights)
	}
	return flags{entered: entered != 0, moved: moved != 0}
}
