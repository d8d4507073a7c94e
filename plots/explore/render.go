package explore

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"

	"lab/core/fault"
	"lab/plots/canvas"
)

var (
	//go:embed assets/random.js
	scriptRandom string
	//go:embed assets/numbers.js
	scriptNumbers string
	//go:embed assets/row.js
	scriptRow string
	//go:embed assets/stages.js
	scriptStages string
	//go:embed assets/page.js
	scriptPage string
	//go:embed assets/view.js
	scriptView string
	//go:embed assets/page.css
	style string
	//go:embed assets/page.html
	skeleton string
)

// arithmetic is the part of the script that knows no page.
func arithmetic() string { return scriptRandom + scriptNumbers + scriptRow + scriptStages }

type pageData struct {
	Prompt  []byte            `json:"prompt"` // base64 in JSON
	Shown   string            `json:"shown"`
	About   string            `json:"about"`
	Command [2]string         `json:"command"` // what follows the name of a command: before and after the chain
	Seed    string            `json:"seed"`    // a number in JavaScript would lose bits
	List    int               `json:"list"`
	Vocab   int               `json:"vocab"`
	Served  bool              `json:"served"`
	Tokens  map[string]string `json:"tokens"` // by id: those that any row lists
	End     []int32           `json:"end"`
	Stages  []stageData       `json:"stages"`
	Nodes   []nodeData        `json:"nodes"`
}

// nodeData is a row in JSON, numbers as little-endian bytes in base64.
type nodeData struct {
	Path     []int32 `json:"path"`
	IDs      []byte  `json:"ids,omitempty"` // int32; absent: all tokens in order
	Scores   []byte  `json:"scores"`        // float32
	Unlisted float64 `json:"unlisted"`
}

func newNodeData(n Node) nodeData {
	d := nodeData{Path: append([]int32{}, n.Path...), Unlisted: n.Row.Unlisted}
	for _, id := range n.Row.IDs {
		d.IDs = binary.LittleEndian.AppendUint32(d.IDs, uint32(id))
	}
	for _, v := range n.Row.Values {
		d.Scores = binary.LittleEndian.AppendUint32(d.Scores, math.Float32bits(v))
	}
	return d
}

// addTokens adds the texts of the tokens that a row lists.
func (p *Page) addTokens(texts map[string]string, n Node) {
	if len(texts) == len(p.Pieces) {
		return
	}
	for i := range n.Row.Values {
		id := n.Row.ID(i)
		key := strconv.Itoa(int(id))
		if _, ok := texts[key]; !ok {
			texts[key] = canvas.Visible(string(p.Pieces[id]))
		}
	}
}

// render returns the page: a file, or for a server one that asks it for scores.
func render(p *Page, served bool) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	stages, err := stagesData(p.Samplers, p.Chain)
	if err != nil {
		return nil, err
	}
	d := pageData{Prompt: p.Prompt, Shown: canvas.Visible(string(p.Prompt)), About: p.about(served), Command: p.command(), Seed: strconv.FormatUint(p.Seed, 10),
		List: p.List, Vocab: len(p.Pieces), Served: served, Tokens: map[string]string{}, End: append([]int32{}, p.End...), Stages: stages}
	for _, n := range p.Nodes {
		d.Nodes = append(d.Nodes, newNodeData(n))
		p.addTokens(d.Tokens, n)
	}
	data, err := json.Marshal(d) // writes <, > and & as escapes, so no token ends the element
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, "page")
	}
	t, err := template.New("page").Parse(skeleton)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, "page")
	}
	script, connect := arithmetic()+scriptPage+scriptView, "'none'"
	if served {
		connect = "'self'"
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]string{"Style": style, "StyleHash": hash(style), "Script": script, "ScriptHash": hash(script),
		"Connect": connect, "Data": string(data)})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, "page")
	}
	return out.Bytes(), nil
}

// about says what the page knows, and what it does not.
func (p *Page) about(served bool) string {
	model := fmt.Sprintf("Model %s, %d tokens in its vocabulary. ", canvas.Visible(p.Model), len(p.Pieces))
	least, whole := math.MaxInt, true
	for _, n := range p.Nodes {
		least = min(least, len(n.Row.Values))
		whole = whole && n.Row.Unlisted == 0
	}
	if served {
		if !whole {
			return model + fmt.Sprintf("It lists the %d likeliest of each context only; each step asks it on this machine.", least)
		}
		return model + "Each step asks it on this machine."
	}
	contexts := fmt.Sprintf("%d contexts, the prompt and its likeliest continuations", len(p.Nodes))
	if len(p.Nodes) == 1 {
		contexts = "the prompt alone"
	}
	if whole {
		return model + "This file carries all scores of " + contexts + "."
	}
	return model + fmt.Sprintf("This file carries the scores of the %d likeliest tokens, or more, and the mass of the others, of %s.", least, contexts)
}

// command returns what a command says of prompt and model. A prompt that looks
// like a flag goes last, after --.
func (p *Page) command() [2]string {
	prompt := Quote(string(p.Prompt))
	if strings.HasPrefix(string(p.Prompt), "-") {
		return [2]string{" " + p.Flags, " -- " + prompt}
	}
	return [2]string{" " + prompt + " " + p.Flags, ""}
}

// hash is a source of a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Quote writes an argument for a shell: as it is when nothing in it is special,
// between single quotes when all of it can be seen, else with escapes ($'…', as
// bash, zsh and ksh read it).
func Quote(s string) string {
	plain, visible := s != "", true
	for _, r := range s {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:@=,+-", r))
		visible = visible && strconv.IsPrint(r) && r != '\uFFFD'
	}
	switch {
	case plain:
		return s
	case visible:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return "$'" + b.String() + "'"
}
