package sampler_test

import (
	"context"
	"fmt"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// above keeps the tokens whose score exceeds a limit, and always the best one.
type above struct{}

func (above) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "above", Kind: sampler.Reshape,
		Summary: "Keeps the tokens whose score is above a limit; the best one stays in any case, of tied ones the lowest id.",
		Source:  "an example of this package",
		Params: param.Specs{{Name: "limit", Type: param.Float, Default: 0.0, Min: -100, Max: 100,
			Meaning: "scores up to it are removed"}},
	}
}

func (above) Apply(row *sampler.Row, set param.Values) error {
	limit, best := float32(set.Float("limit")), 0
	for i, v := range row.Scores.Values {
		if v > row.Scores.Values[best] {
			best = i
		}
	}
	row.Scores.Keep(func(i int) bool { return i == best || row.Scores.Values[i] > limit }, nil)
	return nil
}

func Example() {
	set, err := sampler.NewSet(above{})
	if err != nil {
		fmt.Println(err)
		return
	}
	item := &sampler.Item{Scores: dist.NewDense([]float32{2, -1, 1, 0})}
	err = set.Run(context.Background(), &sampler.Call{
		Stages: []sampler.Stage{{Sampler: "above"}}, Items: []*sampler.Item{item}, Ledger: true,
	})
	c := item.Changes[0]
	fmt.Println(item.Scores.IDs, item.Scores.Values, err)
	fmt.Printf("%d -> %d tokens, kept mass %.3f\n", c.SupportBefore, c.SupportAfter, c.KeptMass)
	// Output:
	// [0 2] [2 1] <nil>
	// 4 -> 2 tokens, kept mass 0.881
}
