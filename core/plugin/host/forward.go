package host

import (
	"context"
	"fmt"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/plane"
)

// Forward implements [model.Model]. Rows of [Model.Rows] are filled in place;
// others are copied into. A call that disagrees with the host's record of the
// sequences is an internal error and is not sent.
func (m *Model) Forward(ctx context.Context, batch []model.Input) (model.Usage, error) {
	m.work.Lock()
	defer m.work.Unlock()
	if err := m.checkBatch(batch); err != nil {
		return model.Usage{}, err
	}
	if len(batch) == 0 {
		return model.Usage{}, nil
	}
	var usage model.Usage
	err := m.plug.repeat(ctx, func(i *instance) (again bool, err error) {
		usage, again, err = m.forward(ctx, i, batch)
		return again, err
	})
	if err != nil {
		return model.Usage{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range batch {
		m.seqs[in.Seq] = append(m.seqs[in.Seq], in.Tokens...)
	}
	return usage, nil
}

func (m *Model) checkBatch(batch []model.Input) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(map[uint64]bool, len(batch))
	for k, in := range batch {
		bad := func(format string, args ...any) error {
			return fault.New(fault.Internal, "forward", fmt.Sprintf("input %d", k), format, args...)
		}
		switch {
		case len(in.Tokens) == 0:
			return bad("it has no tokens")
		case in.Want > model.All:
			return bad("it wants %d", in.Want)
		case seen[in.Seq]:
			return bad("sequence %d is named twice", in.Seq)
		case in.Start != len(m.seqs[in.Seq]):
			return bad("sequence %d holds %d tokens, not %d", in.Seq, len(m.seqs[in.Seq]), in.Start)
		case len(in.Scores) != in.Want.Rows(len(in.Tokens)):
			return bad("it has %d rows for %d wanted", len(in.Scores), in.Want.Rows(len(in.Tokens)))
		case len(in.Hidden) > 0 && (m.info.Hidden == 0 || len(in.Hidden) != len(in.Scores)*m.info.Hidden):
			return bad("it has %d numbers for %d hidden states of %d", len(in.Hidden), len(in.Scores), m.info.Hidden)
		}
		seen[in.Seq] = true
		for r := range in.Scores {
			if row := &in.Scores[r]; !row.Dense() || row.Vocab != m.info.VocabSize || row.Len() != row.Vocab {
				return bad("row %d is not dense over the %d tokens of the model", r, m.info.VocabSize)
			}
		}
	}
	return nil
}

// forward makes the call once, with one process.
func (m *Model) forward(ctx context.Context, i *instance, batch []model.Input) (usage model.Usage, again bool, err error) {
	id, again, err := m.ready(ctx, i)
	if err != nil {
		return usage, again, err
	}
	table, again, err := m.shared(ctx, i, batch)
	if err != nil {
		return usage, again, err
	}
	req := &wire.ForwardRequest{Model: id, Inputs: make([]*wire.Input, len(batch))}
	for k := range batch {
		req.Inputs[k] = putInput(&batch[k], table)
	}
	var answer *wire.ForwardResponse
	again, err = m.plug.ask(ctx, i, "forward", m.host.opt.Deadlines.Forward, func(ctx context.Context) (err error) {
		answer, err = i.conn.Model.Forward(ctx, req, forwardLimit(m.info.VocabSize, batch))
		return err
	})
	if err != nil {
		return usage, again, err
	}
	if usage, err = m.takeForward(batch, req, answer, table); err != nil {
		// The plugin's sequences have grown and our record has not: the next call
		// starts over with a process that agrees with it.
		m.plug.kill(i)
		return usage, false, fault.Wrap(err, fault.Plugin, m.plug.name(), "forward")
	}
	return usage, false, nil
}

// shared returns the planes that the process can reach, nil when none of the
// rows is on one that it can.
func (m *Model) shared(ctx context.Context, i *instance, batch []model.Input) (*plane.Table, bool, error) {
	home := &m.host.memory.table
	ids := map[uint32]bool{}
	for k := range batch {
		for r := range batch[k].Scores {
			if s, ok := home.Find(batch[k].Scores[r].Values); ok {
				ids[s.Plane] = true
			}
		}
	}
	if len(ids) == 0 {
		return nil, false, nil
	}
	ok, again, err := m.plug.attach(ctx, i, ids)
	if !ok {
		return nil, again, err
	}
	return home, false, nil
}

func putInput(in *model.Input, table *plane.Table) *wire.Input {
	out := &wire.Input{Seq: in.Seq, Start: uint64(in.Start), Tokens: wire.PutTokens(in.Tokens), Want: wire.Want(in.Want), Hidden: len(in.Hidden) > 0}
	if table == nil {
		return out
	}
	for r := range in.Scores {
		s, ok := table.Find(in.Scores[r].Values)
		if !ok {
			return &wire.Input{Seq: out.Seq, Start: out.Start, Tokens: out.Tokens, Want: out.Want, Hidden: out.Hidden}
		}
		out.Rows = append(out.Rows, wire.PutSlot(s))
	}
	return out
}

func (m *Model) takeForward(batch []model.Input, req *wire.ForwardRequest, answer *wire.ForwardResponse, table *plane.Table) (model.Usage, error) {
	usage, err := wire.GetUsage(answer.GetUsage())
	if err != nil {
		return usage, err
	}
	if len(answer.GetOutputs()) != len(batch) {
		return usage, fault.New(fault.Plugin, "", "", "it answered %d of %d inputs", len(answer.GetOutputs()), len(batch))
	}
	for k := range batch {
		rows := answer.GetOutputs()[k].GetRows()
		if len(rows) != len(batch[k].Scores) {
			return usage, fault.New(fault.Plugin, "", "", "it left %d of %d rows for input %d", len(rows), len(batch[k].Scores), k)
		}
		if err := wire.GetFloats(batch[k].Hidden, answer.GetOutputs()[k].GetHidden(), "hidden"); err != nil {
			return usage, err
		}
		for r := range rows {
			var slot *wire.Slot
			if asked := req.Inputs[k].GetRows(); len(asked) > 0 {
				slot = asked[r]
			}
			row, inPlace, err := readRow(rows[r], slot, m.info.VocabSize, table)
			if err != nil {
				return usage, err
			}
			if row.Unlisted > 0 && m.info.TopN == 0 {
				return usage, fault.New(fault.Plugin, "", "", "a row leaves %g unlisted, and the model says it lists all", row.Unlisted)
			}
			if likeProbabilities(&row) {
				m.host.warn("model %q: a row of its scores adds up to 1 with nothing below 0, like probabilities; scores are natural-log weights, so the backend should take the logarithm", m.ref)
			}
			if inPlace {
				batch[k].Scores[r] = row
			} else {
				storeInline(&batch[k].Scores[r], &row, &m.host.memory.table)
			}
		}
	}
	return usage, nil
}
