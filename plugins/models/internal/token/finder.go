package token

// Finder finds tokens that are written out in a text: a tree of their
// spellings, byte by byte. The zero value finds none. Adding is not safe for
// concurrent use, finding is.
type Finder struct {
	children map[branch]int32
	tokens   []int32 // by node: the token spelled on the way to it, -1 for none
}

// branch names a child of a node; the root is node 0.
type branch struct {
	node int32
	next byte
}

// Add makes a token known; one that spells nothing is never found, and of two
// that spell the same the first is kept.
func (f *Finder) Add(text string, id int32) {
	if text == "" {
		return
	}
	if f.children == nil {
		f.children, f.tokens = map[branch]int32{}, []int32{-1}
	}
	node := int32(0)
	for i := range len(text) {
		at := branch{node, text[i]}
		child, ok := f.children[at]
		if !ok {
			child = int32(len(f.tokens))
			f.tokens = append(f.tokens, -1)
			f.children[at] = child
		}
		node = child
	}
	if f.tokens[node] < 0 {
		f.tokens[node] = id
	}
}

// Find returns where the first token is written out in a text, the longest of
// those that start there, and how many bytes it takes: 0, and the end of the
// text as the place, when there is none.
func (f *Finder) Find(text []byte) (at int, id int32, n int) {
	for at := range text {
		if id, n := f.At(text[at:]); n > 0 {
			return at, id, n
		}
	}
	return len(text), -1, 0
}

// At returns the longest token that a text starts with, and its length; the
// length is 0 when there is none.
func (f *Finder) At(text []byte) (id int32, n int) {
	id = -1
	f.walk(text, func(depth int, token int32) {
		if token >= 0 {
			id, n = token, depth
		}
	})
	return id, n
}

// walk follows a text down the tree as far as it goes, calls visit for every
// node reached, and reports whether the text ended before the tree did.
func (f *Finder) walk(text []byte, visit func(depth int, token int32)) (whole bool) {
	node := int32(0)
	for i, b := range text {
		child, ok := f.children[branch{node, b}]
		if !ok {
			return false
		}
		node = child
		visit(i+1, f.tokens[node])
	}
	return true
}

// Prefixes calls visit for every token that a text starts with, the shortest
// first, with its length.
func (f *Finder) Prefixes(text []byte, visit func(n int, id int32)) {
	f.walk(text, func(depth int, token int32) {
		if token >= 0 {
			visit(depth, token)
		}
	})
}
