package host

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/plane"
	"lab/core/plugin/sampler"
)

// mostInline is how many bytes of scores one request carries at most. A larger
// batch is sent in parts, which changes no result.
const mostInline = wire.MaxMessage / 4

// Runner returns what applies stages of one plugin. Rows that lie on a plane
// are reshaped in place; others travel as bytes, there and back. When the plugin
// dies, what it half wrote is undone and the call repeated with a new process.
// Item.States are replaced on success only.
//
// Errors: usage for an unknown plugin, sampler or setting; plugin when the
// plugin dies too often, hangs, or answers what it must not; interrupted or
// limit when ctx ends; else what the plugin reported. Safe for concurrent use
// on distinct rows.
func (h *Host) Runner(plugin string) sampler.Runner {
	return &runner{host: h, plugin: plugin, backups: &sync.Pool{New: func() any { return new(backup) }}}
}

type runner struct {
	host    *Host
	plugin  string
	backups *sync.Pool // of *backup
}

// backup is a row as it was given to a plugin that writes in place.
type backup struct {
	row  dist.Scores
	full bool
}

// Run implements [sampler.Runner].
func (r *runner) Run(ctx context.Context, call *sampler.Call) error {
	p, err := r.host.named(r.plugin)
	if err != nil {
		return err
	}
	if len(call.Stages) == 0 {
		return fault.New(fault.Usage, "sampler call", "", "it names no stage")
	}
	for i, it := range call.Items {
		if it == nil {
			return fault.New(fault.Internal, "sampler call", fmt.Sprintf("sequence %d", i), "it is nil")
		}
	}
	saved := r.save(call.Items)
	defer r.forget(saved)
	for start := 0; start < len(call.Items); {
		end := r.part(call, start)
		items := call.Items[start:end]
		err := p.repeat(ctx, func(i *instance) (bool, error) {
			again, err := r.attempt(ctx, p, i, call, items, saved[start:end])
			if again {
				restore(items, saved[start:end])
			}
			return again, err
		})
		if err != nil {
			return err
		}
		start = end
	}
	return nil
}

// save copies the rows that a plugin will write in place.
func (r *runner) save(items []*sampler.Item) []*backup {
	saved := make([]*backup, len(items))
	for i, it := range items {
		if _, shared := r.host.memory.table.Find(it.Scores.Values); shared {
			saved[i] = r.backups.Get().(*backup)
			saved[i].full = saved[i].row.CopyFrom(&it.Scores)
		}
	}
	return saved
}

func (r *runner) forget(saved []*backup) {
	for _, s := range saved {
		if s != nil {
			r.backups.Put(s)
		}
	}
}

// restore undoes what a dead plugin left in shared rows.
func restore(items []*sampler.Item, saved []*backup) {
	for i, it := range items {
		if saved[i] != nil {
			it.Scores.CopyFrom(&saved[i].row)
		}
	}
}

// part returns the end of the items from start on that one request may carry.
func (r *runner) part(call *sampler.Call, start int) int {
	copies := 1
	if call.Rows {
		copies += len(call.Stages)
	}
	size := 0
	for i := start; i < len(call.Items); i++ {
		it := call.Items[i]
		size += (len(it.Scores.Values) + len(it.Scores.IDs)) * 4 * copies
		for k := range it.Passes {
			size += (len(it.Passes[k].Values) + len(it.Passes[k].IDs)) * 4
		}
		if size > mostInline && i > start {
			return i
		}
	}
	return len(call.Items)
}

// attempt makes the call once, with one process. saved are the rows as they were
// given, of those that the process can write to.
func (r *runner) attempt(ctx context.Context, p *plug, i *instance, call *sampler.Call, items []*sampler.Item, saved []*backup) (again bool, err error) {
	needs, err := stageNeeds(i.about, call)
	if err != nil {
		return false, err
	}
	if needs.TokenTexts {
		if again, err := p.attachTexts(ctx, i, call.Vocabulary); err != nil {
			return again, err
		}
	}
	table, again, err := r.shared(ctx, p, i, items)
	if err != nil {
		return again, err
	}
	req := &wire.ApplyRequest{Ledger: call.Ledger, Rows: call.Rows, Vocabulary: call.Vocabulary, EndOfText: wire.PutTokens(call.EndOfText)}
	for _, s := range call.Stages {
		req.Stages = append(req.Stages, &wire.Stage{Sampler: s.Sampler, Values: wire.PutValues(s.Values), System: s.System})
	}
	for _, it := range items {
		req.Items = append(req.Items, putItem(it, needs.History, table, len(call.Stages), call.Rows))
	}
	limit := applyLimit(call, items)
	var answer *wire.ApplyResponse
	again, err = p.ask(ctx, i, "sampler call", r.host.opt.Deadlines.Call, func(ctx context.Context) (err error) {
		answer, err = i.conn.Sampler.Apply(ctx, req, limit)
		return err
	})
	if err != nil {
		return again, err
	}
	if len(answer.GetItems()) != len(items) {
		return false, p.fault("sampler call", "it answered for %d of %d sequences", len(answer.GetItems()), len(items))
	}
	a := &answers{call: call, table: table, home: &r.host.memory.table, selects: needs.selects, raw: needs.Raw}
	for k, it := range items {
		given := given{row: &it.Scores, full: it.Scores.Full}
		if s := saved[k]; s != nil {
			given.row, given.full = &s.row, func() bool { return s.full }
		}
		if err := a.take(it, given, req.Items[k], answer.Items[k]); err != nil {
			return false, fault.Wrap(err, fault.Plugin, p.name(), fmt.Sprintf("sampler call: sequence %d", k))
		}
	}
	if a.suspect {
		r.host.warn("plugin %q: what %s left adds up to 1 with nothing below 0, like probabilities; scores are natural-log weights, so it should take the logarithm",
			p.cmd.Name, stageNames(call))
	}
	return false, nil
}

func stageNames(call *sampler.Call) string {
	names := make([]string, len(call.Stages))
	for i, s := range call.Stages {
		names[i] = s.Sampler
	}
	return strings.Join(names, " | ")
}

// shared returns the planes that the process can reach, nil when rows must
// travel as bytes.
func (r *runner) shared(ctx context.Context, p *plug, i *instance, items []*sampler.Item) (table *plane.Table, again bool, err error) {
	home := &r.host.memory.table
	ids := map[uint32]bool{}
	for _, it := range items {
		if s, ok := home.Find(it.Scores.Values); ok {
			ids[s.Plane] = true
		}
		for k := range it.Rows {
			if s, ok := home.Find(it.Rows[k].Values); ok {
				ids[s.Plane] = true
			}
		}
		for k := range it.Passes {
			if s, ok := home.Find(it.Passes[k].Values); ok {
				ids[s.Plane] = true
			}
		}
	}
	if len(ids) == 0 {
		return nil, false, nil
	}
	ok, again, err := p.attach(ctx, i, ids)
	if !ok {
		return nil, again, err
	}
	return home, false, nil
}

// needs are those of all stages of a call together.
type needs struct {
	sampler.Needs
	selects bool
}

func stageNeeds(a *about, call *sampler.Call) (needs, error) {
	var n needs
	for i, s := range call.Stages {
		d, ok := a.sampler(s.Sampler)
		if !ok {
			return n, fault.Unknown(fmt.Sprintf("stage %d", i+1), "sampler", s.Sampler, a.samplerNames())
		}
		n.TokenTexts = n.TokenTexts || d.Needs.TokenTexts || call.Vocabulary != "" && s.Values.HoldText()
		n.selects = n.selects || d.Kind == sampler.Select
		n.Raw = n.Raw || d.Needs.Raw
		if d.Needs.History < 0 || n.History < 0 {
			n.History = -1
		} else {
			n.History = max(n.History, d.Needs.History)
		}
	}
	return n, nil
}

// putItem returns the message for one sequence. history is how many of the
// newest tokens are sent, -1 for all of them.
func putItem(it *sampler.Item, history int, table *plane.Table, stages int, rows bool) *wire.Item {
	tokens, prompt := it.History, it.Prompt
	if history >= 0 && len(tokens) > history {
		cut := len(tokens) - history
		tokens, prompt = tokens[cut:], max(0, prompt-cut)
	}
	m := &wire.Item{
		Scores: wire.PutRow(&it.Scores, table), History: wire.PutTokens(tokens), Prompt: uint32(max(0, prompt)),
		Step: uint64(max(0, it.Step)), States: it.States, Sample: it.Sample,
	}
	for _, u := range it.Uniforms {
		m.Uniforms = append(m.Uniforms, wire.PutUniforms(u))
	}
	for k := range it.Passes {
		m.Passes = append(m.Passes, wire.PutRow(&it.Passes[k], table))
	}
	if rows && table != nil && len(it.Rows) == stages {
		var slots []*wire.Slot
		for k := range it.Rows {
			if s, ok := table.Find(it.Rows[k].Values); ok {
				slots = append(slots, wire.PutSlot(s))
			}
		}
		if len(slots) == stages {
			m.Rows = slots
		}
	}
	return m
}
