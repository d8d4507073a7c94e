package plugin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/plane"
)

// modelServer opens models for a host and passes calls on to them.
type modelServer struct {
	wire.UnimplementedModelServer
	backends []backend
	planes   *plane.Table

	mu   sync.Mutex
	open map[uint64]*opened
	last uint64
}

// opened is one open model. Its calls come one at a time, by the contract of
// model.Model, whatever a host does; those of its vocabulary may overlap.
type opened struct {
	model model.Model
	info  model.Info
	life  sync.RWMutex // held for reading by every call, for writing by the closing
	work  sync.Mutex   // held by calls that must not overlap
	gone  bool
}

func newModelServer(backends []backend, planes *plane.Table) *modelServer {
	return &modelServer{backends: backends, planes: planes, open: map[uint64]*opened{}}
}

// Open implements the call of lab.proto.
func (s *modelServer) Open(ctx context.Context, req *wire.OpenRequest) (*wire.OpenResponse, error) {
	b, err := s.backend(req.GetBackend())
	if err != nil {
		return nil, err
	}
	values, err := wire.GetValues("open model", b.decl.Name, b.decl.Params, req.GetSettings())
	if err != nil {
		return nil, err
	}
	m, err := b.open.Open(ctx, req.GetRef(), values)
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "open model", fault.Quote(req.GetRef(), 200))
	}
	if m == nil {
		return nil, fault.New(fault.Plugin, "open model", fault.Quote(req.GetRef(), 200), "backend %q returned neither a model nor an error", b.decl.Name)
	}
	info := wire.PutInfo(m.Info())
	checked, err := wire.GetInfo(info)
	if _, chats := m.(model.Chatter); err == nil && checked.Chat && !chats {
		err = fault.New(fault.Plugin, "open model", fault.Quote(req.GetRef(), 200), "it says that it chats and has no method for it")
	}
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.open[s.last] = &opened{model: m, info: checked}
	return &wire.OpenResponse{Model: s.last, Info: info}, nil
}

func (s *modelServer) backend(name string) (backend, error) {
	var names []string
	for _, b := range s.backends {
		if b.decl.Name == name {
			return b, nil
		}
		names = append(names, b.decl.Name)
	}
	return backend{}, fault.Unknown("open model", "backend", name, names)
}

// enter returns an open model, held so that it is not closed before leave is
// called. With alone set, it waits for the call before.
func (s *modelServer) enter(ctx context.Context, id uint64, alone bool) (o *opened, leave func(), err error) {
	s.mu.Lock()
	o = s.open[id]
	s.mu.Unlock()
	if o == nil {
		return nil, nil, fault.New(fault.Plugin, "model call", fmt.Sprintf("model %d", id), "it is not open")
	}
	o.life.RLock()
	if alone {
		o.work.Lock()
	}
	leave = func() {
		if alone {
			o.work.Unlock()
		}
		o.life.RUnlock()
	}
	if o.gone {
		err = fault.New(fault.Plugin, "model call", fmt.Sprintf("model %d", id), "it is closed")
	} else if ctx.Err() != nil {
		err = ctx.Err() // the caller gave up while this call waited for its turn
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return o, leave, nil
}

// Close implements the call of lab.proto.
func (s *modelServer) Close(_ context.Context, req *wire.CloseRequest) (*wire.CloseResponse, error) {
	s.mu.Lock()
	o := s.open[req.GetModel()]
	delete(s.open, req.GetModel())
	s.mu.Unlock()
	if o == nil {
		return nil, fault.New(fault.Plugin, "close model", fmt.Sprintf("model %d", req.GetModel()), "it is not open")
	}
	if err := o.close(); err != nil {
		return nil, fault.Wrap(err, fault.Model, "close model", o.info.Name)
	}
	return &wire.CloseResponse{}, nil
}

func (o *opened) close() error {
	o.life.Lock()
	defer o.life.Unlock()
	if o.gone {
		return nil
	}
	o.gone = true
	return o.model.Close()
}

// closeAll closes what is still open when the process ends, at most for limit:
// an author's Close may have something to write.
func (s *modelServer) closeAll(limit time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the process ends in any case
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, o := range s.open {
			_ = o.close()
		}
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// Encode implements the call of lab.proto.
func (s *modelServer) Encode(ctx context.Context, req *wire.EncodeRequest) (*wire.EncodeResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), false)
	if err != nil {
		return nil, err
	}
	defer leave()
	tokens, err := o.model.Encode(ctx, req.GetText(), model.EncodeOptions{Begin: req.GetBegin(), Special: req.GetSpecial()})
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "encode", o.info.Name)
	}
	return &wire.EncodeResponse{Tokens: wire.PutTokens(tokens)}, nil
}

// Decode implements the call of lab.proto.
func (s *modelServer) Decode(ctx context.Context, req *wire.DecodeRequest) (*wire.DecodeResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), false)
	if err != nil {
		return nil, err
	}
	defer leave()
	tokens, err := wire.GetTokens(req.GetTokens(), o.info.VocabSize, "tokens")
	if err != nil {
		return nil, err
	}
	text, err := o.model.Decode(ctx, tokens)
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "decode", o.info.Name)
	}
	return &wire.DecodeResponse{Text: text}, nil
}

// Pieces implements the call of lab.proto.
func (s *modelServer) Pieces(ctx context.Context, req *wire.PiecesRequest) (*wire.PiecesResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), false)
	if err != nil {
		return nil, err
	}
	defer leave()
	pieces, err := o.model.Pieces(ctx)
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "pieces", o.info.Name)
	}
	if len(pieces) != o.info.VocabSize {
		return nil, fault.New(fault.Plugin, "pieces", o.info.Name, "it has %d pieces for %d tokens", len(pieces), o.info.VocabSize)
	}
	text, ends, err := wire.PutPieces(pieces)
	if err != nil {
		return nil, err
	}
	return &wire.PiecesResponse{Text: text, Ends: ends}, nil
}

// Chat implements the call of lab.proto.
func (s *modelServer) Chat(ctx context.Context, req *wire.ChatRequest) (*wire.ChatResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), false)
	if err != nil {
		return nil, err
	}
	defer leave()
	chatter, ok := o.model.(model.Chatter)
	if !ok || !o.info.Chat {
		return nil, fault.New(fault.Usage, "chat", o.info.Name, "the model knows no form of a conversation")
	}
	turns := make([]model.Turn, len(req.GetTurns()))
	for i, t := range req.GetTurns() {
		turns[i] = model.Turn{Role: t.GetRole(), Content: t.GetContent()}
	}
	c, err := chatter.Chat(ctx, turns)
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "chat", o.info.Name)
	}
	return &wire.ChatResponse{Tokens: wire.PutTokens(c.Tokens), Text: c.Text}, nil
}

// Verify implements the call of lab.proto.
func (s *modelServer) Verify(ctx context.Context, req *wire.VerifyRequest) (*wire.VerifyResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), true)
	if err != nil {
		return nil, err
	}
	defer leave()
	digest, err := o.model.Verify(ctx)
	if err != nil {
		return nil, fault.Wrap(err, fault.Model, "verify", o.info.Name)
	}
	return &wire.VerifyResponse{Digest: digest}, nil
}

// Edit implements the call of lab.proto. Edits go to the model one by one, so
// that the number that took effect is known.
func (s *modelServer) Edit(ctx context.Context, req *wire.EditRequest) (*wire.EditResponse, error) {
	o, leave, err := s.enter(ctx, req.GetModel(), true)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := &wire.EditResponse{}
	for _, m := range req.GetEdits() {
		e, err := getEdit(m)
		if err == nil {
			err = o.model.Edit(ctx, []model.Edit{e})
		}
		if err != nil {
			out.Fault = wire.PutFault(fault.Wrap(err, fault.Model, "edit", o.info.Name))
			return out, nil
		}
		out.Applied++
	}
	return out, nil
}

func getEdit(m *wire.Edit) (model.Edit, error) {
	op := model.Op(min(uint32(m.GetOp()), 255))
	if op != model.Fork && op != model.Truncate && op != model.Free {
		return model.Edit{}, fault.New(fault.Plugin, "edit", "", "unknown operation %d", m.GetOp())
	}
	if m.GetLength() > 1<<30 {
		return model.Edit{}, fault.New(fault.Data, "edit", "", "length %d is out of range", m.GetLength())
	}
	return model.Edit{Op: op, Seq: m.GetSeq(), To: m.GetTo(), Length: int(m.GetLength())}, nil
}
