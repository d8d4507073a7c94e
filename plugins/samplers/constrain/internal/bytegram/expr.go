package bytegram

type kind uint8

const (
	kEmpty kind = iota
	kNone
	kClass
	kLiteral
	kSeq
	kAlt
	kRepeat
	kRef
	kToken
)

// Expr is an expression: a set of texts. It must not be changed once it is
// built. An expression used in several places is compiled once for each place
// that it can continue in, so sharing costs nothing.
type Expr struct {
	kind     kind
	label    string // where it stands in the source, for messages
	ranges   []Range
	text     string
	subs     []*Expr
	min, max int
	rule     int
	token    Token
}

// Token is one token of the vocabulary: the one with the number ID, or when
// Text is not empty the one with that text; Not: any other token that has a
// text.
type Token struct {
	ID   int32
	Text string
	Not  bool
}

// Unlimited is the upper bound of a repetition without one.
const Unlimited = -1

// Empty matches the empty text.
func Empty() *Expr { return &Expr{kind: kEmpty} }

// None matches nothing.
func None() *Expr { return &Expr{kind: kNone} }

// Class matches one code point in one of the ranges, as far as it is in the
// alphabet that the grammar is compiled for. label says where it stands
// in the source.
func Class(label string, ranges ...Range) *Expr {
	return &Expr{kind: kClass, label: label, ranges: ranges}
}

// Literal matches exactly the bytes of text.
func Literal(label, text string) *Expr {
	if text == "" {
		return Empty()
	}
	return &Expr{kind: kLiteral, label: label, text: text}
}

// Seq matches its parts one after the other.
func Seq(parts ...*Expr) *Expr {
	if len(parts) == 1 {
		return parts[0]
	}
	return &Expr{kind: kSeq, subs: parts}
}

// Alt matches any of its choices; none of them: nothing.
func Alt(choices ...*Expr) *Expr {
	if len(choices) == 1 {
		return choices[0]
	}
	return &Expr{kind: kAlt, subs: choices}
}

// Opt matches x or the empty text.
func Opt(x *Expr) *Expr { return Alt(x, Empty()) }

// Repeat matches x at least min and at most most times, or without an upper
// bound for [Unlimited].
func Repeat(x *Expr, min, most int) *Expr {
	return &Expr{kind: kRepeat, subs: []*Expr{x}, min: min, max: most}
}

// Ref matches what a rule of the grammar matches.
func Ref(rule int) *Expr { return &Expr{kind: kRef, rule: rule} }

// OneToken matches a token of the vocabulary as a whole.
func OneToken(label string, t Token) *Expr { return &Expr{kind: kToken, label: label, token: t} }

// Grammar is a list of named rules. The zero value is empty and ready.
type Grammar struct {
	rules []rule
}

type rule struct {
	name string
	body *Expr
}

// Rule adds a rule without a body and returns its number. The name is for
// messages and need not be unique.
func (g *Grammar) Rule(name string) int {
	g.rules = append(g.rules, rule{name: name})
	return len(g.rules) - 1
}

// Define sets the body of a rule.
func (g *Grammar) Define(rule int, body *Expr) { g.rules[rule].body = body }

// Add adds a rule with its body.
func (g *Grammar) Add(name string, body *Expr) int {
	r := g.Rule(name)
	g.Define(r, body)
	return r
}
