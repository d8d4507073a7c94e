// Package mark holds the marks that figures are made of: bars with ghost
// outlines, bars to both sides of zero, columns, lollipops, curves, steps, bands,
// whiskers, markers, violins, tiles, reference lines, labels at the ends of lines
// and beside points, and the thinning of what is too much to draw. A mark is a gonum Plotter: it is handed to
// [lab/plots/canvas.Panel.Draw] and draws in the panel's coordinates, which are
// log10 of the value on a log axis.
//
// A mark knows shapes and colours, not probabilities or tokens, and chooses no
// colour itself. Marks with words need the page, since its fonts draw them.
//
// Start with [Bars].
package mark
