// Package check compares core/cost with files of numbers that others have
// published or computed: each check names an operation, its inputs and what must
// come out.
//
// It reads the files strictly, since they may come from anywhere, runs every
// operation it knows and says of each number whether it holds within the
// file's tolerance, differs, or cannot be computed from the inputs the file gives.
// It also derives again how far the published figures lie from ours. It computes no cost
// itself. Start with [Read] and [File.Verify].
package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sort"

	"lab/core/fault"
)

// File is a file of checks, or of facts, which have nothing to compute.
type File struct {
	Name  string
	Group string
	Facts bool
	Items []Item
}

// Item is one check.
type Item struct {
	ID         string          `json:"id"`
	Group      string          `json:"group"`
	Title      string          `json:"title"`
	Op         string          `json:"op"`
	Inputs     json.RawMessage `json:"inputs"`
	Expected   json.RawMessage `json:"expected"`
	Unit       string          `json:"unit"`
	RelTol     *float64        `json:"rel_tol"` // 0: equal numbers
	Source     string          `json:"source"`
	Provenance string          `json:"provenance"` // read, recalled or derived
	Published  []Published     `json:"published"`
	Note       string          `json:"note"`

	outputs []expectation
	given   []string // what [File.Give] added
}

// Published is what a source prints for one output.
type Published struct {
	Output  string   `json:"output"`
	Value   *float64 `json:"value"`
	TolRel  *float64 `json:"tol_rel"` // of its rounding
	GapRel  *float64 `json:"gap_rel"` // (ours − published)/published, to six decimals
	Verdict string   `json:"verdict"` // reproduced or differs
}

// expectation is one output: a number, a list, or null for never.
type expectation struct {
	name    string
	numbers []float64
	list    bool
}

// The limits of a file.
const (
	mostBytes   = 16 << 20
	mostItems   = 1 << 14
	mostNumbers = 1 << 12 // of one output, and of one list in the inputs
)

// Read reads a file of checks. Unknown and repeated fields, missing ones, two
// checks with one id and numbers no float64 holds are data errors that name
// the check and the field.
func Read(r io.Reader, name string) (*File, error) {
	bad := func(problem string, args ...any) *fault.Error {
		return fault.New(fault.Data, "cost verify", fault.Quote(name, 80), problem, args...)
	}
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, bad("it cannot be read: %v", err)
	}
	if len(text) > mostBytes {
		return nil, bad("it has more than %d bytes", mostBytes)
	}
	top, err := object(text)
	if err != nil {
		return nil, bad("%v", err)
	}
	f := &File{Name: name}
	var version float64
	var kind string
	for field, to := range map[string]any{"version": &version, "group": &f.Group, "kind": &kind} {
		if raw, ok := top[field]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, bad("its field %s: %s", field, problem(err))
			}
		}
	}
	if version != 1 {
		return nil, bad("its version is %g, not 1", version).Fix("this release reads version 1")
	}
	if kind == "facts" {
		f.Facts, f.Group = true, "facts"
		return f, nil
	}
	for field := range top {
		if err := oneOf(field, []string{"version", "group", "items"}); err != nil {
			return nil, bad("%v", err)
		}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(top["items"], &items); err != nil || len(items) == 0 {
		return nil, bad("it has no list of items")
	}
	if len(items) > mostItems {
		return nil, bad("it has %d checks, more than %d", len(items), mostItems)
	}
	seen := map[string]int{}
	for i, raw := range items {
		it, err := readItem(raw)
		if err != nil {
			return nil, bad("check %d (%s): %v", i+1, fault.Quote(it.ID, 40), err)
		}
		if before, ok := seen[it.ID]; ok {
			return nil, bad("checks %d and %d have the id %s", before, i+1, fault.Quote(it.ID, 40))
		}
		seen[it.ID] = i + 1
		f.Items = append(f.Items, it)
	}
	return f, nil
}

var itemFields = []string{"id", "group", "title", "op", "inputs", "expected", "unit", "rel_tol", "source", "provenance", "published", "note"}

func readItem(raw json.RawMessage) (Item, error) {
	var it Item
	fields, err := object(raw)
	if err != nil {
		return it, err
	}
	_ = json.Unmarshal(fields["id"], &it.ID) // for the message; its errors come below
	for name := range fields {
		if err := oneOf(name, itemFields); err != nil {
			return it, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&it); err != nil {
		return it, fmt.Errorf("%s", problem(err))
	}
	switch {
	case it.ID == "" || it.Op == "":
		return it, fmt.Errorf("it needs an id and an op")
	case it.RelTol == nil || !(*it.RelTol >= 0 && *it.RelTol < 1):
		return it, fmt.Errorf("rel_tol is missing or outside [0, 1)")
	case len(it.Inputs) == 0 || len(it.Expected) == 0:
		return it, fmt.Errorf("it needs inputs and expected")
	}
	switch it.Provenance {
	case "", "read", "recalled", "derived":
	default:
		return it, fmt.Errorf("provenance %s is not read, recalled or derived", fault.Quote(it.Provenance, 40))
	}
	if it.outputs, err = expectations(it.Expected); err != nil {
		return it, err
	}
	for _, p := range it.Published {
		switch {
		case p.Value == nil || p.TolRel == nil || p.GapRel == nil || *p.Value == 0 || !(*p.TolRel >= 0):
			return it, fmt.Errorf("a published number needs a value other than 0, tol_rel and gap_rel")
		case p.Verdict != "reproduced" && p.Verdict != "differs":
			return it, fmt.Errorf("the published %s is neither reproduced nor differs", fault.Quote(p.Output, 40))
		}
		found := false
		for _, e := range it.outputs {
			found = found || e.name == p.Output && !e.list
		}
		if !found {
			return it, fmt.Errorf("the published %s is no number among the expected", fault.Quote(p.Output, 40))
		}
	}
	return it, nil
}

// expectations reads what must come out, in the order of the names.
func expectations(raw json.RawMessage) ([]expectation, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, fmt.Errorf("expected: %w", err)
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("it expects nothing")
	}
	out := make([]expectation, 0, len(fields))
	for name, value := range fields {
		e := expectation{name: name}
		var list []*float64
		var one *float64
		if err := json.Unmarshal(value, &one); err == nil {
			list = []*float64{one}
		} else if err := json.Unmarshal(value, &list); err == nil && len(list) > 0 {
			e.list = true
		} else {
			return nil, fmt.Errorf("expected %s is neither a number, null nor a list of them", fault.Quote(name, 40))
		}
		if len(list) > mostNumbers {
			return nil, fmt.Errorf("expected %s has %d numbers, more than %d", fault.Quote(name, 40), len(list), mostNumbers)
		}
		for _, v := range list {
			if v == nil {
				e.numbers = append(e.numbers, math.Inf(1))
				continue
			}
			e.numbers = append(e.numbers, *v)
		}
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// object reads the fields of a JSON object and refuses one that is there twice.
func object(text []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("it is no JSON object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("it is no JSON object: %s", problem(err))
		}
		name, _ := key.(string)
		if _, ok := out[name]; ok {
			return nil, fmt.Errorf("field %s is there twice", fault.Quote(name, 40))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("field %s: %s", fault.Quote(name, 40), problem(err))
		}
		out[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %s", problem(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON object")
	}
	return out, nil
}

func oneOf(name string, names []string) error {
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	if near := fault.Suggest(name, names); near != "" {
		return fmt.Errorf("unknown field %s; did you mean %q?", fault.Quote(name, 40), near)
	}
	return fmt.Errorf("unknown field %s", fault.Quote(name, 40))
}

// problem is a decoding error without the names of Go types.
func problem(err error) string {
	if e, ok := err.(*json.UnmarshalTypeError); ok {
		return fmt.Sprintf("field %s does not hold a %s", fault.Quote(e.Field, 60), e.Value)
	}
	return err.Error()
}
