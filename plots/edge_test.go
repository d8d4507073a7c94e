package plots

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

// edge is one row of the edge-case table that every figure must pass.
type edge struct {
	name string
	draw func(Options) (*Figure, error)
	says []string   // words that must be drawn
	not  []string   // words that must not be drawn
	kind fault.Kind // kind of the error when fails is set
	err  string     // part of the error; "" means a picture
}

func uniform(n int) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = 1 / float64(n)
	}
	return p
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(" w%d", i)
	}
	return out
}

// oddTokens are tokens that break text drawing: every row of the text rules.
func oddTokens() []string {
	return []string{
		" ", "\n", "\t", "\r", "\x00\x1b", "\xe6\x97", "a\xffb", "\u200b", "\u202eevil", "مرحبا", "שלום", "e\u0301\u0302",
		"\u0301", "😀", "🎉", "天気", "␣", "‹", "<b>&\"'", strings.Repeat("long", 60), "\u00a0", "\ufeff", "\U000e0041", "",
	}
}

func oddReshape() ReshapeData {
	tokens := oddTokens()
	p := make([]float64, len(tokens))
	sum := 0.0
	for i := range p {
		p[i] = math.Pow(0.93, float64(i))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return ReshapeData{
		Prompt: "a\nb\tc\u202ed <&> \xff", Tokens: tokens, Model: p, Top: 24,
		Panels: []ReshapePanel{{Title: "top_p:0.9 <&>\u202e", Sampling: topP(p, 0.9)}, {Title: strings.Repeat("very long title ", 30), Sampling: p}},
	}
}

func reshapeOf(tokens []string, model []float64, samplings ...[]float64) func(Options) (*Figure, error) {
	d := ReshapeData{Tokens: tokens, Model: model}
	for i, s := range samplings {
		d.Panels = append(d.Panels, ReshapePanel{Title: fmt.Sprintf("rule:%d", i+1), Sampling: s})
	}
	return func(o Options) (*Figure, error) { return Reshape(d, o) }
}

func reshapeEdges() []edge {
	w := newWeather(64)
	model := w.at(1)
	holes := w.at(1)
	holes[0], holes[1], holes[2] = math.NaN(), math.Inf(1), math.Inf(-1)
	undefined := []float64{math.NaN(), math.NaN()}
	shifted := append([]float64{0, 1}, make([]float64, 62)...)
	big := newWeather(262144)
	flat := big.at(8)
	many := ReshapeData{Tokens: w.tokens, Model: model}
	for i := range 30 {
		many.Panels = append(many.Panels, ReshapePanel{Title: fmt.Sprintf("top_k:%d", i+1), Sampling: topK(model, i+1)})
	}
	listed := func() ReshapeData {
		d := ReshapeData{Tokens: []string{" a", " b"}, Model: []float64{0.5, 0.3}, Unlisted: 0.2}
		d.Panels = []ReshapePanel{{Title: "top_k:2", Sampling: []float64{0.625, 0.375}}, {Title: "none", Sampling: []float64{0.5, 0.3}, Unlisted: 0.2}}
		return d
	}
	return []edge{
		{name: "no tokens", draw: reshapeOf(nil, nil, nil), says: []string{"no data (no tokens)", "probability", "token, ranked"}},
		{name: "no panels", draw: reshapeOf(w.tokens, model), says: []string{"no data (no rules)"}},
		{name: "everything undefined", draw: reshapeOf([]string{"a", "b"}, undefined, undefined), says: []string{"no data (all 2 probabilities are undefined)"}},
		{name: "one token", draw: reshapeOf([]string{" only"}, []float64{1}, []float64{1}), says: []string{"␣only", "the seed has no effect here"}, not: []string{"removed"}},
		{name: "one survivor", draw: reshapeOf(w.tokens, model, topK(model, 1)), says: []string{"the seed has no effect here", "cut", "1"}},
		{name: "all equal", draw: reshapeOf(numbered(10), uniform(10), topK(uniform(10), 3)), says: []string{"0.10", "×3.33"}},
		{name: "NaN and infinite", draw: reshapeOf(w.tokens, holes, topK(model, 5)), says: []string{"0.32 · model n/a", "n/a: 3 undefined", "Model distribution: 3 of 64 probabilities are undefined and left out"}},
		{name: "NaN in a panel", draw: reshapeOf(w.tokens, model, holes), says: []string{"n/a", "rule:1: 3 of 64 probabilities are undefined and left out"}},
		{name: "zero probabilities", draw: reshapeOf([]string{"a", "b", "c"}, []float64{0.5, 0.5, 0}, []float64{1, 0, 0}), says: []string{"keeps 1 of 2", "cut"}, not: []string{"c", "other 1 token"}},
		{name: "mass where the model has none", draw: reshapeOf(append([]string{}, w.tokens...), topK(model, 1), shifted), says: []string{"adds 1"}},
		{name: "262,144 tokens", draw: func(o Options) (*Figure, error) { return Reshape(weatherReshape(262144), o) }, says: []string{"other 262,128 tokens"}},
		{name: "262,144 tokens, nearly flat", draw: reshapeOf(big.tokens, flat, topP(flat, 0.5)), says: []string{"other 262,128 tokens"}},
		{name: "long, odd and hostile tokens", draw: func(o Options) (*Figure, error) { return Reshape(oddReshape(), o) },
			says: []string{"␣", "↵", "⇥", "‹000D›", "‹0000›‹001B›", "‹E6 97›", "a‹FF›b", "‹200B›", "‹202E›evil", "◌\u0301", "‹1F389›", "‹2423›", "‹2039›", "(empty)"}},
		{name: "30 panels", draw: func(o Options) (*Figure, error) { return Reshape(many, o) }, says: []string{"top_k:30", "top_k:1"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Reshape(weatherReshape(512), o) }, says: []string{"top_p:0.9"}},
		{name: "unlisted tail", draw: func(o Options) (*Figure, error) { return Reshape(listed(), o) }, says: []string{"unlisted", "keeps 2 of the 2 listed · mass 0.80 · ×1.25", "keeps all 2 listed · unchanged", "The backend listed only its likeliest tokens; “unlisted” is the mass of all others."}},
		{name: "negative probability", draw: reshapeOf([]string{"a", "b"}, []float64{1.2, -0.2}, uniform(2)), kind: fault.Data, err: "figure reshape: model: entry 0 is above 1"},
		{name: "negative in a panel", draw: reshapeOf([]string{"a", "b"}, uniform(2), []float64{-0.1, 1}), kind: fault.Data, err: `panel 1 ("rule:1"): entry 0 is negative (-0.1)`},
		{name: "sum not 1", draw: reshapeOf([]string{"a", "b"}, []float64{0.5, 0.4}, uniform(2)), kind: fault.Data, err: "the probabilities sum to 0.9, not to 1"},
		{name: "lengths differ", draw: reshapeOf([]string{"a"}, uniform(2), uniform(2)), kind: fault.Data, err: "2 probabilities for 1 tokens"},
		{name: "panel length differs", draw: reshapeOf([]string{"a", "b"}, uniform(2), uniform(3)), kind: fault.Data, err: "3 probabilities for 2 tokens"},
		{name: "top out of range", draw: func(o Options) (*Figure, error) { d := weatherReshape(64); d.Top = 41; return Reshape(d, o) }, kind: fault.Usage, err: "top: 41 is outside 1 to 40"},
		{name: "width out of range", draw: func(o Options) (*Figure, error) { o.Width = 1; return Reshape(weatherReshape(64), o) }, kind: fault.Usage, err: "width: 1 in is outside 3.5 to 14"},
		{name: "width NaN", draw: func(o Options) (*Figure, error) { o.Width = math.NaN(); return Reshape(weatherReshape(64), o) }, kind: fault.Usage, err: "width"},
	}
}

func temperatureOf(rows ...TemperatureRow) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) {
		return Temperatures(TemperaturesData{Prompt: weatherPrompt, Rows: rows}, o)
	}
}

func temperatureEdges() []edge {
	holes := newWeather(64).at(1)
	holes[3], holes[4] = math.NaN(), math.Inf(-1)
	thirty := make([]float64, 30)
	for i := range thirty {
		thirty[i] = 0.1 * float64(i+1)
	}
	return []edge{
		{name: "no rows", draw: temperatureOf(), says: []string{"no data (no temperatures)", "cumulative mass"}},
		{name: "a row without tokens", draw: temperatureOf(TemperatureRow{Temperature: 1}), says: []string{"no data (no token with a defined probability)"}},
		{name: "one row without tokens among others", draw: temperatureOf(TemperatureRow{Temperature: 1}, TemperatureRow{2, uniform(4)}), says: []string{"T = 1: no tokens, no curve"}},
		{name: "one token", draw: temperatureOf(TemperatureRow{1, []float64{1}}), says: []string{"T = 1: one survivor; the seed has no effect here", "1"}},
		{name: "one survivor at zero", draw: func(o Options) (*Figure, error) { return Temperatures(weatherTemperatures(64, 0, 1), o) }, says: []string{"T = 0: one survivor; the seed has no effect here"}},
		{name: "all equal", draw: temperatureOf(TemperatureRow{0.5, uniform(100)}, TemperatureRow{2, uniform(100)}), says: []string{"From T = 0.5 to 2 the nucleus (top_p 0.9) stays at 90 tokens"}},
		{name: "NaN and infinite", draw: temperatureOf(TemperatureRow{1, holes}), says: []string{"T = 1: 2 of 64 probabilities are undefined and left out", "n/a"}},
		{name: "zero probabilities", draw: temperatureOf(TemperatureRow{1, []float64{0, 0.5, 0, 0.5}}), says: []string{"1.00"}},
		{name: "two tokens", draw: temperatureOf(TemperatureRow{1, uniform(2)}), says: []string{"2"}},
		{name: "1 row", draw: func(o Options) (*Figure, error) { return Temperatures(weatherTemperatures(512, 1), o) }, says: []string{"At T = 1, 14 tokens hold 0.9 of the mass"}},
		{name: "30 rows", draw: func(o Options) (*Figure, error) { return Temperatures(weatherTemperatures(512, thirty...), o) }, says: []string{"30 temperatures, in the table"}},
		{name: "262,144 tokens", draw: func(o Options) (*Figure, error) { return Temperatures(weatherTemperatures(262144, 0.5, 1, 2, 4), o) }, says: []string{"100k"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) {
			o.Width = 3.5
			return Temperatures(weatherTemperatures(512, 0.5, 1, 2), o)
		}, says: []string{"cumulative mass"}},
		{name: "whole nucleus", draw: func(o Options) (*Figure, error) {
			d := weatherTemperatures(64, 1, 2)
			d.TopP = 1
			return Temperatures(d, o)
		}, says: []string{"64"}},
		{name: "negative probability", draw: temperatureOf(TemperatureRow{1, []float64{1.0005, -0.0005}}), kind: fault.Data, err: "row 1: entry 1 is negative"},
		{name: "negative temperature", draw: temperatureOf(TemperatureRow{-1, uniform(2)}), kind: fault.Data, err: "temperature -1"},
		{name: "NaN temperature", draw: temperatureOf(TemperatureRow{math.NaN(), uniform(2)}), kind: fault.Data, err: "temperature NaN"},
		{name: "temperature given twice", draw: temperatureOf(TemperatureRow{1, uniform(2)}, TemperatureRow{1, uniform(2)}), kind: fault.Data, err: "temperature 1 is given twice"},
		{name: "top_p out of range", draw: func(o Options) (*Figure, error) { return Temperatures(TemperaturesData{TopP: 1.5}, o) }, kind: fault.Usage, err: "top_p: 1.5 is outside (0, 1]"},
	}
}

func chainOf(support int, stages ...ChainStage) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) {
		return Chain(ChainData{Prompt: weatherPrompt, Support: support, Stages: stages}, o)
	}
}

func chainEdges() []edge {
	nan := math.NaN()
	var thirty []ChainStage
	for i := range 30 {
		thirty = append(thirty, ChainStage{Name: fmt.Sprintf("top_k:%d", 300-10*i), Mass: 1 - 0.03*float64(i), Support: 300 - 10*i, TV: 0.03, KLBits: 0.04})
	}
	long := ChainStage{Name: strings.Repeat("very_long_sampler_name", 8) + "\u202e\n", Mass: 0.5, Support: 3, TV: 0.5, KLBits: 1}
	return []edge{
		{name: "no stages", draw: chainOf(5), says: []string{"no data (no stages)", "share of the model’s mass", "stage"}},
		{name: "one stage", draw: chainOf(512, ChainStage{"top_k:40", 0.97, 40, 0.03, 0.044}), says: []string{"97\u00a0% · 40 tokens", "0.030 · KL 0.044 bits"}},
		{name: "nothing changes", draw: chainOf(4, ChainStage{"temperature:1", 1, 4, 0, 0}), says: []string{"The chain leaves the distribution as it is"}},
		{name: "one survivor", draw: chainOf(4, ChainStage{"top_k:1", 0.4, 1, 0.6, 1.32}), says: []string{"One token is left: the seed has no effect here.", "40\u00a0% · 1 token"}},
		{name: "almost everything kept", draw: chainOf(4, ChainStage{"top_p:0.9999", 0.99996, 3, 0.00004, 0.00006}), says: []string{"99.996\u00a0% · 3 tokens"}},
		{name: "NaN", draw: chainOf(4, ChainStage{"broken", nan, 3, nan, nan}, ChainStage{"top_k:2", 0.5, 2, 0.2, 0.3}), says: []string{"n/a · 3 tokens", "TV n/a · KL n/a", "3 of 6 values undefined and left out."}},
		{name: "infinite KL", draw: chainOf(4, ChainStage{"adds", 0.5, 3, 0.2, math.Inf(1)}), says: []string{"0.20 · KL ∞"}},
		{name: "tokens brought back", draw: chainOf(4, ChainStage{"top_k:1", 0.4, 1, 0.6, 1.3}, ChainStage{"odd", 0.7, 3, 0.3, 0.2}), says: []string{"odd brings back tokens with 30\u00a0% of the model’s mass."}},
		{name: "30 stages", draw: chainOf(512, thirty...), says: []string{"top_k:300", "top_k:10"}},
		{name: "long and hostile name", draw: chainOf(12, long), says: []string{"50\u00a0% · 3 tokens"}},
		{name: "262,144 tokens", draw: chainOf(262144, ChainStage{"min_p:0.1", 0.8, 262143, 0.2, 0.3}), says: []string{"100\u00a0% · 262,144 tokens"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Chain(weatherChain(), o) }, says: []string{"min_p:0.1"}},
		{name: "odd chosen token", draw: func(o Options) (*Figure, error) {
			d := weatherChain()
			d.Chosen = &ChainChoice{Token: "\xe6\x97", Rank: 2, Prob: 0.1}
			return Chain(d, o)
		}, says: []string{"The selector chose ‹E6 97›, rank 2, with probability 0.10."}},
		{name: "negative mass", draw: chainOf(4, ChainStage{"x", -0.1, 3, 0, 0}), kind: fault.Data, err: `stage 1 ("x"): kept mass -0.1`},
		{name: "TV above one", draw: chainOf(4, ChainStage{"x", 1, 3, 1.1, 0}), kind: fault.Data, err: "TV 1.1 is outside 0 to 1"},
		{name: "negative KL", draw: chainOf(4, ChainStage{"x", 1, 3, 0.1, -0.5}), kind: fault.Data, err: "KL -0.5 bits is negative"},
		{name: "negative support", draw: chainOf(4, ChainStage{"x", 1, -3, 0.1, 0.5}), kind: fault.Data, err: "-3 tokens left"},
		{name: "no support", draw: chainOf(0, ChainStage{"x", 1, 3, 0.1, 0.5}), kind: fault.Data, err: "support"},
		{name: "impossible choice", draw: func(o Options) (*Figure, error) {
			d := weatherChain()
			d.Chosen = &ChainChoice{Rank: 0, Prob: 0.1}
			return Chain(d, o)
		}, kind: fault.Data, err: "rank 0"},
	}
}

// edges returns the edge rows of every figure of the catalogue.
func edges() map[string][]edge {
	rows := textEdges()
	maps.Copy(rows, curveEdges())
	maps.Copy(rows, costEdges())
	maps.Copy(rows, map[string][]edge{reshapeName: reshapeEdges(), temperaturesName: temperatureEdges(), chainName: chainEdges(),
		lineName: xyEdges(Line), scatterName: append(xyEdges(Scatter), scatterEdges()...),
		barName: barEdges(), heatName: heatEdges(), histName: sampleEdges(Hist), ecdfName: append(sampleEdges(Ecdf), ecdfEdges()...), violinName: sampleEdges(Violin)})
	return rows
}

func TestEveryFigureHasEdgeRows(t *testing.T) {
	table := edges()
	for _, e := range Catalogue() {
		rows, err := 0, 0
		for _, r := range table[e.Name] {
			if r.err == "" {
				rows++
			} else {
				err++
			}
		}
		if rows < 10 || err < 3 {
			t.Errorf("%s: %d picture rows and %d error rows", e.Name, rows, err)
		}
	}
	if len(table) != len(Catalogue()) {
		t.Errorf("%d figures have edge rows, the catalogue lists %d", len(table), len(Catalogue()))
	}
}

func TestEdges(t *testing.T) {
	for figure, rows := range edges() {
		for _, r := range rows {
			t.Run(figure+"/"+r.name, func(t *testing.T) {
				t.Parallel() // most of the time goes into pixels
				for _, th := range []Theme{Light(), Dark()} {
					f, err := r.draw(Options{Theme: th, Footer: "run 7 · seed 1"})
					if r.err != "" {
						if err == nil || fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.err) {
							t.Fatalf("got %v (%v), want %v with %q", err, fault.KindOf(err), r.kind, r.err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					checkFigure(t, f, r, th.Name == "light")
				}
			})
		}
	}
}
