// Package steptime fits the time of a model's calls to measurements: the few
// free constants of F9 and F11 of the cost model, with intervals and residuals,
// and what they say of contexts and batches that were not measured.
//
// What a call does (bytes of weights, operations, bytes of cache) is the
// backend's own count, so that no architecture is guessed; what a unit of each
// costs is fitted. The time of a decode step is
//
//	sum:    w·weights + f·operations + k·cache + t0 + r·batch
//	split:  max(w·weights, f·operations) + k·cache + t0 + r·batch
//
// Sum is a machine on which reading weights and arithmetic do not overlap, split
// (F9) one on which the longer hides the other: weights at small batches,
// operations at large ones. [Fit] takes the form that explains the points better
// for its number of constants (AICc, Hurvich and Tsai 1989). Terms which the
// points cannot tell apart are one: in a dense model every step reads the same
// weights, so w·weights holds t0 as well, and the bandwidth of weights is a lower
// bound (F11).
//
// Constants are not negative. The fit is that of a quasi-likelihood whose spread
// grows with the mean (McCullagh and Nelder 1989, chapter 9), because times range
// over powers of ten and are disturbed by shares of themselves, with Huber's
// weights (Huber 1981) against moments in which the machine did something else.
// Start with [Fit].
package steptime
