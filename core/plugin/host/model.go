package host

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
)

// Model is an open model of a plugin. It implements [model.Model] and outlives
// the plugin's processes: it knows the tokens of every sequence, and after a
// crash it opens the model again and feeds them anew before it repeats the call.
type Model struct {
	host    *Host
	plug    *plug
	backend Backend
	ref     string
	values  param.Values
	info    model.Info
	key     string

	work sync.Mutex // one forward, edit or verification at a time

	mu     sync.Mutex
	held   handle
	opened int                // times it was opened
	seqs   map[uint64][]int32 // tokens of every sequence
	owned  []dist.Scores      // rows handed out
	closed bool

	reading sync.Mutex
	pieces  [][]byte
}

// handle names the model in one process of its plugin.
type handle struct {
	process int
	id      uint64
}

var (
	_ model.Model   = (*Model)(nil)
	_ model.Chatter = (*Model)(nil)
)

// OpenModel opens what ref names: a backend, "plugin/backend", or a path that
// matches a backend's pattern. settings are checked against the backend's
// parameters; unknown ones and values out of range are usage errors.
func (h *Host) OpenModel(ctx context.Context, ref string, settings []param.Setting) (*Model, error) {
	b, err := h.Backend(ctx, ref)
	if err != nil {
		return nil, err
	}
	values, err := b.Params.Resolve("model", b.Name, settings)
	if err != nil {
		return nil, err
	}
	p, err := h.named(b.Plugin)
	if err != nil {
		return nil, err
	}
	if ref == b.Qualified() {
		ref = b.Name
	}
	m := &Model{host: h, plug: p, backend: b, ref: ref, values: values, seqs: map[uint64][]int32{}}
	err = p.repeat(ctx, func(i *instance) (bool, error) { return m.open(ctx, i) })
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m.key = fmt.Sprintf("%s %s %s", b.Qualified(), m.info.Digest, values)
	h.texts[m.key] = append(h.texts[m.key], m)
	return m, nil
}

// modelOf returns the open model whose vocabulary has the key.
func (h *Host) modelOf(key string) (*Model, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if models := h.texts[key]; len(models) > 0 {
		return models[0], nil
	}
	return nil, fault.New(fault.Usage, "sampler call", "", "a stage reads the texts of tokens, and the call names no vocabulary of an open model (%s)",
		fault.Quote(key, 80)).Fix("pass the model's VocabularyKey")
}

// AddVocabulary makes the texts of a vocabulary that belongs to no model known
// under a key, which sampler calls may then name. The texts must not be changed
// afterwards; a key that stands for others already is a usage error.
func (h *Host) AddVocabulary(key string, pieces [][]byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, taken := h.pieces[key]
	if key == "" || len(h.texts[key]) > 0 || taken && !slices.EqualFunc(old, pieces, bytes.Equal) {
		return fault.New(fault.Usage, "add vocabulary", fault.Quote(key, 80), "the key is empty or stands for other texts already")
	}
	h.pieces[key] = pieces
	return nil
}

// piecesOf returns the texts of the vocabulary that a key stands for.
func (h *Host) piecesOf(ctx context.Context, key string) ([][]byte, error) {
	h.mu.Lock()
	pieces, ok := h.pieces[key]
	h.mu.Unlock()
	if ok {
		return pieces, nil
	}
	m, err := h.modelOf(key)
	if err != nil {
		return nil, err
	}
	return m.Pieces(ctx)
}

// open opens the model in a process. The first time fixes what it is; later
// ones must find the same.
func (m *Model) open(ctx context.Context, i *instance) (again bool, err error) {
	req := &wire.OpenRequest{Backend: m.backend.Name, Ref: m.ref, Settings: wire.PutValues(m.values)}
	var answer *wire.OpenResponse
	again, err = m.plug.ask(ctx, i, "open model", m.host.opt.Deadlines.Open, func(ctx context.Context) (err error) {
		answer, err = i.conn.Model.Open(ctx, req, openLimit)
		return err
	})
	if err != nil {
		return again, err
	}
	info, err := wire.GetInfo(answer.GetInfo())
	if err == nil && answer.GetModel() == 0 {
		err = m.plug.fault("open model", "it answered with handle 0")
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Plugin, m.plug.name(), "")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened > 0 && info.Digest != m.info.Digest {
		return false, fault.New(fault.Model, "open model", fault.Quote(m.ref, 200),
			"its weights changed while it was in use: digest %s, now %s", m.info.Digest, info.Digest).Fix("run the whole command again")
	}
	if m.opened > 0 && !sameInfo(info, m.info) {
		return false, fault.New(fault.Model, "open model", fault.Quote(m.ref, 200), "it is another model than before under the same digest")
	}
	if m.opened == 0 {
		m.info = info // never written again, and so read without a lock
	}
	m.held = handle{process: i.number, id: answer.GetModel()}
	m.opened++
	return false, nil
}

func sameInfo(a, b model.Info) bool {
	lists := slices.Equal(a.EndOfText, b.EndOfText) && slices.Equal(a.Control, b.Control)
	a.EndOfText, a.Control, b.EndOfText, b.Control = nil, nil, nil, nil
	return lists && fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

// Info returns the description of the model.
func (m *Model) Info() model.Info { return m.info }

// Backend returns the backend that opened the model.
func (m *Model) Backend() Backend { return m.backend }

// Settings returns the options the model was opened with, and their origins.
func (m *Model) Settings() param.Values { return m.values }

// VocabularyKey names the model's vocabulary in sampler calls. The texts travel
// only to plugins with a sampler that reads them.
func (m *Model) VocabularyKey() string { return m.key }

// Restarts returns how often the model was opened again after its plugin died.
func (m *Model) Restarts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened - 1
}

// Rows returns n dense rows of the model's vocabulary, in shared memory where
// possible, for Input.Scores and then for sampler calls. They are the caller's
// until Release or Close, and their values are arbitrary. A stage may make a
// row sparse; keep a copy of the headers to have them dense again.
func (m *Model) Rows(n int) []dist.Scores {
	rows := m.host.memory.rows(m.info.VocabSize, n)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned = append(m.owned, rows...)
	return rows
}

// Release takes rows of Rows back. They must not be used afterwards.
func (m *Model) Release(rows []dist.Scores) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var mine []dist.Scores
	m.owned = slices.DeleteFunc(m.owned, func(own dist.Scores) bool {
		for i := range rows {
			if cap(rows[i].Values) > 0 && &rows[i].Values[:1][0] == &own.Values[0] {
				mine = append(mine, own)
				return true
			}
		}
		return false
	})
	m.host.memory.release(mine)
}

// Close forgets the model here and in its plugin, and takes back its rows.
// Closing again does nothing.
func (m *Model) Close() error {
	m.work.Lock()
	defer m.work.Unlock()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	held, owned := m.held, m.owned
	m.seqs, m.owned = nil, nil
	m.mu.Unlock()
	m.host.mu.Lock()
	m.host.texts[m.key] = slices.DeleteFunc(m.host.texts[m.key], func(other *Model) bool { return other == m })
	m.host.mu.Unlock()
	m.host.memory.release(owned)
	i := m.plug.live()
	if i == nil || i.number != held.process {
		return nil // the process that held it is gone
	}
	_, err := m.plug.ask(context.Background(), i, "close model", closeGrace, func(ctx context.Context) error {
		_, err := i.conn.Model.Close(ctx, &wire.CloseRequest{Model: held.id}, smallLimit)
		return err
	})
	return err
}

// ready returns the model's handle in a process, after opening it there and
// feeding every sequence anew when it is a new one.
func (m *Model) ready(ctx context.Context, i *instance) (id uint64, again bool, err error) {
	m.mu.Lock()
	held, closed := m.held, m.closed
	m.mu.Unlock()
	if closed {
		return 0, false, fault.New(fault.Internal, "model call", fault.Quote(m.ref, 200), "the model is closed")
	}
	if held.process == i.number {
		return held.id, false, nil
	}
	if again, err = m.open(ctx, i); err != nil {
		return 0, again, err
	}
	if again, err = m.replay(ctx, i); err != nil {
		m.plug.kill(i) // a model that is half fed is not to be used
		return 0, again, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held.id, false, nil
}

// Encode implements [model.Vocabulary].
func (m *Model) Encode(ctx context.Context, text []byte, opt model.EncodeOptions) ([]int32, error) {
	var answer *wire.EncodeResponse
	err := m.read(ctx, "encode", func(ctx context.Context, i *instance, id uint64) (err error) {
		answer, err = i.conn.Model.Encode(ctx, &wire.EncodeRequest{Model: id, Text: text, Begin: opt.Begin, Special: opt.Special}, encodeLimit(text))
		return err
	})
	if err != nil {
		return nil, err
	}
	tokens, err := wire.GetTokens(answer.GetTokens(), m.info.VocabSize, "tokens")
	if err != nil {
		return nil, m.plug.fault("encode", "%s", problem(err))
	}
	return tokens, nil
}

// Chat implements [model.Chatter]. On a model that does not offer it, it is a
// usage error.
func (m *Model) Chat(ctx context.Context, turns []model.Turn) (model.Conversation, error) {
	req := &wire.ChatRequest{Turns: make([]*wire.Turn, len(turns))}
	size := 0
	for i, t := range turns {
		if !utf8.ValidString(t.Content) || !utf8.ValidString(t.Role) {
			return model.Conversation{}, fault.New(fault.Usage, "chat", fmt.Sprintf("turn %d", i+1), "it is not UTF-8")
		}
		req.Turns[i] = &wire.Turn{Role: t.Role, Content: t.Content}
		size += len(t.Content)
	}
	if !m.info.Chat {
		return model.Conversation{}, fault.New(fault.Usage, "chat", fmt.Sprintf("model %q", m.info.Name), "it has no chat template").
			Fix("take an instruct model's file, or write the prompt in the form that the model was trained on")
	}
	var answer *wire.ChatResponse
	err := m.read(ctx, "chat", func(ctx context.Context, i *instance, id uint64) (err error) {
		req.Model = id
		answer, err = i.conn.Model.Chat(ctx, req, chatLimit(size))
		return err
	})
	if err != nil {
		return model.Conversation{}, err
	}
	tokens, err := wire.GetTokens(answer.GetTokens(), m.info.VocabSize, "tokens")
	if err != nil {
		return model.Conversation{}, m.plug.fault("chat", "%s", problem(err))
	}
	if len(tokens) == 0 {
		return model.Conversation{}, m.plug.fault("chat", "it made no tokens of %d turns", len(turns))
	}
	return model.Conversation{Text: answer.GetText(), Tokens: tokens}, nil
}

// Decode implements [model.Vocabulary].
func (m *Model) Decode(ctx context.Context, tokens []int32) ([]byte, error) {
	var answer *wire.DecodeResponse
	err := m.read(ctx, "decode", func(ctx context.Context, i *instance, id uint64) (err error) {
		answer, err = i.conn.Model.Decode(ctx, &wire.DecodeRequest{Model: id, Tokens: wire.PutTokens(tokens)}, decodeLimit(tokens))
		return err
	})
	return answer.GetText(), err
}

// Pieces implements [model.Vocabulary]. They are fetched once.
func (m *Model) Pieces(ctx context.Context) ([][]byte, error) {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.pieces != nil {
		return m.pieces, nil
	}
	var answer *wire.PiecesResponse
	err := m.read(ctx, "pieces", func(ctx context.Context, i *instance, id uint64) (err error) {
		answer, err = i.conn.Model.Pieces(ctx, &wire.PiecesRequest{Model: id}, piecesLimit(m.info.VocabSize))
		return err
	})
	if err != nil {
		return nil, err
	}
	pieces, err := wire.GetPieces(answer.GetText(), answer.GetEnds(), m.info.VocabSize)
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, m.plug.name(), "pieces")
	}
	m.pieces = pieces
	return pieces, nil
}

// read makes a call that changes nothing, and may overlap with a forward. Only
// after a crash it waits for its turn, since the model must be opened again.
func (m *Model) read(ctx context.Context, op string, call func(context.Context, *instance, uint64) error) error {
	return m.plug.repeat(ctx, func(i *instance) (bool, error) {
		m.mu.Lock()
		held := m.held
		m.mu.Unlock()
		if held.process != i.number {
			m.work.Lock()
			id, again, err := m.ready(ctx, i)
			m.work.Unlock()
			if err != nil {
				return again, err
			}
			held.id = id
		}
		return m.plug.ask(ctx, i, op, m.host.opt.Deadlines.Call, func(ctx context.Context) error { return call(ctx, i, held.id) })
	})
}

// Verify implements [model.Model].
func (m *Model) Verify(ctx context.Context) (string, error) {
	var answer *wire.VerifyResponse
	err := m.call(ctx, "verify", func(ctx context.Context, i *instance, id uint64) (err error) {
		answer, err = i.conn.Model.Verify(ctx, &wire.VerifyRequest{Model: id}, smallLimit)
		return err
	})
	if err != nil {
		return "", err
	}
	if d := answer.GetDigest(); d == "" || len(d) > 256 {
		return "", m.plug.fault("verify", "its digest has %d bytes, outside 1 to 256", len(d))
	}
	return answer.GetDigest(), nil
}

// call makes a call that must not overlap with another, on a model that is
// ready. work must not be held.
func (m *Model) call(ctx context.Context, op string, call func(context.Context, *instance, uint64) error) error {
	m.work.Lock()
	defer m.work.Unlock()
	return m.plug.repeat(ctx, func(i *instance) (bool, error) {
		id, again, err := m.ready(ctx, i)
		if err != nil {
			return again, err
		}
		return m.plug.ask(ctx, i, op, m.host.opt.Deadlines.Forward, func(ctx context.Context) error { return call(ctx, i, id) })
	})
}
