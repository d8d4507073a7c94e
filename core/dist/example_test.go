package dist_test

import (
	"fmt"

	"lab/core/dist"
)

func Example() {
	// The model's scores of four tokens, and what a stage left of them.
	logits := dist.NewDense([]float32{2, 1, 0, -1})
	cut := logits.Clone()
	cut.KeepBest(1, 1, 2) // the two best

	model, _ := dist.NewModel(&logits)
	sampling, _ := dist.NewSampling(&cut)
	fmt.Printf("token 0: model %.3f, sampling %.3f\n", model.P(0), sampling.P(0))

	var ws dist.Workspace
	c, _ := dist.Compare(&logits, &cut, &ws)
	fmt.Printf("kept %.3f, KL %.3f bits, TV %.3f, identities: %v\n", c.KeptMass, c.KL, c.TV, c.Check())
	// Output:
	// token 0: model 0.644, sampling 0.731
	// kept 0.881, KL 0.183 bits, TV 0.119, identities: <nil>
}
