package script_test

import (
	"context"
	"fmt"
	"os"

	"lab/core/script"
)

// counts is a host object: any Go value with a Class method.
type counts struct{ values []float64 }

func (*counts) Class() script.Class {
	return script.Class{Name: "counts", Doc: "A list of counts.", Members: []script.Member{
		{Name: "map", Doc: "Returns new counts, each the result of f.", Returns: "counts",
			Params: []script.Param{{Name: "f", Type: script.Callback("count"), Meaning: "gives the new count"}},
			Func: func(c *script.Call) (any, error) {
				out := &counts{}
				for _, v := range script.Self[*counts](c).values {
					w, err := c.Func("f").CallFor(c.Context(), script.Float(), v)
					if err != nil {
						return nil, err
					}
					out.values = append(out.values, w.(float64))
				}
				return out, nil
			}},
	}}
}

func (c *counts) String() string { return fmt.Sprint(c.values) }
func (c *counts) Len() int       { return len(c.values) }
func (c *counts) At(i int) any   { return c.values[i] }

// A module with one function that takes an options map and returns a host
// object with a method that takes a function.
func Example() {
	dice := script.Module{Name: "dice", Doc: "Counts of dice.", Members: []script.Member{
		{Name: "even", Doc: "Returns what n fair throws give on average.", Returns: "counts",
			Params:  []script.Param{{Name: "n", Type: script.Int(), Range: script.AtLeast(1), Meaning: "throws"}},
			Options: []script.Param{{Name: "sides", Type: script.Int(), Default: 6, Range: script.Between(2, 100), Meaning: "of the die"}},
			Func: func(c *script.Call) (any, error) {
				out := &counts{}
				for range c.Int("sides") {
					out.values = append(out.values, float64(c.Int("n"))/float64(c.Int("sides")))
				}
				return out, nil
			}},
	}}
	s, err := script.New(script.Config{Modules: []script.Module{dice}, Out: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.Run(context.Background(), "throws.tengo", `
dice := import("dice")
c := dice.even(30, {sides: 4})
print(c, len(c), c.map(func(x) { return x * 2 })[0])
dice.even(30, {side: 4})
`)
	fmt.Println(script.Detail(err))
	// Output:
	// [7.5 7.5 7.5 7.5] 4 15
	// script: throws.tengo:5:1: dice.even: unknown option "side"; did you mean "sides"?
	//   5 | dice.even(30, {side: 4})
	//     | ^
}
