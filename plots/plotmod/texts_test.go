package plotmod

import (
	"strings"
	"testing"
)

func TestGridOfATable(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"a mean of group.stats with its interval", `f := plot.grid(t.filter({model: "tiny"}), {x: "temperature", y: "top_p", value: "distinct_2", band: "ci95"})
print(f.title)`, "distinct_2 is highest at temperature 2, top_p 0.9: 0.625 [0.604, 0.646]\n"},
		{"the smallest", `f := plot.grid([{a: 2, b: 1, v: 5.0}, {a: 1, b: 1, v: 3.0}, {a: 1, b: 2, v: 4.0, why: ""}, {a: 2, b: 2, why: "no memory"}], {x: "a", y: "b", value: "v", smaller: true, failed: "why", unit: "ms"})
print(f.title); print(f.csv())`, "v is lowest at a 1, b 1: 3.00 ms\na,b,v,v_lo,v_hi,failed\n2,1,5,NaN,NaN,\n1,1,3,NaN,NaN,\n1,2,4,NaN,NaN,\n2,2,NaN,NaN,NaN,no memory\n\n"},
		{"outcomes of a table", `print(plot.outcomes(raw, {value: "distinct_2", by: ["model", "top_p"], log_value: true, rules: [{x: 0.2, label: "here"}]}).title)`,
			"distinct_2: highest median 0.325 for tiny · 0.9, lowest 0.192 for tiny · 0.5\n"},
		{"time", `f := plot.timeline([{request: "a", kind: "prefill", from_ms: 0, to_ms: 6, first: 8}, {request: "a", kind: "decode", from_ms: 6, to_ms: 8, first: 8}], {first_token: "first"})
print(f.title); print(f.csv())`, "prefill takes 75 % of the time; the first token comes after 8.00 ms\nrequest,kind,from_ms,to_ms,ttft_ms\na,prefill,0,6,8\na,decode,6,8,8\n\n"},
		{"no time", `print(plot.timeline([]).description)`, "Time line of requests: no data (no requests).\n"},
		{"no rows", `print(plot.grid([], {x: "a", y: "b", value: "v"}).description)`, "Cells of v over a and b: no data (no cells).\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Printed(t, r.want) })
	}
}

func TestMistakesInFiguresOfTexts(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"a setting that is not there", `plot.grid(t, {x: "temprature", y: "top_p", value: "distinct_2"})`, `did you mean "temperature"`},
		{"several rows of a cell", `plot.grid(t, {x: "temperature", y: "top_p", value: "distinct_2"})`, "has a cell already; fix the other settings"},
		{"no value", `plot.grid(t, {x: "temperature", y: "top_p"})`, "value"},
		{"tokens of a number", `plot.tokens(3)`, "expected sample or scoring"},
		{"heat_steps of a text", `plot.heat_steps("a")`, "expected scoring"},
		{"samples of strings", `plot.zipf(["a"])`, "sample"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			err := run(t, r.src).Err
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want an error with %q", err, r.want)
			}
		})
	}
}
