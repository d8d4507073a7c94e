package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	return &runner{host: h, plugin: plugin, backups: &sync.Pool{New: func() any { return new(dist.Scores) }}}
}

type runner struct {
	host    *Host
	plugin  string
	backups *sync.Pool // of *dist.Scores
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
			again, err := r.attempt(ctx, p, i, call, items)
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
func (r *runner) save(items []*sampler.Item) []*dist.Scores {
	saved := make([]*dist.Scores, len(items))
	for i, it := range items {
		if _, shared := r.host.memory.table.Find(it.Scores.Values); shared {
			saved[i] = r.backups.Get().(*dist.Scores)
			saved[i].CopyFrom(&it.Scores)
		}
	}
	return saved
}

func (r *runner) forget(saved []*dist.Scores) {
	for _, s := range saved {
		if s != nil {
			r.backups.Put(s)
		}
	}
}

// restore undoes what a dead plugin left in shared rows.
func restore(items []*sampler.Item, saved []*dist.Scores) {
	for i, it := range items {
		if saved[i] != nil {
			it.Scores.CopyFrom(saved[i])
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

// attempt makes the call once, with one process.
func (r *runner) attempt(ctx context.Context, p *plug, i *instance, call *sampler.Call, items []*sampler.Item) (again bool, err error) {
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
	var answer *wire.ApplyResponse
	again, err = p.ask(ctx, i, "sampler call", r.host.opt.Deadlines.Call, func(ctx context.Context) (err error) {
		answer, err = i.conn.Sampler.Apply(ctx, req)
		return err
	})
	if err != nil {
		return again, err
	}
	if len(answer.GetItems()) != len(items) {
		return false, p.fault("sampler call", "it answered for %d of %d sequences", len(answer.GetItems()), len(items))
	}
	a := &answers{call: call, table: table, home: &r.host.memory.table, selects: needs.selects}
	for k, it := range items {
		if err := a.take(it, req.Items[k], answer.Items[k]); err != nil {
			return false, fault.Wrap(err, fault.Plugin, p.name(), fmt.Sprintf("sampler call: sequence %d", k))
		}
	}
	return false, nil
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

// answers takes what a plugin returned for the items of a call.
type answers struct {
	call    *sampler.Call
	table   *plane.Table // nil: nothing was shared with the plugin
	home    *plane.Table // every plane of this process
	selects bool
}

// take checks the answer for one sequence against what was asked, and only then
// changes the item.
func (a *answers) take(it *sampler.Item, asked *wire.Item, m *wire.ItemResult) error {
	bad := func(format string, args ...any) error { return fault.New(fault.Plugin, "", "", format, args...) }
	stages := len(a.call.Stages)
	row, inPlace, err := a.row(m.GetScores(), asked.GetScores().GetSlot(), it.Scores.Vocab)
	if err != nil {
		return err
	}
	switch {
	case row.Len() > int(asked.GetScores().GetCount()):
		return bad("it lists %d tokens where it was given %d", row.Len(), asked.GetScores().GetCount())
	case row.Unlisted != 0 && row.Unlisted != it.Scores.Unlisted:
		return bad("it changed the unlisted mass from %g to %g", it.Scores.Unlisted, row.Unlisted)
	case len(m.GetStates()) != stages:
		return bad("it left %d states for %d stages", len(m.GetStates()), stages)
	case a.call.Ledger && len(m.GetChanges()) != stages:
		return bad("it left %d lines of the ledger for %d stages", len(m.GetChanges()), stages)
	case a.call.Rows && len(m.GetRows()) != stages:
		return bad("it left %d rows for %d stages", len(m.GetRows()), stages)
	case a.selects != (m.Chosen != nil):
		return bad("a stage selects: %t, a token was chosen: %t", a.selects, m.Chosen != nil)
	}
	for k, s := range m.GetStates() {
		if len(s) > sampler.MaxState {
			return bad("the state of stage %d has %d bytes, more than %d", k+1, len(s), sampler.MaxState)
		}
	}
	chosen := int32(-1)
	if m.Chosen != nil {
		if int64(m.GetChosen()) >= int64(row.Vocab) || !row.Has(int32(m.GetChosen())) {
			return bad("it chose token %d, which is not in the support of its row", m.GetChosen())
		}
		chosen = int32(m.GetChosen())
	}
	var changes []dist.Change
	if a.call.Ledger {
		for _, c := range m.GetChanges() {
			change, err := wire.GetChange(c, row.Vocab)
			if err != nil {
				return err
			}
			changes = append(changes, change)
		}
	}
	var rows []dist.Scores
	if a.call.Rows {
		if rows, err = a.rows(asked, m); err != nil {
			return err
		}
	}
	it.States, it.Chosen, it.Changes, it.Rows = slices.Clone(m.GetStates()), chosen, changes, rows
	if inPlace {
		it.Scores = row
	} else {
		storeInline(&it.Scores, &row, a.home)
	}
	return nil
}

func (a *answers) rows(asked *wire.Item, m *wire.ItemResult) ([]dist.Scores, error) {
	var rows []dist.Scores
	for k, r := range m.GetRows() {
		var slot *wire.Slot
		if len(asked.GetRows()) > 0 {
			slot = asked.GetRows()[k]
		}
		row, _, err := a.row(r, slot, int(asked.GetScores().GetVocab()))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// row reads a row of an answer. One in a slot must be in the slot that was
// asked for: a plugin has no other to write to.
func (a *answers) row(m *wire.Row, slot *wire.Slot, vocab int) (row dist.Scores, inPlace bool, err error) {
	return readRow(m, slot, vocab, a.table)
}

func readRow(m *wire.Row, slot *wire.Slot, vocab int, table *plane.Table) (row dist.Scores, inPlace bool, err error) {
	bad := func(format string, args ...any) (dist.Scores, bool, error) {
		return dist.Scores{}, false, fault.New(fault.Plugin, "", "", format, args...)
	}
	if at, ok := wire.SlotOf(m); ok {
		if slot == nil || table == nil || at.Plane != slot.GetPlane() || at.Index != slot.GetIndex() {
			return bad("it answered in slot %d of plane %d, which it was not given", at.Index, at.Plane)
		}
		inPlace = true
	}
	if int64(m.GetVocab()) != int64(vocab) {
		return bad("its row has a vocabulary of %d, not %d", m.GetVocab(), vocab)
	}
	row, err = wire.GetRow(m, table)
	if err == nil {
		err = row.Check()
	}
	if err != nil {
		return bad("it left a malformed row: %s", problem(err))
	}
	return row, inPlace, nil
}

// problem is what an error says without its operation and cure: a row that is
// no row is the plugin's fault here, whatever it would be elsewhere.
func problem(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Problem != "" {
		return f.Problem
	}
	return err.Error()
}

// storeInline copies a row that came as bytes to where the caller's is: the
// same scores' memory, and for its ids the slot's own place when it has one.
func storeInline(to, from *dist.Scores, home *plane.Table) {
	to.Values = append(to.Values[:0], from.Values...)
	to.Vocab, to.Unlisted = from.Vocab, from.Unlisted
	if from.Dense() {
		to.IDs = nil
		return
	}
	if slot, ok := home.Find(to.Values); ok {
		if _, ids, err := home.Row(slot); err == nil {
			to.IDs = ids[:copy(ids, from.IDs)]
			return
		}
	}
	to.IDs = append(to.IDs[:0], from.IDs...)
	if to.IDs == nil {
		to.IDs = []int32{}
	}
}
