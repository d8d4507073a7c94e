// Package source turns what the lab records into the plain data of the figures:
// samples and scored texts, and stored runs.
//
// It computes nothing that a picture states; that is done in package plots. Both
// faces of the figures use it: the script module "plot" and lab plot, which
// draws from a stored run without a script ([Figures], [Draw]).
package source

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/measure"
	"lab/core/trace"
	"lab/plots"
)

const op = "figure"

// Group is samples under a name: a strategy, a setting, a run.
type Group struct {
	Name    string
	Samples []*trace.Sample
}

// recorded refuses a sample whose steps were not recorded.
func recorded(s *trace.Sample, figure string) error {
	if len(s.Steps) != len(s.Tokens) {
		return fault.New(fault.Usage, op+" "+figure, "sample", "%d of its %d tokens have a recorded step", len(s.Steps), len(s.Tokens)).
			Fix("generate with {ledger: true}, or sweep with record: ledger")
	}
	return nil
}

// Tokens returns a sample after its prompt, token by token. Errors: fault.Usage
// when its steps were not recorded.
func Tokens(prompt string, s *trace.Sample) (plots.TokensData, error) {
	d := plots.TokensData{Prompt: prompt}
	if err := recorded(s, "tokens"); err != nil {
		return d, err
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		t := plots.TextToken{Text: string(step.Piece), Model: side(step.Model), Sampling: side(step.Sampling)}
		for _, st := range step.Stages {
			t.Stages = append(t.Stages, plots.TokenStage{Name: st.Stage, Before: st.SupportBefore, After: st.SupportAfter, KeptMass: float64(st.KeptMass),
				ProbBefore: float64(st.ChosenProbBefore), ProbAfter: float64(st.ChosenProbAfter)})
		}
		d.Tokens = append(d.Tokens, t)
	}
	return d, nil
}

func side(s *trace.Side) plots.TokenSide {
	if s == nil {
		return plots.UnknownSide()
	}
	return plots.TokenSide{Prob: float64(s.Prob), SurprisalBits: max(float64(s.SurprisalBits), 0), Rank: s.Rank, EntropyBits: float64(s.EntropyBits)}
}

// ScoredTokens returns a text that a model scored; nothing is known of a sampling
// distribution.
func ScoredTokens(prompt string, s *generate.Scoring) plots.TokensData {
	d := plots.TokensData{Prompt: prompt}
	for i := range s.Tokens {
		t := &s.Tokens[i]
		entropy := math.NaN()
		if t.Entropy.Exact() {
			entropy = t.Entropy.Low
		}
		d.Tokens = append(d.Tokens, plots.TextToken{Text: string(t.Piece), Sampling: plots.UnknownSide(),
			Model: plots.TokenSide{Prob: math.Exp2(-t.SurprisalBits), SurprisalBits: max(t.SurprisalBits, 0), Rank: t.Rank, EntropyBits: entropy}})
	}
	return d
}

// ScoredSteps returns the likeliest tokens at every place of a text that a model
// scored with ScoreOptions.Top; piece gives a token's bytes. Errors: fault.Usage
// when none were listed.
func ScoredSteps(prompt string, s *generate.Scoring, piece func(int32) []byte) (plots.HeatStepsData, error) {
	d := plots.HeatStepsData{Prompt: prompt}
	for i := range s.Tokens {
		t := &s.Tokens[i]
		if len(t.Top) == 0 {
			return d, fault.New(fault.Usage, op+" heat_steps", "", "the scoring lists no likeliest tokens").Fix("score with {top: 8}")
		}
		step := plots.HeatStep{Chosen: string(t.Piece), ChosenProb: math.Exp2(-t.SurprisalBits), ChosenRank: t.Rank}
		for _, e := range t.Top {
			step.Likeliest = append(step.Likeliest, plots.HeatToken{Text: string(piece(e.ID)), Prob: e.P})
		}
		d.Steps = append(d.Steps, step)
	}
	return d, nil
}

// RecordedSteps returns the likeliest tokens of the model distribution at every
// step of a sample whose scores were kept. Errors: fault.Usage when steps or
// scores are missing, fault.Data for rows that are no scores.
func RecordedSteps(prompt string, s *trace.Sample, rows []dist.Scores, piece func(int32) []byte) (plots.HeatStepsData, error) {
	const likeliest = 12 // the most that the figure takes
	d := plots.HeatStepsData{Prompt: prompt}
	if len(rows) != len(s.Tokens) {
		return d, fault.New(fault.Usage, op+" heat_steps", "sample", "scores of %d of its %d steps were kept", len(rows), len(s.Tokens)).
			Fix("sweep with record: scores:12")
	}
	for i := range rows {
		q, err := dist.Softmax(&rows[i])
		if err != nil {
			return d, err
		}
		step := plots.HeatStep{Chosen: string(piece(s.Tokens[i])), ChosenProb: math.NaN(), ChosenRank: q.Rank(s.Tokens[i])}
		if step.ChosenRank > 0 {
			step.ChosenProb = q.P(s.Tokens[i])
		}
		best, _ := q.Top(likeliest)
		for _, e := range best {
			step.Likeliest = append(step.Likeliest, plots.HeatToken{Text: string(piece(e.ID)), Prob: e.P})
		}
		d.Steps = append(d.Steps, step)
	}
	return d, nil
}

// Zipf returns how often the tokens of each group's samples occur, the one that
// ended a text left out.
func Zipf(groups []Group) plots.ZipfData {
	d := plots.ZipfData{Unit: "token"}
	for _, g := range groups {
		texts := make([][]int32, len(g.Samples))
		for i, s := range g.Samples {
			texts[i] = measure.Content(s)
		}
		d.Texts = append(d.Texts, plots.ZipfText{Name: g.Name, Counts: measure.Counts(texts)})
	}
	return d
}

// Repetition returns the samples of each group; n as there.
func Repetition(n int, groups []Group) plots.RepetitionData {
	d := plots.RepetitionData{N: n}
	for _, g := range groups {
		s := plots.RepetitionStrategy{Name: g.Name}
		for _, sample := range g.Samples {
			s.Samples = append(s.Samples, measure.Content(sample))
		}
		d.Strategies = append(d.Strategies, s)
	}
	return d
}

// Pair returns two samples as a pair.
func Pair(a, b *trace.Sample) plots.Pair {
	p := plots.Pair{A: slices.Clone(a.Tokens), B: slices.Clone(b.Tokens)}
	for i := 0; i < len(a.Steps) && i < len(b.Steps); i++ {
		if a.Steps[i].Token != b.Steps[i].Token {
			p.AtA, p.AtB = string(a.Steps[i].Piece), string(b.Steps[i].Piece)
			break
		}
	}
	return p
}

// Pairs returns the samples of two lists as pairs, by their index. Errors:
// fault.Usage when no index is in both.
func Pairs(nameA, nameB string, a, b []*trace.Sample) (plots.PairsData, error) {
	d := plots.PairsData{A: nameA, B: nameB}
	at := map[uint64]*trace.Sample{}
	for _, s := range b {
		at[s.Sample] = s
	}
	for _, s := range a {
		if other := at[s.Sample]; other != nil {
			d.Pairs = append(d.Pairs, Pair(s, other))
		}
	}
	if len(d.Pairs) == 0 && len(a)+len(b) > 0 {
		return d, fault.New(fault.Usage, op+" pairs", "", "no sample of %d has a counterpart of the same index among %d", len(a), len(b)).
			Fix("generate both with the same first_sample")
	}
	return d, nil
}
