package plotmod

import (
	"strings"
	"testing"

	"lab/plots"
)

func TestChartsOfSamplesAndCategories(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"bars in the order of their names", `f := plot.bar([{m: "b", p: 2, v: 1.5, lo: 1, hi: 2}, {m: "a", p: 1, v: 0.5, lo: 0, hi: 1}, {m: "b", p: 1, v: 4, lo: 3}], {x: "p", y: "v", by: "m", band: ["lo", "hi"]})
print(f.title); print(f.csv())`, "v by p\np,m,v,v_lo,v_hi\n1,b,4,3,NaN\n1,a,0.5,0,1\n2,b,1.5,1,2\n\n"},
		{"bars named by two columns, one in colour", `f := plot.bar(raw.group(["model", "top_p"]).stats(["distinct_2"]), {x: ["model", "top_p"], y: "distinct_2", highlight: "tiny · 0.5", log_y: true, rules: [{y: 0.3, label: "chance"}], x_title: "setting", y_unit: "share"})
print(f.title)`, "distinct_2 by setting\n"},
		{"a grid", `f := plot.heat([{t: 2, p: 0.9, v: 1.5}, {t: 0.5, p: 0.9, v: 2}, {t: 0.5, p: 0.5, v: 3}], {x: "t", y: "p", value: "v", best: "max", centre: 0.3})
print(f.title); print(f.csv())`, "v over t and p\nt,p,v\n0.5,0.5,3\n2,0.5,NaN\n0.5,0.9,2\n2,0.9,1.5\n\n"},
		{"grids in panels", `f := plot.heat(t, {x: "temperature", y: "top_p", value: "distinct_2", facet: "model", log_value: true, x_title: "T", value_title: "distinct"})
print(f.title)`, "distinct over T and top_p\n"},
		{"a histogram", `f := plot.hist(raw, {x: "distinct_2", by: "model", facet: "top_p", bins: 8, share: true, rules: [{x: 0.3, label: "human"}], x_unit: "share"})
print(f.title)`, "Distribution of distinct_2\n"},
		{"a distribution function", `f := plot.ecdf(raw, {x: "distinct_2", by: "top_p", level: 0.95, highlight: 0.9})
print(f.title)`, "Distribution of distinct_2, by top_p\n"},
		{"violins", `f := plot.violin([{a: 1, b: "x", c: 1}, {a: 1, b: "x", c: 2}, {a: 1, b: "x", c: 3}, {a: 1, b: "x", c: 4}, {a: 1, b: "x"}, {a: 1, b: "y", c: 7}], {x: ["a", "b"], y: "c", rules: [{y: 3, label: "human"}], x_title: "setting"})
print(f.title); print(f.csv())`, "c, by setting\nsetting,n,min,quartile_1,median,quartile_3,max,mean\n1 · x,4,1,1.75,2.5,3.25,4,2.5\n1 · y,1,7,7,7,7,7,7\n\n"},
		{"nothing", `for f in [plot.bar([], {x: "a", y: "b"}), plot.heat([], {x: "a", y: "b", value: "c"}), plot.hist([], {x: "a"}), plot.ecdf([], {x: "a"}), plot.violin([], {x: "a", y: "b"})] { print(f.description) }`,
			"Bars of b by a: no data (no bars).\nHeat map of c over a and b: no data (no cells).\nHistograms of a: no data (no samples).\nDistribution functions of a: no data (no samples).\nViolins of b: no data (no samples).\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Printed(t, r.want) })
	}
}

func TestMistakesInChartsOfSamples(t *testing.T) {
	rows := []struct {
		name, src string
		want      []string
	}{
		{"two bars of one name", `plot.bar(t, {x: "model", y: "distinct_2"})`, []string{"it is given twice", "by or facet"}},
		{"two values in a cell", `plot.heat(t, {x: "temperature", y: "top_p", value: "distinct_2"})`, []string{"rows 0 and 6 are both in the cell \"1\", \"0.9\"", "facet"}},
		{"a rule at names", `plot.violin(raw, {x: "model", y: "distinct_2", rules: [{x: 1}]})`, []string{"x holds names, not numbers"}},
		{"a value that is text", `plot.hist(raw, {x: "name"})`, []string{"option x", `column "name" is string`}},
		{"a value that is not there", `plot.heat(t, {x: "temperature", y: "top_p", value: "distinct"})`, []string{"option value", `unknown column "distinct"`, "distinct_2"}},
		{"an unknown best", `plot.heat(t, {x: "temperature", y: "top_p", value: "distinct_2", best: "maximum"})`, []string{`"maximum" is not one of`}},
		{"too many bins", `plot.hist(raw, {x: "distinct_2", bins: 500})`, []string{"500 is outside [0, 200]"}},
		{"a level of 1", `plot.ecdf(raw, {x: "distinct_2", level: 1})`, []string{"1 is outside [0, 1)"}},
		{"negative on a logarithmic axis", `plot.violin([{a: "x", b: -1}], {x: "a", y: "b", log_y: true})`, []string{`sample "x": value 0 is negative`, "linear"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Failed(t, r.want...) })
	}
}

// What the catalogue says of scripts is true: the figures it gives a call for are
// functions of the module.
func TestTheCatalogueNamesFunctionsOfTheModule(t *testing.T) {
	members, calls := map[string]bool{}, 0
	for _, m := range Module(&Env{}).Members {
		members[m.Name] = true
	}
	for _, e := range plots.Catalogue() {
		if e.Call == "" {
			continue
		}
		calls++
		if !members[e.Name] || !strings.HasPrefix(e.Call, "plot."+e.Name+"(") {
			t.Errorf("%s is called by %s", e.Name, e.Call)
		}
	}
	if calls < 10 {
		t.Errorf("only %d calls", calls)
	}
}
