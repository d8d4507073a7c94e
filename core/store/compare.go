package store

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"lab/core/fault"
)

// Comparison is how the samples of two runs compare, by cell and sample.
type Comparison struct {
	Same   int          `json:"same"`   // samples with the same tokens, text and steps
	Differ int          `json:"differ"` // samples that are in both and are not the same
	OnlyA  int          `json:"only_a"`
	OnlyB  int          `json:"only_b"`
	First  *FirstToPart `json:"first,omitempty"` // nil when none differ
}

// FirstToPart is the first sample, in the order of cells, that differs.
type FirstToPart struct {
	Cell   int    `json:"cell"`
	Sample int    `json:"sample"`
	Step   int    `json:"step"` // -1 where no token does
	What   string `json:"what"`
}

// String says it in a sentence.
func (c Comparison) String() string {
	text := fmt.Sprintf("%d samples are the same", c.Same)
	if c.OnlyA+c.OnlyB > 0 {
		text += fmt.Sprintf(", %d are only in a, %d only in b", c.OnlyA, c.OnlyB)
	}
	if f := c.First; f != nil {
		text += fmt.Sprintf(", %d differ, first cell %d, sample %d", c.Differ, f.Cell, f.Sample)
		if f.Step >= 0 {
			text += fmt.Sprintf(", step %d", f.Step)
		}
		text += ": " + f.What
	}
	return text
}

// Compare compares the samples of two runs bit by bit. What they cost is no part of
// them. Steps are compared where
// both runs have them, scores where both keep the same of them.
func Compare(a, b *Stored) (Comparison, error) {
	steps := a.Manifest.Ledger && b.Manifest.Ledger
	scores := a.Manifest.Scores == b.Manifest.Scores && a.Manifest.Scores != ""
	nextA, stopA := iter.Pull2(a.all(steps, scores))
	defer stopA()
	nextB, stopB := iter.Pull2(b.all(steps, scores))
	defer stopB()
	var c Comparison
	x, errA, okA := nextA()
	y, errB, okB := nextB()
	for okA || okB {
		if errA != nil {
			return c, errA
		}
		if errB != nil {
			return c, errB
		}
		order := 0
		switch {
		case !okB || okA && before(x, y):
			order = -1
		case !okA || before(y, x):
			order = 1
		}
		switch order {
		case -1:
			c.OnlyA++
			x, errA, okA = nextA()
		case 1:
			c.OnlyB++
			y, errB, okB = nextB()
		default:
			if step, what := parts(x, y, steps); what == "" {
				c.Same++
			} else {
				c.Differ++
				if c.First == nil {
					c.First = &FirstToPart{x.Cell, x.Sample, step, what}
				}
			}
			x, errA, okA = nextA()
			y, errB, okB = nextB()
		}
	}
	return c, nil
}

// all yields every record, and an error as the last.
func (s *Stored) all(steps, scores bool) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		stopped := false
		err := s.records(steps, scores, func(r *Record) error {
			if !yield(r, nil) {
				stopped = true
				return errStop
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// errStop ends an iteration that nobody wants to go on with.
var errStop = fault.New(fault.Internal, op, "", "stopped")

func before(a, b *Record) bool {
	return a.Cell < b.Cell || a.Cell == b.Cell && a.Sample < b.Sample
}

// parts says where two records of one sample part, "" when they do not.
func parts(a, b *Record, steps bool) (step int, what string) {
	if a.Failure != b.Failure {
		return -1, fmt.Sprintf("a has the failure %q, b %q", a.Failure, b.Failure)
	}
	x, y := &a.Trace, &b.Trace
	bare := func(r *Record) Record {
		c := *r
		c.Scores, c.Cost = nil, nil
		return c
	}
	for i := range min(len(x.Tokens), len(y.Tokens)) {
		if x.Tokens[i] != y.Tokens[i] {
			return i, fmt.Sprintf("a drew token %d, b %d", x.Tokens[i], y.Tokens[i])
		}
	}
	if len(x.Tokens) != len(y.Tokens) {
		return min(len(x.Tokens), len(y.Tokens)), fmt.Sprintf("a has %d tokens, b %d", len(x.Tokens), len(y.Tokens))
	}
	if steps {
		for i := range min(len(x.Steps), len(y.Steps)) {
			var e, f encoder
			left, right := bare(a), bare(b)
			left.Trace.Steps, right.Trace.Steps = x.Steps[i:i+1], y.Steps[i:i+1]
			e.record(&left)
			f.record(&right)
			if !bytes.Equal(e.b, f.b) {
				return i, "the same token was drawn from other distributions"
			}
		}
	}
	for i := range min(len(a.Scores), len(b.Scores)) {
		var e, f encoder
		e.scores(&a.Scores[i])
		f.scores(&b.Scores[i])
		if !bytes.Equal(e.b, f.b) {
			return i, "the model gave other scores"
		}
	}
	var e, f encoder
	left, right := bare(a), bare(b)
	left.Trace.Steps, right.Trace.Steps = nil, nil
	e.record(&left)
	f.record(&right)
	if !bytes.Equal(e.b, f.b) {
		return -1, "text or stop differ"
	}
	return 0, ""
}

// Remove removes a run that no process writes.
func Remove(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err != nil {
		return fault.Wrap(err, fault.Usage, op, dir)
	}
	f, err := lock(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// Without run.json it is a run no more, should we die before the rest is gone.
	if err := os.Remove(filepath.Join(dir, manifestFile)); err != nil {
		return unwritable(dir, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return unwritable(dir, err)
	}
	return nil
}
