package canvas

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/recorder"

	"lab/core/fault"
)

// sample is a page with a bit of everything.
func sample(t testing.TB, theme Theme) *Picture {
	t.Helper()
	p, err := NewPage(300, theme, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Header("A finding & <more>", "what was measured")
	p.Legend([]Key{{Words: "one", Draw: func(p *Page, r vg.Rectangle) { p.Fill(r, theme.Series[0]) }}})
	rect := vg.Rectangle{Min: vg.Point{X: 40, Y: p.Y() - 100}, Max: vg.Point{X: 280, Y: p.Y()}}
	panel := p.Panel(rect, Axis{Name: "x", Max: 10, Grid: true}, Axis{Name: "y", Min: -1, Max: 1, Grid: true})
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: -1}, {X: 5, Y: 1}, {X: 10, Y: 0}})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: 5, Y: 0}}, Labels: []string{"from the library ␣"}})
	if err != nil {
		t.Fatal(err)
	}
	panel.Draw(line, labels)
	p.Dot(vg.Point{X: 100, Y: rect.Min.Y + 20}, 3, theme.Series[1], true)
	p.Put(p.Token(" nice שלום", p.Ink(Mono, 8)), vg.Point{X: 150, Y: rect.Min.Y + 10}, Middle, Centre)
	p.Down(140)
	p.Footer([]string{"a note"}, "run 7")
	return p.Finish("A finding & <more>\x00", "words\u202e")
}

func TestSVGIsXMLWithItsWords(t *testing.T) {
	for _, live := range []bool{false, true} {
		var buf bytes.Buffer
		if err := sample(t, Light()).SVG(&buf, live); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Title string `xml:"title"`
			Desc  string `xml:"desc"`
		}
		if err := xml.Unmarshal(buf.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Title != "A finding & <more>‹0000›" || doc.Desc != "words‹202E›" {
			t.Errorf("title %q, description %q", doc.Title, doc.Desc)
		}
		if got := strings.Contains(buf.String(), "<text"); got != live {
			t.Errorf("live %v: text elements %v", live, got)
		}
		for _, ref := range regexp.MustCompile(`xlink:href="#([^"]+)"`).FindAllStringSubmatch(buf.String(), -1) {
			if !strings.Contains(buf.String(), `id="`+ref[1]+`"`) {
				t.Errorf("glyph %s is used and not defined", ref[1])
			}
		}
		if !strings.Contains(buf.String(), "from the library") {
			t.Error("text of a library plotter is lost")
		}
	}
}

func TestLiveTextIsIsolatedAndCarriesItsFonts(t *testing.T) {
	var buf bytes.Buffer
	if err := sample(t, Light()).SVG(&buf, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(buf.String(), `direction="rtl" unicode-bidi="isolate"`) {
		t.Error("right-to-left letters may reorder their neighbours")
	}
	fonts := regexp.MustCompile(`base64,([A-Za-z0-9+/=]+)\)`).FindAllStringSubmatch(buf.String(), -1)
	if len(fonts) < 3 {
		t.Errorf("%d fonts embedded", len(fonts))
	}
	for _, f := range fonts {
		data, err := base64.StdEncoding.DecodeString(f[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sfnt.Parse(data); err != nil {
			t.Errorf("an embedded font cannot be read: %v", err)
		}
	}
}

func TestSubsetKeepsOutlinesAndAdvances(t *testing.T) {
	for name, file := range map[string][]byte{"liberation": liberationsansregular.TTF, "dejavu": dejavusans.TTF} {
		full, err := sfnt.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		var buf sfnt.Buffer
		used := map[rune]sfnt.GlyphIndex{}
		for _, r := range "aÄé…ﬁ0→" { // composites among them
			if used[r], err = full.GlyphIndex(&buf, r); err != nil {
				t.Fatal(err)
			}
		}
		data, err := subset(file, used)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > len(file)/8 {
			t.Errorf("%s: %d of %d bytes left", name, len(data), len(file))
		}
		if got := checksum(data); got != 0xb1b0afba {
			t.Errorf("%s: the words of the file sum to %08x", name, got)
		}
		small, err := sfnt.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		size := fixed.Int26_6(full.UnitsPerEm())
		for r, old := range used {
			now, err := small.GlyphIndex(&buf, r)
			if err != nil || now == 0 {
				t.Fatalf("%s: %q is number %d: %v", name, r, now, err)
			}
			a, err := full.LoadGlyph(&buf, old, size, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := append(sfnt.Segments(nil), a...)
			got, err := small.LoadGlyph(&buf, now, size, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("%s: %q has %d pieces, want %d", name, r, len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%s: %q differs in piece %d", name, r, i)
				}
			}
			wa, _ := full.GlyphAdvance(&buf, old, size, font.HintingNone)
			ga, err := small.GlyphAdvance(&buf, now, size, font.HintingNone)
			if err != nil || wa != ga {
				t.Errorf("%s: %q advances %v, want %v (%v)", name, r, ga, wa, err)
			}
		}
		if other, _ := small.GlyphIndex(&buf, 'Z'); other != 0 {
			t.Errorf("%s: Z is still there", name)
		}
	}
}

func FuzzSubset(f *testing.F) {
	small, err := subset(dejavusans.TTF, map[rune]sfnt.GlyphIndex{'A': 36})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Add(small[:200])
	f.Add([]byte("\x00\x01\x00\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, file []byte) {
		out, err := subset(file, map[rune]sfnt.GlyphIndex{'A': 1, 'B': 70})
		if err == nil && len(out) == 0 {
			t.Error("no font and no error")
		}
	})
}

func TestPDFIsReproducible(t *testing.T) {
	pic := sample(t, Dark())
	var a, b bytes.Buffer
	if err := errors.Join(pic.PDF(&a), pic.PDF(&b)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two writes differ")
	}
	// Both may fall into one second, so the dates themselves are looked at.
	dates := regexp.MustCompile(`\(D:(\d+)`).FindAllSubmatch(a.Bytes(), -1)
	if len(dates) != 2 {
		t.Errorf("%d dates in the file, 2 are known; is there a new one?", len(dates))
	}
	for _, d := range dates {
		if string(d[1]) != "20000101000000" {
			t.Errorf("date %s", d[1])
		}
	}
	if at := bytes.Index(a.Bytes(), []byte("startxref")); at < 0 {
		t.Error("no cross-reference table")
	}
}

func TestPNGCarriesItsResolutionAndWords(t *testing.T) {
	var buf bytes.Buffer
	pic := sample(t, Light())
	if err := pic.PNG(&buf); err != nil {
		t.Fatal(err)
	}
	chunks := map[string]string{}
	data := buf.Bytes()[8:]
	for len(data) >= 12 {
		n := binary.BigEndian.Uint32(data)
		body := data[4 : 8+n]
		if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(data[8+n:]) {
			t.Fatalf("chunk %s has a wrong checksum", body[:4])
		}
		chunks[string(body[:4])] += string(body[4:]) + "|"
		data = data[12+n:]
	}
	if want := "\x00\x00\x2e\x23\x00\x00\x2e\x23\x01|"; chunks["pHYs"] != want { // 11811 per metre
		t.Errorf("pHYs %x", chunks["pHYs"])
	}
	if !strings.Contains(chunks["iTXt"], "Description\x00\x00\x00\x00\x00words‹202E›|") || !strings.Contains(chunks["iTXt"], "Liberation Sans") {
		t.Errorf("texts %q", chunks["iTXt"])
	}
	img, err := png.Decode(bytes.NewReader(buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	w, h := pic.Size()
	if b := img.Bounds(); !(math.Abs(float64(b.Dx())-float64(w)*DPI/72) < 0.01) || !(math.Abs(float64(b.Dy())-float64(h)*DPI/72) < 0.01) { // whole pixels
		t.Errorf("%v for %v x %v points", b, w, h)
	}
}

// TestOneGlyphHasOneName guards pages that hold several pictures: a name must
// stand for the same outline in all of them.
func TestOneGlyphHasOneName(t *testing.T) {
	outlines := map[string]string{}
	for _, words := range []string{"abc", "cba ␣ x", "→ a"} {
		p := page(t)
		p.Header(words, words)
		var buf bytes.Buffer
		if err := p.Finish("t", "d").SVG(&buf, false); err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`<path id="([^"]+)" d="([^"]+)"`).FindAllStringSubmatch(buf.String(), -1) {
			if old, ok := outlines[m[1]]; ok && old != m[2] {
				t.Errorf("%s stands for two outlines", m[1])
			}
			outlines[m[1]] = m[2]
		}
	}
	if len(outlines) < 5 {
		t.Errorf("%d glyphs seen", len(outlines))
	}
}

func TestAPictureMayBeWrittenByManyAtOnce(t *testing.T) {
	pic := sample(t, Light())
	var want bytes.Buffer
	if err := pic.SVG(&want, true); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			var got bytes.Buffer
			err := errors.Join(pic.PDF(io.Discard), pic.SVG(&got, true))
			if i < 2 { // pixels are slow under the race detector
				err = errors.Join(err, pic.PNG(io.Discard))
			}
			if err != nil {
				t.Error(err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Error("the bytes differ")
			}
		})
	}
	wg.Wait()
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWritersReportTheirError(t *testing.T) {
	pic := sample(t, Light())
	for name, err := range map[string]error{"svg": pic.SVG(failing{}, false), "png": pic.PNG(failing{}), "pdf": pic.PDF(failing{})} {
		if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSceneBakesTransformsIn(t *testing.T) {
	p := page(t)
	s := p.scene
	s.Push()
	s.Translate(vg.Point{X: 10, Y: 20})
	s.Rotate(math.Pi / 2)
	s.Scale(2, 2)
	var path vg.Path
	path.Move(vg.Point{X: 1, Y: 0})
	path.Line(vg.Point{X: 0, Y: 1})
	s.Stroke(path)
	s.Pop()
	s.Stroke(path)
	near := func(p vg.Point, x, y float64) bool {
		return math.Abs(float64(p.X)-x) <= 1e-9 && math.Abs(float64(p.Y)-y) <= 1e-9 // sine of a quarter turn
	}
	moved, plain := s.shapes[0].path, s.shapes[1].path
	if !near(moved[0].Pos, 10, 22) || !near(moved[1].Pos, 8, 20) {
		t.Errorf("moved to %v", moved)
	}
	if !near(plain[0].Pos, 1, 0) {
		t.Errorf("Pop left a transform: %v", plain)
	}
}

func TestArcsAndQuadraticsBecomeTheSameCurves(t *testing.T) {
	s := page(t).scene
	var circle vg.Path
	circle.Move(vg.Point{X: 7, Y: 5})
	circle.Arc(vg.Point{X: 5, Y: 5}, 2, 0, 2*math.Pi)
	circle.Close()
	s.Fill(circle)
	var last vg.Point
	for _, c := range s.shapes[0].path {
		if c.Type == vg.CurveComp {
			for _, at := range []vg.Length{0.25, 0.5, 0.75} {
				b := func(a, c1, c2, d vg.Length) vg.Length {
					u := 1 - at
					return u*u*u*a + 3*u*u*at*c1 + 3*u*at*at*c2 + at*at*at*d
				}
				x, y := b(last.X, c.Control[0].X, c.Control[1].X, c.Pos.X)-5, b(last.Y, c.Control[0].Y, c.Control[1].Y, c.Pos.Y)-5
				if r := math.Hypot(float64(x), float64(y)); !(math.Abs(r-2) <= 0.0006) { // 0.03 % of the radius
					t.Errorf("a point of the circle is %v from its centre", r)
				}
			}
		}
		last = c.Pos
	}
	c1, c2 := raise(vg.Point{}, vg.Point{X: 3, Y: 3}, vg.Point{X: 6})
	if c1 != (vg.Point{X: 2, Y: 2}) || c2 != (vg.Point{X: 4, Y: 2}) {
		t.Errorf("raised to %v, %v", c1, c2)
	}
}

func TestNoAlphaReachesAFile(t *testing.T) {
	s := page(t).scene
	s.SetColor(plotter.DefaultGlyphStyle.Color)
	s.SetColor(nil)
	if s.state.colour != rgb(0) {
		t.Errorf("nil is %v, want black", s.state.colour)
	}
	var rec recorder.Canvas
	sample(t, Dark()).Draw(&rec)
	for _, a := range rec.Actions {
		if c, ok := a.(*recorder.SetColor); ok {
			if _, _, _, alpha := c.Color.RGBA(); alpha != 0xffff {
				t.Errorf("colour %v is not opaque", c.Color)
			}
		}
	}
}

func TestPageRefusesAnUnreadableTheme(t *testing.T) {
	if _, err := NewPage(300, Theme{}, nil); fault.KindOf(err) != fault.Usage || err == nil {
		t.Errorf("got %v", err)
	}
}
