package notebook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"lab/core/fault"
)

// Kind is what a cell holds.
type Kind string

// The three kinds of cells.
const (
	Code     Kind = "code"
	Markdown Kind = "markdown"
	Raw      Kind = "raw"
)

// Notebook is a notebook in memory.
type Notebook struct {
	// Metadata is kept as it was read: values are map[string]any, []any,
	// json.Number, string, bool and nil.
	Metadata map[string]any
	Cells    []Cell
}

// Cell is one cell.
type Cell struct {
	ID          string // 1 to 64 letters, digits, - and _; unique in the notebook
	Kind        Kind
	Source      string
	Metadata    map[string]any // never nil
	Attachments map[string]any // of Markdown and raw cells: data by MIME type by name; nil when there are none

	Count   int // of a code cell: its number in the order of execution; 0: it was not run
	Outputs []Output
}

// Tags returns the tags in the metadata of a cell.
func (c *Cell) Tags() []string {
	list, _ := c.Metadata["tags"].([]any)
	var out []string
	for _, t := range list {
		if s, ok := t.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Tagged reports whether the cell has the tag.
func (c *Cell) Tagged(tag string) bool { return slices.Contains(c.Tags(), tag) }

// Read reads a notebook of nbformat 4.0 to 4.5; cells of versions before 4.5 get
// an identifier. It refuses, with kind data, what the schema of the format
// refuses; what the schema leaves open, such as metadata, is kept. At most 128 MiB
// and 10,000 cells are read.
func Read(r io.Reader) (*Notebook, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, "notebook", "")
	}
	if len(data) > maxFile {
		return nil, fault.New(fault.Data, "notebook", "", "it is larger than %d MiB", maxFile>>20)
	}
	v, err := decode(data)
	if err != nil {
		return nil, fault.New(fault.Data, "notebook", "", "it is no JSON: %v", err)
	}
	o := objectOf("", v)
	major, minor := o.whole("nbformat"), o.whole("nbformat_minor")
	switch {
	case o.err != nil:
		return nil, o.err
	case major != 4 || minor > 5:
		return nil, fault.New(fault.Data, "notebook", "", "it is of nbformat %d.%d; 4.0 to 4.5 are known", major, minor).
			Fix("save it as 4.5 with Jupyter")
	}
	n := &Notebook{Metadata: take[map[string]any](o, "metadata")}
	list := take[[]any](o, "cells")
	if err := o.done(); err != nil {
		return nil, err
	}
	if len(list) > maxCells {
		return nil, fault.New(fault.Data, "notebook", "", "it has %d cells, more than %d", len(list), maxCells)
	}
	seen := map[string]bool{}
	for i, raw := range list {
		c, err := readCell(i, raw, minor)
		if err != nil {
			return nil, err
		}
		if seen[c.ID] {
			return nil, fault.New(fault.Data, "notebook", CellName(i), "its id %q is that of an earlier cell", c.ID)
		}
		seen[c.ID] = true
		n.Cells = append(n.Cells, c)
	}
	return n, nil
}

// CellName names the cell with index i, from 0, in messages: "cell 1" is the first.
func CellName(i int) string { return fmt.Sprintf("cell %d", i+1) }

func readCell(i int, raw any, minor int) (Cell, error) {
	o := objectOf(CellName(i), raw)
	c := Cell{Kind: Kind(take[string](o, "cell_type")), Source: o.text("source"), Metadata: take[map[string]any](o, "metadata")}
	if o.err == nil {
		checkTags(o, c.Metadata)
	}
	if minor >= 5 {
		c.ID = take[string](o, "id")
		if o.err == nil && !validID(c.ID) {
			o.fail("its id %s is not 1 to 64 letters, digits, - and _", fault.Quote(c.ID, 70))
		}
	} else {
		optional[string](o, "id")
		c.ID = idOf(i, c.Source)
	}
	switch c.Kind {
	case Code:
		if count, ok := o.m["execution_count"]; ok && count == nil {
			o.taken["execution_count"] = true
		} else {
			c.Count = o.whole("execution_count")
		}
		for j, out := range take[[]any](o, "outputs") {
			output, err := readOutput(fmt.Sprintf("%s: output %d", CellName(i), j+1), out)
			if err != nil && o.err == nil {
				o.err = err
			}
			c.Outputs = append(c.Outputs, output)
		}
	case Markdown, Raw:
		c.Attachments = optional[map[string]any](o, "attachments")
		for _, name := range sortedKeys(c.Attachments) {
			if _, ok := c.Attachments[name].(map[string]any); !ok {
				o.fail("its attachment %s is no object", fault.Quote(name, 40))
			}
		}
	default:
		if o.err == nil {
			o.fail("its cell_type %s is not code, markdown or raw", fault.Quote(string(c.Kind), 40))
		}
	}
	return c, o.done()
}

func checkTags(o *object, metadata map[string]any) {
	tags, given := metadata["tags"]
	if !given {
		return
	}
	list, ok := tags.([]any)
	for _, t := range list {
		_, isText := t.(string)
		ok = ok && isText
	}
	if !ok {
		o.fail("its tags are not a list of strings")
	}
}

func validID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 64
}

// idOf makes the identifier of a cell that has none, the same each time.
func idOf(i int, source string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d\n%s", i, source)))
	return hex.EncodeToString(sum[:6])
}

// Write writes the notebook as nbformat 4.5.
func (n *Notebook) Write(w io.Writer) error {
	cells := []any{}
	for i := range n.Cells {
		c := &n.Cells[i]
		m := map[string]any{"cell_type": string(c.Kind), "id": c.ID, "metadata": c.Metadata, "source": lines(c.Source)}
		if c.Metadata == nil {
			m["metadata"] = map[string]any{}
		}
		if c.Kind == Code {
			m["execution_count"] = nil
			if c.Count > 0 {
				m["execution_count"] = c.Count
			}
			outputs := []any{}
			for j := range c.Outputs {
				outputs = append(outputs, c.Outputs[j].json())
			}
			m["outputs"] = outputs
		} else if c.Attachments != nil {
			m["attachments"] = c.Attachments
		}
		cells = append(cells, m)
	}
	top := map[string]any{"cells": cells, "metadata": n.Metadata, "nbformat": 4, "nbformat_minor": 5}
	if n.Metadata == nil {
		top["metadata"] = map[string]any{}
	}
	var b bytes.Buffer
	encode(&b, top, 0)
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// Language returns the language that the notebook says its cells are in, in lower
// case, and "" when it does not say.
func (n *Notebook) Language() string {
	for _, at := range [][2]string{{"language_info", "name"}, {"kernelspec", "language"}} {
		if m, ok := n.Metadata[at[0]].(map[string]any); ok {
			if s, ok := m[at[1]].(string); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

// KernelName and Language are what notebooks of lab name.
const (
	KernelName  = "lab"
	DisplayName = "lab (Tengo)"
	LanguageID  = "tengo"
)

// LanguageInfo is what notebooks and the kernel say of the language.
func LanguageInfo() map[string]any {
	return map[string]any{"name": LanguageID, "version": "2.17.0", "mimetype": "text/x-go", "file_extension": ".tengo",
		"pygments_lexer": "go", "codemirror_mode": "go"}
}

// New returns a notebook with the cells, numbered in their order.
func New(cells ...Cell) *Notebook {
	n := &Notebook{Cells: cells, Metadata: map[string]any{
		"kernelspec":    map[string]any{"name": KernelName, "display_name": DisplayName, "language": LanguageID},
		"language_info": LanguageInfo(),
	}}
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.ID == "" {
			c.ID = idOf(i, c.Source)
		}
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
	}
	return n
}

// Clear takes away the outputs and numbers of all code cells.
func (n *Notebook) Clear() {
	for i := range n.Cells {
		n.Cells[i].Count, n.Cells[i].Outputs = 0, nil
	}
}
