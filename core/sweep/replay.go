package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/seed"
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
)

// contexts is what a replay needs to know of the models: the tokens of the prompts
// and those that end a text, by model.
type contexts struct {
	EndOfText map[string][]int32            `json:"end_of_text"`
	Prompts   map[string]map[string][]int32 `json:"prompts"`
}

// contexts returns the JSON of the contexts of a plan that keeps scores.
func (p *Plan) contexts(ctx context.Context, keep store.Recording) (json.RawMessage, error) {
	if !keep.Any() {
		return nil, nil
	}
	all := contexts{EndOfText: map[string][]int32{}, Prompts: map[string]map[string][]int32{}}
	for i := range p.Cells {
		c := &p.Cells[i]
		if all.Prompts[c.Model] == nil {
			all.Prompts[c.Model] = map[string][]int32{}
			all.EndOfText[c.Model] = append([]int32{}, c.engine.Info().EndOfText...)
		}
		if all.Prompts[c.Model][c.Prompt] != nil {
			continue
		}
		tokens, err := c.engine.Encode(ctx, []byte(c.Prompt))
		if err != nil {
			return nil, err
		}
		all.Prompts[c.Model][c.Prompt] = tokens
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, "contexts")
	}
	return data, nil
}

// ScoreBytes returns about how many bytes the kept scores of a plan take, at most:
// in the log, and once the tables are written.
func (p *Plan) ScoreBytes(opt Options) (log, table int64, err error) {
	keep, err := p.Spec.Recording()
	if err != nil || !keep.Any() {
		return 0, 0, err
	}
	for i := range p.Cells {
		if c := &p.Cells[i]; opt.Mine == nil || opt.Mine(i) {
			steps := int64(p.Samples) * int64(c.MaxTokens)
			log += steps * keep.BytesPerStep(c.engine.Info().VocabSize)
			table += steps * keep.TypicalFileBytesPerStep(c.engine.Info().VocabSize)
		}
	}
	return log, table, nil
}

// Replayed is what another chain makes of a recorded sample.
type Replayed struct {
	Cell, Sample int
	// Steps are those that the recorded contexts reach: up to the first at which the
	// chain draws another token, that one included.
	Steps []trace.Step
	// Left is the step at which the chain leaves the record, -1 when it never does;
	// Recorded is the token that the record has there.
	Left     int
	Recorded int32
}

// replayTogether is how many samples advance together.
const replayTogether = 64

// Replay applies a chain to the scores that a run kept, under the random numbers
// of its samples: what the chain would have drawn, exactly as far as the recorded
// contexts reach, without the model. Samples are visited in their order; those that
// failed are left out. Stages that need token texts or further model passes are
// usage errors, and so is a run without scores.
func Replay(ctx context.Context, session *experiment.Session, run *store.Stored, text string, visit func(Replayed) error) error {
	const op = "replay"
	if run.Manifest.Scores == "" {
		return fault.New(fault.Usage, op, run.Dir, "the run kept no scores").Fix("run the sweep with record: scores, or record: scores:N")
	}
	c, err := session.Chain(ctx, text, "replay")
	if err != nil {
		return err
	}
	for i, s := range c.Stages {
		if s.Declaration.Needs.TokenTexts || s.Values.HoldText() || s.Declaration.Needs.Passes > 0 {
			return fault.New(fault.Usage, op, fmt.Sprintf("stage %d (%s)", i+1, s.Name), "it needs the model: token texts, or a further pass").Fix("sample with the chain instead")
		}
	}
	r := &replay{ctx: ctx, chain: c, visit: visit}
	if err := json.Unmarshal(run.Manifest.Contexts, &r.known); err != nil {
		return fault.New(fault.Data, op, run.Dir, "what it says of contexts is damaged: %v", err)
	}
	if r.cells, err = table.ReadFile(filepath.Join(run.Dir, store.CellsFile), table.CSV{}); err != nil {
		return err
	}
	err = run.WithScores(func(rec *store.Record) error {
		if rec.Failure != "" {
			return nil
		}
		if err := r.begin(rec); err != nil {
			return fault.Wrap(err, fault.Data, op, fmt.Sprintf("cell %d, sample %d", rec.Cell, rec.Sample))
		}
		if len(r.under) < replayTogether {
			return nil
		}
		return r.flush()
	})
	if err != nil {
		return err
	}
	return r.flush()
}

// replay is a replay under way.
type replay struct {
	ctx   context.Context
	chain *chain.Chain
	visit func(Replayed) error
	known contexts
	cells *table.Table
	under []*replaying
}

// replaying is a sample that is replayed.
type replaying struct {
	Replayed
	scores []dist.Scores
	pieces []trace.Step
	row    chain.Row
	end    []int32
}

func (r *replay) begin(rec *store.Record) error {
	if rec.Cell >= r.cells.Rows() {
		return fault.New(fault.Data, "", "", "there are %d cells", r.cells.Rows())
	}
	cell, err := r.cells.Row(rec.Cell)
	if err != nil {
		return err
	}
	model, _ := cell["model"].(string)
	prompt, _ := cell["prompt"].(string)
	run, _ := cell["seed"].(int64)
	tokens := r.known.Prompts[model][prompt]
	if len(rec.Scores) != len(rec.Trace.Tokens) || len(tokens) == 0 {
		return fault.New(fault.Data, "", "", "it has %d rows of scores for %d tokens after a prompt of %d", len(rec.Scores), len(rec.Trace.Tokens), len(tokens))
	}
	history := append(append([]int32{}, tokens...), rec.Trace.Tokens...)
	r.under = append(r.under, &replaying{Replayed: Replayed{Cell: rec.Cell, Sample: rec.Sample, Left: -1}, scores: rec.Scores, pieces: rec.Trace.Steps,
		row: chain.Row{History: history, Prompt: len(tokens), Stream: seed.New(uint64(run), []byte(prompt)), Sample: uint64(rec.Sample)}, end: r.known.EndOfText[model]})
	return nil
}

// flush replays the samples that were begun, step by step, and visits them.
func (r *replay) flush() error {
	for step := 0; ; step++ {
		var rows []*chain.Row
		var owners []*replaying
		for _, s := range r.under {
			if s.Left >= 0 || step >= len(s.scores) {
				continue
			}
			row := s.row
			row.Scores, row.Step = s.scores[step], step
			row.History = s.row.History[: s.row.Prompt+step : s.row.Prompt+step]
			rows, owners = append(rows, &row), append(owners, s)
		}
		if len(rows) == 0 {
			break
		}
		if err := r.apply(rows, owners, step); err != nil {
			return err
		}
	}
	for _, s := range r.under {
		if err := r.visit(s.Replayed); err != nil {
			return err
		}
	}
	r.under = r.under[:0]
	return nil
}

// apply applies the chain to a step of several samples; those of one call share
// what ends a text.
func (r *replay) apply(rows []*chain.Row, owners []*replaying, step int) error {
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && slices.Equal(owners[to].end, owners[from].end) {
			to++
		}
		if err := r.chain.Apply(r.ctx, rows[from:to], chain.Options{Ledger: true, EndOfText: owners[from].end}); err != nil {
			return err
		}
		from = to
	}
	for i, s := range owners {
		row := rows[i]
		recorded := s.row.History[s.row.Prompt+step]
		s.row.States = row.States
		s.Steps = append(s.Steps, replayedStep(row, step))
		if row.Chosen != recorded {
			s.Left, s.Recorded = step, recorded
		}
	}
	return nil
}

func replayedStep(row *chain.Row, step int) trace.Step {
	first, last := row.Ledger[0], row.Ledger[len(row.Ledger)-1]
	m := trace.NewSide(first.ProbBefore, first.RankBefore, first.EntropyBefore, first.SupportBefore)
	q := trace.NewSide(last.ProbAfter, last.RankAfter, last.EntropyAfter, last.SupportAfter)
	out := trace.Step{Step: step, Token: row.Chosen, Model: &m, Sampling: &q}
	for _, e := range row.Ledger {
		out.Stages = append(out.Stages, trace.NewStage(e.Stage, e.Plugin, e.Change))
	}
	return out
}
