package plugin

import (
	"context"
	"fmt"
	"math"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/plane"
	"lab/core/plugin/sampler"
)

// samplerServer runs stages for a host.
type samplerServer struct {
	wire.UnimplementedSamplerServer
	set    *sampler.Set
	planes *plane.Table
}

// Apply implements the call of lab.proto.
func (s *samplerServer) Apply(ctx context.Context, req *wire.ApplyRequest) (*wire.ApplyResponse, error) {
	call, err := s.call(req)
	if err != nil {
		return nil, err
	}
	if err := s.set.Run(ctx, call); err != nil {
		return nil, err
	}
	out := &wire.ApplyResponse{Items: make([]*wire.ItemResult, len(call.Items))}
	for i, it := range call.Items {
		if out.Items[i], err = s.result(it, req.GetItems()[i], call); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// call reads a request. Nothing in it is taken on trust.
func (s *samplerServer) call(req *wire.ApplyRequest) (*sampler.Call, error) {
	if len(req.GetStages()) == 0 {
		return nil, fault.New(fault.Usage, "sampler call", "", "it names no stage")
	}
	end, err := wire.GetTokens(req.GetEndOfText(), math.MaxInt32, "end_of_text")
	if err != nil {
		return nil, err
	}
	call := &sampler.Call{Ledger: req.GetLedger(), Rows: req.GetRows(), Vocabulary: req.GetVocabulary(), EndOfText: end}
	for i, st := range req.GetStages() {
		d, err := s.set.Lookup(st.GetSampler())
		if err != nil {
			return nil, fault.Wrap(err, fault.Usage, fmt.Sprintf("stage %d", i+1), "")
		}
		op := fmt.Sprintf("stage %d (%s)", i+1, d.Name)
		specs, err := d.ParamsFor(st.GetSystem())
		if err != nil {
			return nil, fault.Wrap(err, fault.Usage, op, "")
		}
		values, err := wire.GetValues(op, d.Name, specs, st.GetValues())
		if err != nil {
			return nil, err
		}
		call.Stages = append(call.Stages, sampler.Stage{Sampler: d.Name, Values: values, System: st.GetSystem()})
	}
	taken := map[plane.Slot]bool{}
	for i, m := range req.GetItems() {
		it, err := s.item(m, len(call.Stages), taken)
		if err != nil {
			return nil, fault.Wrap(err, fault.Data, "sampler call", fmt.Sprintf("sequence %d", i))
		}
		call.Items = append(call.Items, it)
	}
	return call, nil
}

// item reads one sequence. taken collects the slots of the call, none of which
// may be named twice.
func (s *samplerServer) item(m *wire.Item, stages int, taken map[plane.Slot]bool) (*sampler.Item, error) {
	row, err := wire.GetRow(m.GetScores(), s.planes)
	if err != nil {
		return nil, err
	}
	if slot, ok := wire.SlotOf(m.GetScores()); ok {
		if err := take(taken, slot); err != nil {
			return nil, err
		}
	}
	for _, r := range m.GetRows() {
		if err := take(taken, plane.Slot{Plane: r.GetPlane(), Index: r.GetIndex()}); err != nil {
			return nil, err
		}
	}
	it := &sampler.Item{Scores: row, Chosen: -1}
	if it.History, err = wire.GetTokens(m.GetHistory(), row.Vocab, "history"); err != nil {
		return nil, err
	}
	if uint64(m.GetPrompt()) > uint64(len(it.History)) || m.GetStep() > math.MaxInt32 {
		return nil, fault.New(fault.Data, "", "", "prompt %d of %d context tokens at step %d is impossible",
			m.GetPrompt(), len(it.History), m.GetStep())
	}
	it.Prompt, it.Step, it.Sample = int(m.GetPrompt()), int(m.GetStep()), m.GetSample()
	if len(m.GetRows()) != 0 && len(m.GetRows()) != stages {
		return nil, fault.New(fault.Data, "", "", "%d slots are named for the rows after %d stages", len(m.GetRows()), stages)
	}
	if it.States = m.GetStates(); len(it.States) == 0 {
		it.States = nil
	}
	for _, b := range m.GetUniforms() {
		u, err := wire.GetUniforms(b)
		if err != nil {
			return nil, err
		}
		it.Uniforms = append(it.Uniforms, u)
	}
	for _, p := range m.GetPasses() {
		pass, err := wire.GetRow(p, s.planes)
		if err != nil {
			return nil, err
		}
		if err := pass.Check(); err != nil {
			return nil, err
		}
		it.Passes = append(it.Passes, pass)
	}
	return it, nil
}

func take(taken map[plane.Slot]bool, s plane.Slot) error {
	if taken[s] {
		return fault.New(fault.Data, "", "", "slot %d of plane %d is named twice", s.Index, s.Plane)
	}
	taken[s] = true
	return nil
}

// result writes the answer for one sequence, its row where it came from.
func (s *samplerServer) result(it *sampler.Item, m *wire.Item, call *sampler.Call) (*wire.ItemResult, error) {
	out := &wire.ItemResult{States: it.States}
	slot, shared := wire.SlotOf(m.GetScores())
	if shared {
		row, err := s.store(&it.Scores, slot)
		if err != nil {
			return nil, err
		}
		out.Scores = row
	} else {
		out.Scores = wire.PutRow(&it.Scores, nil)
	}
	if it.Chosen >= 0 {
		chosen := uint32(it.Chosen)
		out.Chosen = &chosen
	}
	for _, c := range it.Changes {
		out.Changes = append(out.Changes, wire.PutChange(c))
	}
	if !call.Rows {
		return out, nil
	}
	for i := range it.Rows {
		if len(m.GetRows()) == 0 {
			out.Rows = append(out.Rows, wire.PutRow(&it.Rows[i], nil))
			continue
		}
		r := m.GetRows()[i]
		row, err := s.store(&it.Rows[i], plane.Slot{Plane: r.GetPlane(), Index: r.GetIndex()})
		if err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

func (s *samplerServer) store(row *dist.Scores, slot plane.Slot) (*wire.Row, error) {
	return storeRow(s.planes, row, slot)
}

// storeRow makes a row lie in a slot and returns its message. A row that lies
// there already is left alone.
func storeRow(planes *plane.Table, row *dist.Scores, slot plane.Slot) (*wire.Row, error) {
	values, ids, err := planes.Row(slot)
	if err != nil {
		return nil, err
	}
	if row.Vocab != len(values) || row.Len() > row.Vocab || row.Dense() && row.Len() != row.Vocab {
		return nil, fault.New(fault.Plugin, "row", "", "%d scores of a vocabulary of %d do not fit slot %d of plane %d, of %d tokens",
			row.Len(), row.Vocab, slot.Index, slot.Plane, len(values))
	}
	if at, ok := planes.Find(row.Values); !ok || at != slot {
		row.Values = values[:copy(values, row.Values)]
	}
	if !row.Dense() {
		row.IDs = ids[:copy(ids, row.IDs)]
	}
	return wire.PutRow(row, planes), nil
}
