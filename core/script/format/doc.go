// Package format lays out Tengo scripts in one way, as gofmt does for Go.
//
// The layout: one tab for each level of indentation, and one more for a line
// that goes on with an expression; one blank around binary operators, none
// inside of brackets; at most one blank line, and none after an opening bracket
// or before a closing one; comments at the ends of lines that follow each other
// are aligned; line ends are "\n" and the last line has one. Where lines break,
// which commas and semicolons there are, and every word, literal and comment stay
// as the author wrote them.
//
// It works on the tokens, with the comments, which Tengo's parser drops; the
// syntax tree only tells a minus from a sign and a map from a block. Tengo ends
// statements at line breaks, so no line break is ever made or taken away where it
// counts; and the tokens of the result are compared with those of the source
// before it is returned, so that it can lose no comment and compiles to the same
// bytecode. Not here: what is wrong with a script (core/script/lint).
//
// Start with [Source]. Cells of notebooks go through [Cell].
package format
