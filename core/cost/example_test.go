package cost_test

import (
	"fmt"

	"lab/core/cost"
)

// A model card's numbers give sizes, operations, and the time of a step, which is a
// floor while every efficiency is 1.
func Example() {
	a, err := cost.ParseArch([]byte(`{"layers": 32, "d_model": 4096, "heads": 32, "kv_heads": 8, "d_ff": 14336, "vocab": 128256}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	size, _ := a.Size()
	fmt.Println(size.Total, "parameters,", size.Matmul, "multiplied for a token")

	one, _ := a.Decode(4096, cost.Convention{})
	fmt.Printf("%.4g FLOP for a token at context 4096\n", one)

	step, err := a.Step(4096, 64, cost.Serving{
		Format:     cost.Format{Weight: 2, Cache: 2},
		Device:     cost.Device{Peak: 989.4e12, Bandwidth: 3.35e12, Chips: 1},
		Efficiency: cost.Floor(),
		Routing:    cost.Expected,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f ms a step of 64 sequences, floor: %v\n", step.Total*1e3, step.Floor)

	// Output:
	// 8030261248 parameters, 7504658432 multiplied for a token
	// 1.716e+10 FLOP for a token at context 4096
	// 14.74 ms a step of 64 sequences, floor: true
}
