package transformer_test

import (
	"context"
	"fmt"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/plugins/models/transformer"
)

// A prompt is evaluated once; forks of it grow apart without evaluating it
// again.
func Example() {
	ctx := context.Background()
	backend := transformer.Tiny()
	settings, err := backend.Declare().Params.Resolve("open model", "tiny", nil)
	if err != nil {
		panic(err)
	}
	m, err := backend.Open(ctx, "tiny", settings)
	if err != nil {
		panic(err)
	}
	defer m.Close()

	prompt, err := m.Encode(ctx, []byte("The weather today is"), model.EncodeOptions{Begin: true})
	if err != nil {
		panic(err)
	}
	row := dist.NewDense(make([]float32, m.Info().VocabSize))
	in := model.Input{Seq: 1, Tokens: prompt, Want: model.Last, Scores: []dist.Scores{row}}
	usage, err := m.Forward(ctx, []model.Input{in})
	if err != nil {
		panic(err)
	}
	if err := m.Edit(ctx, []model.Edit{{Op: model.Fork, Seq: 1, To: 2, Length: len(prompt)}}); err != nil {
		panic(err)
	}
	fmt.Println(usage.PrefillTokens == int64(len(prompt)), row.Check())
	// Output: true <nil>
}
