package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/core/notebook"
)

// The notebooks of the tree run, and hold the outputs that they give now.
func TestNotebooksAreFresh(t *testing.T) {
	files, err := filepath.Glob("../../notebooks/*.ipynb")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d notebooks, want at least 5: %v", len(files), err)
	}
	start := time.Now()
	var out, errs bytes.Buffer
	if code := execute(t.Context(), append([]string{"notebook", "check"}, files...), &out, &errs); code != 0 {
		t.Fatalf("exit code %d:\n%s%s", code, &out, &errs)
	}
	t.Logf("all %d in %.1f s; the target is 60 s on two cores", len(files), time.Since(start).Seconds())
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := notebook.Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		var b, page bytes.Buffer
		if err := n.Write(&b); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, b.Bytes()) {
			t.Errorf("%s: it is not as lab notebook run writes it", path)
		}
		if err := n.HTML(&page, "x"); err != nil || n.Title() == "" || !strings.Contains(page.String(), "data:image/svg+xml") {
			t.Errorf("%s: title %q, a page of %d bytes without a picture: %v", path, n.Title(), page.Len(), err)
		}
		for i, c := range n.Cells {
			if strings.Contains(c.Source, "$") {
				t.Errorf("%s: cell %d has formulas that only some readers show", path, i+1)
			}
		}
	}
}
