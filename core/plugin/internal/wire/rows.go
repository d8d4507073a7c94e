package wire

import (
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/plane"
)

const maxVocab = plane.MaxVocab

// PutRow returns the message for a row: the number of its slot when planes is
// not nil and the row lies in one (its ids are moved there if they do not), else
// its numbers. Inline bytes may be views of the row, which must not change until
// the message is sent.
func PutRow(row *dist.Scores, planes *plane.Table) *Row {
	out := &Row{Sparse: !row.Dense(), Unlisted: row.Unlisted, Vocab: uint32(row.Vocab), Count: uint32(row.Len())}
	if planes != nil {
		if s, ok := planes.Settle(row); ok {
			out.Place = &Row_Slot{Slot: PutSlot(s)}
			return out
		}
	}
	out.Place = &Row_Inline{Inline: &Inline{Scores: bytesOf(row.Values), Ids: bytesOf(row.IDs)}}
	return out
}

// PutSlot returns the message for a slot.
func PutSlot(s plane.Slot) *Slot { return &Slot{Plane: s.Plane, Index: s.Index} }

// SlotOf returns the slot that a row message names, and whether it names one.
func SlotOf(r *Row) (plane.Slot, bool) {
	s := r.GetSlot()
	return plane.Slot{Plane: s.GetPlane(), Index: s.GetIndex()}, s != nil
}

// GetRow returns the row of a message: over the memory of its slot, or over the
// bytes of the message. Shape, ids and the unlisted mass are checked; the scores
// are not looked at.
func GetRow(r *Row, planes *plane.Table) (dist.Scores, error) {
	bad := func(format string, args ...any) (dist.Scores, error) {
		return dist.Scores{}, fault.New(fault.Data, "row", "", format, args...)
	}
	vocab, count := int(r.GetVocab()), int(r.GetCount())
	if vocab < 1 || vocab > maxVocab || count < 0 || count > vocab || !r.GetSparse() && count != vocab {
		return bad("%d scores do not fit a row of %d tokens (sparse: %t)", r.GetCount(), r.GetVocab(), r.GetSparse())
	}
	if !(r.GetUnlisted() >= 0 && r.GetUnlisted() < 1) {
		return bad("the unlisted mass is %g, outside [0, 1)", r.GetUnlisted())
	}
	var row dist.Scores
	var err error
	switch place := r.GetPlace().(type) {
	case *Row_Slot:
		if planes == nil {
			return bad("it is in a slot, and no plane is attached")
		}
		row, err = planes.View(plane.Slot{Plane: place.Slot.GetPlane(), Index: place.Slot.GetIndex()}, vocab, count, r.GetSparse(), r.GetUnlisted())
	case *Row_Inline:
		row, err = inlineRow(place.Inline, vocab, count, r.GetSparse(), r.GetUnlisted())
	default:
		return bad("it has neither scores nor a slot")
	}
	if err == nil {
		err = checkIDs(&row)
	}
	return row, err
}

func inlineRow(in *Inline, vocab, count int, sparse bool, unlisted float64) (dist.Scores, error) {
	values, err := numbersOf[float32](in.GetScores(), "scores")
	if err != nil {
		return dist.Scores{}, err
	}
	ids, err := numbersOf[int32](in.GetIds(), "ids")
	if err != nil {
		return dist.Scores{}, err
	}
	if len(values) != count || sparse && len(ids) != count || !sparse && len(ids) != 0 {
		return dist.Scores{}, fault.New(fault.Data, "row", "", "it announces %d scores and carries %d, with %d token ids (sparse: %t)",
			count, len(values), len(ids), sparse)
	}
	if sparse && ids == nil {
		ids = []int32{}
	}
	return dist.Scores{Vocab: vocab, Values: values, IDs: ids, Unlisted: unlisted}, nil
}

func checkIDs(row *dist.Scores) error {
	last := int32(-1)
	for i, id := range row.IDs {
		if id <= last || int(id) >= row.Vocab {
			return fault.New(fault.Data, "row", "", "token id %d at position %d is out of order or outside the vocabulary of %d", id, i, row.Vocab)
		}
		last = id
	}
	return nil
}
