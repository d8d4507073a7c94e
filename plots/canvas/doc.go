// Package canvas draws pages: a header, panels with axes, text that never turns
// into an empty box, and the files that come of it (SVG, PNG, PDF).
//
// It knows nothing of language models: a token is here just a string whose
// blanks and controls must be seen. It has no plot types either; marks live in
// plots/mark, figures in plots. gonum/plot draws inside a panel's data
// rectangle (a mark is a gonum Plotter); everything around that rectangle is
// ours, because the library's axes panic or hang on empty, constant, zero and
// NaN data, and its text depends on the reader's fonts.
//
// A page is drawn from the top down and cut where its content ends. It is not
// drawn into a file but into a list of shapes in page coordinates, from which
// every format is written; so the three formats agree, and "nothing lies
// outside the page" can be asked of the list. SVG is written here rather than
// with the library's writer because a glyph can then be stored once and used
// many times (a page of labels shrinks about tenfold), text can carry its words,
// and the picture a title and a description.
//
// Text runs through a chain of faces: Liberation, DejaVu, faces found at run
// time when folders are named, and at last the code point in visible form. No
// shaping is done: Arabic letters stay unjoined, Indic clusters and emoji
// sequences come out letter by letter; runs of right-to-left letters are laid
// out from right to left.
//
// Lengths are points (1/72 inch) in vg.Length, y grows upwards as in gonum/plot
// and the top of a page is y = 0. Nothing here is safe for concurrent use but a
// finished [Picture]; two pages never share anything.
//
// Start with [NewPage].
package canvas
