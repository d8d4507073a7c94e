//go:build unix

package conform_test

import (
	"context"
	"fmt"

	"lab/core/plugin/conform"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// A sampler that takes the place of a score for the token's id goes unnoticed
// until a row lists some tokens only.
func ExampleSamplers() {
	everySecond := stage{declare("every_second", sampler.Reshape, sampler.Needs{}), func(r *sampler.Row, _ param.Values) error {
		r.Scores.Keep(func(i int) bool { return i%2 == 0 }, nil)
		return nil
	}}
	set, err := sampler.NewSet(everySecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := conform.Samplers(context.Background(), set, conform.Options{Only: []string{"settings", "sparse"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Checks {
		fmt.Println(c.Law, c.Outcome)
	}
	fmt.Println(report.Failed()[0].Want)
	// Output:
	// sparse fail
	// settings pass
	// a row that lists only its support is answered like the dense one with -Inf for the rest
}
