package generate

import (
	"fmt"

	"lab/core/chain"
	"lab/core/trace"
)

// usualSteps is for how many steps a sample has room at once.
const usualSteps = 64

// record appends what the chain did at this step.
func (s *sample) record(r *chain.Row, piece []byte) {
	if s.out.Steps == nil {
		s.out.Steps = make([]trace.Step, 0, min(s.MaxTokens, usualSteps))
	}
	first, last := r.Ledger[0], r.Ledger[len(r.Ledger)-1]
	sides := &[2]trace.Side{
		trace.NewSide(first.ProbBefore, first.RankBefore, first.EntropyBefore, first.SupportBefore),
		trace.NewSide(last.ProbAfter, last.RankAfter, last.EntropyAfter, last.SupportAfter),
	}
	step := trace.Step{Step: s.steps, Token: r.Chosen, Piece: piece, Model: &sides[0], Sampling: &sides[1],
		Stages: make([]trace.Stage, len(r.Ledger))}
	for i, e := range r.Ledger {
		step.Stages[i] = trace.NewStage(e.Stage, e.Plugin, e.Change)
	}
	if last.SupportAfter > 1 {
		s.loose = true
	}
	s.out.Steps = append(s.out.Steps, step)
}

// warning says when a seed could have made no difference although the chain
// draws (field report 11), "" when it could.
func (s *sample) warning() string {
	selector := s.Chain.Stages[len(s.Chain.Stages)-1]
	if len(s.out.Steps) == 0 || s.loose || selector.Declaration.Needs.Uniforms == 0 {
		return ""
	}
	return fmt.Sprintf("sample %d: the support was 1 in 100%% of %d steps: the seed has no effect under %q",
		s.Sample, len(s.out.Steps), s.Chain)
}
