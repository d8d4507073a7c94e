package tablemod

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"lab/core/measure/statsmod"
	"lab/core/script/scripttest"
)

const start = `table := import("table")
t := table.of({cell: ["a", "b", "a", "b", "c"], p: [0.5, 0.25, 1, undefined, 0.125], n: [1, 2, 3, 4, 5]})
`

func TestTheModuleIsWellDeclared(t *testing.T) {
	m := Module(&Env{})
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range m.Classes {
		for _, member := range c.Members {
			if member.Doc == "" {
				t.Errorf("%s.%s says nothing", c.Name, member.Name)
			}
		}
	}
}

func TestScriptsWorkWithTables(t *testing.T) {
	rows := []struct{ name, src, want string }{
		{"columns are sorted by name unless an order is given", `print(t.columns, table.of({b: [1], a: [2]}, {order: ["b", "a"]}).columns)`, "[\"cell\", \"n\", \"p\"] [\"b\", \"a\"]\n"},
		{"types of columns", `print(t.types)`, "{cell: \"string\", n: \"int\", p: \"float\"}\n"},
		{"a missing key of a row is null", `print(table.rows([{a: 1}, {b: "x"}]).column("a"))`, "[1, undefined]\n"},
		{"filter by comparisons", `print(t.filter({cell: "a"}).column("n"), t.filter({n: {">": 1, "<=": 3}}).column("n"), t.filter({cell: {"in": ["a", "c"]}}).column("n"))`, "[1, 3] [2, 3] [1, 3, 5]\n"},
		{"filter by null", `print(t.filter({p: {"null": true}}).column("n"), len(t.filter({p: {"!=": 0.5}})))`, "[4] 3\n"},
		{"filter by a function", `print(t.filter(func(row) { return row.n % 2 == 1 }).column("cell"))`, "[\"a\", \"a\", \"c\"]\n"},
		{"a null is undefined in a row", `print(t.filter(func(row) { return row.p == undefined }).column("n"))`, "[4]\n"},
		{"derive by an expression", `print(t.derive("odds", "1 / p").column("odds"))`, "[2, 4, 1, undefined, 8]\n"},
		{"derive by a function", `print(t.derive("m", func(row) { return row.n * 10 }).column("m"))`, "[10, 20, 30, 40, 50]\n"},
		{"derive by a list", `print(t.derive("m", [true, false, true, true, undefined]).types.m)`, "bool\n"},
		{"sort", `print(t.sort(["p"], {descending: ["p"]}).column("n"), t.sort(["cell", "n"], {descending: ["n"]}).column("n"))`, "[3, 1, 2, 5, 4] [3, 1, 4, 2, 5]\n"},
		{"head, tail, slice", `print(t.head(2).column("n"), t.tail(1).column("n"), t.slice(1, 3).column("n"), len(t.head()))`, "[1, 2] [5] [2, 3] 5\n"},
		{"a sample is repeatable", `print(len(t.sample(3, {seed: 1})), t.sample(3, {seed: 1}).column("n") == t.sample(3, {seed: 1}).column("n"), t.sample(5, {seed: 2}).column("n"))`, "3 true [1, 2, 3, 4, 5]\n"},
		{"unique", `print(t.unique(["cell"]).column("n"), len(t.unique()))`, "[1, 2, 5] 5\n"},
		{"select, drop, rename", `print(t.select(["n", "p"]).columns, t.drop(["p"]).columns, t.rename({n: "p", p: "n"}).columns)`, "[\"n\", \"p\"] [\"cell\", \"n\"] [\"cell\", \"p\", \"n\"]\n"},
		{"groups", `g := t.group(["cell"]); print(len(g), g.rows, g[1].column("n"), g.count().column("count"), g.keys.column("cell"))`, "3 [[0, 2], [1, 3], [4]] [2, 4] [2, 2, 1] [\"a\", \"b\", \"c\"]\n"},
		{"aggregations", `a := t.group(["cell"]).agg({k: "count", m: {mean: "p"}, q: {quantile: "n", q: 0.25}, s: {sum: "n"}, l: {list: "n"}, w: {"with": "n", f: func(v) { return v[0] * 100 }}})
print(a.columns); for row in a { print(row.cell, row.k, row.m, row.q, row.s, row.l, row.w) }`,
			"[\"cell\", \"k\", \"l\", \"m\", \"q\", \"s\", \"w\"]\na 2 0.75 1.5 4 [1, 3] 100\nb 2 0.25 2.5 6 [2, 4] 200\nc 1 0.125 5 5 [5] 500\n"},
		{"join", `u := table.of({cell: ["b", "b", "d"], p: [7.0, 8.0, 9.0]})
print(t.join(u, {on: ["cell"]}).column("p_right"), t.join(u, {on: ["cell"], how: "full"}).column("cell"), t.join(u, {on: ["cell"], how: "anti"}).column("n"))`,
			"[7, 8, 7, 8] [\"a\", \"b\", \"b\", \"a\", \"b\", \"b\", \"c\", \"d\"] [1, 3, 5]\n"},
		{"pivot and unpivot", `w := table.of({k: ["x", "y", "x"], i: [1, 1, 2], v: [5, 6, 7]}).pivot({index: ["i"], names: "k", values: "v"})
print(w.columns, w.column("y"), w.unpivot(["x", "y"]).column("value"))`, "[\"i\", \"x\", \"y\"] [6, undefined] [5, 6, 7, undefined]\n"},
		{"counts and describe", `print(t.counts(["cell"]).column("count"), t.describe().filter({column: "p"})[0].median)`, "[2, 2, 1] 0.375\n"},
		{"concat", `print(len(table.concat([t, t])))`, "10\n"},
		{"csv there and back", `print(table.csv(t.csv()).csv() == t.csv()); print(table.csv("a;b\n1;NA\n", {delimiter: ";", nulls: ["NA"], types: {b: "float"}}).types)`, "true\n{a: \"int\", b: \"float\"}\n"},
		{"json", `print(table.of({x: [1.5, undefined]}).json())`, "[\n{\"x\":1.5},\n{\"x\":null}\n]\n\n"},
		{"rows print", `print(t.head(1)[0])`, "{cell: \"a\", n: 1, p: 0.5}\n"},
		{"a table prints", `print(t.head(2))`, "cell      n       p\nstring  int   float\na         1  0.5000\nb         2  0.2500\n"},
		{"an empty table", `e := t.head(0); print(len(e.sort(["n"])), len(e.group(["cell"])), len(e.join(t, {on: ["n"]})), e.pivot({index: ["n"], names: "cell", values: "p"}).columns, len(e.unpivot(["n"])), len(e.describe()), len(e.counts(["n"])), len(e.derive("x", "n + 1")), len(e.filter({n: 1})))`,
			"0 0 0 [\"n\"] 0 3 0 0 0\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, start+r.src, Module(&Env{})).Printed(t, r.want)
		})
	}
}

func TestMistakesAreNamed(t *testing.T) {
	rows := []struct {
		name, src string
		want      []string
	}{
		{"the nearest column", `t.select(["cel"])`, []string{"test.tengo:3:1", `unknown column "cel"`, `did you mean "cell"`}},
		{"the nearest member of a row", `t.filter(func(row) { return row.cel == "a" })`, []string{`"cel"`, `did you mean "cell"`}},
		{"a column of two types", `table.of({a: [1, "x"]})`, []string{`column "a"`, "element 1 is of type string in a column of type int"}},
		{"unequal columns", `table.of({a: [1], b: [1, 2]})`, []string{`column "b"`, "has 2 rows", "has 1"}},
		{"renamed to a name that exists", `t.rename({n: "p"})`, []string{`both called "p"`}},
		{"a comparison of other types", `t.filter({n: "a"})`, []string{`column "n"`, "type is int", "string"}},
		{"an unknown operator", `t.filter({n: {"=>": 2}})`, []string{`operator "=>"`}},
		{"a filter without return", `t.filter(func(row) { row.n })`, []string{"undefined", "true or false"}},
		{"a mean of texts", `t.group([]).agg({m: {mean: "cell"}})`, []string{`column "cell"`, "type is string", "float, int or bool"}},
		{"an unknown aggregation", `t.group([]).agg({m: {meen: "p"}})`, []string{`"meen"`, `did you mean "mean"`}},
		{"a quantile without q", `t.group([]).agg({m: {quantile: "p"}})`, []string{"quantile and q belong together"}},
		{"a join of other types", `t.join(table.of({n: ["a"]}), {on: ["n"]})`, []string{`column "n"`, "int on the left", "string on the right"}},
		{"a pivot with two values in one place", `t.pivot({index: [], names: "cell", values: "n"})`, []string{"rows 0 and 2", "same place"}},
		{"unpivot of two types", `t.unpivot(["n", "p"])`, []string{`column "p"`, "float", "int"}},
		{"concat of other columns", `table.concat([t, t.drop(["p"])])`, []string{`column "p"`, "table 2 has not"}},
		{"an expression that does not parse", `t.derive("x", "n +")`, []string{"expression", "expected operand"}},
		{"an expression of an unknown column", `t.derive("x", "m + 1")`, []string{`unknown column "m"`, `"n"`}},
		{"an expression of unlike types", `t.derive("x", "n + cell")`, []string{"+ of types int and string"}},
		{"an overflow", `t.derive("x", "n + 9223372036854775807")`, []string{"row 0", "does not fit"}},
		{"a row outside", `t.row(9)`, []string{"row 9 is outside 0 to 4"}},
		{"a sample of too many", `t.sample(6, {seed: 1})`, []string{"6 rows of a table of 5"}},
		{"a path that leaves the folder", `t.save("../x.csv")`, []string{"x.csv"}},
		{"an unknown extension", `t.save("x.xls")`, []string{".xls", ".parquet"}},
		{"a file that is not there", `table.read("x.csv")`, []string{"x.csv", "no such file"}},
		{"a file that is none", `table.read("bad.parquet")`, []string{"bad.parquet", "damaged"}},
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.parquet"), []byte("PAR1 and no more PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, start+r.src, Module(&Env{Script: dir, Folder: dir})).Failed(t, r.want...)
		})
	}
}

func TestSavedTablesAreReadBack(t *testing.T) {
	dir := t.TempDir()
	var saved []string
	env := &Env{Folder: dir, Saved: func(name string) { saved = append(saved, name) }}
	scripttest.Run(t, start+`for name in ["a.csv", "a.tsv", "sub/a.parquet"] {
	print(t.save(name), table.read(name, {from: "run"}).csv() == t.csv())
}
t.save("a.json")`, Module(env)).Printed(t, "a.csv true\na.tsv true\nsub/a.parquet true\n")
	if len(saved) != 4 {
		t.Errorf("told of %q", saved)
	}
	files, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(files) > 0 {
		t.Errorf("left behind %q", files)
	}
}

// The interval of 1, 2, 3, 4 at 95 %: 2.5 ± 3.182446 · 1.290994/2, with the
// quantile of t with 3 degrees of freedom from the tables.
func TestStatsHaveIntervals(t *testing.T) {
	r := scripttest.Run(t, `table := import("table")
t := table.of({k: ["a", "a", "a", "a", "b"], x: [1, 2, 3, 4, 9]})
s := t.group(["k"]).stats(["x"])
print(s.columns)
[s[0].x_mean, s[0].x_lo, s[0].x_hi, s[0].x_n, s[1].x_mean, s[1].x_lo]`, Module(&Env{}))
	r.Printed(t, "[\"k\", \"x_mean\", \"x_lo\", \"x_hi\", \"x_n\"]\n")
	got := r.Value.([]any)
	half := 3.182446 * 1.2909944487 / 2
	for i, want := range []float64{2.5, 2.5 - half, 2.5 + half} {
		if !(math.Abs(got[i].(float64)-want) <= 1e-6) { // the table has seven digits
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
	if got[3] != int64(4) || got[4] != 9.0 || !math.IsNaN(got[5].(float64)) {
		t.Errorf("got %v", got)
	}
}

// The intervals are those of module stats.
func TestStatsKnowMethodsAndClusters(t *testing.T) {
	scripttest.Run(t, `table := import("table")
stats := import("stats")
values := [1.0, 2, 3, 7, 8, 9]
t := table.of({k: ["a", "a", "a", "a", "a", "a"], prompt: ["x", "x", "y", "y", "z", "z"], x: values, hit: [true, true, false, true, true, true]})
same := func(row, name, e) { return row[name + "_mean"] == e.value && row[name + "_lo"] == e.lo && row[name + "_hi"] == e.hi }
g := t.group(["k"])
print(same(g.stats(["x"], {level: 0.9})[0], "x", stats.mean(values, {level: 0.9})))
print(same(g.stats(["x"], {interval: "bootstrap", seed: 3})[0], "x", stats.mean(values, {interval: "bootstrap", seed: 3})))
print(same(g.stats(["x"], {by: "prompt"})[0], "x", stats.mean(values, {by: ["x", "x", "y", "y", "z", "z"]})))
print(same(g.stats(["hit"], {interval: "wilson"})[0], "hit", stats.proportion([true, true, false, true, true, true])))
print(is_error(try(func() { return g.stats(["x"], {by: "promt"}) })))`, Module(&Env{}), statsmod.Module()).
		Printed(t, "true\ntrue\ntrue\ntrue\ntrue\n")
}
