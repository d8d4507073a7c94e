package plots

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// galleryPage is docs/gallery.md: every figure of the catalogue with its golden
// picture in the theme of the reader, what it is for and how it is called.
func galleryPage(t *testing.T) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Figures\n\nEvery figure of the script module `plot` (options: [scripting.md](scripting.md)), drawn from made-up numbers.\n" +
		"`lab plot FIGURE --run RUN` draws those that a stored run has the numbers for; `lab plot --help` lists them with what they need.\n" +
		"Each saves as SVG, PNG, PDF, Vega-Lite, text and CSV.\n\n" +
		"<!-- made by go test ./plots -run GalleryPage -update -->\n")
	for _, e := range Catalogue() {
		f, err := e.Example(Options{Footer: goldenFooter})
		if err != nil {
			t.Fatal(err)
		}
		const golden = "../plots/testdata/golden/"
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n\n", e.Name, strings.ToUpper(e.Purpose[:1])+e.Purpose[1:], e.Call)
		fmt.Fprintf(&b, "<picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"%s%s-dark.svg\"><img src=\"%s%s-light.svg\" width=\"480\" alt=\"%s\"></picture>\n",
			golden, e.Name, golden, e.Name, html.EscapeString(f.Description()))
	}
	return []byte(b.String())
}

func TestGalleryPageIsFresh(t *testing.T) {
	path := filepath.Join("..", "docs", "gallery.md")
	want := galleryPage(t)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/gallery.md is stale; run go test ./plots -run GalleryPage -update")
	}
	for _, e := range Catalogue() { // the pictures it shows
		for _, th := range []string{"light", "dark"} {
			if _, err := os.Stat(filepath.Join("testdata", "golden", e.Name+"-"+th+".svg")); err != nil {
				t.Error(err)
			}
		}
	}
}
