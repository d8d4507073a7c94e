package host

import (
	"context"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/sampler"
)

// Rows returns n dense rows of a vocabulary of vocab tokens, in shared memory
// where possible, for callers that have no model. They are the caller's until
// Release or Close, and their values are arbitrary.
func (h *Host) Rows(vocab, n int) []dist.Scores { return h.memory.rows(vocab, n) }

// Release takes rows of [Host.Rows] back. They must not be used afterwards.
func (h *Host) Release(rows []dist.Scores) { h.memory.release(rows) }

// Shared reports whether a row lies in memory that plugins can map.
func (h *Host) Shared(row *dist.Scores) bool {
	_, ok := h.memory.table.Find(row.Values)
	return ok
}

// Trip is the smallest call that a plugin's process answers: what every hop
// costs before it carries anything. It is for measuring, belongs to the process
// that ran when it was made, and is safe for concurrent use.
type Trip struct {
	plug *plug
	inst *instance
	call func(context.Context) error
}

// Trip returns the smallest call of a plugin with samplers: stages over an empty
// batch. A plugin without samplers is a usage error; see [Model.Trip].
func (h *Host) Trip(ctx context.Context, plugin string) (*Trip, error) {
	p, err := h.named(plugin)
	if err != nil {
		return nil, err
	}
	i, err := p.instance(ctx)
	if err != nil {
		return nil, err
	}
	if len(i.about.samplers) == 0 {
		return nil, fault.New(fault.Usage, "round trip", p.name(), "it offers no samplers")
	}
	req := &wire.ApplyRequest{Stages: []*wire.Stage{{Sampler: simplest(i.about.samplers)}}}
	return &Trip{plug: p, inst: i, call: func(ctx context.Context) error {
		_, err := i.conn.Sampler.Apply(ctx, req)
		return err
	}}, nil
}

// Carriage is a trip that names one row in shared memory for a sampler without
// needs. It is the transport of a hop alone: there is neither the host's copy for
// a repetition nor its look at what came back, and the row is left as the plugin
// leaves it. A row that lies elsewhere is a usage error.
func (h *Host) Carriage(ctx context.Context, plugin, name string, row *dist.Scores) (*Trip, error) {
	p, err := h.named(plugin)
	if err != nil {
		return nil, err
	}
	i, err := p.instance(ctx)
	if err != nil {
		return nil, err
	}
	it := &sampler.Item{Scores: *row, States: make([][]byte, 1)}
	table, _, err := (&runner{host: h, plugin: plugin}).shared(ctx, p, i, []*sampler.Item{it})
	if err != nil {
		return nil, err
	}
	if table == nil {
		return nil, fault.New(fault.Usage, "round trip", p.name(), "the row is not in memory that it shares")
	}
	req := &wire.ApplyRequest{Stages: []*wire.Stage{{Sampler: name}}, Items: []*wire.Item{putItem(it, 0, table, 1, false)}}
	return &Trip{plug: p, inst: i, call: func(ctx context.Context) error {
		_, err := i.conn.Sampler.Apply(ctx, req)
		return err
	}}, nil
}

// simplest returns a sampler that can be named without anything else, where
// there is one.
func simplest(all []sampler.Declaration) string {
	for _, d := range all {
		if !d.Needs.TokenTexts {
			return d.Name
		}
	}
	return all[0].Name
}

// Trip returns the smallest call about an open model: no edit at all.
func (m *Model) Trip(ctx context.Context) (*Trip, error) {
	m.work.Lock()
	defer m.work.Unlock()
	i, err := m.plug.instance(ctx)
	if err != nil {
		return nil, err
	}
	id, _, err := m.ready(ctx, i)
	if err != nil {
		return nil, err
	}
	req := &wire.EditRequest{Model: id}
	return &Trip{plug: m.plug, inst: i, call: func(ctx context.Context) error {
		_, err := i.conn.Model.Edit(ctx, req)
		return err
	}}, nil
}

// Bare makes the call as gRPC makes it, without deadline or watchdog. A fault is
// an answer too; only a call that was not answered is an error.
func (t *Trip) Bare(ctx context.Context) error {
	if err, verdict := wire.FromStatus(t.call(ctx)); verdict != wire.Answered {
		return fault.Wrap(err, fault.Plugin, t.plug.name(), "round trip")
	}
	return nil
}

// Watched makes the call as the host makes every call, with a deadline after
// which the process is killed.
func (t *Trip) Watched(ctx context.Context) error {
	if t.inst.dead() {
		return t.plug.fault("round trip", "its process has ended (%s)", t.inst.proc.Ending())
	}
	_, err := t.plug.ask(ctx, t.inst, "round trip", t.plug.host.opt.Deadlines.Call, t.call)
	if err != nil && !t.inst.dead() {
		return nil // a fault was answered
	}
	return err
}
