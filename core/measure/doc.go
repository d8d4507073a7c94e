// Package measure turns samples into numbers, and numbers into statements that
// can be defended: measures of text and of recorded steps, estimates with an
// interval, tests of differences, and what to say when the best of many is
// reported.
//
// Measures of a sequence take tokens of any comparable type, so that ids and
// words are counted by the same code; [Words] splits a text. [Named] gives the
// measures of recorded samples by the names that tables and scripts use. Every
// aggregate is an [Estimate]; how its interval is made is an argument,
// [Interval], never a hidden choice. What cannot be known is NaN with a note, or
// an error, and never an interval of no width.
//
// Entropies and surprisals are in bits; "model" and "sampling" name the two
// distributions of a step as everywhere in lab. All functions are pure, keep
// nothing of what they are given and are safe for concurrent use. What is random
// takes a seed and draws from the counter-based streams of core/seed, so that
// equal arguments give equal bits.
//
// Not here: how samples are made (core/generate), stored or drawn.
package measure
