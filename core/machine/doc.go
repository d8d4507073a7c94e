// Package machine knows what the machine it runs on can do at most: how many
// bytes a second it reads and how many multiplications and additions a second
// it makes. They are measured once and kept with the day, the processor's name
// and the threads, so that a model's speed can be set against them.
//
// Not here: what a model needs (core/profile), and the published figures of
// other hardware. A rate is the most of several passes, because what is computed
// from it is a floor of time: whatever disturbed the others only hid what the
// machine can do. The arithmetic is a loop of independent fused multiply-adds in
// registers, of the widest kind that the processor has and the kernels of
// plugins use, so that no kernel can beat it; where there is no such assembly it
// is plain Go, and Kind says so. Start with [Measure], [Load] and [Save].
package machine
