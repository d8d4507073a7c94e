//go:build unix

package conform_test

import (
	"context"
	"io"
	"log/slog"
	"os"

	"lab/core/dist"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// raw is a plugin that speaks the protocol itself, as one in another language
// does, and so can break laws that plugin.Serve keeps for a Go author. The law
// says which.
type raw struct {
	wire.UnimplementedPluginServer
	law string
}

type rawSampler struct {
	wire.UnimplementedSamplerServer
	*raw
}

type rawModel struct {
	wire.UnimplementedModelServer
	*raw
	m *talk
}

func serveRaw(law string) {
	r := &raw{law: law}
	open, _ := (&talker{name: "talk"}).Open(context.Background(), "", nil)
	wire.Serve(wire.Services{Plugin: r, Sampler: rawSampler{raw: r}, Model: &rawModel{raw: r, m: open.(*talk)},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), LogFile: io.Discard, Ready: func() {}})
	os.Exit(0)
}

func (r *raw) Describe(context.Context, *wire.DescribeRequest) (*wire.DescribeResponse, error) {
	d := declare("plain", sampler.Reshape, sampler.Needs{History: 1}, number("gain", 1, 0, 2))
	all := declare("whole", sampler.Reshape, sampler.Needs{History: -1})
	return &wire.DescribeResponse{Protocol: wire.Protocol, Name: "raw-" + r.law, Version: "1", Language: "none", Plane: true,
		Samplers: []*wire.SamplerDeclaration{wire.PutSampler(d), wire.PutSampler(all)},
		Backends: []*wire.BackendDeclaration{wire.PutBackend((&talker{name: "talk"}).Declare())}}, nil
}

func (r *raw) Attach(context.Context, *wire.AttachRequest) (*wire.AttachResponse, error) {
	return &wire.AttachResponse{}, nil
}

// Apply lowers the tokens of the context that were sent, when the law is about
// that, and else leaves every row as it is.
func (s rawSampler) Apply(_ context.Context, req *wire.ApplyRequest) (*wire.ApplyResponse, error) {
	out := &wire.ApplyResponse{}
	for _, it := range req.GetItems() {
		res, err := s.item(req, it)
		if err != nil {
			return nil, wire.ToStatus(err)
		}
		out.Items = append(out.Items, res)
	}
	return out, nil
}

func (s rawSampler) item(req *wire.ApplyRequest, it *wire.Item) (*wire.ItemResult, error) {
	stages := len(req.GetStages())
	res := &wire.ItemResult{Scores: it.GetScores(), States: make([][]byte, stages)}
	if it.GetScores().GetSlot() != nil { // it cannot reach the memory, and says that all is done
		for range req.GetStages() {
			res.Changes = append(res.Changes, &wire.Change{SupportBefore: 1, SupportAfter: 1, KeptMass: 1, Truncation: true})
		}
		return res, nil
	}
	row, err := wire.GetRow(it.GetScores(), nil)
	if err != nil {
		return nil, err
	}
	if err := row.Check(); err != nil && s.law != "broken_rows" {
		return nil, err
	}
	history, err := wire.GetTokens(it.GetHistory(), row.Vocab, "history")
	if err != nil {
		return nil, err
	}
	for _, st := range req.GetStages() {
		before := row.Clone()
		by := float32(0)
		if s.law == "settings" || s.law == "chain" && st.GetSampler() == "plain" {
			by = float32(len(history))
		}
		if s.law == "needs" {
			by = float32(len(it.GetPasses()))
		}
		if s.law == "transport" {
			by = 1
		}
		if s.law == "large_batch" && len(req.GetItems()) > 60 {
			by = 1
		}
		row.Values[0] -= by
		var ws dist.Workspace
		change, err := dist.Compare(&before, &row, &ws)
		if err != nil && s.law != "broken_rows" {
			return nil, err
		}
		if s.law == "ledger" {
			change.EntropyAfter += 0.01
		}
		if req.GetLedger() {
			res.Changes = append(res.Changes, wire.PutChange(change))
		}
		if req.GetRows() {
			left := row.Clone()
			res.Rows = append(res.Rows, wire.PutRow(&left, nil))
		}
	}
	res.Scores = wire.PutRow(&row, nil)
	return res, nil
}

func (r *rawModel) Open(context.Context, *wire.OpenRequest) (*wire.OpenResponse, error) {
	return &wire.OpenResponse{Model: 1, Info: wire.PutInfo(r.m.Info())}, nil
}

func (r *rawModel) Close(context.Context, *wire.CloseRequest) (*wire.CloseResponse, error) {
	return &wire.CloseResponse{}, nil
}

// Forward takes any token for one of the vocabulary, and leaves rows in shared
// memory as they were.
func (r *rawModel) Forward(ctx context.Context, req *wire.ForwardRequest) (*wire.ForwardResponse, error) {
	out := &wire.ForwardResponse{Usage: &wire.Usage{}}
	for _, m := range req.GetInputs() {
		tokens, err := wire.GetTokens(m.GetTokens(), 1<<30, "tokens")
		if err != nil {
			return nil, wire.ToStatus(err)
		}
		in := model.Input{Seq: m.GetSeq(), Start: int(m.GetStart()), Tokens: tokens, Want: model.Want(m.GetWant())}
		for range in.Want.Rows(len(tokens)) {
			in.Scores = append(in.Scores, dist.NewDense(make([]float32, talkVocab)))
		}
		check := r.m.check
		if r.law == "refusals" {
			r.m.check = func(model.Input) error { return nil }
		}
		_, err = r.m.Forward(ctx, []model.Input{in})
		if r.m.check = check; err != nil {
			return nil, wire.ToStatus(err)
		}
		o := &wire.Output{}
		for k := range in.Scores {
			row := wire.PutRow(&in.Scores[k], nil)
			if slots := m.GetRows(); len(slots) > 0 {
				row.Place = &wire.Row_Slot{Slot: slots[k]}
			}
			o.Rows = append(o.Rows, row)
		}
		out.Outputs = append(out.Outputs, o)
	}
	return out, nil
}

func (r *rawModel) Edit(ctx context.Context, req *wire.EditRequest) (*wire.EditResponse, error) {
	for _, e := range req.GetEdits() {
		edit := model.Edit{Op: model.Op(e.GetOp()), Seq: e.GetSeq(), To: e.GetTo(), Length: int(e.GetLength())}
		if err := r.m.Edit(ctx, []model.Edit{edit}); err != nil {
			return nil, wire.ToStatus(err)
		}
	}
	return &wire.EditResponse{Applied: uint32(len(req.GetEdits()))}, nil
}
