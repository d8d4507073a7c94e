package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/sampler"
	"lab/core/seed"
)

// Row is one sequence at one step, as [Chain.Apply] takes and leaves it.
type Row struct {
	// Scores comes in as the model's row and goes out as the row drawn from. It
	// may alias shared memory, and is changed in place.
	Scores dist.Scores

	History []int32 // the whole context, prompt first
	Prompt  int     // how many of them are prompt
	Step    int     // 0 for the first generated token
	Stream  seed.Stream
	Sample  uint64 // index of the sample, for its random numbers

	// Passes are the rows of further model passes over the same vocabulary, at
	// least [Chain.Passes] of them.
	Passes []dist.Scores

	// States holds what each stage keeps for this sequence; nil at the first
	// step. Apply replaces it.
	States [][]byte

	Chosen int32         // out
	Ledger Ledger        // out, when Options.Ledger is set
	After  []dist.Scores // out, by stage, when Options.Rows is set
}

// Options says what Apply records besides the chosen token.
type Options struct {
	Ledger     bool
	Rows       bool   // keep the row after every stage
	Vocabulary string // key of the vocabulary, for stages that ask for token texts
	EndOfText  []int32
}

// group is a run of consecutive stages with one runner: one call.
type group struct{ first, end int }

// plan sets the groups and the lane of every stage. A stage that selects draws
// from the lane of the token draw; other random stages draw from a lane of
// their own name and occurrence, so that adding a stage does not change the
// draw.
func (c *Chain) plan() {
	seen := map[string]int{}
	for i := range c.Stages {
		s := &c.Stages[i]
		s.lane = seed.Draw
		if !s.Selects() {
			s.lane = seed.Lane(s.Name, seen[s.Name])
			seen[s.Name]++
		}
		if n := len(c.groups); n > 0 && c.Stages[c.groups[n-1].first].runner == s.runner {
			c.groups[n-1].end = i + 1
			continue
		}
		c.groups = append(c.groups, group{first: i, end: i + 1})
	}
}

// Apply runs every stage over the rows and leaves the chosen tokens. When an
// error is returned, no row's results may be used. With Options.Ledger the
// ledger's identities are checked for every row, and a violation is a plugin
// error naming the stage. Safe for concurrent use on distinct rows.
func (c *Chain) Apply(ctx context.Context, rows []*Row, opt Options) error {
	if len(rows) == 0 {
		return nil
	}
	if err := c.checkPasses(rows); err != nil {
		return err
	}
	split := opt.Ledger && len(c.groups) > 1
	firsts := make([]dist.Scores, len(rows))
	items := make([]*sampler.Item, len(rows))
	for i, r := range rows {
		if split {
			firsts[i] = r.Scores.Clone()
		}
		states := make([][]byte, len(c.Stages)) // sequences that forked share the list they came with
		if len(r.States) == len(c.Stages) {
			copy(states, r.States)
		}
		r.States = states
		r.Ledger, r.After, r.Chosen = nil, nil, -1
		items[i] = &sampler.Item{Scores: r.Scores, History: r.History, Prompt: r.Prompt, Step: r.Step,
			Sample: r.Sample, Passes: r.Passes}
	}
	for _, g := range c.groups {
		if err := c.applyGroup(ctx, g, rows, items, opt, split); err != nil {
			return err
		}
	}
	for i, r := range rows {
		r.Scores = items[i].Scores
		if r.Chosen < 0 {
			last := c.Stages[len(c.Stages)-1]
			return fault.New(fault.Plugin, "chain", fmt.Sprintf("stage %d (%s)", len(c.Stages), last.Name),
				"plugin %q chose no token", last.Plugin)
		}
		if split {
			r.placeChosen(&firsts[i], c.groups)
		}
		if !opt.Rows {
			r.After = nil
		}
		if opt.Ledger {
			if err := r.Ledger.Check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPasses refuses rows that lack a model pass which a stage wants.
func (c *Chain) checkPasses(rows []*Row) error {
	for i, s := range c.Stages {
		for _, r := range rows {
			if want := s.Declaration.Needs.Passes; len(r.Passes) < want {
				return fault.New(fault.Usage, "chain", fmt.Sprintf("stage %d (%s)", i+1, s.Name),
					"it needs %d further model pass(es) and %d were given", want, len(r.Passes)).
					Fix("give a second prompt or model to compare with, such as --negative-prompt")
			}
		}
	}
	return nil
}

// sharedSample is the sample index of random numbers that all samples share; it
// is above every index that a run may use.
const sharedSample = 1<<32 - 1

func (c *Chain) applyGroup(ctx context.Context, g group, rows []*Row, items []*sampler.Item, opt Options, split bool) error {
	stages := c.Stages[g.first:g.end]
	call := &sampler.Call{Items: items, Ledger: opt.Ledger, Vocabulary: opt.Vocabulary, EndOfText: opt.EndOfText,
		Rows: opt.Rows || split && g.end < len(c.Stages)}
	for _, s := range stages {
		call.Stages = append(call.Stages, sampler.Stage{Sampler: s.Name, Values: s.Values, System: s.System})
	}
	for i, r := range rows {
		it := items[i]
		it.Chosen, it.Changes, it.Rows = -1, nil, nil
		it.States = append([][]byte(nil), r.States[g.first:g.end]...)
		it.Uniforms = make([][]float64, len(stages))
		for j, s := range stages {
			it.Uniforms[j] = make([]float64, s.Declaration.Needs.Uniforms)
			sample := r.Sample
			if s.Declaration.Needs.Shared {
				sample = sharedSample
			}
			r.Stream.Uniforms(it.Uniforms[j], sample, uint64(r.Step), s.lane)
		}
	}
	if err := stages[0].runner.Run(ctx, call); err != nil {
		return inChain(err, g.first)
	}
	for i, r := range rows {
		it := items[i]
		copy(r.States[g.first:g.end], it.States)
		r.Chosen = it.Chosen
		r.After = append(r.After, it.Rows...)
		if !opt.Ledger {
			continue
		}
		if len(it.Changes) != len(stages) {
			return fault.New(fault.Plugin, "chain", fmt.Sprintf("plugin %q", stages[0].Plugin),
				"it returned %d ledger entries for %d stages", len(it.Changes), len(stages))
		}
		if r.Ledger == nil {
			r.Ledger = make(Ledger, 0, len(c.Stages))
		}
		for j, s := range stages {
			r.Ledger = append(r.Ledger, Entry{Stage: s.Name, Plugin: s.Plugin, Change: it.Changes[j]})
		}
	}
	return nil
}

// inChain turns the number of a stage in an error of its group into its number
// in the chain. first is how many stages are before the group.
func inChain(err error, first int) error {
	var e *fault.Error
	var number int
	if first == 0 || !errors.As(err, &e) {
		return err
	}
	if n, _ := fmt.Sscanf(e.Op, "stage %d (", &number); n != 1 {
		return err
	}
	c := *e
	c.Op = fmt.Sprintf("stage %d", number+first) + strings.TrimPrefix(e.Op, fmt.Sprintf("stage %d", number))
	return &c
}

// placeChosen fills the chosen token into the entries of groups that ran before
// it was known, from the rows kept after each of their stages.
func (r *Row) placeChosen(first *dist.Scores, groups []group) {
	known := groups[len(groups)-1].first
	changes := make([]dist.Change, known)
	for i := range changes {
		changes[i] = r.Ledger[i].Change
	}
	sampler.FillChosen(first, r.After[:known], changes, r.Chosen)
	for i := range changes {
		r.Ledger[i].Change = changes[i]
	}
}
