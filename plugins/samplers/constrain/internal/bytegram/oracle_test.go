package bytegram

import (
	"math/rand/v2"
	"unicode/utf8"
)

// oracle answers from the expressions themselves, by trying everything, what the
// compiled program answers from its states. It shares no code with it.
type oracle struct {
	g    *Grammar
	text string
	ends map[at]map[int]bool
	live map[int]bool // rules that match some text
}

type at struct {
	e *Expr
	i int
}

func newOracle(g *Grammar, text string) *oracle {
	o := &oracle{g: g, text: text, ends: map[at]map[int]bool{}, live: map[int]bool{}}
	for range g.rules {
		for i, r := range g.rules {
			if !o.live[i] && o.matchesSome(r.body) {
				o.live[i] = true
			}
		}
	}
	return o
}

// matchesSome reports whether an expression matches some text, by the rules
// known to.
func (o *oracle) matchesSome(e *Expr) bool {
	switch e.kind {
	case kNone:
		return false
	case kSeq:
		for _, s := range e.subs {
			if !o.matchesSome(s) {
				return false
			}
		}
	case kAlt:
		for _, s := range e.subs {
			if o.matchesSome(s) {
				return true
			}
		}
		return false
	case kRepeat:
		return e.min == 0 || o.matchesSome(e.subs[0])
	case kRef:
		return o.live[e.rule]
	}
	return true
}

// matches returns where the matches of e that begin at i end.
func (o *oracle) matches(e *Expr, i int) map[int]bool {
	if m, ok := o.ends[at{e, i}]; ok {
		return m
	}
	out := map[int]bool{}
	switch e.kind {
	case kEmpty:
		out[i] = true
	case kClass:
		r, n := utf8.DecodeRuneInString(o.text[i:])
		if n > 0 && (r != utf8.RuneError || n > 1) && in(e.ranges, r) {
			out[i+n] = true
		}
	case kLiteral:
		if len(o.text)-i >= len(e.text) && o.text[i:i+len(e.text)] == e.text {
			out[i+len(e.text)] = true
		}
	case kSeq:
		out[i] = true
		for _, s := range e.subs {
			out = o.each(s, out)
		}
	case kAlt:
		for _, s := range e.subs {
			for j := range o.matches(s, i) {
				out[j] = true
			}
		}
	case kRepeat:
		now := map[int]bool{i: true}
		for n := 0; len(now) > 0 && (e.max == Unlimited || n <= e.max) && n <= e.min+len(o.text)+1; n++ {
			if n >= e.min {
				for j := range now {
					out[j] = true
				}
			}
			now = o.each(e.subs[0], now)
		}
	case kRef:
		out = o.matches(o.g.rules[e.rule].body, i)
	}
	o.ends[at{e, i}] = out
	return out
}

func (o *oracle) each(e *Expr, from map[int]bool) map[int]bool {
	out := map[int]bool{}
	for i := range from {
		for j := range o.matches(e, i) {
			out[j] = true
		}
	}
	return out
}

// begins reports whether all of the text from i on begins a match of e.
func (o *oracle) begins(e *Expr, i int) bool {
	if !o.matchesSome(e) {
		return false
	}
	if i == len(o.text) {
		return true
	}
	switch e.kind {
	case kClass:
		rest := o.text[i:]
		for _, r := range e.ranges {
			for c := r.Lo; c <= r.Hi; c++ {
				if s := string(c); len(rest) <= len(s) && s[:len(rest)] == rest {
					return true
				}
			}
		}
	case kLiteral:
		rest := o.text[i:]
		return len(rest) <= len(e.text) && e.text[:len(rest)] == rest
	case kSeq:
		from := map[int]bool{i: true}
		for _, s := range e.subs {
			for j := range from {
				if o.begins(s, j) {
					return true
				}
			}
			from = o.each(s, from)
		}
		return from[len(o.text)]
	case kAlt:
		for _, s := range e.subs {
			if o.begins(s, i) {
				return true
			}
		}
	case kRepeat:
		from := map[int]bool{i: true}
		for n := 0; len(from) > 0 && (e.max == Unlimited || n < e.max) && n <= e.min+len(o.text)+1; n++ {
			for j := range from {
				if o.begins(e.subs[0], j) {
					return true
				}
			}
			from = o.each(e.subs[0], from)
		}
	case kRef:
		return o.begins(o.g.rules[e.rule].body, i)
	}
	return false
}

func in(ranges []Range, r rune) bool {
	for _, x := range ranges {
		if x.Lo <= r && r <= x.Hi {
			return true
		}
	}
	return false
}

// randomGrammar returns a grammar over a, b and é. Rules call later ones freely
// and earlier ones after a letter, so that none is left-recursive.
func randomGrammar(r *rand.Rand) *Grammar {
	g := &Grammar{}
	n := 1 + r.IntN(4)
	for range n {
		g.Rule("r")
	}
	letter := func() *Expr {
		switch r.IntN(5) {
		case 0:
			return Class("", Range{'a', 'b'})
		case 1:
			return Class("", Range{'b', 'b'}, Range{'é', 'ê'})
		}
		return Literal("", []string{"a", "b", "é", "ab", "ba", "aé"}[r.IntN(6)])
	}
	var expr func(rule, depth int) *Expr
	expr = func(rule, depth int) *Expr {
		if depth == 0 {
			return letter()
		}
		several := func() []*Expr {
			list := make([]*Expr, 1+r.IntN(3))
			for i := range list {
				list[i] = expr(rule, depth-1)
			}
			return list
		}
		switch r.IntN(9) {
		case 0:
			return letter()
		case 1, 2:
			return Seq(several()...)
		case 3, 4:
			return Alt(several()...)
		case 5:
			least := r.IntN(3)
			return Repeat(expr(rule, depth-1), least, []int{Unlimited, least + r.IntN(3)}[r.IntN(2)])
		case 6:
			return Opt(expr(rule, depth-1))
		case 7:
			if rule+1 < n {
				return Ref(rule + 1 + r.IntN(n-rule-1))
			}
			return Empty()
		}
		return Seq(letter(), Ref(r.IntN(n)), expr(rule, depth-1))
	}
	for i := range n {
		g.Define(i, expr(i, 2+r.IntN(2)))
	}
	return g
}
