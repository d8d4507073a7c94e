package dist

import (
	"math"
	"slices"
)

// Distribution is a probability for every token: normalised, immutable, in
// float64. It lists its support in ascending order of id, whatever form the row
// had that it came from, so equal distributions have equal bits. Safe for
// concurrent use. The zero value has an empty support and is not valid.
type Distribution struct {
	vocab    int
	ids      []int32   // the support; nil when it is the whole vocabulary
	p, logP  []float64 // by place in the support; logP is natural
	masked   []int32   // with an unlisted tail only: listed tokens of probability 0
	unlisted float64
	entropy  Bounds
}

// Bounds is a quantity that is known exactly (Low == High) or lies between two
// values.
type Bounds struct{ Low, High float64 }

// Exact reports whether the quantity is known.
func (b Bounds) Exact() bool { return b.Low == b.High }

// Softmax returns the distribution of a row: p_i = exp(l_i - max l) / sum, the
// masked tokens exactly 0. A malformed row is a data error, see [Scores.Check].
// With an unlisted tail, the listed tokens share 1 - Unlisted. The row is not
// kept.
//
// Most callers want [NewModel] or [NewSampling], which say which distribution
// it is.
func Softmax(s *Scores) (Distribution, error) {
	if err := s.Check(); err != nil {
		return Distribution{}, err
	}
	w := make([]float64, len(s.Values))
	m := weigh(s, w)
	if err := checkTail(s, m); err != nil {
		return Distribution{}, err
	}
	d := Distribution{vocab: s.Vocab, unlisted: s.Unlisted, p: w[:0], logP: make([]float64, 0, m.support)}
	if m.support < s.Vocab {
		d.ids = make([]int32, 0, m.support)
	}
	share, ln := (1-s.Unlisted)/m.total, m.lnTotal(s.Unlisted)
	for i, v := range s.Values {
		if removed(v) {
			if s.Unlisted > 0 {
				d.masked = append(d.masked, s.ID(i))
			}
			continue
		}
		if d.ids != nil {
			d.ids = append(d.ids, s.ID(i))
		}
		d.p = append(d.p, share*w[i]) // never ahead of i: w is read before it is overwritten
		d.logP = append(d.logP, float64(v)-m.top-ln)
	}
	d.entropy = m.entropyBounds(s.Unlisted, least(d.p), s.Vocab-len(s.Values))
	return d, nil
}

func least(p []float64) float64 { return slices.Min(p) }

// sumSlack is how far given probabilities may sum from 1: half a unit in the
// last of ten digits, for numbers copied from a table.
const sumSlack = 1e-9

// FromProbabilities returns the distribution that gives token i the probability
// p[i], len(p) = vocabulary size. Negative or non-finite entries, and a sum that
// is not 1, are data errors: nothing is renormalised. Tokens of probability 0
// are outside the support. p is not kept.
func FromProbabilities(p []float64) (Distribution, error) {
	d := Distribution{vocab: len(p), ids: []int32{}}
	sum, h := 0.0, 0.0
	for i, x := range p {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return Distribution{}, badScores("token %d has probability %v", i, x)
		}
		if x == 0 {
			continue
		}
		l := math.Log(x)
		d.ids = append(d.ids, int32(i))
		d.p = append(d.p, x)
		d.logP = append(d.logP, l)
		sum += x
		h -= x * l
	}
	if !(math.Abs(sum-1) <= sumSlack) {
		return Distribution{}, badScores("the probabilities sum to %.12g", sum).Fix("divide them by their sum")
	}
	if len(d.ids) == len(p) {
		d.ids = nil
	}
	h = max(0, h) / math.Ln2
	d.entropy = Bounds{Low: h, High: h}
	return d, nil
}

// Model is the model distribution: softmax of the model's logits at
// temperature 1. It is not a [Sampling] and does not convert to one except by
// [Model.Unshaped].
type Model struct {
	Distribution
	_ modelOnly
}

// Sampling is the sampling distribution: what a token is drawn from, after
// every stage of the chain.
type Sampling struct {
	Distribution
	_ samplingOnly
}

// Different empty fields keep Model(x) and Sampling(x) from compiling.
type (
	modelOnly    struct{}
	samplingOnly struct{ _ struct{} }
)

// NewModel returns the model distribution of a row of raw logits.
func NewModel(logits *Scores) (Model, error) {
	d, err := Softmax(logits)
	return Model{Distribution: d}, err
}

// NewSampling returns the sampling distribution of a row that went through the
// stages of a chain.
func NewSampling(scores *Scores) (Sampling, error) {
	d, err := Softmax(scores)
	return Sampling{Distribution: d}, err
}

// Unshaped returns the sampling distribution of a chain that reshapes nothing.
func (m Model) Unshaped() Sampling { return Sampling{Distribution: m.Distribution} }

// Vocab returns the size of the vocabulary.
func (d Distribution) Vocab() int { return d.vocab }

// Support returns how many listed tokens have a probability above 0, those
// whose probability is too small for a float64 included.
func (d Distribution) Support() int { return len(d.p) }

// Unlisted returns the mass of the tokens that a top-N backend did not list; 0
// for every backend that sees its whole vocabulary.
func (d Distribution) Unlisted() float64 { return d.unlisted }

// place returns where a token stands in the support, or -1.
func (d Distribution) place(id int32) int {
	if d.ids == nil {
		if id < 0 || int(id) >= len(d.p) {
			return -1
		}
		return int(id)
	}
	if i, ok := slices.BinarySearch(d.ids, id); ok {
		return i
	}
	return -1
}

func (d Distribution) id(place int) int32 {
	if d.ids == nil {
		return int32(place)
	}
	return d.ids[place]
}

// known reports whether the probability of a token is known, be it 0.
func (d Distribution) known(id int32) bool {
	if d.unlisted == 0 || d.place(id) >= 0 {
		return true
	}
	_, ok := slices.BinarySearch(d.masked, id)
	return ok
}

// P returns the probability of a token: exactly 0 when it was removed or is not
// in the vocabulary, NaN when it belongs to an unlisted tail, where it is
// unknown.
func (d Distribution) P(id int32) float64 {
	if i := d.place(id); i >= 0 {
		return d.p[i]
	}
	if id >= 0 && int(id) < d.vocab && !d.known(id) {
		return math.NaN()
	}
	return 0
}

// LogP returns the natural logarithm of the probability of a token, exact also
// where P underflows; -Inf when it was removed, NaN when it is unknown.
func (d Distribution) LogP(id int32) float64 {
	if i := d.place(id); i >= 0 {
		return d.logP[i]
	}
	return math.Log(d.P(id))
}

// SurprisalBits returns -log2 of the probability of a token: +Inf for a removed
// one, NaN for an unknown one.
func (d Distribution) SurprisalBits(id int32) float64 { return -d.LogP(id) / math.Ln2 }

// EntropyBits returns the Shannon entropy in bits, -sum p log2 p with
// 0 log 0 = 0. With an unlisted tail it is not known and the error is a data
// error; [Distribution.EntropyBounds] has what is known.
func (d Distribution) EntropyBits() (float64, error) {
	if d.unlisted > 0 {
		return 0, badScores("the entropy lies between %.4g and %.4g bits: a mass of %.4g is unlisted",
			d.entropy.Low, d.entropy.High, d.unlisted).Fix("ask for the bounds, or use a backend that lists every token")
	}
	return d.entropy.Low, nil
}

// EntropyBounds returns the least and greatest possible entropy in bits; equal
// without an unlisted tail.
func (d Distribution) EntropyBounds() Bounds { return d.entropy }

// Each calls f for every token of the support in ascending order of id until f
// returns false.
func (d Distribution) Each(f func(id int32, p float64) bool) {
	for i, p := range d.p {
		if !f(d.id(i), p) {
			return
		}
	}
}
