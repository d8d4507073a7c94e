package tables_test

import (
	"fmt"

	"lab/core/cost/tables"
)

// What a record does not say is an error, and what is of another day is said.
func Example() {
	t, err := tables.Shipped()
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := t.Hardware("h100")
	if err != nil {
		fmt.Println(err)
		return
	}
	peak, err := h.PeakOf("bf16")
	fmt.Println(h.Name, peak, err)
	_, err = h.PeakOf("fp4")
	fmt.Println(err)

	p, warnings, err := t.Price("gpt-4o", "2025-10-05")
	if err != nil {
		fmt.Println(err)
		return
	}
	output, err := p.Rate("output", 1000)
	fmt.Println(output, err)
	fmt.Println(warnings)
	// Output:
	// h100-80-sxm 9.894e+14 <nil>
	// cost: hardware "h100-80-sxm": no peak is known for fp4; it has bf16, fp16, fp8, int8; give others in a table of your own
	// 10 <nil>
	// [the price of gpt-4o is of 2025-09-05 (tokencost price table), 30 days before 2025-10-05]
}
