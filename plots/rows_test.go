package plots

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"lab/plots/canvas"
)

// textsOf returns the words of a picture, each as it stands there.
func textsOf(t *testing.T, f *Figure, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`(?s)<text[^>]*>(.*?)</text>`).FindAllStringSubmatch(b.String(), -1) {
		out = append(out, html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], "")))
	}
	return out
}

// Chains differ in their middle or at their end: no row loses a letter of one of
// two lines.
func TestNamesOfRowsAreWholeOnTwoLines(t *testing.T) {
	chains := []string{"temperature:0.5 | sample", "temperature:1.5 | top_k:40 | top_p:0.95 | min_p:0.02 | sample", "temperature:1.5 | top_k:40 | top_p:0.9 | min_p:0.02 | sample"}
	d := BarData{Value: Quantity{Name: "m"}}
	samples := SampleData{Value: Quantity{Name: "m"}}
	bill := CostBillData{Unit: "tokens", Parts: []string{"decode"}}
	heat := HeatData{Value: Quantity{Name: "m"}, X: Quantity{Name: "x"}, Y: Quantity{Name: "chain"}, Columns: []string{"1"}, Rows: chains, Panels: []HeatPanel{{Cells: [][]float64{{1}, {2}, {3}}}}}
	drivers := CostDriversData{Outcome: Quantity{Name: "m"}, Median: 1}
	for i, c := range chains {
		d.Bars = append(d.Bars, CategoryBar{Name: c, Value: float64(i + 1)})
		samples.Samples = append(samples.Samples, Sample{Name: c, Values: []float64{1, 2, 3}})
		bill.Bars = append(bill.Bars, CostBar{Name: c, Values: []float64{float64(i + 1)}})
		drivers.Factors = append(drivers.Factors, CostFactor{Name: c, AtLo: 0.5, AtHi: 2})
	}
	o := Options{LiveText: true, Width: 5.2}
	for name, draw := range map[string]func() (*Figure, error){
		"bar":          func() (*Figure, error) { return Bar(d, o) },
		"violin":       func() (*Figure, error) { return Violin(samples, o) },
		"heat":         func() (*Figure, error) { return Heat(heat, o) },
		"cost_bill":    func() (*Figure, error) { return CostBill(bill, o) },
		"cost_drivers": func() (*Figure, error) { o := o; o.Width = 7; return CostDrivers(drivers, o) },
	} {
		f, err := draw()
		texts := textsOf(t, f, err)
		for _, c := range chains {
			if slices.Contains(texts, c) {
				continue
			}
			found := false
			for i, a := range texts {
				for j, b := range texts {
					found = found || i != j && a+" "+b == c
				}
			}
			if !found {
				t.Errorf("%s: %q is not there whole: %q", name, c, texts)
			}
		}
	}
}

// What two lines cannot hold is cut in its middle, and no line is wider than its
// room.
func TestRowNamesKeepToTheirRoom(t *testing.T) {
	p, _, err := Options{}.sheet("bar", 5.2, "t", "s")
	if err != nil {
		t.Fatal(err)
	}
	st := p.Ink(canvas.Sans, canvas.TickSize)
	for _, name := range []string{"", "a", strings.Repeat("long ", 60), strings.Repeat("x", 300), "temperature:1.5 | top_k:40 | top_p:0.95 | min_p:0.02 | sample"} {
		for _, pitch := range []float64{5, 30} {
			for _, most := range []float64{20, 90, 150} {
				lines := rowName(p, name, st, vg.Length(most), vg.Length(pitch))
				if len(lines) == 0 || len(lines) > 2 || len(lines) == 2 && pitch < float64(rowTwo) {
					t.Fatalf("%d lines at a pitch of %v", len(lines), pitch)
				}
				whole := ""
				for _, l := range lines {
					if l.Width() > vg.Length(most) {
						t.Errorf("%q is %v wide, its room is %v", l.Text(), l.Width(), most)
					}
					whole += l.Text()
				}
				if cut := strings.Contains(whole, "…"); cut != (len(strings.ReplaceAll(whole, " ", "")) < len(strings.ReplaceAll(name, " ", ""))) && whole != "" {
					t.Errorf("%q became %q", name, whole)
				}
			}
		}
	}
}
