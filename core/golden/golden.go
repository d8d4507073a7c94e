// Package golden reads files of reference answers for samplers, in the schema
// golden-samplers/1, and checks an implementation against them.
//
// A file holds cases of one group: a method with parameters, an input, the
// answers of real systems, and often a reference, the answer under the rules of
// the project's catalogue. [Read] is strict, since a file may come from
// anywhere; [File.Verify] runs every case through a [Subject] and says what
// became of it. The package knows no sampler: which names the methods have
// among the subject's samplers is a table (stages.go). What is printed, and
// where files lie, is the business of the caller.
package golden

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
)

// Schema is the version of the format that is read.
const Schema = "golden-samplers/1"

// Limits of what is read.
const (
	mostBytes = 64 << 20
	mostCases = 1 << 16
	mostVocab = 1 << 22
)

// File is the cases of one group.
type File struct {
	Group   string
	Systems map[string]string // versions, by the names that answers use
	Cases   []Case
	pieces  [][]byte // of the file's own vocabulary, when it has one
	end     []int32  // its tokens that end a text
}

// Case is one question with its answers.
type Case struct {
	ID     string                     `json:"id"`
	Method string                     `json:"method"`
	Params map[string]json.RawMessage `json:"params"`
	Input  struct {
		Logits []number `json:"logits"`
		Recipe *recipe  `json:"recipe"`
	} `json:"input"`
	History    history   `json:"history"`
	Answers    []answer  `json:"answers"`
	Reference  *answer   `json:"reference"`
	Tolerance  tolerance `json:"tolerance"`
	Borderline *struct {
		Min int `json:"n_kept_min"`
		Max int `json:"n_kept_max"`
	} `json:"borderline"`
	Tags []string `json:"tags"`

	// Written for readers, not compared.
	Note      string          `json:"note"`
	Agreement string          `json:"agreement"`
	Matches   []string        `json:"reference_matches"`
	Expected  json.RawMessage `json:"expected_probs"`
	Table     json.RawMessage `json:"sampling_table_first64"`
	Greenlist json.RawMessage `json:"greenlist"`
}

type tolerance struct {
	ProbRel float64 `json:"prob_rel"`
}

// answer is one distinct outcome. Which fields it has depends on the group.
type answer struct {
	Systems []string `json:"systems"`
	Outcome string   `json:"outcome"`
	Message string   `json:"message"`

	Kept   []int32  `json:"kept"`
	Probs  []number `json:"probs"`
	Logits []number `json:"logits"`
	Token  *int32   `json:"token"`

	NKept     counts      `json:"n_kept"` // one, or one a step
	SumIDs    int64       `json:"sum_ids"`
	MinLogit  number      `json:"min_kept_input_logit"`
	NAtMin    int         `json:"n_kept_at_min"`
	NInputMin int         `json:"n_input_at_min"`
	Entropy   float64     `json:"entropy_nats"`
	Probes    [][2]number `json:"probes"`

	Tokens      []int32  `json:"tokens"`
	PSelected   []number `json:"p_selected"`
	FirstLogits []number `json:"first_step_logits"`

	Steps []step `json:"steps"`
}

// step is one step of a watermark (probabilities of all tokens) or of a grammar
// (the token accepted before it, and the tokens allowed then).
type step struct {
	Step     int      `json:"step"`
	Probs    []number `json:"probs"`
	Accepted *int32   `json:"accepted"`
	Allowed  []int32  `json:"allowed"`
}

// number is a JSON number, or one of the words "nan", "+inf" and "-inf".
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"nan"`:
		*n = number(math.NaN())
	case `"+inf"`:
		*n = number(math.Inf(1))
	case `"-inf"`:
		*n = number(math.Inf(-1))
	default:
		// Numbers beyond float32 are written as texts.
		f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%.40s is neither a number nor nan, +inf or -inf", b)
		}
		*n = number(f)
	}
	return nil
}

// counts is a number of tokens, or a list with one number a step.
type counts []int

// UnmarshalJSON implements json.Unmarshaler.
func (c *counts) UnmarshalJSON(b []byte) error {
	var one int
	if err := json.Unmarshal(b, &one); err == nil {
		*c = counts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]int)(c))
}

// history is the context before the step, oldest token first.
type history struct {
	tokens []int32
	prompt int // how many of them are prompt
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *history) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var both struct{ Prompt, Output []int32 }
		if err := strict(b, &both); err != nil {
			return err
		}
		h.tokens, h.prompt = append(both.Prompt, both.Output...), len(both.Prompt)
		return nil
	}
	// A plain list is what was generated: the systems that tell prompt from
	// output were given it so.
	return json.Unmarshal(b, &h.tokens)
}

func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Read reads a file. name is what errors call it. Errors are data errors that
// name the case.
func Read(r io.Reader, name string) (*File, error) {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Data, "golden file", fault.Quote(name, 80), format, args...)
	}
	data, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, "golden file", name)
	}
	if len(data) > mostBytes {
		return nil, bad("it has more than %d MiB", mostBytes>>20)
	}
	var file struct {
		Schema  schemaName        `json:"schema"`
		Group   string            `json:"group"`
		Systems map[string]string `json:"systems"`
		Vocab   []piece           `json:"vocab"`
		Cases   []json.RawMessage `json:"cases"`
	}
	var head struct {
		Schema schemaName `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, bad("it is no JSON object: %v", err)
	}
	if head.Schema != Schema {
		return nil, bad("its schema is %s, and %q is read", fault.Quote(string(head.Schema), 40), Schema)
	}
	if err := strict(data, &file); err != nil {
		return nil, bad("%v", err)
	}
	if len(file.Cases) == 0 || len(file.Cases) > mostCases {
		return nil, bad("it has %d cases, outside 1 to %d", len(file.Cases), mostCases)
	}
	f := &File{Group: file.Group, Systems: file.Systems, Cases: make([]Case, len(file.Cases))}
	seen := map[string]bool{}
	for i, raw := range file.Cases {
		c := &f.Cases[i]
		if err := strict(raw, c); err != nil {
			return nil, bad("case %d (%s): %v", i+1, fault.Quote(idOf(raw), 60), misread(raw, err))
		}
		if c.ID == "" || seen[c.ID] {
			return nil, bad("case %d: its id %s is empty or there twice", i+1, fault.Quote(c.ID, 60))
		}
		seen[c.ID] = true
		if err := c.check(); err != nil {
			return nil, bad("case %s: %v", fault.Quote(c.ID, 80), err)
		}
	}
	if f.pieces, f.end, err = vocabulary(file.Vocab); err != nil {
		return nil, bad("%v", err)
	}
	return f, nil
}

// piece is one entry of a file's vocabulary.
type piece struct {
	ID      int32  `json:"id"`
	Text    string `json:"text"`
	Hex     string `json:"hex"`
	Control bool   `json:"control"`
	End     bool   `json:"end_of_generation"`
}

func vocabulary(list []piece) (pieces [][]byte, end []int32, err error) {
	if len(list) > mostVocab {
		return nil, nil, fmt.Errorf("its vocabulary has %d entries, more than %d", len(list), mostVocab)
	}
	for i, p := range list {
		if int(p.ID) != i {
			return nil, nil, fmt.Errorf("entry %d of its vocabulary has the id %d", i, p.ID)
		}
		text := []byte(p.Text)
		if p.Hex != "" {
			if text, err = hex.DecodeString(p.Hex); err != nil {
				return nil, nil, fmt.Errorf("entry %d of its vocabulary: %w", i, err)
			}
		}
		// The system that was asked shows control tokens by their names, as texts;
		// an end of text is none.
		if p.End {
			text = nil
		}
		pieces = append(pieces, text)
		if p.End {
			end = append(end, p.ID)
		}
	}
	return pieces, end, nil
}

// row returns the scores of a case, and false when it has none of its own.
func (c *Case) row(vocab int) (dist.Scores, bool) {
	switch {
	case c.Input.Recipe != nil:
		return dist.NewDense(c.Input.Recipe.build()), true
	case c.Input.Logits != nil:
		return dist.NewDense(floats(c.Input.Logits)), true
	case vocab > 0: // a grammar is asked about a row of equal scores
		return dist.NewDense(make([]float32, vocab)), true
	}
	return dist.Scores{}, false
}

func floats(list []number) []float32 {
	v := make([]float32, len(list))
	for i, x := range list {
		v[i] = float32(x)
	}
	return v
}
