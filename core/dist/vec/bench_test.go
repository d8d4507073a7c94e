package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkPasses is every pass over a Gaussian row of the largest usual
// vocabulary; MB/s are of scores read.
//
// What to expect: the row is 1 MiB and lies in the second-level cache, which
// hands out some 50 bytes a cycle, so no pass takes less than 21,000 cycles. An
// exponential is 23 vector instructions of which two start in a cycle: 377,000
// cycles for all with 8 to a vector, twice that with 4, which is why AVX-512
// pays. The moments wait for two additions of 4 cycles a group of 8, 131,000
// cycles, whatever the width, so they have no code for AVX-512; nor have the
// checks, which wait for the cache.
func BenchmarkPasses(b *testing.B) {
	const n = 262144
	values := filled(rand.New(rand.NewPCG(1, 1)), n, 0, fills[0].next)
	top := float64(Max(values))
	w, places, picked := make([]float64, n), make([]int32, 0, n+slack), make([]float32, 0, n+slack)
	row, c := side(values, nil), new(Comparer)
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	for l := portable; l <= best; l++ {
		for _, p := range []struct {
			name string
			run  func()
		}{
			{"max", func() { maxOf(l, values) }},
			{"least", func() { leastOf(l, values) }},
			{"finite", func() { finiteOf(l, values) }},
			{"legal", func() { legalOf(l, values) }},
			{"same", func() { sameOf(l, values, values) }},
			{"compare", func() { c.compare(l, row, row) }},
			{"within", func() { withinOf(l, values, values) }},
			{"ascending", func() { ascendingOf(l, ids) }},
			{"count", func() { countOf(l, values, 4) }},
			{"find 0.01 percent", func() { findAll(l, places, values, 11.2) }},
			{"find 3 percent", func() { findAll(l, places, values, 5.6) }},
			{"find 9 percent", func() { findAll(l, places, values, 4) }},
			{"find half", func() { findAll(l, places, values, 0) }},
			{"pick 9 percent", func() { pickAll(l, picked, values, 4) }},
			{"sum", func() { sumOf(l, values, nil, top) }},
			{"lean", func() { leanOf(l, nil, values, nil, top) }},
			{"weigh", func() { leanOf(l, w, values, nil, top) }},
			{"exps", func() { expsInto(l, w, values, top) }},
			{"moments", func() { momentsOf(l, values, nil, 0) }},
			{"draw", func() { drawFrom(l, values, nil, top, 0.7) }},
		} {
			b.Run(fmt.Sprintf("%s/%v", p.name, l), func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					p.run()
				}
			})
		}
	}
}
