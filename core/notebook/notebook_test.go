package notebook_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/notebook"
)

func read(t *testing.T, src string) *notebook.Notebook {
	t.Helper()
	n, err := notebook.Read(strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func written(t *testing.T, n *notebook.Notebook) string {
	t.Helper()
	var b bytes.Buffer
	if err := n.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// testdata/jupyter.ipynb was written by nbformat 5.11.1, Jupyter's own package,
// from a notebook with every kind of cell and output and odd metadata
// (testdata/README.md).
func TestWhatJupyterWroteComesBackByteForByte(t *testing.T) {
	data, err := os.ReadFile("testdata/jupyter.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	n := read(t, string(data))
	if got := written(t, n); got != string(data) {
		t.Errorf("written:\n%s", got)
	}
	if len(n.Cells) != 4 || n.Title() != "Title" || n.Language() != "tengo" || len(n.Cells[1].Outputs) != 5 || n.Cells[1].Outputs[0].Text != "a\nb\n" {
		t.Errorf("read: %+v", n)
	}
	if c := n.Cells[0]; c.Kind != notebook.Markdown || !c.Tagged("a") || c.Attachments["p.png"] == nil {
		t.Errorf("first cell: %+v", c)
	}
}

const (
	top  = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [%s]}`
	code = `{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": null, "outputs": [%s]}`
)

func TestWhatIsNoNotebookIsRefused(t *testing.T) {
	cell := func(s string) string { return fmt.Sprintf(top, s) }
	output := func(s string) string { return cell(fmt.Sprintf(code, s)) }
	for _, c := range []struct{ name, src, want string }{
		{"nothing", "", "no JSON: unexpected EOF"},
		{"cut off", `{"nbformat": 4, "cells": [`, "no JSON: unexpected EOF"},
		{"no JSON", "hello", "no JSON"},
		{"two values", fmt.Sprintf(top, "") + "{}", "something follows"},
		{"another value", "[]", "it is a list, not an object"},
		{"not UTF-8", "{\"\xff\": 1}", "not UTF-8"},
		{"a key twice", `{"nbformat": 4, "nbformat": 4}`, `the key "nbformat" comes twice`},
		{"nested without end", strings.Repeat("[", 100_000), "nested deeper than 100"},
		{"an older format", `{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}`, "nbformat 3.0; 4.0 to 4.5 are known; save it as 4.5 with Jupyter"},
		{"a newer format", `{"nbformat": 4, "nbformat_minor": 6, "metadata": {}, "cells": []}`, "nbformat 4.6"},
		{"a version that is no number", `{"nbformat": "4", "nbformat_minor": 5}`, `"nbformat" is a string`},
		{"a version that is not whole", `{"nbformat": 4.5, "nbformat_minor": 5}`, `"nbformat" is "4.5", not a whole number`},
		{"a huge version", `{"nbformat": 99999999999999999999, "nbformat_minor": 5}`, "not a whole number from 0"},
		{"no cells", `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}`, `"cells" is missing`},
		{"no metadata", `{"nbformat": 4, "nbformat_minor": 5, "cells": []}`, `"metadata" is missing`},
		{"an unknown key", `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [], "x": 1}`, `the key "x" is not of nbformat 4.5`},
		{"a cell that is no object", cell("1"), "cell 1: it is a number, not an object"},
		{"a cell without kind", cell(`{"id": "a", "metadata": {}, "source": ""}`), `cell 1: "cell_type" is missing`},
		{"a cell of an unknown kind", cell(`{"cell_type": "heading", "id": "a", "metadata": {}, "source": ""}`), `cell_type "heading"`},
		{"a cell without id", cell(`{"cell_type": "raw", "metadata": {}, "source": ""}`), `"id" is missing`},
		{"an id with a blank", cell(`{"cell_type": "raw", "id": "a b", "metadata": {}, "source": ""}`), `id "a b"`},
		{"an id twice", cell(`{"cell_type": "raw", "id": "a", "metadata": {}, "source": ""}, {"cell_type": "raw", "id": "a", "metadata": {}, "source": ""}`), `cell 2: its id "a" is that of an earlier cell`},
		{"a source that is no text", cell(`{"cell_type": "raw", "id": "a", "metadata": {}, "source": [1]}`), `"source" is neither a string`},
		{"tags that are no list", cell(`{"cell_type": "raw", "id": "a", "metadata": {"tags": "x"}, "source": ""}`), "tags are not a list"},
		{"outputs of a Markdown cell", cell(`{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "", "outputs": []}`), `the key "outputs"`},
		{"a code cell without outputs", cell(`{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": null}`), `"outputs" is missing`},
		{"a negative count", cell(`{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": -1, "outputs": []}`), `"execution_count" is "-1"`},
		{"an output of an unknown kind", output(`{"output_type": "pyout"}`), `output 1: its output_type "pyout"`},
		{"a stream without text", output(`{"output_type": "stream", "name": "stdout"}`), `"text" is missing`},
		{"data that is no text", output(`{"output_type": "display_data", "metadata": {}, "data": {"text/plain": 1}}`), `"text/plain" is neither`},
		{"a traceback that is no list", output(`{"output_type": "error", "ename": "", "evalue": "", "traceback": "x"}`), `"traceback" is a string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := notebook.Read(strings.NewReader(c.src))
			if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestCellsOfOlderVersionsGetAnIdentifier(t *testing.T) {
	src := `{"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": [{"cell_type": "raw", "metadata": {}, "source": "x"}, {"cell_type": "raw", "metadata": {}, "source": "x"}]}`
	a, b := read(t, src), read(t, src)
	if a.Cells[0].ID == "" || a.Cells[0].ID == a.Cells[1].ID || a.Cells[0].ID != b.Cells[0].ID {
		t.Errorf("ids %q and %q, then %q", a.Cells[0].ID, a.Cells[1].ID, b.Cells[0].ID)
	}
	again := read(t, written(t, a))
	if again.Cells[0].ID != a.Cells[0].ID {
		t.Error("the identifier is not kept")
	}
}

// What is read is written so that it reads as the same.
func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/jupyter.ipynb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(fmt.Sprintf(top, fmt.Sprintf(code, `{"output_type": "stream", "name": "x", "text": ["a", "b"]}`))))
	f.Add([]byte(fmt.Sprintf(top, `{"cell_type": "raw", "id": "a", "metadata": {"x": 1e400}, "source": "\u2028\u0000"}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := notebook.Read(bytes.NewReader(data))
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Errorf("kind %v: %v", fault.KindOf(err), err)
			}
			return
		}
		once := written(t, n)
		if twice := written(t, read(t, once)); once != twice {
			t.Errorf("written:\n%s\nand read again:\n%s", once, twice)
		}
		if err := n.HTML(&bytes.Buffer{}, "x"); err != nil && fault.KindOf(err) != fault.Data {
			t.Errorf("HTML: %v", err)
		}
	})
}
