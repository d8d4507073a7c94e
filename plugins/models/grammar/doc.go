// Package grammar is a language whose probabilities are known: a probabilistic
// context-free grammar of everyday English, and the exact distribution of the
// next token after any prefix. As the backend "grammar" it is a ground truth
// that no trained model offers: text can be scored for truth, and a model for
// its distance from it. The model "tiny" is trained on its text.
//
// # How the next token is computed
//
// A prefix has finitely many leftmost derivations that matter: what is left of
// one is a stack of symbols still to be produced, and derivations with equal
// stacks are one. A [State] is the set of these stacks with their shares of the
// prefix's probability. The next-token distribution is the weighted sum of the
// first-token distributions of the stacks' tops, which are tabulated per
// nonterminal when the grammar is loaded ([Parse]). A token keeps the stacks
// that can produce it, divides by their sum and adds its log2 to the log
// probability, so nothing underflows however long the text grows. This is the
// prefix probability of Stolcke ("An efficient probabilistic context-free
// parsing algorithm that computes prefix probabilities", Computational
// Linguistics 21(2), 1995) in the special case without left recursion, where
// his closures are finite sums. Refused, with the line: left recursion (also
// through symbols that can be empty), grammars whose expected length is not
// finite, symbols that are undefined or never used, weights that are not
// positive. Empty alternatives are handled exactly. Grammars that need left
// recursion would need a chart parser with matrix closures; none of the English
// here does, and the tables make a step cost microseconds.
//
// Words become tokens by the same tokenizer a text would go through, and
// loading proves that a whole document is split at the same places (see
// checkBorders); so a text has exactly one token sequence and one probability.
//
// # The file
//
// english.pcfg is the grammar, vocab.json its vocabulary. The command in folder
// vocab builds the vocabulary from the grammar, the one in folder corpus writes
// training text with its true distributions. A model trained on them is tied to
// the vocabulary, whose ids must not change; so it is built once and stays as it
// is when the grammar's text is corrected later.
//
// Lines that start with # are comments; headings stand at the margin, and what
// belongs to them is indented. A line that ends in " \" goes on in the next.
//
//	start document                  the symbol every document comes from
//
//	set animal  one  says           a finite feature: its members and, for
//	  dog:      dog  barks          each, a word per field (_ is a space)
//	  cat:      cat  purrs
//
//	rule sound a:animal             a rule with a variable over a set
//	  3 The {a.one} {a.says} .      weight, then words; {a.one} is a field,
//	  1 <sound-at a> !              {a.One} the same with a capital
//	  1 ?a=dog,cow Listen !         only for these members; ?a!=dog for others
//	  2 @b:animal!=a <both a b>     once for every other member b, sharing
//	                                the weight of 2
//
// <name x y> refers to a rule; an argument is a variable or a member. ( a | b *3
// | ) is a choice with weights, 1 where none is given, the last one empty here.
// Words carry a space in front, but . , ? ! : ; do not, nor does a word, group or
// reference with ~ before it. \n is a line break, \( a bracket. Weights count
// within their rule.
//
// Start with [English] and [Language.Start], or [New] for the backend.
package grammar
