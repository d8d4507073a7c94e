package plotmod

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/script/scripttest"
	"lab/core/table/tablemod"
	"lab/plots"
)

// start makes a table as a sweep gives it: two models, two settings of top_p,
// three temperatures, four samples each.
const start = `table := import("table")
plot := import("plot")
rows := []
for m in ["tiny", "grammar"] {
	for p in [0.9, 0.5] {
		for t in [1.0, 0.5, 2.0] {
			for s in [1, 2, 3, 4] {
				rows = append(rows, {model: m, top_p: p, temperature: t, distinct_2: t * p / 3 + s * 0.01, n: 64, good: s > 2, name: "s" + string(s)})
			}
		}
	}
}
raw := table.rows(rows)
t := raw.group(["model", "top_p", "temperature"]).stats(["distinct_2"])
`

func run(t *testing.T, src string) scripttest.Result {
	t.Helper()
	return scripttest.Run(t, start+src, Module(&Env{Folder: t.TempDir(), Version: "0.1"}), tablemod.Module(&tablemod.Env{}))
}

func TestChartsOfTables(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"a mean of group.stats is found by its measure", `f := plot.line(t.filter({model: "tiny"}), {x: "temperature", y: "distinct_2", by: "top_p", band: "ci95"})
print(f.title)`, "distinct_2 against temperature, by top_p\n"},
		{"numbers are in order", `f := plot.line([{p: 0.9, x: 1, y: 4}, {p: 0.5, x: 2, y: 3}, {p: 0.9, x: 0.5, y: 2}, {p: 0.5, x: 1}], {x: "x", y: "y", by: "p"})
print(f.csv())`, "p,x,y\n0.5,2,3\n0.5,1,NaN\n0.9,1,4\n0.9,0.5,2\n\n"},
		{"two columns make the series", `f := plot.line(t, {x: "temperature", y: "distinct_2", by: ["model", "top_p"]})
print(f.title)`, "distinct_2 against temperature, by model, top_p\n"},
		{"a list of maps is a table", `f := plot.scatter([{a: 1, b: 2.5}, {a: 2}], {x: "a", y: "b", title: "Two rows"})
print(f.title); print(f.description)`, "Two rows\nScatter of b over a. One point, 2.5 at 1. 1 of 2 points is undefined and left out.\n"},
		{"all options of a scatter", `f := plot.scatter(raw, {x: "temperature", y: "distinct_2", by: "model", facet: "top_p", log_x: true, log_y: true, hollow: "good", labels: "name",
	join: true, highlight: "tiny", rules: [{x: 1, label: "model distribution"}, {y: 0.3}], x_title: "T", y_title: "distinct", y_unit: "share", theme: "dark", width: "page", footer: "run 7", live_text: true, subtitle: "s"})
print(f.title)`, "distinct against T, by model\n"},
		{"whiskers both ways", `f := plot.scatter(t, {x: "distinct_2", y: "distinct_2", x_band: "ci95", band: ["distinct_2_lo", "distinct_2_hi"], by: "model"})
print(f.title)`, "distinct_2 against distinct_2, by model\n"},
		{"no rows", `f := plot.line([], {x: "a", y: "b"})
print(f.description)`, "Lines of b over a: no data (no series).\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Printed(t, r.want) })
	}
}

func TestAFigureInOtherForms(t *testing.T) {
	dir := t.TempDir()
	r := scripttest.Run(t, start+`f := plot.bar([{a: "x", b: 2}, {a: "y", b: 1}], {x: "a", y: "b", footer: "run 7"})
f.save("f.vl.json")
f.save("f.txt")
print(f.terminal({width: 40}))`, Module(&Env{Folder: dir}), tablemod.Module(&tablemod.Env{}))
	r.Printed(t, "b by a\n2 values\n\nb\nx ▏██████████████████████████████████ 2\ny ▏█████████████████ 1\n\nrun 7\n\n")
	for name, want := range map[string]string{"f.vl.json": "vega-lite/v5.json", "f.txt": "run 7"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %.80q", name, err, text)
		}
	}
}

func TestSizesBehindIntervalsAreSaid(t *testing.T) {
	dir := t.TempDir()
	src := start + `plot.line(t, {x: "temperature", y: "distinct_2", by: "top_p", facet: "model", band: "ci95"}).save("a.svg")`
	scripttest.Run(t, src, Module(&Env{Folder: dir}), tablemod.Module(&tablemod.Env{}))
	svg, err := os.ReadFile(filepath.Join(dir, "a.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"band: 95 % interval, n = 4; a panel per model", `aria-label="tiny"`, `aria-label="top_p = 0.5"`} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}

func TestMistakesInCharts(t *testing.T) {
	rows := []struct {
		name, src string
		want      []string
	}{
		{"a column that is not there", `plot.line(t, {x: "temprature", y: "distinct_2"})`, []string{"test.tengo:15:1", "option x", `unknown column "temprature"`, `did you mean "temperature"`}},
		{"x is text", `plot.line(t, {x: "model", y: "distinct_2"})`, []string{"option x", `column "model" is string`, `row 0 is "tiny"`, "expected numbers"}},
		{"no x", `plot.line(t, {y: "distinct_2"})`, []string{"option x is missing"}},
		{"an unknown option", `plot.line(t, {x: "temperature", y: "distinct_2", colour: "top_p"})`, []string{`unknown option "colour"`}},
		{"two values at one x", `plot.line(t, {x: "temperature", y: "distinct_2"})`, []string{"temperature = 0.5 has 4 values of distinct_2", "by or facet"}},
		{"no interval columns", `plot.line(raw, {x: "temperature", y: "distinct_2", band: "ci95"})`, []string{`no columns "distinct_2_lo" and "distinct_2_hi"`, `stats(["distinct_2"], {level: 0.95})`}},
		{"an interval of one column", `plot.line(t, {x: "temperature", y: "distinct_2", band: ["n"]})`, []string{"option band", "1 columns, an interval has 2"}},
		{"an unknown kind of interval", `plot.line(t, {x: "temperature", y: "distinct_2", band: "sd"})`, []string{`"sd" is not ci`}},
		{"an unknown facet", `plot.line(t, {x: "temperature", y: "distinct_2", facet: "modell"})`, []string{"option facet", `did you mean "model"`}},
		{"highlight of nothing", `plot.line(t, {x: "temperature", y: "distinct_2", by: ["model", "top_p"], highlight: "tiny"})`, []string{`unknown series to highlight "tiny"`, "tiny · 0.5"}},
		{"hollow of numbers", `plot.scatter(t, {x: "temperature", y: "distinct_2", hollow: "top_p"})`, []string{`column "top_p" is float, expected true or false`}},
		{"negative on a logarithmic axis", `plot.scatter([{a: -1, b: 1}], {x: "a", y: "b", log_x: true})`, []string{"x of point 0 is negative (-1)", "leave out log_x"}},
		{"a rule of x and y", `plot.scatter(t, {x: "temperature", y: "distinct_2", rules: [{x: 1, y: 2}]})`, []string{"option rules, element 0", "2 of x and y"}},
		{"a rule with a misspelt key", `plot.scatter(t, {x: "temperature", y: "distinct_2", rules: [{x: 1, lable: "m"}]})`, []string{`unknown key "lable"`, `did you mean "label"`}},
		{"not a table", `plot.scatter(t.group(["model"]), {x: "temperature", y: "distinct_2"})`, []string{"group", "expected"}},
		{"a column of different values as series and as panels", `big := []
for i := 0; i < 3000; i++ { big = append(big, {a: i, b: string(i), c: "c" + string(i)}) }
plot.scatter(big, {x: "a", y: "a", by: "b", facet: "c"})`, []string{"3000 are more than 512"}},
		{"an unknown width", `plot.scatter(t, {x: "temperature", y: "distinct_2", width: "colum"})`, []string{`"colum"`, `did you mean "column"`}},
		{"too wide", `plot.scatter(t, {x: "temperature", y: "distinct_2", width: 20})`, []string{"20 is outside [0, 14]"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { run(t, r.src).Failed(t, r.want...) })
	}
}

// An SVG in the light or dark theme is kept in the other one too, with the same
// numbers; nothing else is.
func TestPicturesAreKeptInBothThemes(t *testing.T) {
	dir := t.TempDir()
	src := start + `data := [{a: "x", b: 2}, {a: "y", b: 1}]
plot.bar(data, {x: "a", y: "b"}).save("light.svg")
plot.bar(data, {x: "a", y: "b", theme: "dark"}).save("in/dark.svg")
plot.bar(data, {x: "a", y: "b", theme: "print"}).save("print.svg")
plot.bar(data, {x: "a", y: "b"}).save("light.csv")`
	var told []string
	scripttest.Run(t, src, Module(&Env{Folder: dir, Saved: func(name string, f *plots.Figure) { told = append(told, name+" "+f.Theme().Name) }}), tablemod.Module(&tablemod.Env{}))
	if want := []string{"light.svg light", "in/dark.svg dark", "print.svg print", "light.csv light"}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
	var files []string
	read := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files = append(files, filepath.ToSlash(name))
		text, err := os.ReadFile(path)
		read[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".themes/dark/light.svg", ".themes/light/in/dark.svg", "in/dark.svg", "light.csv", "light.svg", "print.svg"}; !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
	if read[".themes/dark/light.svg"] != read["in/dark.svg"] || read[".themes/light/in/dark.svg"] != read["light.svg"] || read["light.svg"] == read["in/dark.svg"] {
		t.Error("the kept pictures are not the same figure in the other theme")
	}
}
