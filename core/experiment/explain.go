package experiment

import (
	"cmp"
	"context"
	"math"
	"slices"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/generate"
	"lab/core/seed"
)

// Parting is where two chains part on one prompt, when both have drawn the same
// tokens so far under the same random numbers.
type Parting struct {
	// Step is the first step at which their sampling distributions differ; -1
	// when none did within the steps that were looked at. Drawn is the first
	// step at which they drew different tokens, or -1.
	Step, Drawn int
	Steps       int     // steps looked at
	Tokens      []int32 // drawn by both before Step, or in all

	A, B   Side // at Step
	TV     float64
	Differ []Difference // the tokens that differ most, at most as many as asked for
}

// Side is one of two chains at the step at which they part.
type Side struct {
	After    []dist.Scores // by stage
	Ledger   chain.Ledger
	Sampling dist.Sampling
	Chosen   int32
}

// Difference is one token under both chains.
type Difference struct {
	Token      int32
	Model      float64
	A, B       float64 // probabilities
	CutA, CutB int     // the stage that removed it, from 1; 0: still there
}

// Part generates with two chains side by side, under the random numbers of one
// sample, until their distributions differ or steps have passed. Distributions
// differ when their total variation exceeds tolerance. list is how many tokens
// of the difference are returned.
func (m *Model) Part(ctx context.Context, prompt []byte, a, b *chain.Chain, d Draw, steps, list int, tolerance float64) (*Parting, error) {
	for _, c := range []*chain.Chain{a, b} {
		if err := m.CheckPasses(c, d.Passes); err != nil {
			return nil, err
		}
	}
	branch, err := m.Root(ctx, nil, prompt)
	if err != nil {
		return nil, err
	}
	defer branch.Drop()
	w := &walk{m: m, prompt: prompt, branch: branch, draw: d}
	p := &Parting{Step: -1, Drawn: -1}
	for p.Steps < steps && len(branch.Tokens()) < m.Info().ContextLength && !branch.Ended() {
		if err := generate.Grow(ctx, nil, branch); err != nil {
			return nil, err
		}
		model := branch.Row()
		if p.A, err = w.apply(ctx, a, &w.a); err != nil {
			return nil, err
		}
		if p.B, err = w.apply(ctx, b, &w.b); err != nil {
			return nil, err
		}
		if p.TV, err = dist.TV(p.A.Sampling.Distribution, p.B.Sampling.Distribution); err != nil {
			return nil, err
		}
		drawn := p.A.Chosen != p.B.Chosen
		if p.TV > tolerance || drawn {
			p.Step = p.Steps
			if drawn {
				p.Drawn = p.Steps
			}
			p.Steps++
			before, err := dist.NewModel(&model)
			if err != nil {
				return nil, err
			}
			p.Differ = differences(before, &p.A, &p.B, list)
			return p, nil
		}
		p.Tokens = append(p.Tokens, p.A.Chosen)
		branch.Append(p.A.Chosen)
		p.Steps++
	}
	return p, nil
}

// walk is two chains on their way along one context.
type walk struct {
	m      *Model
	prompt []byte
	branch *generate.Branch
	draw   Draw
	a, b   [][]byte // states
}

func (w *walk) apply(ctx context.Context, c *chain.Chain, states *[][]byte) (Side, error) {
	step := len(w.branch.Tokens()) - w.branch.Prompt()
	passes, err := w.m.PassRows(ctx, w.prompt, w.branch.Tokens()[w.branch.Prompt():], w.draw.Passes)
	if err != nil {
		return Side{}, err
	}
	r := &chain.Row{Scores: w.branch.Row(), History: w.branch.Tokens(), Prompt: w.branch.Prompt(), Step: step,
		Stream: seed.New(w.draw.Seed, w.prompt), Sample: w.draw.Sample, States: *states, Passes: passes}
	opt := chain.Options{Ledger: true, Rows: true, Vocabulary: w.m.VocabularyKey(), EndOfText: w.m.Info().EndOfText}
	if err := c.Apply(ctx, []*chain.Row{r}, opt); err != nil {
		return Side{}, err
	}
	*states = r.States
	q, err := dist.NewSampling(&r.Scores)
	return Side{After: r.After, Ledger: r.Ledger, Sampling: q, Chosen: r.Chosen}, err
}

// differences returns the tokens whose probabilities differ most, by falling
// difference, ties by id.
func differences(model dist.Model, a, b *Side, list int) []Difference {
	var all []Difference
	model.Each(func(id int32, p float64) bool {
		pa, pb := a.Sampling.P(id), b.Sampling.P(id)
		if pa != pb {
			all = append(all, Difference{Token: id, Model: p, A: pa, B: pb})
		}
		return true
	})
	slices.SortFunc(all, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(math.Abs(y.A-y.B), math.Abs(x.A-x.B)), cmp.Compare(x.Token, y.Token))
	})
	all = all[:min(list, len(all))]
	for i := range all {
		all[i].CutA, all[i].CutB = cutBy(a.After, all[i].Token), cutBy(b.After, all[i].Token)
	}
	return all
}

// cutBy returns the stage that removed a token, from 1, or 0.
func cutBy(after []dist.Scores, id int32) int {
	for i := range after {
		if !after[i].Has(id) {
			return i + 1
		}
	}
	return 0
}
