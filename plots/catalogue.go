package plots

// Entry is one line of the catalogue.
type Entry struct {
	Name    string // also the name of the function, in lower case
	Purpose string
	Call    string // how a script draws it, with the variables d (a distribution) and t (a table)

	// Example draws the figure from made-up numbers that the entry keeps: the
	// same picture each time.
	Example func(Options) (*Figure, error)
}

// Catalogue returns the figures there are, in their order in the reference.
func Catalogue() []Entry {
	return []Entry{
		{
			Name: reshapeName, Purpose: "what each rule does to one next-token distribution",
			Call:    `plot.reshape([d.apply("temperature:0.5"), d.apply("top_p:0.9")])`,
			Example: func(o Options) (*Figure, error) { return Reshape(weatherReshape(512), o) },
		},
		{
			Name: temperaturesName, Purpose: "mass moving down the ranks as the temperature rises",
			Call: `plot.temperatures(d, [0.3, 0.7, 1, 1.5, 2])`,
			Example: func(o Options) (*Figure, error) {
				return Temperatures(weatherTemperatures(512, 0.3, 0.7, 1, 1.5, 2), o)
			},
		},
		{
			Name: chainName, Purpose: "one step through the stages of a chain: what each kept and how far it moved the distribution",
			Call:    `plot.chain(d.apply("temperature:1.5 | top_k:40 | top_p:0.9"))`,
			Example: func(o Options) (*Figure, error) { return Chain(weatherChain(), o) },
		},
		{
			Name: lineName, Purpose: "one quantity along another, a line per series, with intervals",
			Call:    `plot.line(t, {x: "temperature", y: "distinct_2", by: "top_p", facet: "model", band: "ci95"})`,
			Example: func(o Options) (*Figure, error) { return Line(sweepLines("tiny", "grammar"), o) },
		},
		{
			Name: scatterName, Purpose: "two quantities of each point, with intervals, joined or not",
			Call:    `plot.scatter(t, {x: "tokens_per_second", y: "latency_ms", by: "backend", labels: "batch", join: true, log_x: true, log_y: true})`,
			Example: func(o Options) (*Figure, error) { return Scatter(frontier(), o) },
		},
		{
			Name: barName, Purpose: "how much there is of each thing, with intervals",
			Call:    `plot.bar(t, {x: "strategy", y: "repetition", by: "model", band: "ci95"})`,
			Example: func(o Options) (*Figure, error) { return Bar(strategies(), o) },
		},
		{
			Name: heatName, Purpose: "a measure over two settings at once",
			Call:    `plot.heat(t, {x: "temperature", y: "top_p", value: "quality", best: "max"})`,
			Example: func(o Options) (*Figure, error) { return Heat(sweepGrid(), o) },
		},
		{
			Name: histName, Purpose: "how often each size of a quantity occurs",
			Call:    `plot.hist(t, {x: "surprisal_bits", by: "strategy"})`,
			Example: func(o Options) (*Figure, error) { return Hist(surprisals(200), o) },
		},
		{
			Name: ecdfName, Purpose: "what share of a sample is at most a value",
			Call: `plot.ecdf(t, {x: "surprisal_bits", by: "strategy", level: 0.95})`,
			Example: func(o Options) (*Figure, error) {
				d := surprisals(200)
				d.Samples, d.Level = d.Samples[:2], 0.95
				return Ecdf(d, o)
			},
		},
		{
			Name: violinName, Purpose: "where samples lie and how far they spread",
			Call:    `plot.violin(t, {x: "strategy", y: "surprisal_bits"})`,
			Example: func(o Options) (*Figure, error) { return Violin(surprisals(200), o) },
		},
	}
}
