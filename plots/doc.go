// Package plots is the catalogue of figures: each function takes plain numbers
// and strings and returns a [Figure] that writes itself as SVG, PNG or PDF, has
// its data as a table and its content as words.
//
// It does not know samplers, models, runs or scripts; whoever has numbers fills
// a struct. It draws nothing itself: pages come from plots/canvas, marks from
// plots/mark. Refused alternative: figures that take the core's own types. They
// would have tied every picture to one way of getting its numbers.
//
// What a picture states (tokens kept, mass, entropy, the finding in its title)
// is computed here from the distributions it shows, never taken from the caller,
// so that a figure cannot contradict itself. No figure panics; NaN and infinite
// entries are left out and counted; impossible ones are refused.
//
// Start with [Reshape] and [Options]; [Catalogue] lists what there is.
package plots
