// Package explore writes a page on which a reader changes the sampling chain of
// a real next-token distribution, draws, and steps forward.
//
// The page computes in plain JavaScript what the core computes in Go, so that
// the same seed gives the same token as the command line; the tests compare the
// two. It carries whole rows of scores, never a head with an invented tail, and
// says so when a step leads where it carries none. It loads nothing, and a
// content security policy allows its own script and style only. Start with
// [Write].
package explore

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/template"

	"lab/core/fault"
	"lab/plots/canvas"
)

var (
	//go:embed assets/arithmetic.js
	arithmetic string
	//go:embed assets/page.js
	behaviour string
	//go:embed assets/page.css
	style string
	//go:embed assets/page.html
	skeleton string
)

// Node is one context whose scores the page carries.
type Node struct {
	Path   []int32   // tokens after the prompt; empty for the prompt itself
	Scores []float32 // by token, the whole vocabulary; -Inf for a masked one
}

// Page is what a page shows.
type Page struct {
	Prompt []byte // the bytes that select the stream of random numbers
	Model  string // its name, for the reader
	Line   string // the command that shows the same, without chain and seed
	Seed   uint64
	List   int      // how many tokens to list; below 1 is an error
	Pieces [][]byte // the bytes of every token
	Nodes  []Node   // the prompt itself first
}

type pageData struct {
	Prompt  []byte     `json:"prompt"` // base64 in JSON
	Shown   string     `json:"shown"`
	About   string     `json:"about"`
	Command string     `json:"command"`
	Seed    string     `json:"seed"` // a number in JavaScript would lose bits
	List    int        `json:"list"`
	Tokens  []string   `json:"tokens"`
	Nodes   []nodeData `json:"nodes"`
}

type nodeData struct {
	Path []int32 `json:"path"`
	Row  []byte  `json:"row"` // float32, little-endian
}

const op = "explore"

// Write writes the page: one HTML file that needs nothing else. Rows that do not
// cover the vocabulary, and scores that are no scores, are data errors. The same
// page is the same bytes.
func Write(w io.Writer, p *Page) error {
	if err := check(p); err != nil {
		return err
	}
	d := pageData{Prompt: p.Prompt, Shown: canvas.Visible(string(p.Prompt)), Command: p.Line, Seed: strconv.FormatUint(p.Seed, 10), List: p.List,
		About: fmt.Sprintf("Model %s, vocabulary %d. This file carries all scores of %d contexts: the prompt and its likeliest continuations.",
			canvas.Visible(p.Model), len(p.Pieces), len(p.Nodes))}
	for _, piece := range p.Pieces {
		d.Tokens = append(d.Tokens, canvas.Visible(string(piece)))
	}
	for _, n := range p.Nodes {
		row := make([]byte, 0, 4*len(n.Scores))
		for _, v := range n.Scores {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(v))
		}
		d.Nodes = append(d.Nodes, nodeData{Path: append([]int32{}, n.Path...), Row: row})
	}
	data, err := json.Marshal(d) // writes <, > and & as escapes, so no token ends the element
	if err != nil {
		return fault.Wrap(err, fault.Data, op, "page")
	}
	t, err := template.New("page").Parse(skeleton)
	if err != nil {
		return fault.Wrap(err, fault.Data, op, "page")
	}
	script := arithmetic + behaviour
	err = t.Execute(w, map[string]string{"Style": style, "StyleHash": hash(style), "Script": script, "ScriptHash": hash(script), "Data": string(data)})
	if err != nil {
		return fault.Wrap(err, fault.Data, op, "page")
	}
	return nil
}

func check(p *Page) error {
	if p.List < 1 {
		return fault.New(fault.Usage, op, "list", "%d tokens are to be listed", p.List).Fix("list at least 1")
	}
	if len(p.Nodes) == 0 || len(p.Nodes[0].Path) > 0 {
		return fault.New(fault.Data, op, "contexts", "the prompt itself is not the first of them").Fix("give its scores first")
	}
	for _, n := range p.Nodes {
		if len(n.Scores) != len(p.Pieces) {
			return fault.New(fault.Data, op, fmt.Sprintf("context %v", n.Path), "it has %d scores for %d tokens", len(n.Scores), len(p.Pieces)).
				Fix("use a model that lists every token")
		}
		finite := false
		for i, v := range n.Scores {
			if v != v || math.IsInf(float64(v), 1) {
				return fault.New(fault.Data, op, fmt.Sprintf("context %v", n.Path), "token %d has the score %v", i, v).Fix("check the model")
			}
			finite = finite || v >= -math.MaxFloat32
		}
		if !finite {
			return fault.New(fault.Data, op, fmt.Sprintf("context %v", n.Path), "no token has a finite score").Fix("check the model")
		}
	}
	return nil
}

// hash is a source of a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Quote writes an argument for a shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
