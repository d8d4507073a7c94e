package plots

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/recorder"
)

// checkFigure asserts what holds for every picture, and the words of the row.
// Pixels take most of the time and differ between themes in colour alone.
func checkFigure(t *testing.T, f *Figure, r edge, pixels bool) {
	t.Helper()
	var svg, pdf, image bytes.Buffer
	if err := f.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	// 500 kB of SVG is the promise; a PDF repeats every letter and may be twice as large.
	const most = 500_000
	if svg.Len() > most {
		t.Errorf("SVG of %d bytes, want at most %d", svg.Len(), most)
	}
	words := drawn(t, svg.Bytes())
	for _, w := range append(r.says, "run 7 · seed 1") {
		if !contains(words, w) {
			t.Errorf("nothing drawn says %q; drawn: %q", w, words)
		}
	}
	for _, w := range r.not {
		if containsExactly(words, w) {
			t.Errorf("%q is drawn and should not be", w)
		}
	}
	if pixels {
		checkTerminal(t, f)
		checkVega(t, f)
		if err := f.PDF(&pdf); err != nil {
			t.Fatal(err)
		}
		if pdf.Len() > 2*most || !bytes.HasPrefix(pdf.Bytes(), []byte("%PDF-")) || !bytes.Contains(pdf.Bytes(), []byte("%%EOF")) {
			t.Errorf("a PDF of %d bytes, want at most %d", pdf.Len(), 2*most)
		}
		if err := f.PNG(&image); err != nil {
			t.Fatal(err)
		}
		img, err := png.DecodeConfig(&image)
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := f.Size(); math.Abs(float64(img.Width)-300*w) > 1 { // rounded to whole pixels
			t.Errorf("PNG is %d pixels wide for %g inches", img.Width, w)
		}
	}
	insidePage(t, f)
	nothingOverlaps(t, f)
	if f.Description() == "" || f.Title() == "" {
		t.Error("a picture without title or description")
	}
	if err := f.Table().CSV(io.Discard); err != nil {
		t.Error(err)
	}
}

// drawn returns the words of every label in an SVG, title and description
// checked to be there.
func drawn(t *testing.T, svg []byte) []string {
	t.Helper()
	var words []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	seen := map[string]bool{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("SVG is not XML: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		seen[start.Name.Local] = true
		for _, a := range start.Attr {
			if a.Name.Local == "aria-label" {
				words = append(words, a.Value)
			}
		}
	}
	if !seen["title"] || !seen["desc"] {
		t.Error("SVG without title or description")
	}
	return words
}

// contains reports whether some label is w, or holds it, or the labels hold it
// over a line break.
func contains(words []string, w string) bool {
	w = strings.ReplaceAll(w, "\u00a0", " ")
	return strings.Contains(strings.Join(words, "\n"), w) || strings.Contains(strings.Join(words, " "), w)
}

func containsExactly(words []string, w string) bool {
	for _, have := range words {
		if have == w {
			return true
		}
	}
	return false
}

// insidePage draws the figure on the library's recording canvas and asserts that
// every point of every path, outlines of letters included, lies on the page.
func insidePage(t *testing.T, f *Figure) {
	t.Helper()
	var rec recorder.Canvas
	f.picture.Draw(&rec)
	w, h := f.picture.Size()
	out := func(p vg.Point) bool {
		return !(p.X >= -0.01 && p.X <= w+0.01 && p.Y >= -0.01 && p.Y <= h+0.01) // a hundredth of a point; NaN is outside
	}
	paths := 0
	for _, action := range rec.Actions {
		var path vg.Path
		switch a := action.(type) {
		case *recorder.Fill:
			path = a.Path
		case *recorder.Stroke:
			path = a.Path
		}
		paths++
		for _, comp := range path {
			if comp.Type == vg.CloseComp {
				continue
			}
			for _, p := range append([]vg.Point{comp.Pos}, comp.Control...) {
				if out(p) {
					t.Fatalf("%v lies outside the page of %v x %v", p, w, h)
				}
			}
		}
	}
	if paths < 5 {
		t.Errorf("only %d paths recorded", paths)
	}
}

// nothingOverlaps asserts that no label is drawn over another.
func nothingOverlaps(t *testing.T, f *Figure) {
	t.Helper()
	const touch = 1.5 // points: line boxes hold descenders that few words have
	words := f.picture.Words()
	for i, a := range words {
		for _, b := range words[:i] {
			if a.Rect.Min.X < b.Rect.Max.X && b.Rect.Min.X < a.Rect.Max.X &&
				a.Rect.Min.Y+touch < b.Rect.Max.Y && b.Rect.Min.Y+touch < a.Rect.Max.Y {
				t.Errorf("%q at %v lies over %q at %v", a.Text, a.Rect, b.Text, b.Rect)
			}
		}
	}
}
