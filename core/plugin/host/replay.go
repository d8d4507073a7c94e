package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
)

// Edit implements [model.Model].
func (m *Model) Edit(ctx context.Context, edits []model.Edit) error {
	m.work.Lock()
	defer m.work.Unlock()
	legal, refused := m.checkEdits(edits)
	if legal == 0 {
		return refused
	}
	req := &wire.EditRequest{}
	for _, e := range edits[:legal] {
		req.Edits = append(req.Edits, &wire.Edit{Op: wire.EditOp(e.Op), Seq: e.Seq, To: e.To, Length: uint64(e.Length)})
	}
	var answer *wire.EditResponse
	err := m.plug.repeat(ctx, func(i *instance) (bool, error) {
		id, again, err := m.ready(ctx, i)
		if err != nil {
			return again, err
		}
		req.Model = id
		again, err = m.plug.ask(ctx, i, "edit", m.host.opt.Deadlines.Call, func(ctx context.Context) (err error) {
			answer, err = i.conn.Model.Edit(ctx, req, smallLimit)
			return err
		})
		if err == nil && (int64(answer.GetApplied()) > int64(legal) || answer.GetFault() == nil && int(answer.GetApplied()) != legal) {
			m.plug.kill(i) // its sequences are not what our record says
			err = m.plug.fault("edit", "it says that it applied %d of %d edits", answer.GetApplied(), legal)
		}
		return again, err
	})
	if err != nil {
		return err
	}
	m.record(edits[:answer.GetApplied()])
	if f := answer.GetFault(); f != nil {
		return fault.Wrap(wire.GetFault(f), fault.Plugin, m.plug.name(), "edit")
	}
	return refused
}

// checkEdits returns how many edits, from the first on, fit the record of the
// sequences, and why the next one does not.
func (m *Model) checkEdits(edits []model.Edit) (legal int, refused error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := map[uint64]int{} // lengths after the edits so far; -1 forgotten
	length := func(seq uint64) int {
		if n, ok := changed[seq]; ok {
			return n
		}
		if tokens, ok := m.seqs[seq]; ok {
			return len(tokens)
		}
		return -1
	}
	for k, e := range edits {
		bad := func(format string, args ...any) (int, error) {
			return k, fault.New(fault.Internal, "edit", fmt.Sprintf("edit %d", k), format, args...)
		}
		n := length(e.Seq)
		if e.Op != model.Fork && e.Op != model.Truncate && e.Op != model.Free {
			return bad("unknown operation %d", e.Op)
		}
		if e.Op == model.Free {
			changed[e.Seq] = -1
			continue
		}
		if n < 0 {
			return bad("there is no sequence %d", e.Seq)
		}
		if e.Length < 0 || e.Length > n {
			return bad("sequence %d holds %d tokens, not %d", e.Seq, n, e.Length)
		}
		if e.Op == model.Truncate {
			changed[e.Seq] = e.Length
			continue
		}
		if length(e.To) >= 0 {
			return bad("sequence %d exists already", e.To)
		}
		changed[e.To] = e.Length
	}
	return len(edits), nil
}

// record applies edits that took effect to the host's own sequences.
func (m *Model) record(edits []model.Edit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range edits {
		switch e.Op {
		case model.Fork:
			m.seqs[e.To] = slices.Clone(m.seqs[e.Seq][:e.Length])
		case model.Truncate:
			m.seqs[e.Seq] = slices.Clip(m.seqs[e.Seq][:e.Length])
		case model.Free:
			delete(m.seqs, e.Seq)
		}
	}
}

// replay feeds every sequence to a newly opened model. Sequences are taken in
// the order of their tokens, so that each shares with the one before it the
// longest beginning it shares with any earlier one, and only the rest is
// computed.
func (m *Model) replay(ctx context.Context, i *instance) (again bool, err error) {
	m.mu.Lock()
	id := m.held.id
	order := make([]uint64, 0, len(m.seqs))
	for seq := range m.seqs {
		order = append(order, seq)
	}
	tokens := m.seqs // changed by nobody else: work is held
	m.mu.Unlock()
	if len(order) == 0 {
		return false, nil
	}
	if !m.info.Deterministic {
		m.host.warn("model %q was replayed after its plugin died and does not promise equal scores: the run may differ from an undisturbed one", m.ref)
	}
	slices.SortFunc(order, func(a, b uint64) int {
		if c := slices.Compare(tokens[a], tokens[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	m.plug.log.Info("sequences are fed anew", "model", m.ref, "sequences", len(order))
	for k, seq := range order {
		shared := 0
		if k > 0 {
			shared = commonLength(tokens[order[k-1]], tokens[seq])
			edit := &wire.Edit{Op: wire.EditOp(model.Fork), Seq: order[k-1], To: seq, Length: uint64(shared)}
			if shared > 0 {
				if again, err := m.refork(ctx, i, id, edit); err != nil {
					return again, err
				}
			}
		}
		if shared == len(tokens[seq]) {
			continue
		}
		req := &wire.ForwardRequest{Model: id, Inputs: []*wire.Input{
			{Seq: seq, Start: uint64(shared), Tokens: wire.PutTokens(tokens[seq][shared:])}}}
		again, err := m.plug.ask(ctx, i, "replay", m.host.opt.Deadlines.Forward, func(ctx context.Context) error {
			_, err := i.conn.Model.Forward(ctx, req, smallLimit)
			return err
		})
		if err != nil {
			return again, err
		}
	}
	return false, nil
}

func (m *Model) refork(ctx context.Context, i *instance, id uint64, edit *wire.Edit) (again bool, err error) {
	var answer *wire.EditResponse
	again, err = m.plug.ask(ctx, i, "replay", m.host.opt.Deadlines.Call, func(ctx context.Context) (err error) {
		answer, err = i.conn.Model.Edit(ctx, &wire.EditRequest{Model: id, Edits: []*wire.Edit{edit}}, smallLimit)
		return err
	})
	if err == nil && answer.GetFault() != nil {
		err = fault.Wrap(wire.GetFault(answer.GetFault()), fault.Plugin, m.plug.name(), "replay")
	}
	return again, err
}

func commonLength(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
