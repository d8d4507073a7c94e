// Package bytegram matches text against a grammar over bytes, and says which
// tokens of a vocabulary may come next.
//
// Here: expressions ([Expr]) that a front end builds from its own notation,
// their compilation to networks of states with calls between rules
// ([Grammar.Compile]), the matcher that follows every parse at once
// ([Matcher]), the tree of a vocabulary's texts ([Trie]). Characters become
// sequences of UTF-8 bytes when a class is compiled, so nothing later knows
// where a character ends and a token may split one anywhere.
//
// Not here: notations (packages gbnf, regex, schema beside this one), rows of
// scores, settings.
//
// How it works. A rule is a finite automaton whose edges read a byte, read a
// whole token, or call a rule. A parse is a place in a rule and a stack of
// places to return to. All parses of a text are kept at once: stacks that share
// their lower part share the memory (a [frame] may have several callers), so
// that an ambiguous grammar costs polynomial and not exponential room. Sets of
// parses are interned and remember the set that follows each byte: a
// deterministic automaton that is built as far as it is used.
//
// The mask of a set of parses is computed once per place and not per stack: of
// the tokens read from the places in a rule, most stay in it or fail in it
// whatever called it, and only at the points of the vocabulary tree where the
// rule ends does the caller matter. Inside a JSON string, for example, those
// points are the tokens with a quote.
//
// A grammar comes from a stranger. Its automata, the parses at one byte, the
// depth of a stack, the work of a call and all tables are bounded, see the
// constants most*. Left recursion is refused with the cycle of rules.
package bytegram

// The bounds. Exceeding one of the first group is an error that says so; the
// second group bounds tables that are thrown away when full.
const (
	mostNodes   = 1 << 18 // places of all rules together
	mostEdges   = 1 << 21 // between them, when empty steps are gone
	mostRules   = 1 << 16
	mostParses  = 1 << 14 // at one byte of the text
	mostCallers = 1 << 13 // of one frame
	mostMemo    = 60 << 10
	mostWork    = 1 << 30 // of one call of Next, see machine.work

	mostStates    = 1 << 14
	mostFrames    = 1 << 16
	mostMaskBytes = 16 << 20
)
