package dist

import (
	"math"
	"slices"

	"lab/core/dist/vec"
	"lab/core/fault"
)

// Workspace follows one row through the stages of a chain and says what each of
// them did. It owns copies of the rows it was shown, so that a stage may work
// in place, and reuses its memory: after the first rows of a size it allocates
// nothing. The zero value is ready. Not safe for concurrent use.
//
//	ws.Start(row)            // the model's row
//	stage(row)               // in place
//	change, err := ws.Next(row)
//	ws.Choose(token, changes)
type Workspace struct {
	rows  []kept // the different rows seen since Start
	n     int    // how many of rows are in use
	steps []int  // for each row shown since Start, which of rows it is

	w, spare []float64 // weights of the newest row, and memory for those of the next
	comparer vec.Comparer
}

type kept struct {
	row Scores
	mass
}

// Start begins a chain with row, which is copied. A malformed row is a data
// error, see [Scores.Check].
func (w *Workspace) Start(row *Scores) error {
	w.n, w.steps = 0, w.steps[:0]
	k := w.room()
	if err := k.take(row); err != nil {
		return err
	}
	w.w = sized(w.w, len(row.Values))
	if err := k.weigh(w.w); err != nil {
		return err
	}
	w.push()
	return nil
}

// room returns memory for one more row.
func (w *Workspace) room() *kept {
	if w.n == len(w.rows) {
		w.rows = append(w.rows, kept{})
	}
	return &w.rows[w.n]
}

// push adds what room returned to the rows in use.
func (w *Workspace) push() {
	w.steps = append(w.steps, w.n)
	w.n++
}

// take copies a row, and finds its largest score and its support. A malformed
// row is a data error.
func (k *kept) take(row *Scores) error {
	if err := row.checkShape(); err != nil {
		return err
	}
	k.top, k.support = math.Inf(-1), 0
	k.row.Vocab, k.row.Unlisted = row.Vocab, row.Unlisted
	k.row.Values = sized(k.row.Values, len(row.Values))[:0]
	for piece := range slices.Chunk(row.Values, copyPiece) {
		if !vec.Legal(piece) {
			return row.Check()
		}
		k.top = max(k.top, float64(vec.Max(piece)))
		k.support += vec.Support(piece)
		k.row.Values = append(k.row.Values, piece...)
	}
	if k.support == 0 {
		return row.Check()
	}
	if row.IDs == nil {
		k.row.IDs = nil
		return nil
	}
	if k.row.IDs == nil {
		k.row.IDs = make([]int32, 0, len(row.IDs))
	}
	k.row.IDs = append(k.row.IDs[:0], row.IDs...)
	return nil
}

// weigh fills w, of the length of the row, with its weights.
func (k *kept) weigh(w []float64) error {
	k.total, k.lean = vec.Weigh(w, k.row.Values, k.row.IDs, k.top)
	return checkTail(&k.row, k.mass)
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Last returns the row shown last, as it was then. It belongs to w, is not to be
// changed, and lasts until the next Start.
func (w *Workspace) Last() *Scores {
	return &w.rows[w.steps[len(w.steps)-1]].row
}

// Next returns what happened between the row shown last and row, which is
// copied. A malformed row is a data error, and so is one whose divergence from
// the row before cannot be known because of an unlisted tail. When a pure
// truncation breaks the grouping of entropy (Shannon 1948), our own arithmetic
// is wrong and the error is internal.
func (w *Workspace) Next(row *Scores) (Change, error) {
	if len(w.steps) == 0 {
		return Change{}, fault.New(fault.Internal, "ledger", "", "Next before Start")
	}
	at := w.steps[len(w.steps)-1]
	if old := &w.rows[at]; old.row.same(row) { // most stages that draw
		w.steps = append(w.steps, at)
		return change(old, old, vec.Difference{Kept: old.total})
	}
	k := w.room()
	old := &w.rows[at]
	if err := k.take(row); err != nil {
		return Change{}, err
	}
	if err := sameSpace(&old.row, row); err != nil {
		return Change{}, err
	}
	w.spare = sized(w.spare, len(row.Values))
	if err := k.weigh(w.spare); err != nil {
		return Change{}, err
	}
	before, after := old.side(w.w), k.side(w.spare)
	c, err := change(old, k, w.comparer.Compare(&before, &after))
	if err != nil {
		return Change{}, err
	}
	w.push()
	w.w, w.spare = w.spare, w.w
	return c, nil
}

// same reports whether two rows have the same scores, to the bit, in the same
// form.
func (s *Scores) same(o *Scores) bool {
	return s.Vocab == o.Vocab && s.Unlisted == o.Unlisted && (s.IDs == nil) == (o.IDs == nil) &&
		slices.Equal(s.IDs, o.IDs) && vec.Same(s.Values, o.Values)
}

// side returns the row with its weights.
func (k *kept) side(weights []float64) vec.Side {
	return vec.Side{Values: k.row.Values, IDs: k.row.IDs, Weights: weights,
		Top: k.top, Share: (1 - k.row.Unlisted) / k.total, Ln: k.lnTotal(k.row.Unlisted)}
}

// sameSpace refuses pairs of rows whose comparison would not be exact.
func sameSpace(old, row *Scores) error {
	if old.Vocab != row.Vocab {
		return badScores("the vocabulary changed from %d to %d", old.Vocab, row.Vocab)
	}
	if row.Unlisted != 0 && row.Unlisted != old.Unlisted {
		return badScores("the unlisted mass changed from %g to %g", old.Unlisted, row.Unlisted).
			Fix("a stage leaves the unlisted tail as it is, or drops it whole")
	}
	return nil
}

// change returns the numbers of the ledger. Divergences use the general
// formulas, also for truncations, so that the identities of [Change.Check] are
// checks and not restatements.
func change(old, row *kept, d vec.Difference) (Change, error) {
	if d.Entered && old.row.Unlisted > 0 {
		return Change{}, badScores("a token that the backend did not list has a score after the stage").
			Fix("its probability before is unknown, so the divergence is; keep to listed tokens")
	}
	listed := 1 - old.row.Unlisted
	c := Change{
		SupportBefore: old.support, SupportAfter: row.support, Truncation: !d.Moved,
		KeptMass:       listed * d.Kept / old.total,
		EntropyBefore:  lowEntropy(&old.row, old.mass),
		EntropyAfter:   lowEntropy(&row.row, row.mass),
		UnlistedBefore: old.row.Unlisted, UnlistedAfter: row.row.Unlisted,
		KL: max(0, d.KL/math.Ln2),
	}
	l1 := d.L1 + listed/old.total*d.Dropped
	if row.row.Unlisted > 0 {
		// The tail is untouched; checkTail holds the rest to the same mass.
		c.KeptMass += row.row.Unlisted
	} else {
		l1 += old.row.Unlisted
	}
	c.TV = min(1, l1/2)
	return c, grouping(c, old, d)
}

func lowEntropy(s *Scores, m mass) float64 {
	if s.Unlisted == 0 {
		return m.entropy()
	}
	return m.entropyBounds(s.Unlisted, pMin(s, m), s.Vocab-len(s.Values)).Low
}

// grouping checks the identity ID-07 of a truncation of a fully listed row,
// H(p) = h(m) + m H(kept) + (1-m) H(dropped), rearranged so that nothing is
// divided by a vanishing mass:
// H(p) = m H(kept) - m log2 m - sum over the dropped of p log2 p.
func grouping(c Change, old *kept, d vec.Difference) error {
	if !c.Truncation || c.UnlistedBefore > 0 {
		return nil
	}
	droppedBits := -(d.DroppedLean - old.lnTotal(0)*d.Dropped) / old.total / math.Ln2
	got := c.KeptMass*c.EntropyAfter - xlog2x(c.KeptMass) + droppedBits
	if !(math.Abs(got-c.EntropyBefore) <= slack(c.EntropyBefore)) {
		return fault.New(fault.Internal, "ledger", "identity ID-07 (grouping of entropy)",
			"the parts give %.12g bits, the whole %.12g", got, c.EntropyBefore)
	}
	return nil
}

func xlog2x(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log2(x)
}

// Choose fills the rank and probability of the chosen token, before and after
// each stage, into the changes that Next returned since Start.
func (w *Workspace) Choose(token int32, changes []Change) {
	at := -1
	var rank int
	var p float64
	for i, step := range w.steps {
		if i > len(changes) {
			break
		}
		if step != at {
			at = step
			rank, p = standing(&w.rows[at].row, w.rows[at].mass, token)
		}
		if i > 0 {
			changes[i-1].RankAfter, changes[i-1].ProbAfter = rank, p
		}
		if i < len(changes) && i+1 < len(w.steps) {
			changes[i].RankBefore, changes[i].ProbBefore = rank, p
		}
	}
}

func standing(s *Scores, m mass, token int32) (rank int, p float64) {
	if rank = s.Rank(token); rank == 0 {
		return 0, 0
	}
	v := float64(s.Values[s.Index(token)])
	return rank, (1 - s.Unlisted) * vec.Exp(v-m.top) / m.total
}

// Compare returns what lies between two rows, with the memory of ws. It is
// [Workspace.Start] and [Workspace.Next] in one.
func Compare(before, after *Scores, ws *Workspace) (Change, error) {
	if err := ws.Start(before); err != nil {
		return Change{}, err
	}
	return ws.Next(after)
}
