package plots

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lab/core/fault"
)

func TestSaveTakesTheFormatFromTheName(t *testing.T) {
	f, err := Chain(weatherChain(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	starts := map[string]string{"a.svg": "<?xml", "b.PNG": "\x89PNG", "c.pdf": "%PDF", "d.csv": "order,stage", "e.Txt": "The chain", "f.vl.json": "{\n \"$schema\""}
	for name, start := range starts {
		path := filepath.Join(dir, name)
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), start) {
			t.Errorf("%s starts with %.8q, want %q", name, data, start)
		}
	}
	if len(starts) != len(Formats()) {
		t.Errorf("%d formats tried, there are %v", len(starts), Formats())
	}
	for name, says := range map[string]string{
		"e.jpeg":  `unknown format "jpeg"; end the name in one of .csv, .pdf, .png, .svg`,
		"f":       "no extension to tell the format; end the name in one of",
		"g/h.svg": `there is no folder "` + filepath.Join(dir, "g") + `"`,
	} {
		err := f.Save(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want usage error with %q", name, err, says)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(starts) {
		t.Errorf("%d files, want %d (%v)", len(entries), len(starts), err)
	}
}

// readBack parses CSV with the independent reader.
func readBack(t *testing.T, f *Figure) [][]string {
	t.Helper()
	var buf bytes.Buffer
	if err := f.Table().CSV(&buf); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestTablesComeBackFromCSV(t *testing.T) {
	for figure, rows := range edges() {
		for _, r := range rows {
			if r.err != "" {
				continue
			}
			t.Run(figure+"/"+r.name, func(t *testing.T) {
				f, err := r.draw(Options{})
				if err != nil {
					t.Fatal(err)
				}
				table := f.Table()
				want := append([][]string{table.Header}, table.Rows...)
				if got := readBack(t, f); !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("read back %q, want %q", got, want)
				}
			})
		}
	}
}

func TestTokensComeBackByteForByte(t *testing.T) {
	d := oddReshape()
	f, err := Reshape(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := readBack(t, f)
	at := func(name string) int { return slices.Index(rows[0], name) }
	seen := 0
	for _, row := range rows[1:] {
		if row[at("row")] != "token" {
			continue
		}
		seen++
		i, err := strconv.Atoi(row[at("index")])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(row[at("token_hex")])
		if err != nil || string(raw) != d.Tokens[i] {
			t.Errorf("token %d comes back as %q, want %q (%v)", i, raw, d.Tokens[i], err)
		}
		if p, err := strconv.ParseFloat(row[at("model")], 64); err != nil || p != d.Model[i] {
			t.Errorf("probability of %d comes back as %v, want %v (%v)", i, p, d.Model[i], err)
		}
	}
	if seen != 2*len(d.Tokens) {
		t.Errorf("%d token rows, want %d", seen, 2*len(d.Tokens))
	}
}

func TestTableRefusesCellsThatDoNotSurvive(t *testing.T) {
	for name, table := range map[string]Table{
		"carriage return": {[]string{"a"}, [][]string{{"x\r\ny"}}},
		"invalid bytes":   {[]string{"a"}, [][]string{{"\xff"}}},
		"ragged":          {[]string{"a", "b"}, [][]string{{"x"}}},
	} {
		if err := table.CSV(&bytes.Buffer{}); fault.KindOf(err) != fault.Internal || err == nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTableIsACopy(t *testing.T) {
	f, err := Chain(weatherChain(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Table().Rows[0][0] = "changed"
	if got := f.Table().Rows[0][0]; got != "0" {
		t.Errorf("the figure now says %q", got)
	}
}

// TestReshapeTableAddsUp is the law behind the "other" bar: every panel's rows
// sum to the whole distribution, and the statement follows from them.
func TestReshapeTableAddsUp(t *testing.T) {
	for _, vocabulary := range []int{30, 512, 262144} {
		f, err := Reshape(weatherReshape(vocabulary), Options{})
		if err != nil {
			t.Fatal(err)
		}
		model, sampling := map[string]float64{}, map[string]float64{}
		for _, row := range f.Table().Rows {
			m, err1 := strconv.ParseFloat(row[7], 64)
			s, err2 := strconv.ParseFloat(row[8], 64)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			model[row[0]] += m
			sampling[row[0]] += s
		}
		for _, panel := range []string{"1", "2", "3"} {
			const tol = 1e-9 // summing 262,144 terms in two orders
			if !(math.Abs(model[panel]-1) <= tol) || !(math.Abs(sampling[panel]-1) <= tol) {
				t.Errorf("%d tokens, panel %s: model sums to %v, sampling to %v", vocabulary, panel, model[panel], sampling[panel])
			}
		}
	}
}

// TestReshapeStatesTheIdentities: for a pure truncation TV is the removed mass
// and the common factor is one over the kept mass.
func TestReshapeStatesTheIdentities(t *testing.T) {
	d := weatherReshape(512)
	r, err := newReshape(d)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range r.outcomes[1:] { // top_k and top_p
		const tol = 1e-12 // sums of 512 terms
		if !(math.Abs(o.tv-(1-o.mass)) <= tol) || !(math.Abs(o.factor-1/o.mass) <= tol) {
			t.Errorf("%s: TV %v, kept mass %v, factor %v", d.Panels[i+1].Title, o.tv, o.mass, o.factor)
		}
	}
	if o := r.outcomes[0]; !math.IsNaN(o.factor) || o.kept != 512 {
		t.Errorf("temperature: factor %v, kept %d", o.factor, o.kept)
	}
}

func TestTemperaturesComputesEntropyAndNucleus(t *testing.T) {
	d := TemperaturesData{TopP: 0.75, Rows: []TemperatureRow{{1, []float64{0.25, 0.25, 0, 0.25, 0.25}}, {0.5, []float64{0.125, 0.5, 0.25, 0.125}}}}
	got, err := newTemperatures(d)
	if err != nil {
		t.Fatal(err)
	}
	cold, hot := got.rows[0], got.rows[1]
	if cold.temperature != 0.5 || cold.entropy != 1.75 || cold.nucleus != 2 || cold.reached != 0.75 {
		t.Errorf("cold: %+v", cold)
	}
	if hot.entropy != 2 || hot.nucleus != 3 || hot.reached != 0.75 { // 0.75 exactly is reached by three
		t.Errorf("hot: %+v", hot)
	}
	if d.Rows[0].Probs[0] != 0.25 || d.Rows[1].Probs[0] != 0.125 {
		t.Error("the caller's rows were sorted")
	}
}

func TestDescriptionsCarryTheNumbers(t *testing.T) {
	for name, want := range map[string][]string{
		reshapeName:      {"␣nice 0.20", "top_k:8: keeps 8 of 512 · mass 0.77 · ×1.29", "temperature:0.5: keeps all 512 · TV 0.30"},
		temperaturesName: {"T = 0.3: entropy 1.62 bits, 0.9 nucleus 3 tokens", "likeliest token 0.58"},
		chainName:        {"top_k:40: 99\u00a0% · 40 tokens, TV 0.13 · KL 0.19 bits", "sample chose ␣cold, rank 3"},
	} {
		f, err := goldens()[name](Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(f.Description(), strings.ReplaceAll(w, "\u00a0", " ")) {
				t.Errorf("%s: %q lacks %q", name, f.Description(), w)
			}
		}
		if f.Name() != name || len(f.Faces()) == 0 || f.Faces()[0] != "Liberation Sans Bold" {
			t.Errorf("%s: name %q, faces %v", name, f.Name(), f.Faces())
		}
	}
}

func TestOwnWordsReplaceTheGenerated(t *testing.T) {
	f, err := Reshape(weatherReshape(64), Options{Title: "My finding", Subtitle: "my data", Footer: "my run", Width: 5})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, w := range f.picture.Words() {
		texts = append(texts, w.Text)
	}
	for _, w := range []string{"My finding", "my data", "my run"} {
		if !slices.Contains(texts, w) {
			t.Errorf("%q is not drawn", w)
		}
	}
	if w, _ := f.Size(); f.Title() != "My finding" || w != 5 {
		t.Errorf("title %q, width %g", f.Title(), w)
	}
}

func TestOptionsRefuseAnUnreadableTheme(t *testing.T) {
	th := Dark()
	th.Ink = th.Background
	_, err := Chain(weatherChain(), Options{Theme: th})
	if fault.KindOf(err) != fault.Usage || err == nil || !strings.Contains(err.Error(), "ink has contrast 1.00:1") {
		t.Errorf("got %v", err)
	}
	if _, err := ThemeNamed("dusk"); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
	if got := ThemeNames(); !slices.Equal(got, []string{"light", "dark", "print"}) {
		t.Errorf("themes %v", got)
	}
}

// TestAPanicBecomesAnError: Options cannot make a figure panic, so the guard is
// shown on its own.
func TestAPanicBecomesAnError(t *testing.T) {
	draw := func() (err error) {
		defer guard("x", &err)
		panic("boom")
	}
	if err := draw(); err == nil || fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "figure x: boom") {
		t.Errorf("got %v", err)
	}
}

// floats reads probabilities from fuzz bytes: each byte one of a few nasty or a
// plain value.
func floats(data []byte) []float64 {
	nasty := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), -1, 1, 1e-300, 0.5}
	out := make([]float64, len(data))
	sum := 0.0
	for i, b := range data {
		out[i] = float64(b)
		if int(b) < len(nasty) {
			out[i] = nasty[b]
		}
		if out[i] > 0 && !math.IsInf(out[i], 0) {
			sum += out[i]
		}
	}
	for i := range out {
		if sum > 0 && out[i] > 0 {
			out[i] /= sum
		}
	}
	return out
}

func FuzzFiguresNeverPanic(f *testing.F) {
	f.Add([]byte{200, 100, 50}, "a b", 0.5, 3)
	f.Add([]byte{0, 1, 2, 3, 200}, "\xff\u202e\n", math.NaN(), -1)
	f.Add([]byte{}, "", 0.0, 0)
	f.Add([]byte{255}, "x", 1.0, 1)
	f.Fuzz(func(t *testing.T, data []byte, text string, v float64, n int) {
		if len(data) > 300 {
			data = data[:300]
		}
		p := floats(data)
		tokens := make([]string, len(p))
		for i := range tokens {
			tokens[i] = text + string(rune(i))
		}
		other := slices.Clone(p)
		slices.Reverse(other)
		figures := []func() (*Figure, error){
			func() (*Figure, error) {
				return Reshape(ReshapeData{Prompt: text, Tokens: tokens, Model: p, Panels: []ReshapePanel{{text, other, 0}, {"", p, 0}}, Top: n}, Options{Width: 3.5})
			},
			func() (*Figure, error) {
				return Temperatures(TemperaturesData{Prompt: text, Rows: []TemperatureRow{{v, p}, {1, other}}, TopP: v}, Options{Width: 3.5})
			},
			func() (*Figure, error) {
				return Chain(ChainData{text, n, []ChainStage{{text, v, n, v, v}, {"", 0.5, 1, 0.5, math.Inf(1)}}, &ChainChoice{text, text, n, v}}, Options{Width: 3.5})
			},
		}
		for i, draw := range figures {
			fig, err := draw()
			if err != nil {
				if fault.KindOf(err) == fault.Internal {
					t.Errorf("figure %d: %v", i, err)
				}
				continue
			}
			insidePage(t, fig)
			nothingOverlaps(t, fig)
			if err := fig.Table().CSV(&bytes.Buffer{}); err != nil {
				t.Errorf("figure %d: %v", i, err)
			}
		}
	})
}
