package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/param"
)

func bestOf() Strategy {
	return Strategy{
		Name:    "best_of",
		Summary: "Draws n samples and ranks them by their probability under a named rule; the best comes first, of equal ones the lower sample.",
		Source:  "Stiennon et al. 2020, Learning to summarize with human feedback; ranking rules: Wu et al. 2016, equation 14",
		Params: append(param.Specs{
			{Name: "n", Aliases: []string{"samples"}, Type: param.Int, Default: int64(8), Min: 1, Max: 65536, Unit: "samples", Meaning: "how many samples to draw; they are those of lab generate with the same seed"},
		}, rankParams(rankMean)...),
		run: runBestOf,
	}
}

func runBestOf(ctx context.Context, w *searcher, set param.Values) (*Result, error) {
	rank := newRanker(set)
	jobs := make([]generate.Job, set.Int("n"))
	for i := range jobs {
		jobs[i] = generate.Job{Prompt: w.Prompt, Chain: w.Chain, Seed: w.Seed, Sample: uint64(i), MaxTokens: w.MaxTokens}
	}
	out, err := w.Engine.Run(ctx, jobs, generate.Options{Ledger: true, OnStep: w.OnStep})
	if out == nil {
		return nil, err
	}
	w.usage = out.Usage
	r := &Result{ScoreIs: rank.is()}
	for _, s := range out.Samples {
		if len(s.Tokens) == 0 {
			continue
		}
		modelLn, drawnLn := 0.0, 0.0
		for _, step := range s.Steps {
			modelLn += math.Log(float64(step.Model.Prob))
			drawnLn += math.Log(float64(step.Sampling.Prob))
		}
		ln := drawnLn
		if rank.model {
			ln = modelLn
		}
		if math.IsNaN(ln) {
			return r, fault.New(fault.Internal, "best_of", "", "sample %d has no probability", s.Sample)
		}
		r.Sequences = append(r.Sequences,
			w.sequence(s.Tokens, modelLn, drawnLn, rank.score(ln, len(s.Tokens), len(w.bytesOf(s.Tokens))), s.Stop))
	}
	slices.SortStableFunc(r.Sequences, func(a, b Sequence) int { return cmp.Compare(b.Score, a.Score) })
	return r, err
}
