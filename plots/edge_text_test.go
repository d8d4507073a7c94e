package plots

import (
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

// The edge rows of the figures of one text: tokens and heat_steps.

func textEdges() map[string][]edge {
	return map[string][]edge{
		tokensName:    tokensEdges(),
		heatStepsName: heatStepsEdges(),
	}
}

func tokensOf(d TokensData) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) { return Tokens(d, o) }
}

// alone is a text of tokens with the given surprisals.
func alone(bits ...float64) TokensData {
	d := TokensData{}
	for i, b := range bits {
		side := TokenSide{Prob: math.Exp2(-b), SurprisalBits: b, Rank: i + 1, EntropyBits: math.NaN()}
		d.Tokens = append(d.Tokens, TextToken{Text: " w", Model: side, Sampling: UnknownSide()})
	}
	return d
}

func tokensEdges() []edge {
	nan := math.NaN()
	sampling := exampleText()
	sampling.Sampling = true
	later := manyTokens(5000)
	later.First, later.Most = 4990, 50
	hundreds := manyTokens(4000)
	hundreds.Most = 500
	long := exampleText()
	long.Prompt = strings.Repeat("and then it rained for another day ", 100)
	bad := func(change func(*TokensData)) func(Options) (*Figure, error) {
		return tokensOf(withTokens(exampleText(), change))
	}
	return []edge{
		{name: "empty", draw: tokensOf(TokensData{Prompt: weatherPrompt}), says: []string{"no data (no tokens)", "surprisal, bits"}},
		{name: "one token", draw: tokensOf(alone(2)), says: []string{"The token “␣w” carries 2.0 bits", "2.0"}, not: []string{"0.0"}},
		{name: "all certain", draw: tokensOf(alone(0, 0, 0)), says: []string{"0.0", "1"}},
		{name: "all equal", draw: tokensOf(alone(3, 3, 3)), says: []string{"3.0 bits a token on average"}},
		{name: "undefined", draw: tokensOf(alone(1, nan, nan)), says: []string{"n/a", "2 of 3 tokens have no surprisal (n/a)."}},
		{name: "everything undefined", draw: tokensOf(alone(nan)), says: []string{"Surprisal of each token", "1 of 1 token has no surprisal (n/a)."}},
		{name: "infinite", draw: tokensOf(alone(1, math.Inf(1))), says: []string{"∞", "1 of 2 tokens has probability 0 under the model distribution: infinite surprisal (∞)."}},
		{name: "huge surprisal", draw: tokensOf(alone(1, 900.25)), says: []string{"900", "1.02k"}},
		{name: "sampling distribution", draw: tokensOf(sampling), says: []string{"under the sampling distribution", "2.8"}},
		{name: "a later part", draw: tokensOf(later), says: []string{"Tokens 4,991 to 5,000 of 5,000"}},
		{name: "500 cells", draw: tokensOf(hundreds), says: []string{"Tokens 1 to 500 of 4,000"}},
		{name: "262,144 tokens", draw: tokensOf(manyTokens(262144)), says: []string{"Tokens 1 to 400 of 262,144"}},
		{name: "long prompt", draw: tokensOf(long), says: []string{"Of the prompt the end is shown.", "␣rained"}},
		{name: "long, odd and hostile tokens", draw: tokensOf(oddText()), says: []string{"↵", "⇥", "‹000D›", "‹0000›‹001B›", "‹E6 97›", "‹202E›evil", "(empty)"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Tokens(exampleText(), o) }, says: []string{"␣har"}},
		{name: "negative surprisal", draw: tokensOf(alone(1, -2)), kind: fault.Data, err: "probability 4 is outside 0 to 1"},
		{name: "surprisal of another probability", draw: bad(func(d *TokensData) { d.Tokens[3].Model.SurprisalBits = 4 }), kind: fault.Data,
			err: `figure tokens: token 3 (","), model distribution: surprisal 4 bits belongs to another probability than 0.41`},
		{name: "negative rank", draw: bad(func(d *TokensData) { d.Tokens[0].Sampling.Rank = -1 }), kind: fault.Data, err: "rank -1 is negative"},
		{name: "negative entropy", draw: bad(func(d *TokensData) { d.Tokens[0].Model.EntropyBits = -1 }), kind: fault.Data, err: "entropy -1 bits is negative"},
		{name: "first out of range", draw: bad(func(d *TokensData) { d.First = 19 }), kind: fault.Usage, err: "first: 19 is outside 0 to 18"},
		{name: "most out of range", draw: bad(func(d *TokensData) { d.Most = 5000 }), kind: fault.Usage, err: "most: 5000 is outside 1 to 500"},
	}
}

func stepsOf(d HeatStepsData) func(Options) (*Figure, error) {
	return func(o Options) (*Figure, error) { return HeatSteps(d, o) }
}

func heatStepsEdges() []edge {
	nan := math.NaN()
	one := func(s HeatStep) func(Options) (*Figure, error) {
		return stepsOf(HeatStepsData{Steps: []HeatStep{s}})
	}
	list := []HeatToken{{" a", 0.6}, {" b", 0.3}}
	many := exampleSteps(400)
	many.Most, many.Ranks = 26, 12
	later := exampleSteps(100)
	later.First = 90
	odd := HeatStepsData{Prompt: "\xff\u202e"}
	for _, token := range oddTokens() {
		odd.Steps = append(odd.Steps, HeatStep{Likeliest: []HeatToken{{token, 0.5}}, Chosen: token, ChosenRank: 1, ChosenProb: 0.5})
	}
	change := func(f func(*HeatStepsData)) func(Options) (*Figure, error) {
		d := exampleSteps(4)
		f(&d)
		return stepsOf(d)
	}
	return []edge{
		{name: "empty", draw: stepsOf(HeatStepsData{}), says: []string{"no data (no steps)", "rank", "step"}},
		{name: "one step", draw: one(HeatStep{Likeliest: list, Chosen: " a", ChosenRank: 1, ChosenProb: 0.6}),
			says: []string{"The likeliest token was chosen", "0.60", "n/a", "3 cells have no token: the distribution has fewer, or no more were recorded."}},
		{name: "one survivor", draw: one(HeatStep{Likeliest: []HeatToken{{" a", 1}}, Chosen: " a", ChosenRank: 1, ChosenProb: 1}), says: []string{"1", "␣a"}},
		{name: "all equal", draw: one(HeatStep{Likeliest: []HeatToken{{"a", 0.2}, {"b", 0.2}, {"c", 0.2}, {"d", 0.2}, {"e", 0.2}}, Chosen: "e", ChosenRank: 5, ChosenProb: 0.2}),
			says: []string{"The token of rank 5 was chosen"}, not: []string{"n/a"}},
		{name: "no token at all", draw: one(HeatStep{Chosen: " x", ChosenProb: nan}), says: []string{"n/a", "␣x", "5 cells have no token"}},
		{name: "undefined", draw: one(HeatStep{Likeliest: []HeatToken{{" a", 0.6}, {" b", nan}}, Chosen: " a", ChosenRank: 1, ChosenProb: 0.6}),
			says: []string{"1 probability value is undefined (n/a)."}},
		{name: "zero probabilities", draw: one(HeatStep{Likeliest: []HeatToken{{" a", 1}, {" b", 0}}, Chosen: " a", ChosenRank: 1, ChosenProb: 1}), says: []string{"0"}},
		{name: "a chosen token of a low rank", draw: one(HeatStep{Likeliest: list, Chosen: " z", ChosenRank: 250000, ChosenProb: 1e-9}), says: []string{"␣z", "rank 250k"}},
		{name: "a chosen token of unknown rank", draw: one(HeatStep{Likeliest: list, Chosen: " z", ChosenProb: 1e-9}), says: []string{"1.0e-9", "The likeliest tokens at each step"}},
		{name: "all likeliest", draw: stepsOf(HeatStepsData{Steps: []HeatStep{{Likeliest: list, Chosen: " a", ChosenRank: 1}, {Likeliest: list, Chosen: " a", ChosenRank: 1}}}), says: []string{"at all 2 steps"}},
		{name: "26 steps, 12 ranks", draw: stepsOf(many), says: []string{"Steps 1 to 26 of 400", "12 likeliest tokens"}},
		{name: "20,000 steps", draw: stepsOf(exampleSteps(20000)), says: []string{"Steps 1 to 48 of 20,000"}},
		{name: "a later part", draw: stepsOf(later), says: []string{"Steps 91 to 100 of 100"}},
		{name: "long, odd and hostile tokens", draw: stepsOf(odd), says: []string{"↵", "⇥", "‹E6 97›", "(empty)"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return HeatSteps(exampleSteps(16), o) }, says: []string{"rank 17"}},
		{name: "rising probabilities", draw: one(HeatStep{Likeliest: []HeatToken{{"a", 0.2}, {"b", 0.3}}}), kind: fault.Data, err: "step 0: rank 2 has probability 0.3, more than rank 1 with 0.2"},
		{name: "negative probability", draw: one(HeatStep{Likeliest: []HeatToken{{"a", -0.2}}}), kind: fault.Data, err: "probability -0.2 of rank 1"},
		{name: "sum above one", draw: one(HeatStep{Likeliest: []HeatToken{{"a", 0.9}, {"b", 0.2}}}), kind: fault.Data, err: "sum to 1.1, more than 1"},
		{name: "another token at the chosen rank", draw: one(HeatStep{Likeliest: list, Chosen: " b", ChosenRank: 1}), kind: fault.Data, err: `the chosen token " b" has rank 1, where the list has " a"`},
		{name: "negative rank", draw: one(HeatStep{Likeliest: list, Chosen: " b", ChosenRank: -1}), kind: fault.Data, err: "rank -1"},
		{name: "ranks out of range", draw: change(func(d *HeatStepsData) { d.Ranks = 13 }), kind: fault.Usage, err: "ranks: 13 is outside 1 to 12"},
		{name: "too many cells", draw: change(func(d *HeatStepsData) { d.Most = 65 }), kind: fault.Usage, err: "most: 65 steps of 5 ranks are outside 1 to 320 cells"},
		{name: "unknown distribution", draw: change(func(d *HeatStepsData) { d.Distribution = "modell" }), kind: fault.Usage, err: `did you mean "model"`},
		{name: "first out of range", draw: change(func(d *HeatStepsData) { d.First = -1 }), kind: fault.Usage, err: "first: -1"},
	}
}

func TestTheTextOfATokensFigureIsWhole(t *testing.T) {
	for _, d := range []TokensData{exampleText(), oddText()} {
		f, err := Tokens(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		table := f.Table()
		if len(table.Rows) != len(d.Tokens) {
			t.Fatalf("%d rows for %d tokens", len(table.Rows), len(d.Tokens))
		}
		for i, row := range table.Rows {
			if got := unhex(t, row[2]); got != d.Tokens[i].Text {
				t.Errorf("token %d is %q, the table gives back %q", i, d.Tokens[i].Text, got)
			}
		}
		if got := strings.Join(words(d.Prompt), ""); got != d.Prompt {
			t.Errorf("the words of the prompt %q join to %q", d.Prompt, got)
		}
	}
	row := exampleTable(t)[0]
	if got, want := row[len(row)-1], "top_k:200: 512 to 200 tokens, kept 0.96, chosen 0.11 to 0.11458333333333334"; got != want {
		t.Errorf("stages %q, want %q", got, want)
	}
}

func exampleTable(t *testing.T) [][]string {
	t.Helper()
	f, err := Tokens(exampleText(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f.Table().Rows
}

func TestTheScaleOfSurprisalHoldsItsValues(t *testing.T) {
	last := 0.0
	for v := 0.0; v < 2000; v += 0.37 {
		end := scaleEnd(v)
		if !(end >= v) || end < last {
			t.Errorf("the scale for %v ends at %v, before it at %v", v, end, last)
		}
		last = end
	}
}
