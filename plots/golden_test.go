package plots

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the golden pictures anew; look at them before committing")

const goldenFooter = "lab · weather example · model grammar · seed 7"

// goldens are the pictures kept, one per figure, drawn in each theme: the
// examples of the catalogue.
func goldens() map[string]func(Options) (*Figure, error) {
	out := map[string]func(Options) (*Figure, error){}
	for _, e := range Catalogue() {
		if e.Example != nil {
			out[e.Name] = e.Example
		}
	}
	return out
}

func golden(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	return want
}

func TestGoldenSVG(t *testing.T) {
	for _, e := range Catalogue() {
		draw, ok := goldens()[e.Name]
		if !ok {
			t.Errorf("%s has no golden picture", e.Name)
			continue
		}
		for _, th := range []Theme{Light(), Dark()} {
			name := e.Name + "-" + th.Name + ".svg"
			t.Run(name, func(t *testing.T) {
				f, err := draw(Options{Theme: th, Footer: goldenFooter})
				if err != nil {
					t.Fatal(err)
				}
				var buf bytes.Buffer
				if err := f.SVG(&buf); err != nil {
					t.Fatal(err)
				}
				if want := golden(t, name, buf.Bytes()); !bytes.Equal(want, buf.Bytes()) {
					t.Errorf("the picture changed (%d bytes, golden %d); if that is wanted, run go test -update and look at it", buf.Len(), len(want))
				}
			})
		}
	}
}

// The theme for paper has no colour in any picture, and its lines differ in dash.
func TestPrintHasNoColours(t *testing.T) {
	for name, draw := range goldens() {
		f, err := draw(Options{Theme: Print(), Footer: goldenFooter})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := f.SVG(&buf); err != nil {
			t.Fatal(err)
		}
		colours := regexp.MustCompile(`(?:fill|stroke)="#([0-9A-Fa-f]{2})([0-9A-Fa-f]{2})([0-9A-Fa-f]{2})"`).FindAllSubmatch(buf.Bytes(), -1)
		if len(colours) < 10 {
			t.Errorf("%s: only %d colours found", name, len(colours))
		}
		for _, c := range colours {
			if !bytes.Equal(c[1], c[2]) || !bytes.Equal(c[2], c[3]) {
				t.Errorf("%s: %s is not a grey", name, c[0])
				break
			}
		}
		if name == lineName && bytes.Count(buf.Bytes(), []byte("stroke-dasharray")) < 4 {
			t.Error("the lines have no dashes")
		}
	}
}

// pixelTolerance is the mean difference over all channels, of 255, that a golden
// PNG may have: the last digit of a coordinate moves it by less, a lost word by
// more (TestALostWordIsSeen).
const pixelTolerance = 0.02

func TestGoldenPNG(t *testing.T) {
	f, err := goldens()[chainName](Options{Footer: goldenFooter})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := f.PNG(&buf); err != nil {
		t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(golden(t, "chain-light.png", buf.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if d := meanDifference(t, got, want); !(d <= pixelTolerance) {
		t.Errorf("the pixels differ by %.3f on average, want at most %g", d, pixelTolerance)
	}
}

func meanDifference(t *testing.T, a, b image.Image) float64 {
	t.Helper()
	if a.Bounds() != b.Bounds() {
		t.Fatalf("%v and %v differ in size", a.Bounds(), b.Bounds())
	}
	sum, n := 0.0, 0
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			ar, ag, ab, _ := a.At(x, y).RGBA()
			br, bg, bb, _ := b.At(x, y).RGBA()
			for _, d := range [3]float64{float64(ar) - float64(br), float64(ag) - float64(bg), float64(ab) - float64(bb)} {
				sum += math.Abs(d) / 257
				n++
			}
		}
	}
	return sum / float64(n)
}

func TestALostWordIsSeen(t *testing.T) {
	pictures := make([]image.Image, 2)
	for i, subtitle := range []string{"One step", "One step after"} {
		f, err := goldens()[chainName](Options{Subtitle: subtitle})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := f.PNG(&buf); err != nil {
			t.Fatal(err)
		}
		if pictures[i], err = png.Decode(&buf); err != nil {
			t.Fatal(err)
		}
	}
	if d := meanDifference(t, pictures[0], pictures[1]); !(d > pixelTolerance) {
		t.Errorf("a word less makes a difference of %.3f, within the tolerance of %g", d, pixelTolerance)
	}
}
