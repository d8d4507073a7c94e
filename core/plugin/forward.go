package plugin

import (
	"context"
	"fmt"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/plane"
)

// Forward implements the call of lab.proto.
func (s *modelServer) Forward(ctx context.Context, req *wire.ForwardRequest) (*wire.ForwardResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), true)
	if err != nil {
		return nil, err
	}
	defer leave()
	batch, err := s.batch(req.GetInputs(), o.info)
	if err != nil {
		return nil, err
	}
	usage, err := o.model.Forward(ctx, batch)
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "forward", o.info.Name)
	}
	out := &wire.ForwardResponse{Usage: wire.PutUsage(usage), Outputs: make([]*wire.Output, len(batch))}
	for i := range batch {
		if out.Outputs[i], err = s.output(&batch[i], req.GetInputs()[i], o.info.VocabSize); err != nil {
			return nil, fault.Wrap(err, fault.Plugin, "forward", fmt.Sprintf("input %d", i))
		}
	}
	return out, nil
}

// batch reads the inputs of a call and gives each its rows: slots, or memory of
// this process.
func (s *modelServer) batch(inputs []*wire.Input, info model.Info) ([]model.Input, error) {
	vocab := info.VocabSize
	batch := make([]model.Input, len(inputs))
	seen := make(map[uint64]bool, len(inputs))
	taken := map[plane.Slot]bool{}
	inline, hidden := 0, 0
	for i, m := range inputs {
		bad := func(format string, args ...any) error {
			return fault.New(fault.Data, "forward", fmt.Sprintf("input %d", i), format, args...)
		}
		tokens, err := wire.GetTokens(m.GetTokens(), vocab, "tokens")
		if err != nil {
			return nil, fault.Wrap(err, fault.Data, "forward", fmt.Sprintf("input %d", i))
		}
		want := model.Want(min(uint32(m.GetWant()), 255))
		rows := want.Rows(len(tokens))
		switch {
		case len(tokens) == 0:
			return nil, bad("it has no tokens")
		case want > model.All:
			return nil, bad("it wants %d", m.GetWant())
		case m.GetStart() > 1<<30:
			return nil, bad("it starts at token %d", m.GetStart())
		case seen[m.GetSeq()]:
			return nil, bad("sequence %d is named twice", m.GetSeq())
		case len(m.GetRows()) != 0 && len(m.GetRows()) != rows:
			return nil, bad("it names %d slots for %d rows", len(m.GetRows()), rows)
		}
		seen[m.GetSeq()] = true
		if len(m.GetRows()) == 0 {
			inline += rows
		}
		if m.GetHidden() {
			hidden += rows
		}
		if int64(inline)*int64(vocab)*4+int64(hidden)*int64(info.Hidden)*4 > wire.MaxMessage {
			return nil, tooManyRows(inline, vocab)
		}
		in := model.Input{Seq: m.GetSeq(), Start: int(m.GetStart()), Tokens: tokens, Want: want}
		if in.Scores, err = s.rows(m.GetRows(), rows, vocab, taken); err != nil {
			return nil, fault.Wrap(err, fault.Data, "forward", fmt.Sprintf("input %d", i))
		}
		if m.GetHidden() {
			if info.Hidden == 0 {
				return nil, bad("it wants hidden states, which the model does not offer")
			}
			in.Hidden = make([]float32, rows*info.Hidden)
		}
		batch[i] = in
	}
	return batch, nil
}

func tooManyRows(rows, vocab int) error {
	return fault.New(fault.Limit, "forward", "", "%d rows of %d scores exceed a message of %d MiB", rows, vocab, wire.MaxMessage>>20).
		Fix("ask for fewer rows in one call, or keep shared memory on")
}

func (s *modelServer) rows(slots []*wire.Slot, n, vocab int, taken map[plane.Slot]bool) ([]dist.Scores, error) {
	if n == 0 {
		return nil, nil
	}
	out := make([]dist.Scores, n)
	if len(slots) == 0 {
		all := make([]float32, n*vocab)
		for k := range out {
			out[k] = dist.NewDense(all[k*vocab : (k+1)*vocab : (k+1)*vocab])
		}
		return out, nil
	}
	for k, m := range slots {
		slot := plane.Slot{Plane: m.GetPlane(), Index: m.GetIndex()}
		if err := take(taken, slot); err != nil {
			return nil, err
		}
		row, err := s.planes.View(slot, vocab, vocab, false, 0)
		if err != nil {
			return nil, err
		}
		out[k] = row
	}
	return out, nil
}

// output writes the rows that a model filled, each where it was wanted.
func (s *modelServer) output(in *model.Input, m *wire.Input, vocab int) (*wire.Output, error) {
	want := in.Want.Rows(len(in.Tokens))
	if len(in.Scores) != want {
		return nil, fault.New(fault.Plugin, "", "", "the backend left %d rows of %d", len(in.Scores), want)
	}
	out := &wire.Output{Rows: make([]*wire.Row, want), Hidden: wire.PutFloats(in.Hidden)}
	for k := range in.Scores {
		row := &in.Scores[k]
		if row.Vocab != vocab || row.Dense() && row.Len() != vocab || !row.Dense() && (len(row.IDs) != row.Len() || row.Len() > vocab) {
			return nil, fault.New(fault.Plugin, "", "", "row %d has %d scores and %d ids for a vocabulary of %d, the model's is %d",
				k, row.Len(), len(row.IDs), row.Vocab, vocab)
		}
		if len(m.GetRows()) == 0 {
			out.Rows[k] = wire.PutRow(row, nil)
			continue
		}
		r := m.GetRows()[k]
		stored, err := storeRow(s.planes, row, plane.Slot{Plane: r.GetPlane(), Index: r.GetIndex()})
		if err != nil {
			return nil, err
		}
		out.Rows[k] = stored
	}
	return out, nil
}
