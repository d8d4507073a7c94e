package notebook_test

import (
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/notebook"
)

func TestFormatChangesTheSourceOfCodeCellsAlone(t *testing.T) {
	n := codeCells("a:=1", "b := 2", "x )", "c:=3\n")
	n.Cells = append(n.Cells, notebook.Cell{Kind: notebook.Markdown, ID: "text", Source: "a:=1", Metadata: map[string]any{}})
	tag(&n.Cells[2], notebook.TagRaises)
	out := notebook.Output{Kind: notebook.Stream, Name: "stdout", Text: "1\n"}
	n.Cells[0].Count, n.Cells[0].Outputs = 7, []notebook.Output{out}
	want := n.Clone()
	want.Cells[0].Source, want.Cells[3].Source = "a := 1", "c := 3"
	changed, err := n.Format()
	if err != nil || !slices.Equal(changed, []int{0, 3}) {
		t.Fatalf("changed %v, %v", changed, err)
	}
	var got, expected strings.Builder
	if err := n.Write(&got); err != nil {
		t.Fatal(err)
	}
	if err := want.Write(&expected); err != nil {
		t.Fatal(err)
	}
	if got.String() != expected.String() {
		t.Errorf("got\n%s\nwant\n%s", &got, &expected)
	}
	if changed, err := n.Format(); err != nil || len(changed) != 0 {
		t.Errorf("again it changes %v, %v", changed, err)
	}
}

func TestFormatRefuses(t *testing.T) {
	python := codeCells("a:=1")
	python.Metadata["language_info"] = map[string]any{"name": "python"}
	for _, row := range []struct {
		law  string
		in   *notebook.Notebook
		kind fault.Kind
		want string
	}{
		{"cells in another language", python, fault.Data, "its cells are in \"python\""},
		{"a cell that does not parse, by its number", codeCells("a := 1", "b := ("), fault.Script, "cell 2:1:7"},
	} {
		if _, err := row.in.Format(); err == nil || fault.KindOf(err) != row.kind || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want kind %v with %q", row.law, err, row.kind, row.want)
		}
	}
}
