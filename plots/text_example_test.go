package plots

import (
	"encoding/hex"
	"math"
	"slices"
	"testing"
)

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
