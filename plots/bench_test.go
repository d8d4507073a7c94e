package plots

import (
	"io"
	"testing"
)

// BenchmarkFigure measures each figure on a vocabulary of 262,144, from data to a
// written SVG, or on
// as many points or cells, and the size of that SVG; the aims are 300 ms and
// 500 kB.
func BenchmarkFigure(b *testing.B) {
	reshape := weatherReshape(262144)
	temperatures := weatherTemperatures(262144, 0.3, 0.7, 1, 1.5, 2)
	chain := weatherChain()
	text, steps := manyTokens(262144), exampleSteps(20000)
	zipf := ZipfData{Texts: []ZipfText{{Name: "text", Counts: zipfCounts(1e7, 1, 262144)}}}
	loops := RepetitionData{Strategies: []RepetitionStrategy{{Name: "loop", Samples: [][]int32{loopingText(262144, 100000, 300, 1)}}}}
	pairs := PairsData{Pairs: []Pair{{A: loopingText(262144, 0, 1, 1), B: loopingText(262144, 0, 1, 2)}}}
	entropy := exampleEntropy(12, 0.2, 0.5, 1, 1.5, 2)
	lines, thirty := waves(2, 131072), waves(30, 8738)
	categories := plainBars(100_000, func(i int) float64 { return float64(i) })
	square := gridOf(512, 512, func(i, j int) float64 { return float64(i * j) })
	values := SampleData{Samples: many(2, 131072)}
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
		{lineName, func() (*Figure, error) { return Line(XYData{Series: lines}, Options{}) }},
		{lineName + "-30-series", func() (*Figure, error) { return Line(XYData{Series: thirty}, Options{}) }},
		{scatterName, func() (*Figure, error) { return Scatter(XYData{Series: lines}, Options{}) }},
		{barName, func() (*Figure, error) { return Bar(BarData{Bars: categories}, Options{}) }},
		{heatName, func() (*Figure, error) { return Heat(square, Options{}) }},
		{histName, func() (*Figure, error) { return Hist(values, Options{}) }},
		{ecdfName, func() (*Figure, error) { return Ecdf(values, Options{}) }},
		{violinName, func() (*Figure, error) { return Violin(values, Options{}) }},
	}
	for _, r := range rows {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				f, err := r.draw()
				if err != nil {
					b.Fatal(err)
				}
				var size counter
				if err := f.SVG(&size); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(size)/1000, "kB")
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
		})
	}
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
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
