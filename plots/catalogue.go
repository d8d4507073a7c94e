package plots

// Entry is one line of the catalogue.
type Entry struct {
	Name    string // of the figure, as scripts and the command line say it
	Purpose string
}

// Catalogue returns the figures there are, in their order in the reference.
func Catalogue() []Entry {
	return append([]Entry{
		{"reshape", "what each rule does to one next-token distribution"},
		{"temperatures", "mass moving down the ranks as the temperature rises"},
		{"chain", "one step through the stages of a chain: what each kept and how far it moved the distribution"},
		{"tokens", "a text coloured by the surprisal of its tokens"},
		{"heat_steps", "the likeliest tokens at each step of a text, the chosen one framed"},
		{"entropy", "entropy and divergence from the model distribution against the temperature, over many prompts"},
		{"zipf", "rank and frequency of the tokens or words of texts"},
		{"repetition", "how texts begin to repeat themselves as they grow"},
		{"pairs", "when two runs of the same prompts part"},
		{"outcomes", "how far outcomes lie apart over seeds, by strategy"},
		{"grid", "a measure over two settings of a sweep, the best cell framed"},
		{"calibration", "whether tokens are drawn as often as their probabilities say"},
		{"ridgeline", "the shape of a distribution over a setting or over steps"},
		{"timeline", "where the time of requests goes, and when the first token comes"},
		{"line", "one quantity along another, a line per series, with intervals"},
		{"scatter", "two quantities of each point, with intervals, joined or not"},
		{"bar", "how much there is of each thing, with intervals"},
		{"heat", "a measure over two settings at once"},
		{"hist", "how often each size of a quantity occurs"},
		{"ecdf", "what share of a sample is at most a value"},
		{"violin", "where samples lie and how far they spread"},
	}, costCatalogue()...)
}

// costCatalogue returns the figures of a cost report.
func costCatalogue() []Entry {
	return []Entry{
		{costLifetimeName, "what training cost once against what all uses cost together, and where they meet"},
		{costBatchName, "time of a step and throughput over the batch, modelled and measured"},
		{costContextName, "what an output token costs over the context, by model or kind of attention"},
		{costStepName, "the time of a step by its parts, below what was measured"},
		{costFrontierName, "speed of one user against throughput or price, and which settings are beaten"},
		{costRooflineName, "kinds of work below the roofs of devices"},
	}
}
