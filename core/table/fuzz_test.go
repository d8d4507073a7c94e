package table

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lab/core/fault"
)

// What is read from any bytes is a table that comes back the same, or an error of
// kind data that names the file.
func FuzzReadCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\n\"x\"\"y\"\n", "a,b\r\n\r\n,\"\"\r\n", "\ufeffa\nNaN\n-0\n1e400\n", "a,a\n", "a\n\"", "a\n[1 2]\n[]\n", "", "\n", "a\nx\"y\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := ReadCSV(text, "the file", CSV{})
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Errorf("%v is of kind %v", err, fault.KindOf(err))
			}
			return
		}
		var b bytes.Buffer
		if err := x.WriteCSV(&b, ','); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCSV(b.Bytes(), "the copy", CSV{})
		if err != nil {
			t.Fatalf("%v\n%q", err, &b)
		}
		if d := differ(x, again); d != "" {
			t.Errorf("%s\n%q\n%q", d, text, &b)
		}
	})
}

func parquetOf(t testing.TB, x *Table) []byte {
	var b bytes.Buffer
	if err := x.WriteParquet(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readParquet(b []byte) (*Table, error) {
	return ReadParquet(bytes.NewReader(b), int64(len(b)), "the file")
}

func FuzzReadParquet(f *testing.F) {
	for i, rows := range []int{0, 1, 9} {
		f.Add(parquetOf(f, random(rand.New(rand.NewPCG(1, uint64(i))), rows)))
	}
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := readParquet(b)
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Errorf("%v is of kind %v", err, fault.KindOf(err))
			}
			return
		}
		for _, c := range x.cols {
			if c.Len() != x.rows {
				t.Errorf("a column of %d rows in a table of %d", c.Len(), x.rows)
			}
		}
	})
}

func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{"f + n", "where(b, s, \"x\")", "-n % 2", "coalesce(f, 0) / len(l)", "is_null(col(\"by\"))", "((((", "func(){}()", "n << 2", "min(f, n) > 0 && !b"} {
		f.Add(s)
	}
	x := random(rand.New(rand.NewPCG(1, 1)), 9)
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := x.Evaluate(s); err == nil && c.Len() != x.rows {
			t.Errorf("%d rows", c.Len())
		}
	})
}

// Cut anywhere, or with any byte changed, a file is an error or a table, and the
// error says which file.
func TestDamagedParquetFilesAreErrors(t *testing.T) {
	b := parquetOf(t, random(rand.New(rand.NewPCG(3, 3)), 40))
	for n := range b {
		if _, err := readParquet(b[:n]); err == nil || fault.KindOf(err) != fault.Data || !bytes.Contains([]byte(err.Error()), []byte("the file")) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
	r := rand.New(rand.NewPCG(4, 4))
	refused := 0
	for range 3000 {
		c := bytes.Clone(b)
		c[r.IntN(len(c))] ^= byte(1 + r.IntN(255))
		if _, err := readParquet(c); err != nil {
			refused++
			if fault.KindOf(err) != fault.Data {
				t.Fatal(err)
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d of 3000 damaged files were refused", refused)
	}
}
