package plots

// Entry is one line of the catalogue.
type Entry struct {
	Name    string // of the figure, as scripts and the command line say it
	Purpose string
	Call    string // how a script draws it, with the variables d (a distribution) and t (a table); "": not by a script

	// Example draws the figure from made-up numbers that the entry keeps: the
	// same picture each time. nil when the entry has none.
	Example func(Options) (*Figure, error)
}

// Catalogue returns the figures there are, in their order in the reference.
func Catalogue() []Entry {
	return append([]Entry{
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
			Name: tokensName, Purpose: "a text coloured by the surprisal of its tokens",
			Call:    `plot.tokens(m.generate(prompt)[0], {prompt: prompt})`,
			Example: func(o Options) (*Figure, error) { return Tokens(exampleText(), o) },
		},
		{
			Name: heatStepsName, Purpose: "the likeliest tokens at each step of a text, the chosen one framed",
			Call:    `plot.heat_steps(m.score(text, {prompt: prompt, top: 8}))`,
			Example: func(o Options) (*Figure, error) { return HeatSteps(exampleSteps(16), o) },
		},
		{
			Name: entropyName, Purpose: "entropy and divergence from the model distribution against the temperature, over many prompts",
			Call: `plot.entropy([m.next(a), m.next(b)], [0.5, 1, 1.5])`,
			Example: func(o Options) (*Figure, error) {
				return Entropy(exampleEntropy(12, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5, 2), o)
			},
		},
		{
			Name: zipfName, Purpose: "rank and frequency of the tokens or words of texts",
			Call:    `plot.zipf({cold: cold, hot: hot}, {reference: "cold"})`,
			Example: func(o Options) (*Figure, error) { return Zipf(exampleZipf(), o) },
		},
		{
			Name: repetitionName, Purpose: "how texts begin to repeat themselves as they grow",
			Call:    `plot.repetition({cold: cold, hot: hot}, {n: 3})`,
			Example: func(o Options) (*Figure, error) { return Repetition(exampleRepetition(), o) },
		},
		{
			Name: pairsName, Purpose: "when two runs of the same prompts part",
			Call:    `plot.pairs(lab.run("before"), lab.run("after"))`,
			Example: func(o Options) (*Figure, error) { return Pairs(examplePairs(24), o) },
		},
		{
			Name: outcomesName, Purpose: "how far outcomes lie apart over seeds, by strategy",
			Call:    `plot.outcomes(t, {value: "surprisal_bits", by: "strategy"})`,
			Example: func(o Options) (*Figure, error) { return Outcomes(exampleOutcomes(200), o) },
		},
		{
			Name: gridName, Purpose: "a measure over two settings of a sweep, the best cell framed",
			Call:    `plot.grid(run.stats(["distinct_2"]), {x: "temperature", y: "top_p", value: "distinct_2", band: "ci95"})`,
			Example: func(o Options) (*Figure, error) { return SweepGrid(exampleGrid(6, 4), o) },
		},
		{
			Name: calibrationName, Purpose: "whether tokens are drawn as often as their probabilities say",
			Call:    `plot.calibration(d.apply("temperature:0.7"), samples)`,
			Example: func(o Options) (*Figure, error) { return Calibration(exampleCalibration(512, 20000), o) },
		},
		{
			Name: ridgelineName, Purpose: "the shape of a distribution over a setting or over steps",
			Call: `plot.ridgeline([d.apply("temperature:0.5"), d.apply("temperature:2")])`,
			Example: func(o Options) (*Figure, error) {
				return Ridgeline(exampleRidgeline(512, 0.3, 0.5, 0.7, 1, 1.5, 2), o)
			},
		},
		{
			Name: timelineName, Purpose: "where the time of requests goes, and when the first token comes",
			Call:    `plot.timeline(t, {first_token: "ttft_ms"})`,
			Example: func(o Options) (*Figure, error) { return Timeline(exampleTimeline(6, 24), o) },
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
			Example: func(o Options) (*Figure, error) { return Heat(sweptHeat(), o) },
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
	}, costCatalogue()...)
}

// costCatalogue returns the figures of a cost report.
func costCatalogue() []Entry {
	return []Entry{
		{
			Name: costLifetimeName, Purpose: "what training cost once against what all uses cost together, and where they meet",
			Call:    "plot." + costLifetimeName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostLifetime(exampleLifetime(), o) },
		},
		{
			Name: costBatchName, Purpose: "time of a step and throughput over the batch, modelled and measured",
			Call:    "plot." + costBatchName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostBatch(exampleBatch(2048, 8192, 32768), o) },
		},
		{
			Name: costContextName, Purpose: "what an output token costs over the context, by model or kind of attention",
			Call:    "plot." + costContextName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostContext(exampleContext(), o) },
		},
		{
			Name: costStepName, Purpose: "the time of a step by its parts, below what was measured",
			Call:    "plot." + costStepName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostStep(exampleStepTime(), o) },
		},
		{
			Name: costFrontierName, Purpose: "speed of one user against throughput or price, and which settings are beaten",
			Call:    "plot." + costFrontierName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostFrontier(exampleFrontier(), o) },
		},
		{
			Name: costRooflineName, Purpose: "kinds of work below the roofs of devices",
			Call:    "plot." + costRooflineName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostRoofline(exampleRoofline(), o) },
		},
		{
			Name: costQualityName, Purpose: "quality of ways of sampling over what an item costs, with the front",
			Call:    "plot." + costQualityName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostQuality(exampleQuality(), o) },
		},
		{
			Name: costBillName, Purpose: "what the bill of a response is made of, by strategy",
			Call:    "plot." + costBillName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostBill(exampleBill(), o) },
		},
		{
			Name: costGrowthName, Purpose: "days until inference passes training over the growth of demand",
			Call:    "plot." + costGrowthName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostGrowth(exampleGrowth(), o) },
		},
		{
			Name: costOptimumName, Purpose: "the best size of a model that will be used a lot, under named coefficients",
			Call:    "plot." + costOptimumName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostOptimum(exampleOptimum(2), o) },
		},
		{
			Name: costSpeculativeName, Purpose: "when a draft model makes decoding faster, and the best length to draft",
			Call:    "plot." + costSpeculativeName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostSpeculative(exampleSpeculative(), o) },
		},
		{
			Name: costDriversName, Purpose: "which assumption moves the answer most",
			Call:    "plot." + costDriversName + "(data)",
			Example: func(o Options) (*Figure, error) { return CostDrivers(exampleDrivers(), o) },
		},
	}
}
