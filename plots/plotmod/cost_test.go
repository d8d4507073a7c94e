package plotmod

import (
	"strings"
	"testing"

	"lab/plots"
)

func TestKeysOfFields(t *testing.T) {
	for field, want := range map[string]string{"StepMS": "step_ms", "PerUser": "per_user", "XLo": "x_lo", "FLOP": "flop", "N": "n", "AtLo": "at_lo",
		"TokensPerQuery": "tokens_per_query", "CostBasis": "cost_basis", "MeasuredMS": "measured_ms"} {
		if got := keyOf(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
}

func TestEveryCostFigureHasAMember(t *testing.T) {
	members := map[string]bool{}
	for _, m := range (&Env{}).costMembers() {
		members[m.Name] = true
	}
	n := 0
	for _, e := range plots.Catalogue() {
		if strings.HasPrefix(e.Name, "cost_") {
			n++
			if !members[e.Name] {
				t.Errorf("%s cannot be drawn by scripts", e.Name)
			}
		}
	}
	if n != 12 || len(members) != n {
		t.Errorf("%d figures and %d members, want 12 of each", n, len(members))
	}
}

func TestCostFigures(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"lifetime", `f := plot.cost_lifetime({model: "tiny", unit: "FLOP", training: 60, tokens: [1, 10, 100], inference: [1, 10, 100.0], tokens_per_query: 5, days: [1, 10, 100], start: "2026-01-01", formulas: ["F28"]})
print(f.title)`, "tiny: inference passes training after 60 tokens, on 2 Mar 2026\n"},
		{"growth", `f := plot.cost_growth({levels: [{name: "q", growth: [-0.1, 0.1], days: [1.0/0.0, 30]}]})
print(f.title)`, "q: inference passes training after 30 days at 10 % a month\n"},
		{"rows", `f := plot.cost_frontier({unit: "tokens/s per chip", series: [{name: "bf16", rows: [{batch: 1, per_user: 9, per_chip: 9, fits: true, more: "x"}, {batch: 4, per_user: 8, per_chip: 32, fits: false}], y: "per_chip"}]})
print(f.title)`, "bf16 at batch 1 beats every other point\n"},
		{"undefined is NaN", `f := plot.cost_context({unit: "ms", series: [{name: "a", rows: [{context: 1, cost: 2}, {context: 2}, {context: 4, cost: 6}]}]})
print(f.csv())`, "panel,series,kind,context,cost,cost_lo,cost_hi,context_lo,context_hi,label,hollow\n,a,model,1,2,NaN,NaN,NaN,NaN,,false\n,a,model,2,NaN,NaN,NaN,NaN,NaN,,false\n,a,model,4,6,NaN,NaN,NaN,NaN,,false\n\n"},
		{"batch", `f := plot.cost_batch({critical: 300, series: [{name: "c", batch: [1, 10], step_ms: [2, 4], limit: 8, measured: [1], measured_ms: [2.5]}]})
print(f.title)`, "From batch 1 to 8 throughput grows ×4.28 while a step takes ×1.87 the time\n"},
		{"step", `f := plot.cost_step({over: "context", parts: ["weights", "cache"], repeats: 20, bars: [{name: 512, values: [3, 1], total: 5}]})
print(f.title)`, "At context 512, 75 % of a step is weights\n"},
		{"roofline", `f := plot.cost_roofline({roofs: [{name: "x", peak: 100, bandwidth: 10}], points: [{name: "w", intensity: 2, rate: undefined}]})
print(f.title)`, "w is bound by memory\n"},
		{"optimum", `f := plot.cost_optimum({panels: [{name: "set", curves: [{name: "q", params: [1, 2, 3], flop: [3, 1, 2]}]}]})
print(f.description)`, "Total cost over the size of the model, a panel per set of coefficients: training and inference, FLOP (log scale) over parameters (log scale). set, q: 3 points from 3 at 1 to 2 at 3. set, minimum: one point, 1 at 2. The best size of a model that is used. set, q: cheapest at 2 parameters. Formulas and conventions not stated.\n"},
		{"quality", `f := plot.cost_quality({quality: {name: "accuracy"}, unit: "USD", seeds: 3, series: [{name: "vote", cost: [1, 2], quality: [0.5, 0.7], n: ["1", "2"]}]})
print(f.title)`, "Accuracy rises from 0.5 to 0.7 for ×2 the cost, with vote (1 to 2)\n"},
		{"speculative", `f := plot.cost_speculative({alpha: [0.2, 0.8], gamma: [1, 2], panels: [{name: "v = 1", speedup: [[0.9, 1.5], [0.8, 1.9]], measured: [{name: "tiny", alpha: 0.7, gamma: 2, speedup: 1.6}]}]})
print(f.title)`, "A draft pays from acceptance 0.8 at v = 1\n"},
		{"bill", `f := plot.cost_bill({unit: "USD", price_date: "2026-01-01", parts: ["prompt", "output"], bars: [{name: "greedy", values: [1, 3]}]})
print(f.title)`, "A response costs USD 4; 75 % of it is output\n"},
		{"drivers", `f := plot.cost_drivers({outcome: {name: "crossover", unit: "tokens", log: true}, median: 10, factors: [{name: "MFU", at_lo: 5, at_hi: 20, lo_words: "0.2", hi_words: "0.6", scenario: true}]})
print(f.title)`, "MFU moves the crossover most: from 5 to 20 tokens\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Printed(t, r.want) })
	}
}

func TestCostFiguresRefuse(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"an unknown key names the nearest", `plot.cost_lifetime({trainning: 3})`, `data: unknown key "trainning"; did you mean "training"?`},
		{"an unknown key of a series", `plot.cost_batch({series: [{naem: "x"}]})`, `data.series[0]: unknown key "naem"; did you mean "name"?`},
		{"words for numbers", `plot.cost_lifetime({training: "much"})`, `data.training: expected a number, got the string "much"`},
		{"a number for a list", `plot.cost_lifetime({tokens: 3})`, `data.tokens: expected a list, got the number 3`},
		{"half a roof", `plot.cost_roofline({points: [{roof: 0.5}]})`, `data.points[0].roof: expected a whole number, got the number 0.5`},
		{"no such column", `plot.cost_frontier({series: [{rows: [{batch: 1}], y: "speed"}]})`, `data.series[0].y: no row has the column "speed"`},
		{"a column beside rows", `plot.cost_frontier({series: [{rows: [{batch: 1}], y: [3]}]})`, `it is given beside rows`},
		{"rows that are none", `plot.cost_frontier({series: [{rows: 3}]})`, `rows is the number 3, expected a list of maps`},
		{"the figure's own errors", `plot.cost_bill({unit: "USD", parts: ["a"], bars: [{name: "x", values: [1]}]})`, `price date: a bill in "USD" has none`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Failed(t, r.want) })
	}
}
