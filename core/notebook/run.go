package notebook

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"lab/core/fault"
	"lab/core/script/cells"
)

// Tags that [Notebook.Run] and [Notebook.Set] obey, under the names that Jupyter's
// tools use.
const (
	TagParameters = "parameters"          // the cell with the defaults of parameters
	TagInjected   = "injected-parameters" // the cell that Set made
	TagSkip       = "skip-execution"      // is not run and keeps its outputs
	TagRaises     = "raises-exception"    // may fail; the next cells run all the same
)

// Options say how a notebook is run.
type Options struct {
	CellTimeout time.Duration      // for each cell; 0: none
	KeepGoing   bool               // after a cell that fails
	Before      func(cell, of int) // is told each code cell before it runs, counting from 1
}

// Run runs the code cells in order in a session that should be new, and puts their
// outputs in the place of those they had. It stops at the first cell that
// fails, whose error it returns with the cell's name in front after keeping it as
// an output; the cells after it are left without outputs. The cells with the tag
// "raises-exception" may fail. A context that ends stops the cell at work.
func (n *Notebook) Run(ctx context.Context, s *cells.Session, o Options) error {
	if err := n.SpeaksTengo(); err != nil {
		return err
	}
	count, total := 0, 0
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.Kind != Code || c.Tagged(TagSkip) {
			continue
		}
		c.Count, c.Outputs = 0, nil
		total++
	}
	var first error
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.Kind != Code || c.Tagged(TagSkip) {
			continue
		}
		count++
		if o.Before != nil {
			o.Before(count, total)
		}
		if strings.TrimSpace(c.Source) == "" {
			continue
		}
		c.Count = count
		err := c.run(ctx, s, CellName(i), o)
		if err == nil || c.Tagged(TagRaises) && ctx.Err() == nil {
			continue
		}
		if first == nil {
			first = err
		}
		if !o.KeepGoing || ctx.Err() != nil {
			return first
		}
	}
	return first
}

func (c *Cell) run(ctx context.Context, s *cells.Session, name string, o Options) error {
	if o.CellTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.CellTimeout,
			fault.New(fault.Limit, "", "", "it ran longer than %v", o.CellTimeout).Fix("raise --cell-timeout"))
		defer cancel()
	}
	out := &sink{cell: c}
	value, err := s.Run(ctx, name, c.Source, out)
	out.flush()
	switch {
	case err != nil:
		c.Outputs = append(c.Outputs, ErrorOutput(err))
	case value != nil:
		c.Outputs = append(c.Outputs, outputOf(Result, value, c.Count))
	}
	return err
}

// ErrorOutput returns an error of a cell as an output.
func ErrorOutput(err error) Output {
	return Output{Kind: Error, Name: fault.KindOf(err).String(), Text: err.Error(), Traceback: cells.Traceback(err)}
}

// sink keeps what a cell puts out; pieces of one stream that follow each other
// become one output, as Jupyter's clients do.
type sink struct {
	cell *Cell
	name string // of the stream being gathered
	text strings.Builder
}

func (k *sink) Stream(name, text string) {
	if name != k.name {
		k.flush()
		k.name = name
	}
	k.text.WriteString(text)
}

func (k *sink) Display(b cells.Bundle) {
	k.flush()
	k.cell.Outputs = append(k.cell.Outputs, outputOf(Display, b, 0))
}

func (k *sink) flush() {
	if k.text.Len() > 0 {
		k.cell.Outputs = append(k.cell.Outputs, Output{Kind: Stream, Name: k.name, Text: k.text.String()})
		k.text.Reset()
	}
}

// Set gives parameters other values: after the cell with the tag "parameters" it
// puts one that assigns them, in place of one that an earlier Set made. See
// [cells.Assign] for how values are read and what is refused.
func (n *Notebook) Set(settings map[string]string) error {
	if len(settings) == 0 {
		return nil
	}
	at := slices.IndexFunc(n.Cells, func(c Cell) bool { return c.Kind == Code && c.Tagged(TagParameters) })
	if at < 0 {
		return fault.New(fault.Usage, "notebook", "", "it has no parameters: no code cell has the tag %q", TagParameters).
			Fix("put the defaults into one cell, and that tag into its metadata")
	}
	src, err := cells.Assign(n.Cells[at].Source, settings)
	if err != nil {
		return err
	}
	cell := Cell{Kind: Code, Source: src, Metadata: map[string]any{"tags": []any{TagInjected}}}
	n.Cells = slices.DeleteFunc(n.Cells, func(c Cell) bool { return c.Tagged(TagInjected) })
	at = slices.IndexFunc(n.Cells, func(c Cell) bool { return c.Kind == Code && c.Tagged(TagParameters) })
	taken := map[string]bool{}
	for _, c := range n.Cells {
		taken[c.ID] = true
	}
	for i := 0; cell.ID == "" || taken[cell.ID]; i++ {
		cell.ID = idOf(i, "parameters")
	}
	n.Cells = slices.Insert(n.Cells, at+1, cell)
	return nil
}

// Clone returns a copy that can be run without a change of n.
func (n *Notebook) Clone() *Notebook {
	c := &Notebook{Metadata: n.Metadata, Cells: slices.Clone(n.Cells)}
	for i := range c.Cells {
		c.Cells[i].Outputs = slices.Clone(c.Cells[i].Outputs)
		c.Cells[i].Metadata = maps.Clone(c.Cells[i].Metadata)
	}
	return c
}

// Stale returns the index of the first cell whose outputs or number in now differ
// from those in stored, and -1 when there is none. Both must have the same cells.
func Stale(stored, now *Notebook) int {
	for i := range stored.Cells {
		if i >= len(now.Cells) || !stored.Cells[i].same(&now.Cells[i]) {
			return i
		}
	}
	return -1
}
