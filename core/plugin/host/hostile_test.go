//go:build unix

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/plane"
	"lab/core/plugin/sampler"
)

// serveHostile is a plugin that speaks the protocol and answers what it must
// not. The role says which lie it tells.
func serveHostile(role string) {
	h := &hostile{role: strings.TrimPrefix(role, "hostile-")}
	wire.Serve(wire.Services{Plugin: h, Sampler: hostileSampler{hostile: h}, Model: hostileModel{hostile: h},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), LogFile: io.Discard, Ready: func() {}})
	os.Exit(0)
}

type hostile struct {
	wire.UnimplementedPluginServer
	role   string
	planes plane.Table
}

type hostileSampler struct {
	wire.UnimplementedSamplerServer
	*hostile
}

type hostileModel struct {
	wire.UnimplementedModelServer
	*hostile
}

func (h *hostile) Describe(context.Context, *wire.DescribeRequest) (*wire.DescribeResponse, error) {
	out := &wire.DescribeResponse{Protocol: 1, Name: "hostile-" + h.role, Version: "1", Language: "none", Plane: true,
		Samplers: []*wire.SamplerDeclaration{wire.PutSampler(declare("lie", sampler.Reshape))},
		Backends: []*wire.BackendDeclaration{wire.PutBackend(chatter{}.Declare())}}
	switch h.role {
	case "later": // fields that nobody here knows
		later(out)
		later(out.Samplers[0])
		later(out.Backends[0])
	case "describe-protocol":
		out.Protocol = 7
	case "describe-twice":
		out.Samplers = append(out.Samplers, out.Samplers[0])
	case "describe-kind":
		out.Samplers[0].Kind = 99
	case "describe-type":
		out.Backends[0].Params[0].Type = 500
	case "describe-version":
		out.Version = ""
	case "describe-env":
		out.Environment = []string{"FINE", "PLUGIN_CLIENT_CERT"}
	case "describe-envs":
		for i := range 65 {
			out.Environment = append(out.Environment, fmt.Sprintf("V%d", i))
		}
	}
	return out, nil
}

// later adds a field of a later form of the contract to a message.
func later(m proto.Message) {
	m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 999, protowire.BytesType), "from tomorrow"))
}

func (h *hostile) Attach(_ context.Context, req *wire.AttachRequest) (*wire.AttachResponse, error) {
	if h.role == "no-attach" {
		return nil, status.Error(codes.Unimplemented, "what is a plane?")
	}
	if m := req.GetPlane(); m != nil && strings.HasPrefix(h.role, "plane-") {
		p, err := plane.Open(m.GetPath(), m.GetId(), int(m.GetVocab()), int(m.GetSlots()))
		if err != nil {
			return nil, err
		}
		h.planes.Add(p)
	}
	return &wire.AttachResponse{}, nil
}

func (h hostileSampler) Apply(_ context.Context, req *wire.ApplyRequest) (*wire.ApplyResponse, error) {
	switch h.role {
	case "bare-status":
		return nil, status.Error(codes.DataLoss, "I have forgotten\nhow")
	case "fewer":
		return &wire.ApplyResponse{}, nil
	case "empty-item":
		return &wire.ApplyResponse{Items: []*wire.ItemResult{{}}}, nil
	}
	out := &wire.ApplyResponse{}
	for _, it := range req.GetItems() {
		r := &wire.ItemResult{Scores: it.GetScores(), States: make([][]byte, len(req.GetStages()))}
		if req.GetLedger() {
			r.Changes = []*wire.Change{{SupportBefore: 1, SupportAfter: 1}}
		}
		if req.GetRows() {
			r.Rows = []*wire.Row{{Vocab: it.GetScores().GetVocab(), Sparse: true, Count: 1,
				Place: &wire.Row_Inline{Inline: &wire.Inline{Scores: make([]byte, 4), Ids: make([]byte, 4)}}}}
		}
		h.spoil(r)
		if h.role == "later" {
			later(r)
			later(r.Scores)
			later(out)
		}
		out.Items = append(out.Items, r)
	}
	return out, nil
}

func (h hostileSampler) spoil(r *wire.ItemResult) {
	row := r.Scores
	slot := func(plane, index uint32) { row.Place = &wire.Row_Slot{Slot: &wire.Slot{Plane: plane, Index: index}} }
	inline := func(scores, ids []byte) { row.Place = &wire.Row_Inline{Inline: &wire.Inline{Scores: scores, Ids: ids}} }
	one := uint32(1)
	switch h.role {
	case "slot-huge":
		slot(1, 1<<31)
	case "slot-plane":
		slot(77, 0)
	case "slot-other":
		slot(1, 1)
	case "count-huge":
		row.Count, row.Sparse = 1<<31, true
	case "count-short":
		row.Count = 3
	case "vocab-other":
		row.Vocab++
	case "nowhere":
		row.Place = nil
	case "bytes-odd":
		inline(make([]byte, 7), nil)
	case "bytes-short":
		inline(make([]byte, 8), nil)
	case "ids-falling":
		row.Sparse, row.Count = true, 2
		inline(make([]byte, 8), []byte{5, 0, 0, 0, 4, 0, 0, 0})
	case "ids-beyond":
		row.Sparse, row.Count = true, 1
		inline(make([]byte, 4), []byte{0, 0, 0, 1})
	case "scores-nan":
		row.Sparse, row.Count = true, 1
		inline([]byte{0, 0, 0xc0, 0x7f}, make([]byte, 4))
	case "scores-none":
		row.Sparse, row.Count = true, 0
		inline(nil, nil)
	case "unlisted":
		row.Unlisted = 1.5
	case "states-many":
		r.States = make([][]byte, 9)
	case "states-long":
		r.States[0] = make([]byte, 1<<20)
	case "chosen":
		r.Chosen = &one
	case "rows-few":
		r.Rows = nil
	case "rows-many":
		r.Rows = []*wire.Row{row, row}
	case "changes-few":
		r.Changes = nil
	case "scores-inf":
		inline([]byte{0, 0, 0x80, 0x7f}, make([]byte, 4))
		row.Sparse, row.Count = true, 1
	case "revived":
		scores := make([]byte, 4*row.GetVocab()) // all zeros: every token has a score again
		row.Sparse, row.Count = false, row.GetVocab()
		inline(scores, nil)
	case "revived-other":
		row.Sparse, row.Count = true, 1
		inline(make([]byte, 4), []byte{removedToken, 0, 0, 0})
	}
	h.overwrite(row)
}

// removedToken is one that the row given has removed, in the tests about it.
const removedToken = 7

// overwrite spoils a row where it lies in shared memory.
func (h hostileSampler) overwrite(row *wire.Row) {
	at, ok := wire.SlotOf(row)
	p, found := h.planes.Get(at.Plane)
	if !ok || !found {
		return
	}
	switch values := p.Values(int(at.Index)); h.role {
	case "plane-touch":
		values[0]++
	case "plane-nan":
		values[3] = float32(math.NaN())
	case "plane-inf":
		values[3] = float32(math.Inf(1))
	case "plane-none":
		for i := range values {
			values[i] = float32(math.Inf(-1))
		}
	case "plane-revived":
		values[removedToken] = 1
	case "plane-revived-ids":
		row.Sparse, row.Count = true, 2
		copy(p.IDs(int(at.Index)), []int32{2, removedToken})
		values[0], values[1] = 1, 1
	case "plane-probabilities":
		for i := range values {
			values[i] = 1 / float32(len(values))
		}
	}
}

func (h hostileModel) Open(context.Context, *wire.OpenRequest) (*wire.OpenResponse, error) {
	m := &talk{vocab: 50, digest: "d"}
	out := &wire.OpenResponse{Model: 1, Info: wire.PutInfo(m.Info())}
	switch h.role {
	case "info-vocab":
		out.Info.VocabSize = 1 << 31
	case "info-digest":
		out.Info.Digest = ""
	case "info-begin":
		out.Info.Begin = 50
	case "info-end":
		out.Info.EndOfText = []byte{1, 2, 3}
	case "info-handle":
		out.Model = 0
	case "chat-token", "chat-none":
		out.Info.Chat = true
	}
	return out, nil
}

func (h hostileModel) Chat(context.Context, *wire.ChatRequest) (*wire.ChatResponse, error) {
	if h.role == "chat-none" {
		return &wire.ChatResponse{Text: []byte("x")}, nil
	}
	return &wire.ChatResponse{Tokens: []byte{50, 0, 0, 0}}, nil
}

func (h hostileModel) Pieces(context.Context, *wire.PiecesRequest) (*wire.PiecesResponse, error) {
	switch h.role {
	case "pieces-few":
		return &wire.PiecesResponse{Ends: make([]byte, 8)}, nil
	case "pieces-beyond":
		ends := make([]byte, 200)
		ends[0] = 9
		return &wire.PiecesResponse{Text: []byte("abc"), Ends: ends}, nil
	}
	return &wire.PiecesResponse{Ends: make([]byte, 200)}, nil
}

func (h hostileModel) Encode(context.Context, *wire.EncodeRequest) (*wire.EncodeResponse, error) {
	return &wire.EncodeResponse{Tokens: []byte{200, 0, 0, 0}}, nil
}

func (h hostileModel) Forward(_ context.Context, req *wire.ForwardRequest) (*wire.ForwardResponse, error) {
	out := &wire.ForwardResponse{Usage: &wire.Usage{}}
	if slot := req.GetInputs()[0].GetRows(); len(slot) > 0 {
		hostileSampler{hostile: h.hostile}.overwrite(&wire.Row{Place: &wire.Row_Slot{Slot: slot[0]}})
	}
	for _, in := range req.GetInputs() {
		o := &wire.Output{}
		for range in.GetRows() {
			o.Rows = append(o.Rows, &wire.Row{Vocab: 50, Count: 50, Place: &wire.Row_Slot{Slot: in.GetRows()[0]}})
		}
		out.Outputs = append(out.Outputs, o)
	}
	switch h.role {
	case "usage":
		out.Usage.Flops = -1
	case "outputs":
		out.Outputs = nil
	case "rows":
		out.Outputs[0].Rows = nil
	case "rows-more":
		out.Outputs[0].Rows = append(out.Outputs[0].Rows, out.Outputs[0].Rows[0])
	case "forward-nan":
		out.Outputs[0].Rows[0].Place = &wire.Row_Inline{Inline: &wire.Inline{Scores: bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 50)}}
	case "forward-probabilities":
		out.Outputs[0].Rows[0].Place = &wire.Row_Inline{Inline: &wire.Inline{Scores: bytes.Repeat(packed([]float32{1.0 / 50}), 50)}}
	case "forward-slot":
		out.Outputs[0].Rows[0].Place = &wire.Row_Slot{Slot: &wire.Slot{Plane: 1, Index: 9}}
	case "forward-tail":
		out.Outputs[0].Rows[0].Unlisted = 0.5
	}
	return out, nil
}

func TestHostileSamplersAreRefusedAndHarmless(t *testing.T) {
	for _, tt := range []struct{ role, says string }{
		{"bare-status", "I have forgotten"},
		{"fewer", "answered for 0 of 1"},
		{"empty-item", "vocabulary of 0"},
		{"slot-huge", "which it was not given"},
		{"slot-plane", "which it was not given"},
		{"slot-other", "which it was not given"},
		{"count-huge", "do not fit a row"},
		{"count-short", "do not fit a row"},
		{"vocab-other", "vocabulary of 51"},
		{"nowhere", "neither scores nor a slot"},
		{"bytes-odd", "no multiple of 4"},
		{"bytes-short", "announces 50 scores and carries 2"},
		{"ids-falling", "out of order"},
		{"ids-beyond", "out of order or outside"},
		{"scores-nan", "NaN"},
		{"scores-none", "no token is left"},
		{"unlisted", "unlisted mass"},
		{"states-many", "9 states for 1"},
		{"states-long", "more than 65536"},
		{"chosen", "a token was chosen: true"},
		{"rows-few", "0 rows for 1 stages"},
		{"rows-many", "2 rows for 1 stages"},
		{"changes-few", "0 lines of the ledger for 1 stages"},
		{"scores-inf", "Inf"},
		{"revived", "gave a score to token 7, which was removed before"},
		{"revived-other", "gave a score to token 7, which was removed before"},
		{"plane-nan", "NaN"},
		{"plane-inf", "Inf"},
		{"plane-none", "no token is left"},
		{"plane-revived", "gave a score to token 7, which was removed before"},
		{"plane-revived-ids", "gave a score to token 7, which was removed before"},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			f := newHost(t, nil, "hostile-"+tt.role, "good")
			m, err := f.OpenModel(context.Background(), "good/chatter", nil)
			if err != nil {
				t.Fatal(err)
			}
			row := m.Rows(1)[0]
			fill(&row)
			row.Values[removedToken] = float32(math.Inf(-1))
			neighbour := m.Rows(1)[0]
			fill(&neighbour)
			before := neighbour.Clone()
			full := strings.HasPrefix(tt.role, "rows") || strings.HasPrefix(tt.role, "changes")
			err = f.Runner("hostile-"+tt.role).Run(context.Background(), &sampler.Call{
				Stages: []sampler.Stage{{Sampler: "lie"}}, Items: []*sampler.Item{{Scores: row}}, Ledger: full, Rows: full})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error is %v, want one that says %q", err, tt.says)
			}
			if k := fault.KindOf(err); k != fault.Plugin {
				t.Errorf("kind %v, want plugin: %v", k, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message has several lines: %q", err)
			}
			mustEqual(t, "a row of somebody else", &before, &neighbour)
		})
	}
}

func TestHostileModelsAreRefused(t *testing.T) {
	for _, tt := range []struct{ role, says string }{
		{"info-vocab", "outside 1 to"}, {"info-digest", "digest"}, {"info-begin", "begin token"}, {"info-end", "no multiple of 4"},
		{"info-handle", "handle 0"}, {"pieces-few", "2 pieces for 50"}, {"pieces-beyond", "ends at byte 9"},
		{"tokens", "token 200"}, {"chat-token", "token 50"}, {"chat-none", "no tokens of 1 turns"}, {"usage", "below 0"}, {"outputs", "0 of 1 inputs"}, {"rows", "0 of 1 rows"},
		{"rows-more", "2 of 1 rows"}, {"forward-nan", "NaN"}, {"plane-nan", "NaN"}, {"plane-inf", "Inf"}, {"plane-none", "no token is left"},
		{"forward-slot", "which it was not given"}, {"forward-tail", "unlisted"},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			f := newHost(t, nil, "hostile-"+tt.role)
			m, err := f.OpenModel(ctx, "chatter", nil)
			if err == nil && strings.HasPrefix(tt.role, "pieces") {
				_, err = m.Pieces(ctx)
			} else if err == nil && strings.HasPrefix(tt.role, "chat") {
				_, err = m.Chat(ctx, []model.Turn{{Role: "user", Content: "x"}})
			} else if err == nil && tt.role == "tokens" {
				_, err = m.Encode(ctx, []byte("x"), model.EncodeOptions{})
			} else if err == nil {
				rows := m.Rows(1)
				for i := range rows[0].Values {
					rows[0].Values[i] = 0
				}
				_, err = m.Forward(ctx, []model.Input{{Seq: 1, Tokens: []int32{1}, Want: model.Last, Scores: rows}})
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error is %v, want one that says %q", err, tt.says)
			}
			if k := fault.KindOf(err); k != fault.Plugin {
				t.Errorf("kind %v: %v", k, err)
			}
		})
	}
}

func TestDescriptionsAreChecked(t *testing.T) {
	for _, tt := range []struct{ role, says string }{
		{"describe-protocol", "protocol 7, this host speaks 1"}, {"describe-twice", `two samplers called "lie"`},
		{"describe-kind", "neither reshape nor select"}, {"describe-type", "type"}, {"describe-version", "version"},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			f := newHost(t, nil, "hostile-"+tt.role)
			_, err := f.Plugin(context.Background(), "hostile-"+tt.role)
			if err == nil || !strings.Contains(err.Error(), tt.says) || fault.KindOf(err) != fault.Plugin {
				t.Fatalf("error is %v, want a plugin error that says %q", err, tt.says)
			}
		})
	}
}

// A plugin that cannot map the plane is served with bytes, and says so once.
func TestRefusedPlaneFallsBackToBytes(t *testing.T) {
	f := newHost(t, nil, "hostile-no-attach", "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "good/chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	row := m.Rows(1)[0]
	fill(&row)
	want := row.Clone()
	for range 2 {
		it := &sampler.Item{Scores: row}
		if err := f.Runner("hostile-no-attach").Run(ctx, &sampler.Call{Stages: []sampler.Stage{{Sampler: "lie"}}, Items: []*sampler.Item{it}}); err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "the row", &want, &it.Scores)
	}
	if w := f.Warnings(); len(w) != 1 || !strings.Contains(w[0], "cannot use shared memory") {
		t.Errorf("warnings are %q", w)
	}
}

func mustEqual(t *testing.T, what string, want, got *dist.Scores) {
	t.Helper()
	if d := difference(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}
