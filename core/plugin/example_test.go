package plugin_test

import (
	"context"
	"fmt"

	"lab/core/dist"
	"lab/core/plugin"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// shift adds a constant to every score, which changes no probability.
type shift struct{}

func (shift) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "shift", Kind: sampler.Reshape,
		Summary: "adds a constant to every score; no probability changes",
		Source:  "softmax(x + c) = softmax(x)",
		Params: param.Specs{{Name: "by", Type: param.Float, Default: 1.0, Min: -100, Max: 100,
			Meaning: "what is added to each score; 0 changes nothing"}},
	}
}

func (shift) Apply(row *sampler.Row, set param.Values) error {
	for i := range row.Scores.Values {
		row.Scores.Values[i] += float32(set.Float("by"))
	}
	return nil
}

// A whole plugin: one type with a declaration and a method. Its main function
// is a call of Serve; a test runs the same sampler in process.
func Example() {
	mine := plugin.Plugin{Name: "shift", Version: "1.0.0", Samplers: []sampler.Sampler{shift{}}}
	// In main: plugin.Serve(mine)

	set, err := sampler.NewSet(mine.Samplers...)
	if err != nil {
		fmt.Println(err)
		return
	}
	item := &sampler.Item{Scores: dist.NewDense([]float32{0, 2, 1})}
	call := &sampler.Call{Stages: []sampler.Stage{{Sampler: "shift"}}, Items: []*sampler.Item{item}, Ledger: true}
	if err := set.Run(context.Background(), call); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(item.Scores.Values)
	fmt.Printf("KL %.0f bits, %d of %d tokens left\n", item.Changes[0].KL, item.Changes[0].SupportAfter, item.Changes[0].SupportBefore)
	// Output:
	// [1 3 2]
	// KL 0 bits, 3 of 3 tokens left
}
