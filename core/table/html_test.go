package table_test

import (
	"strings"
	"testing"

	"lab/core/table"
)

// What comes from a model must not become part of the page.
func TestHTMLEscapesEverything(t *testing.T) {
	hostile := []any{"<script>alert(1)</script>", `" onmouseover="x`, "a\x00\x1b[31m\u202Eb", "\xff\xfe", "&amp;", nil, "</td></table>"}
	col, err := table.FromAny("test", "x", hostile)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := table.New(table.Named{Name: "<b>\"name'</b>", Column: col})
	if err != nil {
		t.Fatal(err)
	}
	got := tab.HTML(table.Layout{})
	if strings.Count(got, "<") != strings.Count(got, ">") || strings.Count(got, "<table") != 1 || strings.Count(got, "<tr>") != 8 {
		t.Errorf("the markup is not ours alone:\n%s", got)
	}
	for _, bad := range []string{"<script", "<b>", "\x00", "\x1b", "\u202e", "\xff"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in\n%s", bad, got)
		}
	}
	for _, want := range []string{"&lt;script&gt;", `\x1b`, `\u202e`, `\xff`, "&amp;amp;", "<td style=\"text-align: left\">·</td>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestHTMLSaysWhatIsNotShown(t *testing.T) {
	values := make([]any, 1000)
	for i := range values {
		values[i] = int64(i)
	}
	col, err := table.FromAny("test", "n", values)
	if err != nil {
		t.Fatal(err)
	}
	var cols []table.Named
	for i := range 70 {
		cols = append(cols, table.Named{Name: "c" + strings.Repeat("x", i), Column: col})
	}
	tab, err := table.New(cols...)
	if err != nil {
		t.Fatal(err)
	}
	got := tab.HTML(table.Layout{Rows: 3})
	if !strings.Contains(got, "997 more rows, 10 more columns") || strings.Count(got, "<tr>") != 4 || strings.Count(got, "<th ") != 60 {
		t.Errorf("%s", got)
	}
	if !strings.Contains(got, `<td style="text-align: right">2</td>`) {
		t.Errorf("numbers are not at the right: %s", got)
	}
}
