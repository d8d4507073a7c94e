// Package explore makes a page on which a reader changes the sampling chain of a
// real next-token distribution, draws, and steps forward.
//
// The page computes in plain JavaScript what the core computes in Go: the same
// operations in the same order, so that the same seed gives the same token as the
// command line. Tests compare the two to the bit. A context's row is whole, or the
// head of one with the mass of the others, which is then treated as the core
// treats backends that list their likeliest tokens only: what cannot be known is
// refused, never guessed.
//
// [Write] makes a file that needs nothing else and says so when a step leads where
// it carries no scores. [NewServer] serves the page on this machine and asks for
// the scores of every step. Neither loads anything from elsewhere: a content
// security policy allows the page's own script and style only.
package explore

import (
	"bytes"
	"fmt"
	"io"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
)

// Node is one context with its scores. A row with an unlisted mass holds raw
// scores or log probabilities, whichever; only their differences matter.
type Node struct {
	Path []int32 // tokens after the prompt; empty for the prompt itself
	Row  dist.Scores
}

// Page is what a page shows.
type Page struct {
	Prompt []byte // the bytes that select the stream of random numbers
	Model  string // its name, for the reader
	Flags  string // of the commands that show the same, for a shell: "--model tiny"
	Seed   uint64 // with which the page opens
	List   int    // how many tokens to list; below 1 is an error
	Pieces [][]byte
	End    []int32 // tokens that end a text
	Nodes  []Node  // the prompt itself first

	Samplers []sampler.Declaration // at least those of [Stages]
	Chain    []Setting             // with which the page opens
}

const op = "explore"

// Head returns a context with its n likeliest tokens, ties by id, and the mass of
// all others as unlisted. A row of no more tokens stays as it is. n below 1 is a
// usage error.
func Head(node Node, n int) (Node, error) {
	if n < 1 {
		return Node{}, fault.New(fault.Usage, op, "head", "%d tokens are to be carried", n).Fix("carry at least 1, or every one")
	}
	d, err := dist.NewModel(&node.Row)
	if err != nil {
		return Node{}, err
	}
	if d.Support() <= n {
		return node, nil
	}
	best, rest := d.Top(n)
	row := dist.Scores{Vocab: node.Row.Vocab, Unlisted: rest}
	wanted := make(map[int32]bool, n)
	for _, e := range best {
		wanted[e.ID] = true
	}
	for i, v := range node.Row.Values {
		if id := node.Row.ID(i); wanted[id] {
			row.IDs, row.Values = append(row.IDs, id), append(row.Values, v)
		}
	}
	return Node{Path: node.Path, Row: row}, nil
}

// Write writes the page as one HTML file. Rows that do not cover the vocabulary,
// and scores that are no scores, are data errors, and nothing is written. The same
// page is the same bytes.
func Write(w io.Writer, p *Page) error {
	page, err := render(p, false)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, bytes.NewReader(page)); err != nil {
		return fault.Wrap(err, fault.Data, op, "page")
	}
	return nil
}

func (p *Page) check() error {
	if p.List < 1 {
		return fault.New(fault.Usage, op, "list", "%d tokens are to be listed", p.List).Fix("list at least 1")
	}
	if len(p.Nodes) == 0 || len(p.Nodes[0].Path) > 0 {
		return fault.New(fault.Data, op, "contexts", "the prompt itself is not the first of them").Fix("give its scores first")
	}
	for _, n := range p.Nodes {
		if err := p.checkNode(n); err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) checkNode(n Node) error {
	if n.Row.Vocab != len(p.Pieces) {
		return fault.New(fault.Data, op, fmt.Sprintf("context %v", n.Path), "its row is over %d tokens, the vocabulary has %d", n.Row.Vocab, len(p.Pieces)).
			Fix("take rows and texts from one model")
	}
	for _, id := range n.Path {
		if id < 0 || int(id) >= len(p.Pieces) {
			return fault.New(fault.Data, op, fmt.Sprintf("context %v", n.Path), "token %d is outside the vocabulary of %d", id, len(p.Pieces))
		}
	}
	return n.Row.Check()
}
