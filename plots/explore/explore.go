// Package explore writes a page on which a reader changes the sampling chain of
// a real next-token distribution, draws, and steps forward.
//
// The page computes in plain JavaScript what the core computes in Go, so that
// the same seed gives the same token as the command line; the tests compare the
// two. It carries whole rows of scores, never a head with an invented tail.
package explore

import _ "embed"

//go:embed assets/arithmetic.js
var arithmetic string
