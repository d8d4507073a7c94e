package measure

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/core/trace"
)

// part returns what one sample adds to the two sums of a measure, the value of a
// group being their ratio. den = 0 says that the measure is not defined for it.
type part func(*trace.Sample) (num, den float64, err error)

// Measure is a number of a group of samples, by name. Measures of text look at
// the tokens without the one that ended it; those of steps look at all.
type Measure struct {
	Name  string // unique, snake_case; says which distribution, where there are two
	Doc   string // one sentence
	Unit  string // "bits", "tokens"; empty for a pure number
	Steps bool   // whether it needs recorded steps
	Set   bool   // whether it is of the whole set and no sample has a value of its own

	// Methods are those that its interval can be made by, its own first.
	Methods []string

	of    part
	share bool // 0 or 1 per sample
	up    func(float64) float64
	whole func(samples []*trace.Sample, iv Interval) (Estimate, error)
}

// family is the measures whose name is a prefix and a number.
type family struct {
	prefix string
	listed []int // those that papers use
	most   int   // largest known
	make   func(n int) Measure
}

func (f family) named(n int) Measure {
	m := f.make(n)
	m.Name = f.prefix + itoa(n)
	return m.complete()
}

// complete sets what follows from the rest.
func (m Measure) complete() Measure {
	m.Set = m.whole != nil
	switch {
	case m.Methods != nil:
	case m.Set:
		m.Methods = []string{MethodJackknife, MethodCluster}
	case m.share:
		m.Methods = append([]string{MethodWilson, MethodExact}, meanMethods...)
	default:
		m.Methods = append([]string(nil), meanMethods...)
	}
	return m
}

// families are read and never changed.
var families = []family{
	{"distinct_", []int{1, 2, 3, 4}, longestGram, func(n int) Measure {
		return Measure{Doc: fmt.Sprintf("Distinct %d-grams over %d-grams of a text (Li et al. 2016).", n, n),
			of: ofTokens(func(t []int32) (float64, error) { return Distinct(t, n) })}
	}},
	{"once_", []int{1, 2, 3, 4}, longestGram, func(n int) Measure {
		return Measure{Doc: fmt.Sprintf("Share of a text's %d-grams that occur once (the scripts of Holtzman et al. 2020).", n),
			of: ofTokens(func(t []int32) (float64, error) { return Once(t, n) })}
	}},
	{"seq_rep_", []int{2, 3, 4}, longestGram, func(n int) Measure {
		return Measure{Doc: fmt.Sprintf("Share of a text's %d-grams that repeat an earlier one (Welleck et al. 2020).", n),
			of: ofTokens(func(t []int32) (float64, error) { return SeqRep(t, n) })}
	}},
	{"rep_window_", []int{16, 32, 128, 512}, math.MaxInt32, func(n int) Measure {
		return Measure{Doc: fmt.Sprintf("rep/l: share of tokens that occur among the %d before them (Welleck et al. 2020).", n),
			of: ofTokens(func(t []int32) (float64, error) { return Rep(t, n) })}
	}},
	{"pooled_distinct_", []int{1, 2, 3, 4}, longestGram, func(n int) Measure {
		return Measure{Doc: fmt.Sprintf("Distinct %d-grams over %d-grams of all texts together (Li et al. 2016); falls with their number.", n, n),
			whole: ofSet(func(set [][]int32) (float64, error) { return PooledDistinct(set, n) })}
	}},
	{"self_bleu_", []int{2, 3, 4, 5}, longestGram, func(n int) Measure {
		return Measure{Doc: fmt.Sprintf("Mean BLEU-%d of each text against the others (Zhu et al. 2018); grows with their number.", n),
			whole: ofSet(func(set [][]int32) (float64, error) {
				each, err := SelfBLEU(set, n)
				if err != nil {
					return 0, err
				}
				return mean(each), nil
			})}
	}},
}

// aliases are short names; the measure's own name says which distribution it is
// of.
var aliases = map[string]string{
	"repetition": "seq_rep_4", "entropy_bits": "sampling_entropy_bits", "surprisal_bits": "model_surprisal_bits",
	"perplexity": "model_perplexity", "rank": "model_rank", "support": "sampling_support", "self_bleu": "self_bleu_4",
	"zipf": "zipf_regression",
}

// singles are the measures without a number in their name.
func singles() []Measure {
	list := []Measure{
		{Name: "length_tokens", Unit: "tokens", Doc: "Tokens generated, the one that ended the text included.",
			of: func(s *trace.Sample) (float64, float64, error) { return float64(len(s.Tokens)), 1, nil }},
		{Name: "ended", Doc: "Share of texts that the model ended itself.", share: true,
			of: func(s *trace.Sample) (float64, float64, error) {
				return indicator(s.Stop.Reason == trace.EndOfText), 1, nil
			}},
		{Name: "type_token", Doc: "Distinct tokens over tokens of a text (Johnson 1944); falls with length.", of: ofTokens(TypeToken[int32])},
		{Name: "diversity", Doc: "Product of 1 - seq_rep_n over n = 2, 3, 4 (Su et al. 2022).", of: ofTokens(Diversity[int32])},
		{Name: "looping", Doc: "Share of texts that end in a loop of at least 3 rounds.", share: true, of: looping},
		{Name: "loop_period", Unit: "tokens", Doc: "Period of the loop that a text ends in; undefined without one.", of: ofLoop(func(l Loop) int { return l.Period })},
		{Name: "loop_start", Unit: "tokens", Doc: "Tokens before that loop; undefined without one.", of: ofLoop(func(l Loop) int { return l.Start })},
		{Name: "kept_mass", Steps: true, Doc: "Mean product of the masses that a step's stages kept, each of the distribution before it.", of: keptMass},
		{Name: "model_bits_per_byte", Unit: "bits", Steps: true, Doc: "Surprisal under the model over bytes of text.", of: bitsPerByte},
		{Name: "vocabulary", Unit: "tokens", Doc: "Distinct tokens of all texts together.",
			Methods: []string{"none"}, whole: fact(func(samples []*trace.Sample) float64 { return float64(Vocabulary(contents(samples))) })},
		{Name: "unique_outputs", Doc: "Distinct outputs.",
			Methods: []string{"none"}, whole: fact(func(samples []*trace.Sample) float64 { return float64(Unique(outputs(samples))) })},
		{Name: "unique_share", Doc: "Distinct outputs over outputs; falls with their number.",
			Methods: []string{"none"}, whole: fact(func(samples []*trace.Sample) float64 {
				return float64(Unique(outputs(samples))) / float64(len(samples))
			})},
		{Name: "coverage", Doc: "Good–Turing estimate of the chance that the next output was seen before (Good 1953, Esty 1983).", Methods: []string{"esty"}, whole: ofOutputs(Coverage)},
		{Name: "chao1", Doc: "Lower bound for how many distinct outputs there are, seen or not (Chao 1984).", Methods: []string{"chao"}, whole: ofOutputs(Chao1)},
		{Name: "zipf_regression", Doc: "Zipf exponent of all texts together by regression on the top 5,000 ranks (Holtzman et al. 2020).",
			whole: ofSet(func(set [][]int32) (float64, error) { return ZipfRegression(Counts(set)) })},
		{Name: "zipf_mle", Doc: "Zipf exponent of all texts together by maximum likelihood.",
			whole: ofSet(func(set [][]int32) (float64, error) { return ZipfMLE(Counts(set)) })},
	}
	for _, side := range []struct {
		name, what string
		get        func(*trace.Step) *trace.Side
	}{{"model", "model distribution", model}, {"sampling", "sampling distribution", sampling}} {
		list = append(list,
			Measure{Name: side.name + "_surprisal_bits", Unit: "bits", Doc: "Mean surprisal of a token under the " + side.what + "."},
			Measure{Name: side.name + "_perplexity", Doc: "2^(mean surprisal of a token) under the " + side.what + ", all tokens weighing the same.", up: math.Exp2},
			Measure{Name: side.name + "_entropy_bits", Unit: "bits", Doc: "Mean entropy of the " + side.what + "."},
			Measure{Name: side.name + "_rank", Doc: "Mean rank of the token drawn in the " + side.what + ", from 1."},
			Measure{Name: side.name + "_support", Unit: "tokens", Doc: "Mean support of the " + side.what + "."})
		made := list[len(list)-5:]
		for i, f := range []func(*trace.Side) float64{surprisal, surprisal, entropy, rank, support} {
			made[i].Steps, made[i].of = true, ofSide(made[i].Name, side.get, f)
		}
	}
	for i, m := range list {
		list[i] = m.complete()
	}
	return list
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Measures returns every measure that has a name of its own, families with the
// numbers that papers use.
func Measures() []Measure {
	list := singles()
	for _, f := range families {
		for _, n := range f.listed {
			list = append(list, f.named(n))
		}
	}
	return list
}

// Names returns what [Named] knows: the names of [Measures] and the short ones.
func Names() []string {
	var names []string
	for _, m := range Measures() {
		names = append(names, m.Name)
	}
	for short := range aliases {
		names = append(names, short)
	}
	return names
}

// Named returns a measure by its name or a short one ("repetition" is seq_rep_4,
// "entropy_bits" that of the sampling distribution, "surprisal_bits" and
// "perplexity" those under the model). An unknown name is a usage error that says
// the nearest one.
func Named(name string) (Measure, error) {
	full := name
	if a, ok := aliases[name]; ok {
		full = a
	}
	for _, m := range singles() {
		if m.Name == full {
			return m, nil
		}
	}
	for _, f := range families {
		digits, ok := strings.CutPrefix(full, f.prefix)
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n > f.most {
			return Measure{}, misuse("measure", "%s: the number is outside [1, %d]", fault.Quote(name, 40), f.most)
		}
		return f.named(n), nil
	}
	return Measure{}, fault.Unknown("measure", "measure", name, Names())
}

// NamedAll returns the measures of several names, as [Named] does.
func NamedAll(names []string) ([]Measure, error) {
	out := make([]Measure, len(names))
	for i, n := range names {
		m, err := Named(n)
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

// Each returns the measure of every sample by itself, NaN where it is not
// defined. A measure of the whole set is a usage error.
func (m Measure) Each(samples []trace.Sample) ([]float64, error) {
	if m.of == nil {
		return nil, misuse("measure", "%s is of a whole set: a sample alone has none", m.Name).Fix("ask for its estimate")
	}
	out := make([]float64, len(samples))
	for i := range samples {
		num, den, err := m.at(&samples[i], i)
		if err != nil {
			return nil, err
		}
		if out[i] = num / den; den == 0 {
			out[i] = math.NaN()
		} else if m.up != nil {
			out[i] = m.up(out[i])
		}
	}
	return out, nil
}

// at returns a sample's part; one too short for the measure has den = 0.
func (m Measure) at(s *trace.Sample, i int) (num, den float64, err error) {
	num, den, err = m.of(s)
	var few short
	switch {
	case errors.As(err, &few):
		return 0, 0, nil
	case err != nil:
		return 0, 0, fault.Wrap(err, fault.Data, "measure", "sample "+itoa(i))
	}
	return num, den, nil
}

// Estimate returns the measure of a group of samples with its interval: the mean
// over samples; for measures of steps the mean over all steps, so that every
// token weighs the same ([Ratio]); for shares [Proportion]; for those of the whole
// set the jackknife over samples, or over iv.Clusters, or the source's own
// interval, or none. Samples for which it is not defined are left out and counted;
// without any other the value is NaN with a note. No samples are a data error.
func (m Measure) Estimate(samples []trace.Sample, iv Interval) (Estimate, error) {
	if len(samples) == 0 {
		return Estimate{}, bad(m.Name, "there are no samples")
	}
	if iv.Clusters != nil && len(iv.Clusters) != len(samples) {
		return Estimate{}, misuse(m.Name, "%d clusters for %d samples", len(iv.Clusters), len(samples)).Fix("name the cluster of every sample")
	}
	if m.whole != nil {
		list := make([]*trace.Sample, len(samples))
		for i := range samples {
			list[i] = &samples[i]
		}
		e, err := m.whole(list, iv)
		if err != nil {
			return Estimate{}, fault.Wrap(err, fault.Data, "measure", m.Name)
		}
		return e, nil
	}
	var nums, dens []float64
	var clusters []string
	for i := range samples {
		num, den, err := m.at(&samples[i], i)
		if err != nil {
			return Estimate{}, err
		}
		if den == 0 {
			continue
		}
		nums, dens = append(nums, num), append(dens, den)
		if iv.Clusters != nil {
			clusters = append(clusters, iv.Clusters[i])
		}
	}
	iv.Clusters = clusters
	e, err := m.aggregate(nums, dens, iv)
	if err != nil {
		return Estimate{}, fault.Wrap(err, fault.Data, "measure", m.Name)
	}
	e.Missing = len(samples) - len(nums)
	return e, nil
}

func (m Measure) aggregate(nums, dens []float64, iv Interval) (Estimate, error) {
	if len(nums) == 0 {
		return m.without(math.NaN(), 0, iv, "the measure is defined for none of the samples")
	}
	for i, v := range nums {
		if math.IsInf(v, 0) {
			return m.without(v, len(nums), iv, "sample "+itoa(i)+" of those it is defined for has an infinite value")
		}
	}
	if m.share {
		hits := make([]bool, len(nums))
		for i, v := range nums {
			hits[i] = v == 1
		}
		return Proportion(hits, iv)
	}
	e, err := Ratio(nums, dens, iv)
	if err == nil && m.up != nil {
		e = e.Map(m.up)
	}
	return e, err
}

// without returns an estimate that has no interval, after the settings were
// checked as for one that has.
func (m Measure) without(value float64, n int, iv Interval, note string) (Estimate, error) {
	iv, err := iv.settle(m.Name, n, m.Methods...)
	if err != nil {
		return Estimate{}, err
	}
	return unknown(value, n, iv.Level, iv.Method).noted(note), nil
}
