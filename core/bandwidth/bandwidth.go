// Package bandwidth measures how fast this machine reads memory: what a model
// that reads its weights once per token can at best attain.
//
// It streams over a buffer with a number of goroutines, each over a part of its
// own, and counts bytes read, not written. A buffer larger than the caches
// measures memory, a smaller one the cache that holds it. It does not measure
// latency or writes, and it makes no claim about a single pass:
// take the median of several, made in turn with what is compared with them, since
// a busy machine slows both. Start with [New].
package bandwidth

import (
	"math/bits"
	"sync"
	"time"

	"lab/core/fault"
)

const (
	// Size of the buffer: larger than the last cache of all but a few servers.
	defaultBytes = 512 << 20
	mostBytes    = 16 << 30
	mostThreads  = 1024
)

// Buffer is memory to be read. Its passes are made one after another.
type Buffer struct {
	words   []uint64
	threads int
	sums    []uint64 // keep the reads from being optimised away
}

// New returns a buffer of the given size that is read with so many goroutines;
// 0 bytes are 512 MiB. It is touched once, so that its pages exist. Sizes outside
// 1 MiB to 16 GiB and threads outside 1 to 1024 are usage errors.
func New(size int64, threads int) (*Buffer, error) {
	if size == 0 {
		size = defaultBytes
	}
	if size < 1<<20 || size > mostBytes || bits.UintSize == 32 && size > 1<<30 {
		return nil, fault.New(fault.Usage, "bandwidth", "", "a buffer of %d bytes is outside 1 MiB to 16 GiB", size)
	}
	if threads < 1 || threads > mostThreads {
		return nil, fault.New(fault.Usage, "bandwidth", "", "%d threads are outside 1 to %d", threads, mostThreads)
	}
	b := &Buffer{words: make([]uint64, size/8), threads: threads, sums: make([]uint64, threads)}
	for i := range b.words {
		b.words[i] = uint64(i)
	}
	return b, nil
}

// Bytes returns the size of the buffer.
func (b *Buffer) Bytes() int64 { return int64(len(b.words)) * 8 }

// Threads returns how many goroutines read it.
func (b *Buffer) Threads() int { return b.threads }

// Pass reads the whole buffer once and returns the bytes read per second.
func (b *Buffer) Pass() float64 { return b.Passes(1) }

// Passes reads the whole buffer n times, at least once, and returns the bytes
// read per second: for a buffer that one pass is over with too soon to be timed.
func (b *Buffer) Passes(n int) float64 {
	n = max(n, 1)
	var all sync.WaitGroup
	start := time.Now()
	for t := range b.threads {
		part := b.words[len(b.words)*t/b.threads : len(b.words)*(t+1)/b.threads]
		all.Go(func() {
			for range n {
				b.sums[t] += sum(part)
			}
		})
	}
	all.Wait()
	return float64(n) * float64(b.Bytes()) / time.Since(start).Seconds()
}

// portableSum adds words up in four chains, so that the additions do not wait for
// one another and memory is what limits.
func portableSum(words []uint64) uint64 {
	var a, b, c, d uint64
	for len(words) >= 16 {
		w := words[:16:16]
		a += w[0] + w[4] + w[8] + w[12]
		b += w[1] + w[5] + w[9] + w[13]
		c += w[2] + w[6] + w[10] + w[14]
		d += w[3] + w[7] + w[11] + w[15]
		words = words[16:]
	}
	for _, w := range words {
		a += w
	}
	return a + b + c + d
}
