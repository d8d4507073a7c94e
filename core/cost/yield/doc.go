// Package yield joins what sampling gives to what it costs: the cost of a useful
// answer, quality per dollar, joule, second and FLOP, the expected cost of trying
// until an answer is useful, and which settings no other one beats in both.
//
// A [Setting] holds attempts at prompts, each with the value of its answer and what
// it took. From them [Compute] makes a row for each number n of attempts: the best of
// n, or as many as it takes up to n. Everything about n > 1 is estimated from the
// attempts that are there, without bias and without running anything again: what
// happens on average when n of them are drawn without replacement. [Stored] makes
// settings of a stored run.
//
// A unit that is not known of every attempt of a setting is absent there, never 0.
// Not here: formulas (core/cost), prices and devices (core/cost/tables), measures of
// text (core/measure).
package yield
