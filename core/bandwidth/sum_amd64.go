package bandwidth

import "golang.org/x/sys/cpu"

// sumAVX2 returns the sum of 32*groups words.
//
//go:noescape
func sumAVX2(words *uint64, groups int) uint64

// sum adds words up with loads as wide as those of a model's kernels: the caches
// give more than narrow ones can take. Assembly runs for a mebibyte at most, as it
// cannot be preempted.
func sum(words []uint64) (all uint64) {
	const most = 1 << 12
	for cpu.X86.HasAVX2 && len(words) >= 32 {
		groups := min(len(words)/32, most)
		all += sumAVX2(&words[0], groups)
		words = words[groups*32:]
	}
	return all + portableSum(words)
}
