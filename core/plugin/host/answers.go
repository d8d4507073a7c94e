package host

import (
	"errors"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/plane"
	"lab/core/plugin/sampler"
)

// given is the row that a plugin was given for one sequence.
type given struct {
	row  *dist.Scores
	full func() bool
}

// answers takes what a plugin returned for the items of a call.
type answers struct {
	call    *sampler.Call
	table   *plane.Table // nil: nothing was shared with the plugin
	home    *plane.Table // every plane of this process
	selects bool
	raw     bool // the row given may break the contract
	suspect bool // set when a row looks like probabilities
}

// take checks the answer for one sequence against what was asked and the row
// that was given, and only then changes the item.
func (a *answers) take(it *sampler.Item, given given, asked *wire.Item, m *wire.ItemResult) error {
	bad := func(format string, args ...any) error { return fault.New(fault.Plugin, "", "", format, args...) }
	stages := len(a.call.Stages)
	row, inPlace, err := a.row(m.GetScores(), asked.GetScores().GetSlot(), it.Scores.Vocab)
	if err != nil {
		return err
	}
	switch {
	case row.Len() > int(asked.GetScores().GetCount()):
		return bad("it lists %d tokens where it was given %d", row.Len(), asked.GetScores().GetCount())
	case row.Unlisted != 0 && row.Unlisted != it.Scores.Unlisted:
		return bad("it changed the unlisted mass from %g to %g", it.Scores.Unlisted, row.Unlisted)
	case len(m.GetStates()) != stages:
		return bad("it left %d states for %d stages", len(m.GetStates()), stages)
	case a.call.Ledger && len(m.GetChanges()) != stages:
		return bad("it left %d lines of the ledger for %d stages", len(m.GetChanges()), stages)
	case a.call.Rows && len(m.GetRows()) != stages:
		return bad("it left %d rows for %d stages", len(m.GetRows()), stages)
	case a.selects != (m.Chosen != nil):
		return bad("a stage selects: %t, a token was chosen: %t", a.selects, m.Chosen != nil)
	}
	for k, s := range m.GetStates() {
		if len(s) > sampler.MaxState {
			return bad("the state of stage %d has %d bytes, more than %d", k+1, len(s), sampler.MaxState)
		}
	}
	chosen := int32(-1)
	if m.Chosen != nil {
		if int64(m.GetChosen()) >= int64(row.Vocab) || !row.Has(int32(m.GetChosen())) {
			return bad("it chose token %d, which is not in the support of its row", m.GetChosen())
		}
		chosen = int32(m.GetChosen())
	}
	var changes []dist.Change
	if a.call.Ledger {
		changes = make([]dist.Change, 0, stages)
		for _, c := range m.GetChanges() {
			change, err := wire.GetChange(c, row.Vocab)
			if err != nil {
				return err
			}
			changes = append(changes, change)
		}
	}
	var rows []dist.Scores
	if a.call.Rows {
		if rows, err = a.rows(asked, m); err != nil {
			return err
		}
	}
	if err := a.revived(given, rows, &row); err != nil {
		return err
	}
	a.suspect = a.suspect || likeProbabilities(&row) && !likeProbabilities(given.row)
	it.States, it.Chosen, it.Changes, it.Rows = slices.Clone(m.GetStates()), chosen, changes, rows
	if inPlace {
		it.Scores = row
	} else {
		storeInline(&it.Scores, &row, a.home)
	}
	return nil
}

// revived returns an error when a token that the given row had removed has a
// score again, after any stage whose row is known.
func (a *answers) revived(given given, rows []dist.Scores, last *dist.Scores) error {
	// A row of few tokens is looked up sooner than the one given is looked through.
	few := last.Len() < given.row.Len()/8
	if !few && len(rows) == 0 && given.full() || a.raw && given.row.Check() != nil {
		return nil // nothing was removed; or the row was to be repaired
	}
	before := given.row
	for k := range len(rows) + 1 {
		row := last
		if k < len(rows) {
			row = &rows[k]
		}
		if id := row.Revives(before); id >= 0 {
			return fault.New(fault.Plugin, "", "", "it gave a score to token %d, which was removed before", id)
		}
		before = row
	}
	return nil
}

func (a *answers) rows(asked *wire.Item, m *wire.ItemResult) ([]dist.Scores, error) {
	var rows []dist.Scores
	for k, r := range m.GetRows() {
		var slot *wire.Slot
		if len(asked.GetRows()) > 0 {
			slot = asked.GetRows()[k]
		}
		row, _, err := a.row(r, slot, int(asked.GetScores().GetVocab()))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// row reads a row of an answer. One in a slot must be in the slot that was
// asked for: a plugin has no other to write to.
func (a *answers) row(m *wire.Row, slot *wire.Slot, vocab int) (row dist.Scores, inPlace bool, err error) {
	return readRow(m, slot, vocab, a.table)
}

func readRow(m *wire.Row, slot *wire.Slot, vocab int, table *plane.Table) (row dist.Scores, inPlace bool, err error) {
	bad := func(format string, args ...any) (dist.Scores, bool, error) {
		return dist.Scores{}, false, fault.New(fault.Plugin, "", "", format, args...)
	}
	if at, ok := wire.SlotOf(m); ok {
		if slot == nil || table == nil || at.Plane != slot.GetPlane() || at.Index != slot.GetIndex() {
			return bad("it answered in slot %d of plane %d, which it was not given", at.Index, at.Plane)
		}
		inPlace = true
	}
	if int64(m.GetVocab()) != int64(vocab) {
		return bad("its row has a vocabulary of %d, not %d", m.GetVocab(), vocab)
	}
	row, err = wire.GetRow(m, table)
	if err == nil && !row.Full() { // one pass over the usual row instead of two
		err = row.Check()
	}
	if err != nil {
		return bad("it left a malformed row: %s", problem(err))
	}
	return row, inPlace, nil
}

// problem is what an error says without its operation and cure: a row that is
// no row is the plugin's fault here, whatever it would be elsewhere.
func problem(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Problem != "" {
		return f.Problem
	}
	return err.Error()
}

// storeInline copies a row that came as bytes to where the caller's is: the
// same scores' memory, and for its ids the slot's own place when it has one.
func storeInline(to, from *dist.Scores, home *plane.Table) {
	to.Values = append(to.Values[:0], from.Values...)
	to.Vocab, to.Unlisted = from.Vocab, from.Unlisted
	if from.Dense() {
		to.IDs = nil
		return
	}
	if slot, ok := home.Find(to.Values); ok {
		if _, ids, err := home.Row(slot); err == nil {
			to.IDs = ids[:copy(ids, from.IDs)]
			return
		}
	}
	to.IDs = append(to.IDs[:0], from.IDs...)
	if to.IDs == nil {
		to.IDs = []int32{}
	}
}
