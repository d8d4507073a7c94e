package plots

import (
	"io"
	"testing"
)

// BenchmarkFigure measures each figure on a vocabulary of 262,144, from data to
// a written SVG; the aim is 300 ms.
func BenchmarkFigure(b *testing.B) {
	reshape := weatherReshape(262144)
	temperatures := weatherTemperatures(262144, 0.3, 0.7, 1, 1.5, 2)
	chain := weatherChain()
	text, steps := manyTokens(262144), exampleSteps(20000)
	zipf := ZipfData{Texts: []ZipfText{{Name: "text", Counts: zipfCounts(1e7, 1, 262144)}}}
	loops := RepetitionData{Strategies: []RepetitionStrategy{{Name: "loop", Samples: [][]int32{loopingText(262144, 100000, 300, 1)}}}}
	pairs := PairsData{Pairs: []Pair{{A: loopingText(262144, 0, 1, 1), B: loopingText(262144, 0, 1, 2)}}}
	entropy := exampleEntropy(12, 0.2, 0.5, 1, 1.5, 2)
	rows := []struct {
		name string
		draw func() (*Figure, error)
	}{
		{reshapeName, func() (*Figure, error) { return Reshape(reshape, Options{}) }},
		{temperaturesName, func() (*Figure, error) { return Temperatures(temperatures, Options{}) }},
		{chainName, func() (*Figure, error) { return Chain(chain, Options{}) }},
		{tokensName, func() (*Figure, error) { return Tokens(text, Options{}) }},
		{zipfName, func() (*Figure, error) { return Zipf(zipf, Options{}) }},
		{repetitionName, func() (*Figure, error) { return Repetition(loops, Options{}) }},
		{pairsName, func() (*Figure, error) { return Pairs(pairs, Options{}) }},
		{entropyName, func() (*Figure, error) { return Entropy(entropy, Options{}) }},
		{heatStepsName, func() (*Figure, error) { return HeatSteps(steps, Options{}) }},
	}
	for _, r := range rows {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				f, err := r.draw()
				if err != nil {
					b.Fatal(err)
				}
				if err := f.SVG(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPNG measures the pixels of one figure at 300 dpi.
func BenchmarkPNG(b *testing.B) {
	f, err := Reshape(weatherReshape(512), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := f.PNG(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
