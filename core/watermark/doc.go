// Package watermark holds what a watermarking sampler and the detector of its
// mark must agree on to the bit, and the detectors.
//
// Four marks are known. A green list raises the scores of a pseudo-random part
// of the vocabulary ([Green]); a tournament reweighs the distribution by
// pseudo-random bits at several depths ([Tournament]); a Gumbel mark draws the
// token with pseudo-random numbers from the tokens before it ([ContextMark]);
// a keyed sequence draws with numbers from a secret list that is walked through
// from a random place ([Sequence]). The first two repeat, to the bit, the
// generator of the PyTorch library, so that marks of other systems are found.
//
// The samplers themselves are in plugins/samplers/watermark: nothing here
// touches a distribution. Nothing here keeps a key secret either: settings are
// recorded with a run, and who knows them can remove a mark or forge it.
//
// Not here: the alignment of a keyed sequence under insertions and deletions (the
// edit distances of Kuditipudi et al. 2023); a text that was edited is found by the
// block that was left alone.
//
// Start with [Detect], which takes a text and says how likely so much of a mark
// is in a text without one. That probability is one-sided, and how it was found is
// named in the [Result]. What a text repeats is counted once, because a repeated
// draw proves nothing new.
package watermark
