package table

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/fault"
)

// The files are written by testdata/parquet/write.py with Apache Arrow and DuckDB.
func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/parquet/[pd]*.parquet")
	if err != nil || len(files) != 5 {
		t.Fatal(files, err)
	}
	want := map[string]string{"i8": "1 null -3", "u32": "1 null 4294967295", "i64": "1 null -9223372036854775808", "f32": "0.5 null NaN",
		"f64": "0.1 null -Inf", "s": `"日本" null ""`, "large": `"a" null "b"`, "dict": `"a" null "a"`, "b": "true null false",
		"bytes": `"\x00\xff" null ""`, "l": "[1 2] null []"}
	for _, file := range files {
		x, err := ReadFile(file, CSV{})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(x.names) != len(want) {
			t.Errorf("%s has %q", file, x.names)
		}
		for name, w := range want {
			if got := cells(try[*Column](t)(x.Column(name))); got != w {
				t.Errorf("%s: %s: %s, want %s", file, name, got, w)
			}
		}
		if v := must[float64](x.cols[x.at["f64"]])[0]; !(math.Abs(v-0.1) <= 0) { // the same bits
			t.Errorf("%s: %v", file, v)
		}
	}
}

func TestColumnsThatATableCannotHoldAreRefusedByName(t *testing.T) {
	for name, part := range map[string]string{"timestamp": "TIMESTAMP", "date": "DATE", "decimal": "DECIMAL", "struct": "group", "strings": "list of",
		"lists": "group", "map": "group", "nulls-inside": "null inside a list", "u64": "18446744073709551615 does not fit"} {
		_, err := ReadFile("testdata/parquet/refused-"+name+".parquet", CSV{})
		if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), `column "x"`) ||
			!strings.Contains(err.Error(), name+".parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
