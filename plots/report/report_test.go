package report

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/results"
	"lab/core/store"
	"lab/core/trace"
	"lab/plots/canvas"
)

// small is the run of the golden files: it has failures, warnings and a token that
// ends a line.
func small(t testing.TB) *store.Stored {
	return stored(t, made{cells: 4, samples: 3, tokens: 9, failure: "the model gave NaN at step 4", warning: "the prompt was cut"})
}

func TestGoldenPages(t *testing.T) {
	o := Options{Name: "runs/grid", Version: "0.1.0", Examples: DefaultExamples}
	bare := o
	bare.Figures = []string{None} // pictures have golden files of their own, in plots
	r, err := Run(small(t), bare)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "run.html", written(t, r))
	if r, err = Run(small(t), o); err != nil {
		t.Fatal(err)
	}
	text, _ := r.markdown("grid")
	golden(t, "run.md", text)
}

func TestTheSameRunGivesTheSameBytes(t *testing.T) {
	run := small(t)
	var pages [2]string
	for i := range pages {
		r, err := Run(run, Options{Name: "grid", Examples: 4})
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = written(t, r)
	}
	if pages[0] != pages[1] || len(pages[0]) < 100_000 {
		t.Errorf("two reports of one run differ, or lack their figures (%d bytes)", len(pages[0]))
	}
}

// The page says the numbers of core/results, with their intervals.
func TestCellsAreThoseOfResults(t *testing.T) {
	run := small(t)
	names := []string{"distinct_2", "model_surprisal_bits", "kept_mass"}
	r, err := Run(run, Options{Name: "grid", Measures: names, Figures: []string{None}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := results.Cells(run, names, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	g := find(t, r, "results").blocks[0].table
	if len(g.rows) != want.Rows() || want.Rows() != 4 {
		t.Fatalf("%d rows, results has %d", len(g.rows), want.Rows())
	}
	for i, row := range g.rows {
		cells, err := want.Row(i)
		if err != nil {
			t.Fatal(err)
		}
		for k, name := range names {
			got, x := row[len(row)-len(names)+k], cells[name].(float64)
			if got.text != digits(x) {
				t.Errorf("cell %d: %s is %q, want %q", i, name, got.text, digits(x))
			}
			lo, known := cells[name+"_lo"].(float64)
			if known != strings.HasPrefix(got.detail, "["+digits(lo)+", ") {
				t.Errorf("cell %d: the interval of %s is %q, results has %v from %v", i, name, got.detail, known, lo)
			}
		}
		if want := strconv.FormatInt(cells["samples"].(int64), 10); row[3].text != want {
			t.Errorf("cell %d has %s samples, want %s", i, row[3].text, want)
		}
	}
}

func find(t *testing.T, r *Report, id string) section {
	t.Helper()
	for _, s := range r.sections {
		if s.id == id {
			return s
		}
	}
	t.Fatalf("there is no section %q", id)
	return section{}
}

// Examples are chosen by place: an equal share of every cell, or cells at equal
// distances.
func TestExamplesAreChosenByPlace(t *testing.T) {
	rows := []struct {
		name                    string
		cells, samples, example int
		want                    string
	}{
		{"none", 2, 3, 0, ""},
		{"one of each cell", 4, 3, 4, "0/0 1/0 2/0 3/0"},
		{"an equal share", 2, 3, 5, "0/0 0/1 1/0 1/1"},
		{"all there are", 2, 3, 200, "0/0 0/1 0/2 1/0 1/1 1/2"},
		{"cells at equal distances", 6, 1, 3, "0/0 2/0 4/0"},
		{"fewer than cells that do not divide", 5, 1, 2, "0/0 2/0"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r, err := Run(stored(t, made{cells: row.cells, samples: row.samples, tokens: 3}), Options{Name: "g", Examples: row.example, Figures: []string{None}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range r.sections {
				for _, b := range s.blocks {
					if b.tokens != nil {
						got = append(got, strconv.Itoa(b.tokens.cell)+"/"+strconv.Itoa(b.tokens.sample))
					}
				}
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %q, want %q", strings.Join(got, " "), row.want)
			}
		})
	}
}

func TestWhatARunLacksIsSaid(t *testing.T) {
	rows := []struct {
		name  string
		run   made
		o     Options
		wants []string
	}{
		{"an unfinished run", made{cells: 2, samples: 2, tokens: 4, unfinished: true}, Options{Examples: 2}, []string{"The run is not complete: 3 of 4 samples are there."}},
		{"failures", made{cells: 2, samples: 2, tokens: 4, failure: "it broke"}, Options{Examples: 2}, []string{"1 of 4 samples failed", "it broke"}},
		{"no steps", made{cells: 2, samples: 2, tokens: 4, plain: true}, Options{Examples: 2}, []string{"did not record what happened at every step"}},
		{"one token a text has no bigrams", made{cells: 2, samples: 2, tokens: 1}, Options{Examples: 2}, []string{"distinct_2 is defined for no cell.", "n/a"}},
		{"one cell", made{cells: 1, samples: 3, tokens: 5}, Options{Examples: 2, Measures: []string{"length_tokens"}}, []string{"length_tokens is 5.00 over 3 samples."}},
		{"one sample", made{cells: 1, samples: 1, tokens: 5}, Options{Examples: 2, Measures: []string{"length_tokens"}}, []string{"nothing tells how far others would lie"}},
		{"no tokens", made{cells: 2, samples: 2, tokens: 0}, Options{Examples: 2}, []string{"0 tokens"}},
		{"an own finding", made{cells: 2, samples: 2, tokens: 4}, Options{Title: "Of <heat>", Finding: "It is warm."}, []string{"Of &lt;heat&gt;", "It is warm."}},
		{"many cells", made{cells: mostCells + 3, samples: 1, tokens: 3}, Options{Figures: []string{None}}, []string{"Estimates of the other 160 cells", "Not shown: 3 cells"}},
		{"long texts", made{cells: 1, samples: 1, tokens: mostTokens + 7}, Options{Examples: 1, Figures: []string{None}}, []string{"7 more tokens, not shown."}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			row.o.Name = "grid"
			r, err := Run(stored(t, row.run), row.o)
			if err != nil {
				t.Fatal(err)
			}
			page := written(t, r)
			for _, w := range row.wants {
				if !strings.Contains(page, w) {
					t.Errorf("the page does not say %q", w)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	run := stored(t, made{cells: 2, samples: 2, tokens: 4, plain: true})
	damaged := stored(t, made{cells: 2, samples: 2, tokens: 4})
	damaged.Manifest.Used = []byte("[")
	rows := []struct {
		name  string
		f     func() error
		kind  fault.Kind
		wants string
	}{
		{"unknown measure", func() error { _, err := Run(run, Options{Measures: []string{"distinkt_2"}}); return err }, fault.Usage, "distinct_2"},
		{"a measure of steps of a run without", func() error { _, err := Run(run, Options{Measures: []string{"kept_mass"}}); return err }, fault.Usage, "did not record"},
		{"unknown figure", func() error { _, err := Run(run, Options{Figures: []string{"zipff"}}); return err }, fault.Usage, "zipf"},
		{"a figure that the run does not allow", func() error { _, err := Run(run, Options{Figures: []string{"tokens"}}); return err }, fault.Usage, "lacks the columns"},
		{"too few examples", func() error { _, err := Run(run, Options{Examples: -1}); return err }, fault.Usage, "-1 is outside 0 to 200"},
		{"too many examples", func() error { _, err := Script(t.TempDir(), Options{Examples: 201}); return err }, fault.Usage, "201 is outside"},
		{"level", func() error { _, err := Run(run, Options{Interval: measure.Interval{Level: 1}}); return err }, fault.Usage, "level"},
		{"damage", func() error { _, err := Run(damaged, Options{}); return err }, fault.Data, "damaged"},
		{"no folder", func() error { _, err := Script(filepath.Join(t.TempDir(), "none"), Options{}); return err }, fault.Usage, "none"},
		{"an empty folder", func() error { _, err := Script(t.TempDir(), Options{}); return err }, fault.Usage, "run.json"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if err := r.f(); err == nil || !strings.Contains(err.Error(), r.wants) || fault.KindOf(err) != r.kind {
				t.Errorf("got %v, want %s with %q", err, r.kind, r.wants)
			}
		})
	}
}

func TestFormatsOfFiles(t *testing.T) {
	r, err := Run(small(t), Options{Name: "grid", Figures: []string{"zipf", "grid"}, Examples: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if beside, err := r.Save(filepath.Join(dir, "a.HTML")); err != nil || beside != nil {
		t.Errorf("HTML: %v, %v", beside, err)
	}
	beside, err := r.Save(filepath.Join(dir, "my page.md"))
	if err != nil || strings.Join(beside, " ") != "my page-zipf.svg my page-zipf.csv my page-grid.svg my page-grid.csv" {
		t.Fatalf("Markdown: %q, %v", beside, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "my page.md"))
	if err != nil || !strings.Contains(string(text), "](my%20page-zipf.svg)") {
		t.Errorf("the picture is not linked: %v", err)
	}
	for _, name := range beside {
		if i, err := os.Stat(filepath.Join(dir, name)); err != nil || i.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"a.pdf", "a", filepath.Join("none", "a.html"), filepath.Join("none", "a.md")} {
		if _, err := r.Save(filepath.Join(dir, name)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
	}
}

// Numbers that are not finite, and those that only look like 1, are said as what
// they are.
func TestNumbersOfATokenAreHonest(t *testing.T) {
	inf, nan := trace.Real(math.Inf(1)), trace.Real(math.NaN())
	sc := &scale{top: 8}
	rows := []struct {
		name       string
		step       trace.Step
		bits       string
		level      int
		model, cut string
	}{
		{"no distribution is known", trace.Step{Piece: []byte("x")}, "n/a", -1, "", ""},
		{"probability 0", trace.Step{Piece: []byte("x"), Model: &trace.Side{Prob: 0, SurprisalBits: inf, EntropyBits: 1, Support: 2}}, "∞", -1, "0 0 ∞ 1 2", ""},
		{"undefined", trace.Step{Piece: []byte("x"), Model: &trace.Side{Prob: nan, SurprisalBits: nan, Rank: 1, EntropyBits: nan, Support: 2}}, "n/a", -1, "n/a 1 n/a n/a 2", ""},
		{"certain", trace.Step{Piece: []byte("x"), Model: &trace.Side{Prob: 1, SurprisalBits: trace.Real(math.Copysign(0, -1)), Rank: 1, Support: 1}}, "0.0", 0, "1 1 0 0 1", ""},
		{"almost certain", trace.Step{Piece: []byte("x"), Model: &trace.Side{Prob: 0.99999999, SurprisalBits: 1.4427e-8, Rank: 1, EntropyBits: 2e-7, Support: 9}}, "0.0", 0, "0.99999999 1 1.443e-8 2e-7 9", ""},
		{"a token without bytes", trace.Step{Model: &trace.Side{Prob: 0.25, SurprisalBits: 2, Rank: 1234, EntropyBits: 2, Support: 262144}}, "2.0", 2, "0.25 1,234 2 2 262,144", ""},
		{"a cut of next to nothing", trace.Step{Piece: []byte("x"), Stages: []trace.Stage{{Stage: "top_p", SupportBefore: 9, SupportAfter: 8, KeptMass: 1}}}, "n/a", -1, "", "top_p cut 1 token with less than 0.01\u00a0% of the mass"},
		{"two cuts", trace.Step{Piece: []byte("x"), Stages: []trace.Stage{{Stage: "top_k", SupportBefore: 9, SupportAfter: 5, KeptMass: 0.75}, {Stage: "temperature", SupportBefore: 5, SupportAfter: 5, KeptMass: 1}, {Stage: "top_p", SupportBefore: 5, SupportAfter: 3, KeptMass: 0.5}}},
			"n/a", -1, "", "top_k cut 4 tokens with 25\u00a0% of the mass; top_p cut 2 tokens with 50\u00a0% of the mass"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := viewed(&row.step, sc)
			if got.bits != row.bits || got.level != row.level || strings.Join(got.detail.Model, " ") != row.model || got.detail.Cut != row.cut {
				t.Errorf("got %q on level %d, %q, %q", got.bits, got.level, strings.Join(got.detail.Model, " "), got.detail.Cut)
			}
		})
	}
	if got := viewed(&trace.Step{}, sc).shown; got != "∅" {
		t.Errorf("a token without bytes is shown as %q", got)
	}
}

// A thousand samples of 64 tokens make a page that a mail takes.
func TestSizeOfAThousandSamples(t *testing.T) {
	const most = 5_000_000 // bytes, the target of the page
	r, err := Run(stored(t, made{cells: 10, samples: 100, tokens: 64}), Options{Name: "grid", Examples: DefaultExamples})
	if err != nil {
		t.Fatal(err)
	}
	n := len(written(t, r))
	t.Logf("%d bytes", n)
	if n > most || n < 100_000 {
		t.Errorf("%d bytes, want at most %d (and some)", n, most)
	}
}

// Words are read on every level of colour (WCAG 2.2, 1.4.3: 4.5:1), and the levels
// themselves rise with the surprisal.
func TestTokensCanBeRead(t *testing.T) {
	for _, theme := range []canvas.Theme{canvas.Light(), canvas.Dark()} {
		for i := range levels + 1 {
			fill := theme.Sequential(float64(i) / levels)
			if got := canvas.Contrast(textOn(fill), fill); !(got >= 4.5) {
				t.Errorf("%s, level %d: contrast %.2f", theme.Name, i, got)
			}
		}
	}
	sc := &scale{top: 8}
	for bits, want := range map[float64]int{0: 0, 0.4: 0, 1: 1, 7.6: 8, 8: 8, 11: 8} {
		if got := sc.level(bits); got != want {
			t.Errorf("%g bits are on level %d, want %d", bits, got, want)
		}
	}
}
