package plots

import (
	"encoding/hex"
	"math"
	"slices"
	"testing"
)

// exampleText is a text of nineteen tokens with the probabilities that a small
// model might give them, the same in every run.
func exampleText() TokensData {
	d := TokensData{Prompt: weatherPrompt}
	for _, row := range []struct {
		text  string
		model float64
		rank  int
		after float64 // under the sampling distribution
	}{
		{" cold", 0.11, 3, 0.14}, {" and", 0.34, 1, 0.42}, {" bright", 0.012, 14, 0.015}, {",", 0.41, 1, 0.5}, {" with", 0.18, 2, 0.22},
		{" a", 0.44, 1, 0.53}, {" thin", 0.0021, 61, 0.0026}, {" wind", 0.21, 2, 0.27}, {" off", 0.06, 4, 0.07}, {" the", 0.88, 1, 0.97},
		{" har", 0.0008, 118, 0.001}, {"bour", 0.93, 1, 1}, {".", 0.55, 1, 0.66}, {"\n", 0.13, 2, 0.16}, {"To", 0.03, 7, 0.036},
		{"morrow", 0.71, 1, 0.82}, {":", 0.004, 22, 0.005}, {" rain", 0.24, 1, 0.3}, {".", 0.62, 1, 0.71},
	} {
		d.Tokens = append(d.Tokens, TextToken{Text: row.text,
			Model:    TokenSide{Prob: row.model, SurprisalBits: -math.Log2(row.model), Rank: row.rank, EntropyBits: 3.1},
			Sampling: TokenSide{Prob: row.after, SurprisalBits: -math.Log2(row.after), Rank: row.rank, EntropyBits: 2.7},
			Stages:   []TokenStage{{Name: "top_k:200", Before: 512, After: 200, KeptMass: 0.96, ProbBefore: row.model, ProbAfter: min(row.model/0.96, 1)}}})
	}
	return d
}

// manyTokens is a text of n tokens whose surprisals run through a range.
func manyTokens(n int) TokensData {
	d := TokensData{Prompt: weatherPrompt}
	for i := range n {
		p := math.Exp2(-0.1 - 9*math.Pow(math.Sin(float64(i)*0.7), 2))
		side := TokenSide{Prob: p, SurprisalBits: -math.Log2(p), Rank: 1 + i%9, EntropyBits: 3}
		d.Tokens = append(d.Tokens, TextToken{Text: numberedToken(i), Model: side, Sampling: side})
	}
	return d
}

func numberedToken(i int) string {
	list := []string{" the", " weather", ",", " is", " quite", " nice", " today", " and", " cold", ".", "\n"}
	return list[i%len(list)]
}

// exampleSteps is sixteen steps of the weather distribution, sharpened and
// flattened in turn, with the chosen ranks given.
func exampleSteps(n int) HeatStepsData {
	d := HeatStepsData{Prompt: weatherPrompt}
	w := newWeather(64)
	ranks := []int{3, 1, 1, 2, 1, 4, 1, 17, 1, 1, 2, 1, 3, 1, 6, 1}
	for i := range n {
		p := w.at(0.4 + 0.16*float64(i%8))
		order := make([]int, len(p))
		for k := range order {
			order[k] = (k + 5*i) % len(p) // which token has which probability changes from step to step
		}
		s := HeatStep{ChosenRank: ranks[i%len(ranks)]}
		best := sorted(p)
		for k := range 12 {
			s.Likeliest = append(s.Likeliest, HeatToken{Text: w.tokens[order[k]], Prob: best[k]})
		}
		s.ChosenProb = best[s.ChosenRank-1]
		s.Chosen = w.tokens[order[s.ChosenRank-1]]
		d.Steps = append(d.Steps, s)
	}
	return d
}

// oddText is the odd and hostile tokens as a text.
func oddText() TokensData {
	d := TokensData{Prompt: "a\nb\tc\u202ed <&> \xff"}
	for i, token := range oddTokens() {
		p := math.Exp2(-float64(i % 13))
		side := TokenSide{Prob: p, SurprisalBits: float64(i % 13), Rank: i + 1, EntropyBits: 2}
		d.Tokens = append(d.Tokens, TextToken{Text: token, Model: side, Sampling: side})
	}
	return d
}

func withTokens(d TokensData, change func(*TokensData)) TokensData {
	d.Tokens = slices.Clone(d.Tokens)
	change(&d)
	return d
}

// unhex reads a cell of token_hex back.
func unhex(t *testing.T, cell string) string {
	t.Helper()
	raw, err := hex.DecodeString(cell)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
