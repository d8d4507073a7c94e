package plots

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/plots/vega"
)

// specOf returns the specification of an example, all its views, and its SVG
// with words as text.
func specOf(t *testing.T, name string) (spec vega.Spec, views []vega.Spec, svg string) {
	t.Helper()
	f, err := goldens()[name](Options{LiveText: true, Width: 14})
	if err != nil {
		t.Fatal(err)
	}
	var text, picture bytes.Buffer
	if err := f.VegaLite(&text); err != nil {
		t.Fatal(err)
	}
	if err := f.SVG(&picture); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &spec); err != nil {
		t.Fatal(err)
	}
	var walk func(s vega.Spec)
	walk = func(s vega.Spec) {
		if s.Mark != nil {
			views = append(views, s)
		}
		for _, list := range [][]vega.Spec{s.Layer, s.Concat, s.HConcat} {
			for _, one := range list {
				walk(one)
			}
		}
		if s.Spec != nil {
			walk(*s.Spec)
		}
	}
	walk(spec)
	return spec, views, html.UnescapeString(picture.String())
}

// What a specification says of an axis is what the picture says of it: the title
// is there word for word, and a scale is logarithmic where the title says so.
func TestAxesElsewhereAreThoseOfThePicture(t *testing.T) {
	for _, e := range costCatalogue() {
		_, views, svg := specOf(t, e.Name)
		seen := 0
		for _, v := range views {
			for _, c := range []*vega.Channel{v.Encoding.X, v.Encoding.Y} {
				if c == nil || c.Type != "quantitative" {
					continue
				}
				seen++
				title, _ := c.Title.(string)
				if title == "" || !strings.Contains(svg, title) {
					t.Errorf("%s: a %s is titled %q, which the picture does not say", e.Name, v.Mark.Type, title)
				}
				if log := c.Scale != nil && c.Scale.Type == "log"; log != strings.Contains(title, "(log scale)") {
					t.Errorf("%s: a %s has a logarithmic scale %v, its title is %q", e.Name, v.Mark.Type, log, title)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s has no axis of numbers", e.Name)
		}
	}
}

// Every cost figure has its own marks elsewhere, not the points of its table.
func TestCostFiguresHaveTheirMarksElsewhere(t *testing.T) {
	for name, want := range map[string][]string{
		costLifetimeName:    {"area", "line", "point", "rule", "text"},
		costBatchName:       {"line", "point", "rule", "text"},
		costContextName:     {"line", "point", "text"},
		costStepName:        {"bar", "line", "point", "rule"},
		costFrontierName:    {"line", "point", "rule", "text"},
		costRooflineName:    {"line", "point", "text"},
		costQualityName:     {"line", "point", "rule", "text"},
		costBillName:        {"bar", "point", "rule"},
		costGrowthName:      {"line", "point", "rect", "text"},
		costOptimumName:     {"line", "point"},
		costSpeculativeName: {"line", "point", "rect", "text"},
		costDriversName:     {"bar", "rule", "text"},
	} {
		spec, views, _ := specOf(t, name)
		if spec.Config.Legend.SymbolOpacity != 1 {
			t.Errorf("%s: the legend may be as pale as a band", name)
		}
		got := map[string]bool{}
		for _, v := range views {
			got[v.Mark.Type] = true
		}
		if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, want) {
			t.Errorf("%s has the marks %q, want %q", name, list, want)
		}
	}
}

// Every row belongs to one layer that some view draws, and every number of the
// data table is among the rows.
func TestEveryRowIsDrawnElsewhere(t *testing.T) {
	for _, name := range []string{costLifetimeName, costBatchName, costContextName, costFrontierName, costRooflineName, costQualityName, costGrowthName, costOptimumName, costSpeculativeName} {
		spec, views, _ := specOf(t, name)
		layers := map[string]int{}
		for _, v := range views {
			for _, f := range v.Transform {
				layers[f.Filter.Equal.(string)] = 0
			}
		}
		for _, row := range spec.Data.Values {
			layer, _ := row["layer"].(string)
			if _, known := layers[layer]; !known {
				t.Errorf("%s: no view draws the row %v", name, row)
			}
			layers[layer]++
		}
		for layer, n := range layers {
			if n == 0 && layer != "0" {
				t.Errorf("%s: the view of layer %s has no rows", name, layer)
			}
		}
	}
}

// The dot of the crossover lies where the line of inference meets the level of
// training.
func TestTheCrossoverIsMarkedElsewhere(t *testing.T) {
	d := exampleLifetime()
	found, err := d.find()
	if err != nil {
		t.Fatal(err)
	}
	spec, _, _ := specOf(t, costLifetimeName)
	n := 0
	for _, row := range spec.Data.Values {
		if row["series"] == "crossover" {
			n++
			x, _ := row["tokens"].(float64)
			y, _ := row["cost"].(float64)
			if !(math.Abs(x/found.at-1) <= 1e-12) || !(math.Abs(y/d.Training-1) <= 1e-12) { // both are written with all their digits
				t.Errorf("the crossover is marked at %v, %v, want %v, %v", x, y, found.at, d.Training)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d crossovers", n)
	}
}

// The parts of a bar stand on each other from zero, and the last one ends at their
// sum.
func TestPartsOfABarStandOnEachOtherElsewhere(t *testing.T) {
	for _, name := range []string{costStepName, costBillName} {
		spec, _, _ := specOf(t, name)
		ends, sums, total := map[any]float64{}, map[any]float64{}, 0
		bar := map[string]string{costStepName: "context", costBillName: "strategy"}[name]
		value := map[string]string{costStepName: "ms", costBillName: "cost"}[name]
		for _, row := range spec.Data.Values {
			if row["order"] == "total" {
				total++
				continue
			}
			from, to, v := row["from"].(float64), row["to"].(float64), row[value].(float64)
			if from != ends[row[bar]] {
				t.Errorf("%s: %v begins at %v, want %v", name, row["part"], from, ends[row[bar]])
			}
			ends[row[bar]] = to
			sums[row[bar]] += v
		}
		for b, end := range ends {
			if !(math.Abs(end-sums[b]) <= 1e-12*sums[b]) { // the same additions in the same order
				t.Errorf("%s: bar %v ends at %v, its parts add to %v", name, b, end, sums[b])
			}
		}
		if len(ends) == 0 || total == 0 {
			t.Errorf("%s: %d bars, %d totals", name, len(ends), total)
		}
	}
}

// The frame around the best cell is around that cell elsewhere too.
func TestTheBestCellIsFramedElsewhere(t *testing.T) {
	d := exampleGrid(6, 4)
	g, err := newSweepGrid(d)
	if err != nil {
		t.Fatal(err)
	}
	b := d.Cells[g.best]
	_, views, _ := specOf(t, gridName)
	var frames [][]any
	for _, v := range views {
		if v.Mark.Fill == "transparent" {
			var cell []any
			for _, f := range v.Transform {
				cell = append(cell, f.Filter.Equal)
			}
			frames = append(frames, cell)
		}
	}
	if want := []any{d.XNames[b.X], d.YNames[b.Y]}; len(frames) != 1 || !slices.Equal(frames[0], want) {
		t.Errorf("framed %v, the best is %v", frames, want)
	}
}
