package table

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns a table of every type with nulls, NaN and hard texts. Few
// different values, so that groups and joins have work.
func random(r *rand.Rand, rows int) *Table {
	floats := []float64{0, math.Copysign(0, -1), 1, -2.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 0.1, math.Float64frombits(0xfff8000000000abc)}
	hard := []string{"", "a", "b", "NULL", "NaN", "1", "true", "a,b", "\"q\"", "x\r\ny", "\n", " s ", "日本", "\xff", "\ufeff"}
	f, n, s, b, by, l := make([]float64, rows), make([]int64, rows), make([]string, rows), make([]bool, rows), make([][]byte, rows), make([][]int64, rows)
	for i := range rows {
		f[i], s[i], b[i] = floats[r.IntN(len(floats))], hard[r.IntN(len(hard))], r.IntN(2) == 0
		n[i] = []int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64}[r.IntN(6)]
		by[i] = []byte(hard[r.IntN(len(hard))])
		l[i] = []int64{}
		for range r.IntN(4) {
			l[i] = append(l[i], int64(r.IntN(5))-2)
		}
	}
	cols := []Named{{"f", Of(f)}, {"n", Of(n)}, {"s", Of(s)}, {"b", Of(b)}, {"by", Of(by)}, {"l", Of(l)}}
	for i := range cols {
		if r.IntN(3) == 0 {
			continue
		}
		at := allRows(rows)
		for k := range at {
			if r.IntN(4) == 0 {
				at[k] = -1
			}
		}
		cols[i].Column = cols[i].Column.Take(at)
	}
	t, err := New(cols...)
	if err != nil {
		panic(err)
	}
	return t
}

// differ says where two tables differ: NaN equals NaN, 0 is not -0.
func differ(a, b *Table) string {
	if !slices.Equal(a.names, b.names) || a.rows != b.rows {
		return fmt.Sprintf("%q × %d and %q × %d", a.names, a.rows, b.names, b.rows)
	}
	for k, c := range a.cols {
		d := b.cols[k]
		if c.Type() != d.Type() {
			return fmt.Sprintf("%s: %s and %s", a.names[k], c.Type(), d.Type())
		}
		for i := range a.rows {
			same := c.Null(i) == d.Null(i)
			if same && !c.Null(i) {
				x, y := c.At(i), d.At(i)
				if u, ok := x.(float64); ok {
					v := y.(float64)
					same = u != u && v != v || math.Float64bits(u) == math.Float64bits(v)
				} else {
					same = fmt.Sprintf("%q", fmt.Sprint(x)) == fmt.Sprintf("%q", fmt.Sprint(y))
				}
			}
			if !same {
				return fmt.Sprintf("%s row %d: %s and %s", a.names[k], i, c.cell(i), d.cell(i))
			}
		}
	}
	return ""
}

func try[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func forRandom(t *testing.T, f func(t *testing.T, r *rand.Rand, x *Table)) {
	for i := range 60 {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		f(t, r, random(r, []int{0, 1, 2, 7, 40, 70}[i%6]))
		if t.Failed() {
			t.Fatalf("in random table %d", i)
		}
	}
}

func TestGroupsAreAPermutationOfTheRows(t *testing.T) {
	forRandom(t, func(t *testing.T, r *rand.Rand, x *Table) {
		x = try[*Table](t)(x.With("row", Of(func() []int64 {
			v := make([]int64, x.rows)
			for i := range v {
				v[i] = int64(i)
			}
			return v
		}())))
		for _, by := range [][]string{{"f"}, {"s", "b"}, {"l", "n"}, {"by"}, {"f", "n", "s", "b", "by", "l"}, {}} {
			g := try[*Group](t)(x.Group(by...))
			parts := []*Table{x.slice(0, 0)}
			for i := range g.Len() {
				parts = append(parts, g.Table(i))
				for _, row := range g.Rows(i) {
					for _, name := range by {
						if c := x.cols[x.at[name]]; c.compare(row, g.Rows(i)[0]) != 0 {
							t.Errorf("group %d of %q holds %s and %s", i, by, c.cell(row), c.cell(g.Rows(i)[0]))
						}
					}
				}
				if i > 0 && len(by) > 0 && g.Rows(i)[0] < g.Rows(i - 1)[0] {
					t.Errorf("groups are not in the order of their first rows")
				}
			}
			back := try[*Table](t)(try[*Table](t)(Concat(parts...)).Sort(Key{Column: "row"}))
			if d := differ(x, back); d != "" {
				t.Error(by, d)
			}
			if len(by) > 0 {
				if keys, u := try[*Table](t)(g.Keys()), try[*Table](t)(x.Unique(by...)); keys.rows != u.rows || keys.rows != try[*Table](t)(keys.Unique()).rows {
					t.Errorf("%d keys of %d groups, %d unique rows", keys.rows, g.Len(), u.rows)
				}
			}
		}
	})
}

func TestJoinsAgreeWithNestedLoops(t *testing.T) {
	forRandom(t, func(t *testing.T, r *rand.Rand, x *Table) {
		y := random(r, r.IntN(30))
		for _, on := range [][]string{{"f"}, {"n", "b"}, {"l"}, {"s", "by"}} {
			equal := func(i, k int) bool {
				for _, name := range on {
					a, b := x.cols[x.at[name]], y.cols[y.at[name]]
					if a.Null(i) || b.Null(k) || concatColumns([]*Column{a, b}).data.compare(i, x.rows+k) != 0 {
						return false
					}
				}
				return true
			}
			want := map[string][][2]int{}
			used := map[int]bool{}
			for i := range x.rows {
				found := false
				for k := range y.rows {
					if equal(i, k) {
						want["inner"] = append(want["inner"], [2]int{i, k})
						want["left"] = append(want["left"], [2]int{i, k})
						want["full"] = append(want["full"], [2]int{i, k})
						found, used[k] = true, true
					}
				}
				if found {
					want["semi"] = append(want["semi"], [2]int{i, -1})
				} else {
					want["anti"] = append(want["anti"], [2]int{i, -1})
					want["left"] = append(want["left"], [2]int{i, -1})
					want["full"] = append(want["full"], [2]int{i, -1})
				}
			}
			for k := range y.rows {
				if !used[k] {
					want["full"] = append(want["full"], [2]int{-1, k})
				}
			}
			for _, kind := range Joins() {
				got := try[*Table](t)(x.Join(y, Join{On: on, Kind: kind}))
				left, right := make([]int, len(want[kind])), make([]int, len(want[kind]))
				for i, p := range want[kind] {
					left[i], right[i] = p[0], p[1]
				}
				expected := x.take(left)
				for _, name := range on { // of rows of the right alone, the right's key
					c := concatColumns([]*Column{x.cols[x.at[name]], y.cols[y.at[name]]})
					both := slices.Clone(left)
					for i, l := range left {
						if l < 0 {
							both[i] = x.rows + right[i]
						}
					}
					expected = try[*Table](t)(expected.With(name, c.Take(both)))
				}
				if kind != "semi" && kind != "anti" {
					for i, name := range y.names {
						if !slices.Contains(on, name) {
							expected = try[*Table](t)(expected.With(name+"_right", y.cols[i].Take(right)))
						}
					}
				}
				if d := differ(expected, got); d != "" {
					t.Errorf("%s join on %q: %s", kind, on, d)
				}
			}
		}
	})
}

func TestSortIsStableAndPutsTheMissingLast(t *testing.T) {
	forRandom(t, func(t *testing.T, r *rand.Rand, x *Table) {
		order := make([]int64, x.rows)
		for i := range order {
			order[i] = int64(i)
		}
		x = try[*Table](t)(x.With("row", Of(order)))
		for _, name := range []string{"f", "n", "s", "b", "by", "l"} {
			for _, down := range []bool{false, true} {
				y := try[*Table](t)(x.Sort(Key{name, down}))
				c, row := y.cols[y.at[name]], must[int64](y.cols[y.at["row"]])
				for i := 1; i < y.rows; i++ {
					o := c.compare(i-1, i)
					if down && !c.missing(i) && !c.missing(i-1) {
						o = -o
					}
					if o > 0 || o == 0 && row[i-1] > row[i] {
						t.Errorf("%s descending %v: rows %d and %d: %s then %s", name, down, row[i-1], row[i], c.cell(i-1), c.cell(i))
					}
				}
			}
		}
	})
}

func TestUnpivotIsTheInverseOfPivot(t *testing.T) {
	forRandom(t, func(t *testing.T, r *rand.Rand, x *Table) {
		if x.rows == 0 {
			return
		}
		id := make([]int64, x.rows)
		for i := range id {
			id[i] = int64(i / 3)
		}
		kind := make([]string, x.rows)
		for i := range kind {
			kind[i] = string(rune('x' + i%3))
		}
		full := x.rows / 3 * 3
		for _, values := range x.names {
			long := try[*Table](t)(New(Named{"id", Of(id)}, Named{"kind", Of(kind)}, Named{"value", x.cols[x.at[values]]})).slice(0, full)
			if full == 0 {
				continue
			}
			wide := try[*Table](t)(long.Pivot([]string{"id"}, "kind", "value"))
			if wide.rows != full/3 || !slices.Equal(wide.names, []string{"id", "x", "y", "z"}) {
				t.Errorf("%d rows of %q", wide.rows, wide.names)
			}
			back := try[*Table](t)(wide.Unpivot([]string{"id"}, []string{"x", "y", "z"}, "kind", "value"))
			if d := differ(long, back); d != "" {
				t.Error(values, d)
			}
		}
	})
}

func TestCSVAndParquetGiveTheSameTableBack(t *testing.T) {
	forRandom(t, func(t *testing.T, r *rand.Rand, x *Table) {
		types := map[string]Type{"by": Bytes}
		for i, name := range x.names {
			if x.cols[i].Nulls() == x.rows { // nothing to infer from
				types[name] = x.cols[i].Type()
			}
		}
		for _, delimiter := range []byte{',', ';', '\t'} {
			var b bytes.Buffer
			if err := x.WriteCSV(&b, delimiter); err != nil {
				t.Fatal(err)
			}
			if d := differ(x, try[*Table](t)(ReadCSV(b.Bytes(), "x", CSV{Types: types, Delimiter: delimiter}))); d != "" {
				t.Errorf("CSV with %q: %s\n%s", delimiter, d, &b)
			}
		}
		var b, again bytes.Buffer
		if err := x.WriteParquet(&b); err != nil {
			t.Fatal(err)
		}
		if d := differ(x, try[*Table](t)(ReadParquet(bytes.NewReader(b.Bytes()), int64(b.Len()), "x"))); d != "" {
			t.Error("Parquet:", d)
		}
		if err := x.WriteParquet(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Error("the same table is not the same bytes", err)
		}
	})
}
