package search

import (
	"math"

	"lab/core/plugin/param"
)

// The rules by which sequences of different lengths are ranked (field report
// 27, ID-34). All start from the sum of ln p of the tokens.
const (
	rankSum   = "sum"   // the sum itself: the likeliest sequence; favours short ones
	rankMean  = "mean"  // sum / tokens
	rankBytes = "bytes" // sum / bytes of text; compares tokenizers
	rankPower = "power" // sum / ((5 + tokens) / 6)^alpha (Wu et al. 2016, equation 14)
)

func rankParams(byDefault string) param.Specs {
	return param.Specs{
		{Name: "length", Type: param.Text, Default: byDefault, Choices: []string{rankSum, rankMean, rankBytes, rankPower},
			Meaning: "how sequences of different lengths compare: sum of ln p, mean per token, mean per byte, or power: sum / ((5+tokens)/6)^alpha"},
		{Name: "alpha", Type: param.Float, Default: 0.6, Min: 0, Max: 10, Meaning: "exponent of the power rule; 0 is the sum"},
		{Name: "under", Type: param.Text, Default: "sampling", Choices: []string{"sampling", "model"},
			Meaning: "whose probabilities count: those drawn from, or the model's"},
	}
}

// ranker turns the ln probability of a sequence into its rank score.
type ranker struct {
	rule  string
	alpha float64
	model bool
}

func newRanker(set param.Values) ranker {
	return ranker{rule: set.Text("length"), alpha: set.Float("alpha"), model: set.Text("under") == "model"}
}

// ln returns the probability that counts.
func (r ranker) ln(n *node) float64 {
	if r.model {
		return n.modelLn
	}
	return n.drawnLn
}

// score returns the rank score of a completion of so many tokens and bytes.
func (r ranker) score(ln float64, tokens, bytes int) float64 {
	switch r.rule {
	case rankMean:
		return ln / float64(max(1, tokens))
	case rankBytes:
		return ln / float64(max(1, bytes))
	case rankPower:
		return ln / math.Pow((5+float64(tokens))/6, r.alpha)
	}
	return ln
}

// best returns the highest score that a sequence of this probability can still
// reach by growing to at most so many tokens: more tokens never raise ln p, but
// a longer sequence may have a better mean. bytes is not bounded by tokens, so
// that rule has no bound below 0.
func (r ranker) best(ln float64, tokens, most int) float64 {
	switch r.rule {
	case rankSum:
		return ln
	case rankBytes:
		return 0
	}
	return max(r.score(ln, tokens, 0), r.score(ln, most, 0))
}

// is says what the score measures.
func (r ranker) is() string {
	of := "the sampling distribution"
	if r.model {
		of = "the model distribution"
	}
	switch r.rule {
	case rankMean:
		return "mean ln p per token under " + of
	case rankBytes:
		return "ln p per byte under " + of
	case rankPower:
		return "ln p / ((5+tokens)/6)^" + param.Format(r.alpha) + " under " + of
	}
	return "ln p under " + of
}
