package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func small(t testing.TB) *Table {
	nan := math.NaN()
	f, err := OfNullable([]float64{3, nan, 1, 0, 2}, []bool{false, false, false, true, false})
	if err != nil {
		t.Fatal(err)
	}
	return try[*Table](t)(New(Named{"k", Of([]string{"a", "b", "a", "a", "b"})}, Named{"f", f}, Named{"n", Of([]int64{1, 2, 3, 4, 5})},
		Named{"ok", Of([]bool{true, false, true, true, false})}))
}

// cells are the values of a column as text.
func cells(c *Column) string {
	var out []string
	for i := range c.Len() {
		out = append(out, c.cell(i))
	}
	return strings.Join(out, " ")
}

func TestAggregationsOfOneGroupAreTheTextbooks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	v := make([]float64, 101)
	for i := range v {
		v[i] = r.NormFloat64()*3 + 1e6
	}
	sorted := slices.Sorted(slices.Values(v))
	mean, squares := 0.0, 0.0
	for _, x := range v {
		mean += x / 101
	}
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	g := try[*Group](t)(try[*Table](t)(New(Named{"x", Of(v)})).Group())
	for _, row := range []struct {
		function string
		q, want  float64
	}{{"mean", 0, mean}, {"sum", 0, mean * 101}, {"var", 0, squares / 100}, {"sd", 0, math.Sqrt(squares / 100)}, {"min", 0, sorted[0]}, {"max", 0, sorted[100]},
		{"median", 0, sorted[50]}, {"quantile", 0.25, sorted[25]}, {"quantile", 1, sorted[100]}, {"quantile", 0.005, (sorted[0] + sorted[1]) / 2}} {
		out := try[*Table](t)(g.Aggregate(Aggregation{Name: "y", Function: row.function, Column: "x", Q: row.q}))
		got := must[float64](out.cols[0])[0]
		if !(math.Abs(got-row.want) <= 1e-8*math.Max(1, math.Abs(row.want))) { // sums of 101 values near 1e6: 1e-10 each
			t.Errorf("%s %v: %v, want %v", row.function, row.q, got, row.want)
		}
	}
}

func TestAggregationsOfNullsNaNAndNothing(t *testing.T) {
	x := small(t)
	g := try[*Group](t)(x.Group("k"))
	empty := try[*Group](t)(x.slice(0, 0).Group())
	for _, r := range []struct{ function, column, want, nothing string }{
		{"count", "", "3 2", "0"}, {"count", "f", "2 2", "0"}, {"sum", "f", "4 NaN", "0"}, {"sum", "n", "8 7", "0"}, {"mean", "f", "2 NaN", "null"},
		{"min", "f", "1 NaN", "null"}, {"max", "n", "4 5", "null"}, {"median", "f", "2 NaN", "null"}, {"var", "f", "2 NaN", "null"}, {"first", "f", "3 NaN", "null"},
		{"last", "f", "null 2", "null"}, {"unique", "f", "2 2", "0"}, {"list", "n", "[1 3 4] [2 5]", "[]"}, {"mean", "ok", "1 0", "null"}, {"max", "k", `"a" "b"`, "null"},
	} {
		a := Aggregation{Name: "y", Function: r.function, Column: r.column}
		if got := cells(try[*Column](t)(try[*Table](t)(g.Aggregate(a)).Column("y"))); got != r.want {
			t.Errorf("%s of %s: %s, want %s", r.function, r.column, got, r.want)
		}
		if got := cells(try[*Column](t)(try[*Table](t)(empty.Aggregate(a)).Column("y"))); got != r.nothing {
			t.Errorf("%s of no %s: %s, want %s", r.function, r.column, got, r.nothing)
		}
	}
	for _, a := range []Aggregation{{Name: "y", Function: "sum", Column: "big"}, {Name: "y", Function: "list", Column: "big"}} {
		big, err := OfNullable([]int64{math.MaxInt64, 1, 0}, []bool{false, false, true})
		if err != nil {
			t.Fatal(err)
		}
		g := try[*Group](t)(try[*Table](t)(New(Named{"big", big})).Group())
		if _, err := g.Aggregate(a); err == nil {
			t.Errorf("no error for the %s", a.Function)
		}
	}
}

func TestExpressions(t *testing.T) {
	rows := []struct{ text, want string }{
		{"f + n", "4 NaN 4 null 7"},
		{"n / 2", "0.5 1 1.5 2 2.5"},
		{"n % 2 == 0", "false true false true false"},
		{"-n * 2 + 1", "-1 -3 -5 -7 -9"},
		{"f < 2.5", "false false true null true"},
		{"f != f", "false true false null false"},
		{"is_null(f) || n > 4", "false false false true true"},
		{"f > 0 && false", "false false false false false"},
		{"f > 0 || ok", "true false true true true"},
		{"where(ok, n, 0)", "1 0 3 4 0"},
		{"where(f > 1, k, null)", `"a" null null null "b"`},
		{"coalesce(f, n)", "3 NaN 1 4 2"},
		{"is_nan(f)", "false true false null false"},
		{`k + "!"`, `"a!" "b!" "a!" "a!" "b!"`},
		{"min(n, 3, 4.5)", "1 2 3 3 3"},
		{"string(n) + k", `"1a" "2b" "3a" "4a" "5b"`},
		{"int(f + 0.5)", ""},
		{"int(coalesce(where(is_nan(f), 9, f), 0))", "3 9 1 0 2"},
		{`len(col("k"))`, "1 1 1 1 1"},
		{"float(ok)", "1 0 1 1 0"},
		{"abs(2 - n)", "1 0 1 2 3"},
		{"9007199254740993 == 9007199254740992.0", "false false false false false"},
		{"1", "1 1 1 1 1"},
	}
	x := small(t)
	for _, r := range rows {
		c, err := x.Evaluate(r.text)
		if r.want == "" {
			if err == nil {
				t.Errorf("%s: no error but %s", r.text, cells(c))
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got := cells(c); got != r.want {
			t.Errorf("%s: %s, want %s", r.text, got, r.want)
		}
		if empty := try[*Column](t)(x.slice(0, 0).Evaluate(r.text)); empty.Len() != 0 || empty.Type() != c.Type() {
			t.Errorf("%s of no rows is %s of %d", r.text, empty.Type(), empty.Len())
		}
	}
}

func TestTypesOfAnExpressionDoNotDependOnTheRows(t *testing.T) {
	x := small(t)
	for _, rows := range []*Table{x, x.slice(3, 4), x.slice(0, 0)} { // in the one row f is null
		if _, err := rows.Evaluate("coalesce(f, k)"); err == nil {
			t.Errorf("no error with %d rows", rows.rows)
		}
		if c := try[*Column](t)(rows.Evaluate("coalesce(null, k)")); c.Type() != String {
			t.Errorf("%s with %d rows", c.Type(), rows.rows)
		}
	}
}

func TestPrinting(t *testing.T) {
	x := try[*Table](t)(New(Named{"text", Of([]string{"日本", "a\x1b[31m", "b\nc\xff", strings.Repeat("x", 40)})},
		Named{"p", Of([]float64{0.5, 0.0123456, math.NaN(), 1})}, Named{"n", Of([]int64{1, -20, 300, 4})}, Named{"l", Of([][]int64{{1, 2}, {}, {3}, {}})}))
	want := `text             p    n  l
string       float  int  ints
日本       0.50000    1  [1 2]
a\x1b[31m  0.01235  -20  []
b\nc\xff       NaN  300  [3]
xxxxxxxx…  1.00000    4  []`
	if got := x.Text(Layout{Cell: 9}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, width := range []int{1, 10, 20, 30, 60, 200} {
		got := x.Text(Layout{Width: width, Rows: 4, Cell: 8})
		lines := strings.Split(got, "\n")
		for _, l := range lines[:6] {
			if w := cellWidth(l); w > max(width, 8) {
				t.Errorf("%d cells in a terminal of %d: %q", w, width, l)
			}
			if strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("a control character in %q", l)
			}
		}
		if width < 20 && !strings.Contains(got, "more column") {
			t.Errorf("what is left out is not said in a terminal of %d:\n%s", width, got)
		}
	}
	n := 1_000_000
	long := try[*Table](t)(New(Named{"i", Of(make([]int64, n))}))
	if got := long.String(); !strings.HasSuffix(got, "\n… 999,990 more rows") {
		t.Errorf("got\n%s", got)
	}
	for _, empty := range []*Table{{}, x.slice(0, 0)} {
		if got := empty.String(); !strings.HasSuffix(got, "no rows") {
			t.Errorf("got %q", got)
		}
	}
}

func TestNumbersOfAColumn(t *testing.T) {
	for name, row := range map[string]struct {
		in   []float64
		want string
	}{
		"like sizes":   {[]float64{0.5, 12.25, 0.025}, "0.50000 12.25000 0.02500"},
		"whole":        {[]float64{3, 40, 0}, "3.0 40.0 0.0"},
		"far apart":    {[]float64{4.7331, -1024905.4, 0, 6.62e-5, 1.92e13, 99.996}, "4.733 -1024905 0 6.620e-05 1.920e+13 100.00"},
		"no number":    {[]float64{math.NaN(), math.Inf(-1), 1e-7}, "NaN -Inf 1.000e-07"},
		"at the edges": {[]float64{1e-4, 999999999, 1e9}, "0.0001000 999999999 1.000e+09"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Of(row.in)
			if got := strings.Join(c.texts(20), " "); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestSamplesAreUniform(t *testing.T) {
	x := try[*Table](t)(New(Named{"i", Of([]int64{0, 1, 2, 3, 4})}))
	const runs = 4000
	hits := map[string]int{}
	for s := range runs {
		hits[cells(try[*Table](t)(x.Sample(2, uint64(s))).cols[0])]++
	}
	chi := 0.0
	for _, n := range hits {
		chi += (float64(n) - runs/10.0) * (float64(n) - runs/10.0) / (runs / 10.0)
	}
	if len(hits) != 10 || chi > 27.9 { // chi-squared of 9 degrees at 0.001; the seeds are fixed
		t.Errorf("chi-squared %.1f over %d pairs: %v", chi, len(hits), hits)
	}
}

func TestOperationsOfTablesWithoutColumns(t *testing.T) {
	var none Table
	for name, f := range map[string]func() (*Table, error){
		"head": func() (*Table, error) { return none.Head(3) }, "unique": func() (*Table, error) { return none.Unique() },
		"concat": func() (*Table, error) { return Concat(&none, &none) }, "describe": func() (*Table, error) { return none.Describe() },
		"select": func() (*Table, error) { return none.Select() }, "filter": func() (*Table, error) { return none.Where() },
		"sample": func() (*Table, error) { return none.Sample(0, 1) },
	} {
		if x, err := f(); err != nil || x.rows != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func Example() {
	t, err := New(Named{"temperature", Of([]float64{0.5, 0.5, 1})}, Named{"distinct", Of([]int64{3, 5, 8})})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := t.Group("temperature")
	if err != nil {
		fmt.Println(err)
		return
	}
	means, err := g.Aggregate(Aggregation{Name: "mean", Function: "mean", Column: "distinct"})
	fmt.Println(means, err)
	_, err = t.Select("temprature")
	fmt.Println(err)
	// Output:
	// temperature   mean
	//       float  float
	//      0.5000    4.0
	//      1.0000    8.0 <nil>
	// select: unknown column "temprature"; did you mean "temperature"?
}

func TestResultsBeyondMemoryAreRefused(t *testing.T) {
	n := 40_000
	x := try[*Table](t)(New(Named{"k", Of(make([]int64, n))}, Named{"i", Of(func() []int64 {
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(i)
		}
		return v
	}())}))
	if _, err := x.Join(x, Join{On: []string{"k"}}); err == nil || !strings.Contains(err.Error(), "1600000000 pairs") {
		t.Error(err)
	}
	if _, err := x.Pivot([]string{"i"}, "i", "k"); err == nil {
		t.Error("no error")
	}
	y := try[*Table](t)(x.With("j", x.cols[1]))
	if _, err := y.Pivot([]string{"i"}, "j", "k"); err == nil || !strings.Contains(err.Error(), "1600000000 places") {
		t.Error(err)
	}
}
