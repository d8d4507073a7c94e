package store

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/runs.md")

// The columns in docs/runs.md are those of the rows.
func TestColumnsAreDocumented(t *testing.T) {
	const path, begin, end = "../../docs/runs.md", "<!-- columns: go test ./core/store -run Columns -update -->\n", "<!-- end of columns -->\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the columns", path)
	}
	var b strings.Builder
	for _, table := range []struct {
		name string
		row  any
	}{{samplesFile, sampleRow{}}, {StepsFile, stepRow{}}, {StagesFile, stageRow{}}, {scoresFile, scoreRow{}}, {CostsFile, costRow{}}} {
		fmt.Fprintf(&b, "\n### `%s`\n\n| column | type | meaning |\n|---|---|---|\n", table.name)
		for f := range fields(reflect.TypeOf(table.row)) {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.kind, f.doc)
			if f.doc == "" {
				t.Errorf("column %s of %s has no meaning", f.name, table.name)
			}
		}
	}
	want := head + begin + b.String() + "\n" + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s is stale; run this test with -update", path)
	}
}

type column struct{ name, kind, doc string }

// fields yields the columns of a row type.
func fields(t reflect.Type) func(func(column) bool) {
	kinds := map[string]string{"int32": "int32", "int64": "int64", "float64": "double", "string": "string", "bool": "boolean", "[]uint8": "bytes", "[]int32": "list of int32", "[]float32": "list of float"}
	return func(yield func(column) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
			kind := kinds[strings.TrimPrefix(f.Type.String(), "*")]
			if strings.Contains(options, "optional") {
				kind += ", may be null"
			}
			if !yield(column{name, kind, f.Tag.Get("doc")}) {
				return
			}
		}
	}
}
