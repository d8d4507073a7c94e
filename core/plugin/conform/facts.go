package conform

import "math/rand/v2"

// Facts are what the laws should know of a sampler and its declaration does not
// say. A law that does not hold for it is excused here, with the reason.
type Facts struct {
	Off   []any  // settings, name and value in turn, at which it changes nothing to the bit; not nil when there are none to give
	NoOff string // why there are none

	// Moves says why adding a constant to every score changes the result; empty:
	// it changes nothing.
	Moves string

	// ByID says why of two tokens with equal scores the one of higher id may stay
	// alone; empty: it never does.
	ByID string

	// Head says that it removes the best tokens, so that of equal ones those of
	// the highest ids stay.
	Head bool

	Fresh bool // the context is all prompt, since few others can be continued

	Draws []any // settings of a selector at which its draws are counted, name and value in turn

	// Settings replaces settings drawn from the declaration, by name, for a
	// vocabulary of n tokens.
	Settings func(g *rand.Rand, n int) map[string]any
}
