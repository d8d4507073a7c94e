// Package plots is the catalogue of figures: each function takes plain numbers
// and strings and returns a [Figure] that writes itself as SVG, PNG or PDF, as a
// Vega-Lite specification or in characters, has its data as a table and its
// content as words.
//
// There are figures of one step of a model ([Reshape], [Temperatures], [Chain])
// and general charts over two quantities ([Line], [Scatter]), over categories
// ([Bar], [Heat]) and of samples ([Hist], [Ecdf], [Violin]).
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
// A figure is made in three parts: its data are checked and placed, a page is
// drawn (Options.sheet opens it), and Options.finish takes what a figure is
// besides its picture: words, table, specification, characters. The picture is
// drawn at once; the rest when it is asked for, from a copy of the data.
//
// Start with [Reshape], or [Line], and [Options]; [Catalogue] lists what there
// is, each with an example.
package plots
