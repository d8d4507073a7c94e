package dist

import (
	"math"

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
	rows  []kept // the rows seen since Start
	n     int    // how many of rows are in use
	w     []float64
	spare []float64
	at    []int32 // for each token of the newer row, its index in the older one
}

type kept struct {
	row Scores
	mass
}

// Start begins a chain with row, which is copied. A malformed row is a data
// error, see [Scores.Check].
func (w *Workspace) Start(row *Scores) error {
	if err := row.Check(); err != nil {
		return err
	}
	w.n = 0
	w.w = sized(w.w, len(row.Values))
	m := weigh(row, w.w)
	if err := checkTail(row, m); err != nil {
		return err
	}
	w.push(row, m)
	return nil
}

func (w *Workspace) push(row *Scores, m mass) {
	if w.n == len(w.rows) {
		w.rows = append(w.rows, kept{})
	}
	k := &w.rows[w.n]
	k.row.CopyFrom(row)
	k.mass = m
	w.n++
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Next returns what happened between the row shown last and row, which is
// copied. A malformed row is a data error, and so is one whose divergence from
// the row before cannot be known because of an unlisted tail. When a pure
// truncation breaks the grouping of entropy (Shannon 1948), our own arithmetic
// is wrong and the error is internal.
func (w *Workspace) Next(row *Scores) (Change, error) {
	if w.n == 0 {
		return Change{}, fault.New(fault.Internal, "ledger", "", "Next before Start")
	}
	if err := row.Check(); err != nil {
		return Change{}, err
	}
	old := &w.rows[w.n-1]
	if err := sameSpace(&old.row, row); err != nil {
		return Change{}, err
	}
	w.spare = sized(w.spare, len(row.Values))
	w.at = sized(w.at, len(row.Values))
	s := w.split(&old.row, row, old.mass)
	if s.entered && old.row.Unlisted > 0 {
		return Change{}, badScores("a token that the backend did not list has a score after the stage").
			Fix("its probability before is unknown, so the divergence is; keep to listed tokens")
	}
	m := weigh(row, w.spare)
	if err := checkTail(row, m); err != nil {
		return Change{}, err
	}
	c := w.change(old, row, m, s)
	if err := s.grouping(c, old.lnTotal(old.row.Unlisted), old.total); err != nil {
		return Change{}, err
	}
	w.push(row, m)
	w.w, w.spare = w.spare, w.w
	return c, nil
}

// split is how the older row divides into tokens that survived and tokens that
// were dropped. Sums are of the older weights.
type split struct {
	kept, dropped float64
	droppedLean   float64 // sum over the dropped of weight * (score - top)
	entered       bool    // a token outside the old support is in the new one
	truncation    bool
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

// split walks both rows in order of id and fills w.at, and w.spare with the old
// weight of every token of the new row. Those are summed in the order in which
// the old ones were, so that a stage that keeps all keeps a mass of exactly 1.
func (w *Workspace) split(old, row *Scores, m mass) split {
	s := split{truncation: true}
	if old.IDs == nil && row.IDs == nil {
		w.splitDense(&s, old, row, m)
	} else {
		w.splitSparse(&s, old, row, m)
	}
	s.kept = vec.Add(w.spare, row.IDs)
	s.truncation = s.truncation && !s.entered
	return s
}

// drop counts old tokens in [from, to) that are not in the new row.
func (w *Workspace) drop(s *split, old *Scores, m mass, from, to int) {
	weights := w.w[from:to]
	for i, v := range old.Values[from:to] {
		if !removed(v) {
			s.dropped += weights[i]
			s.droppedLean += weights[i] * (float64(v) - m.top)
		}
	}
}

// splitDense is splitSparse for rows in which every token has its place.
func (w *Workspace) splitDense(s *split, old, row *Scores, m mass) {
	same := true
	for j, v := range row.Values {
		before := old.Values[j]
		w.at[j], w.spare[j] = int32(j), 0
		switch {
		case removed(v):
			w.at[j] = -1
			w.drop(s, old, m, j, j+1)
		case removed(before):
			w.at[j] = -1
			s.entered = true
		default:
			w.spare[j] = w.w[j]
			same = same && math.Float32bits(before) == math.Float32bits(v)
		}
	}
	s.truncation = same
}

func (w *Workspace) splitSparse(s *split, old, row *Scores, m mass) {
	i := 0
	for j, v := range row.Values {
		id := row.ID(j)
		from := i
		if old.IDs == nil {
			i = int(id)
		}
		for i < len(old.Values) && old.ID(i) < id {
			i++
		}
		w.drop(s, old, m, from, i)
		w.at[j], w.spare[j] = -1, 0
		if i == len(old.Values) || old.ID(i) != id {
			s.entered = s.entered || !removed(v)
			continue
		}
		switch before := old.Values[i]; {
		case removed(v):
			w.drop(s, old, m, i, i+1)
		case removed(before):
			s.entered = true
		default:
			w.at[j], w.spare[j] = int32(i), w.w[i]
			s.truncation = s.truncation && math.Float32bits(before) == math.Float32bits(v)
		}
		i++
	}
	w.drop(s, old, m, i, len(old.Values))
}

// change computes the numbers of the ledger. Divergences use the general
// formulas, also for truncations, so that the identities of [Change.Check] are
// checks and not restatements.
func (w *Workspace) change(old *kept, row *Scores, m mass, s split) Change {
	c := Change{
		SupportBefore: old.support, SupportAfter: m.support, Truncation: s.truncation,
		KeptMass:       (1 - old.row.Unlisted) * s.kept / old.total,
		EntropyBefore:  lowEntropy(&old.row, old.mass),
		EntropyAfter:   lowEntropy(row, m),
		UnlistedBefore: old.row.Unlisted, UnlistedAfter: row.Unlisted,
	}
	if row.Unlisted > 0 {
		// The tail is untouched; checkTail holds the rest to the same mass.
		c.KeptMass += row.Unlisted
	}
	lnOld, lnNew := old.lnTotal(old.row.Unlisted), m.lnTotal(row.Unlisted)
	toOld, toNew := (1-old.row.Unlisted)/old.total, (1-row.Unlisted)/m.total
	kl, l1 := 0.0, 0.0
	for j, i := range w.at {
		q := toNew * w.spare[j]
		if i < 0 {
			l1 += q
			continue
		}
		l1 += math.Abs(q - toOld*w.w[i])
		if q > 0 {
			after := float64(row.Values[j]) - m.top - lnNew
			before := float64(old.row.Values[i]) - old.top - lnOld
			kl += q * (after - before)
		}
	}
	c.KL = max(0, kl/math.Ln2)
	if s.entered {
		c.KL = math.Inf(1)
	}
	l1 += toOld * s.dropped
	if row.Unlisted == 0 {
		l1 += old.row.Unlisted
	}
	c.TV = min(1, l1/2)
	return c
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
func (s split) grouping(c Change, lnTotal, total float64) error {
	if !s.truncation || c.UnlistedBefore > 0 {
		return nil
	}
	droppedBits := -(s.droppedLean - lnTotal*s.dropped) / total / math.Ln2
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
	rank, p := w.standing(0, token)
	for i := range changes {
		if i+1 >= w.n {
			return
		}
		changes[i].RankBefore, changes[i].ProbBefore = rank, p
		rank, p = w.standing(i+1, token)
		changes[i].RankAfter, changes[i].ProbAfter = rank, p
	}
}

func (w *Workspace) standing(row int, token int32) (rank int, p float64) {
	if row >= w.n {
		return 0, 0
	}
	k := &w.rows[row]
	return standing(&k.row, k.mass, token)
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
