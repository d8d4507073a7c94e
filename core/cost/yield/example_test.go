package yield_test

import (
	"fmt"

	"lab/core/cost"
	"lab/core/cost/yield"
)

// Four answers of 50 tokens to a prompt of 10, of which one is right: what a right
// one costs, and what it costs to try twice.
func Example() {
	right := []float64{1, 0, 0, 0}
	attempts := make([]yield.Attempt, len(right))
	for i, v := range right {
		attempts[i].Value = v
		attempts[i].Spent[yield.Tokens] = yield.Spend{Prompt: 10, Own: 50}
	}
	s := yield.Setting{Prompts: []yield.Prompt{{Text: "1 + 1 =", Attempts: attempts}},
		Known: map[yield.Unit]yield.Source{yield.Tokens: {Kind: cost.Exact, Note: "counted"}}}
	useful := 1.0
	r, err := yield.Compute([]yield.Setting{s}, yield.Options{N: []int{1, 2}, AtLeast: &useful})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range r.Rows {
		a := row.Amounts[yield.Tokens]
		fmt.Printf("n = %d: %.2f useful, %.0f tokens, %.0f for a useful one, at least %.0f\n", row.N, row.Useful.Value, a.Answer.Value, a.PerUseful.Value, a.PerUseful.Lo)
	}
	// Output:
	// n = 1: 0.25 useful, 60 tokens, 240 for a useful one, at least 86
	// n = 2: 0.50 useful, 110 tokens, 220 for a useful one, at least 121
}
