package grammar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/spm"
)

// Language is a grammar compiled against a tokenizer: it gives every text a
// probability. It does not change and is safe for concurrent use.
type Language struct {
	name    string
	tok     *spm.Tokenizer
	symbols int32 // symbols below are tokens, from here on nonterminals
	nts     []compiled
	prods   int
	length  float64
	root    *node // the stack of the start symbol and EOS
}

// compiled is one nonterminal with its leftmost expansions.
type compiled struct {
	name  string
	prods []rewrite
	eps   float64 // probability of the empty string
	// first are the ways to produce the first token, sorted by token.
	first []expansion
	// tokens and probs are first summed per token.
	tokens []int32
	probs  []float64
}

// rewrite is a production over tokens and nonterminals.
type rewrite struct {
	prob float64
	syms []int32
	alt  int // number of the written alternative it comes from
}

// expansion is a first token, what must follow it, and with which probability.
type expansion struct {
	token int32
	rest  []int32
	prob  float64
}

// Parse reads a grammar and compiles it against a tokenizer, which must have a
// BOS and an EOS token. It accepts every probabilistic context-free grammar
// without left recursion whose documents have a finite expected length, the
// empty string included; an error, of kind data, names the file's line.
func Parse(name string, text []byte, tok *spm.Tokenizer) (*Language, error) {
	src, err := parseSource(name, text)
	if err != nil {
		return nil, err
	}
	g, err := expand(src)
	if err != nil {
		return nil, err
	}
	v := tok.Vocab()
	if v.EOS < 0 || v.BOS < 0 {
		return nil, fault.New(fault.Data, "grammar", name, "the tokenizer has no BOS or no EOS token, which begin and end a document")
	}
	if !v.AddSpacePrefix {
		return nil, fault.New(fault.Data, "grammar", name, "the tokenizer puts no space before a text, but the grammar's words carry theirs")
	}
	order, err := leftmostOrder(g, src)
	if err != nil {
		return nil, err
	}
	if err := checkEnds(g, src); err != nil {
		return nil, err
	}
	lengths, err := expectedLengths(g, src)
	if err != nil {
		return nil, err
	}
	if err := checkBorders(g, src, nullable(g), mergeable(v)); err != nil {
		return nil, err
	}
	l := &Language{name: name, tok: tok, symbols: int32(tok.Size()), length: lengths[0]}
	if err := l.compile(g, order); err != nil {
		return nil, err
	}
	l.root = push(push(nil, v.EOS), l.symbols)
	return l, nil
}

// mergeable returns the texts of the pieces that merging can produce.
func mergeable(v spm.Vocab) []string {
	var out []string
	for i, p := range v.Pieces {
		if t := v.Types[i]; t == spm.Normal || t == spm.UserDefined || t == spm.Unused {
			out = append(out, strings.ReplaceAll(p, spm.Space, " "))
		}
	}
	return out
}

// compile turns terminals into tokens and computes the leftmost expansions, in
// an order in which those that can begin a nonterminal come before it.
func (l *Language) compile(g *expanded, order []int32) error {
	terms, err := tokenizeTerms(g.terms, l.tok)
	if err != nil {
		return err
	}
	eps := nullProbs(g, order)
	l.nts = make([]compiled, len(g.nts))
	for i, nt := range g.nts {
		c := &l.nts[i]
		c.name, c.eps = nt.name, eps[i]
		for _, p := range nt.prods {
			var syms []int32
			for _, s := range p.syms {
				if s < 0 {
					syms = append(syms, terms[^s]...)
				} else {
					syms = append(syms, l.symbols+s)
				}
			}
			c.prods = append(c.prods, rewrite{p.prob, syms, p.alt})
		}
		l.prods += len(nt.prods)
	}
	b := budget{expansions: maxExpansions, cells: maxCells}
	for _, a := range order {
		if !l.expandFirst(&l.nts[a], &b) {
			return fault.New(fault.Data, "grammar", fmt.Sprintf("%s:%d", l.name, g.nts[a].line), "%q begins in too many ways", g.nts[a].name).
				Fix("factor the rules it can begin with")
		}
	}
	return nil
}

// budget is what the leftmost expansions may still take.
type budget struct{ expansions, cells int }

// tokenizeTerms encodes each terminal on its own, without the space that a
// whole text is given.
func tokenizeTerms(terms []string, tok *spm.Tokenizer) ([][]int32, error) {
	v := tok.Vocab()
	v.AddSpacePrefix = false
	bare, err := spm.New(v)
	if err != nil {
		return nil, err
	}
	out := make([][]int32, len(terms))
	for i, t := range terms {
		out[i] = bare.Encode([]byte(t))
	}
	return out, nil
}

// expandFirst computes c.first from the nonterminals that can begin c: for
// each production, the first token of its first symbol, or, as far as the
// symbols before it are empty, of a later one. Equal expansions are merged.
// It returns false when the budget is spent.
func (l *Language) expandFirst(c *compiled, b *budget) bool {
	index := map[string]int{}
	var key []byte
	add := func(token int32, before, after []int32, p float64) {
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(token))
		for _, part := range [2][]int32{before, after} {
			for _, s := range part {
				key = binary.LittleEndian.AppendUint32(key, uint32(s))
			}
		}
		if i, ok := index[string(key)]; ok {
			c.first[i].prob += p
			return
		}
		b.expansions--
		b.cells -= len(before) + len(after)
		if b.expansions < 0 || b.cells < 0 {
			return
		}
		index[string(key)] = len(c.first)
		c.first = append(c.first, expansion{token, slices.Concat(before, after), p})
	}
	for _, p := range c.prods {
		w := p.prob
		for i, s := range p.syms {
			after := p.syms[i+1:]
			if s < l.symbols {
				add(s, nil, after, w)
				break
			}
			x := &l.nts[s-l.symbols]
			for _, e := range x.first {
				add(e.token, e.rest, after, w*e.prob)
			}
			if b.expansions < 0 || b.cells < 0 {
				return false
			}
			if w *= x.eps; w == 0 {
				break
			}
		}
	}
	slices.SortStableFunc(c.first, func(a, b expansion) int { return int(a.token) - int(b.token) })
	for _, e := range c.first {
		if n := len(c.tokens); n > 0 && c.tokens[n-1] == e.token {
			c.probs[n-1] += e.prob
			continue
		}
		c.tokens = append(c.tokens, e.token)
		c.probs = append(c.probs, e.prob)
	}
	return true
}

// starting returns the expansions of c that begin with token.
func (c *compiled) starting(token int32) []expansion {
	i, ok := slices.BinarySearchFunc(c.first, token, func(e expansion, t int32) int { return int(e.token) - int(t) })
	if !ok {
		return nil
	}
	j := i
	for j < len(c.first) && c.first[j].token == token {
		j++
	}
	return c.first[i:j]
}

// Tokenizer returns the tokenizer the language was compiled against.
func (l *Language) Tokenizer() *spm.Tokenizer { return l.tok }

// Productions returns the number of productions after expansion of features
// and groups.
func (l *Language) Productions() int { return l.prods }

// Start returns the state before the first token of a document, which is also
// the state after BOS.
func (l *Language) Start() State {
	return State{lang: l, live: []weighted{{l.root, 1}}}
}

// Surprisals returns -log2 of the true probability of every token, given those
// before it, in bits. tokens are a document or its beginning, without BOS; EOS
// may be the last. A token that the language rules out is the error of
// [State.Advance].
func (l *Language) Surprisals(tokens []int32) ([]float64, error) {
	out := make([]float64, len(tokens))
	s := l.Start()
	for i, token := range tokens {
		next, err := s.Advance(token)
		if err != nil {
			return nil, err
		}
		out[i] = -next.last
		s = next
	}
	return out, nil
}

// LogProb2 returns log2 of the probability that a document is exactly text. It
// is the error of [State.Advance] when that is impossible.
func (l *Language) LogProb2(text []byte) (float64, error) {
	s := l.Start()
	var err error
	for _, token := range append(l.tok.Encode(text), l.tok.Vocab().EOS) {
		if s, err = s.Advance(token); err != nil {
			return 0, err
		}
	}
	return s.LogProb2(), nil
}

// show returns a token for a message: its text in quotes, or its name.
func (l *Language) show(token int32) string {
	v := l.tok.Vocab()
	if t := v.Types[token]; t == spm.Control || t == spm.Unknown {
		return v.Pieces[token]
	}
	p, err := l.tok.Piece(token)
	if err != nil {
		return fmt.Sprint(token)
	}
	return fault.Quote(string(bytes.ToValidUTF8(p, []byte("�"))), 40)
}
