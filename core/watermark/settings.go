package watermark

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"lab/core/fault"
)

// The methods, by their standard names.
const (
	GreenListMethod = "watermark_green_list"
	SynthIDMethod   = "watermark_synthid"
	GumbelMethod    = "watermark_gumbel"
	KeyedMethod     = "watermark_keyed"
)

// Method describes a mark: what samplers declare of it, and what [Detect] takes.
type Method struct {
	Name     string
	Aliases  []string
	Summary  string // what the sampler does, one sentence
	Formula  string // the same, one line
	Source   string
	Settings []Setting
}

// Setting is one setting of a method. The type of Default is the setting's:
// float64, int64 or string.
type Setting struct {
	Name             string
	Aliases          []string
	Default          any
	Min, Max         float64 // of a number, with ±Inf for no bound
	MinOpen, MaxOpen bool
	Choices          []string // of a text, when limited
	Unit, Meaning    string
	Detector         bool // only the detector uses it
}

func key(value int64, aliases ...string) Setting {
	return Setting{Name: "key", Aliases: aliases, Default: value, Min: 1, Max: math.Inf(1),
		Meaning: "the number that the mark depends on and that its detector must be told; keep your own one to yourself"}
}

// publishedKeys are the keys of the published example of SynthID Text.
const publishedKeys = "654 400 836 123 340 443 597 160 57 29 590 639 13 715 468 990 966 226 324 585 118 504 421 521 129 669 732 225 90 960"

// Choices of settings that are not schemes of green lists.
const (
	ScopeOutput = "output"
	ScopeAll    = "all"
	RepeatsDraw = "draw"
	RepeatsKeep = "keep"
)

// Methods returns the methods, in the order in which they are listed.
func Methods() []Method {
	return []Method{greenMethod(), synthIDMethod(), gumbelMethod(), keyedMethod()}
}

func greenMethod() Method {
	return Method{
		Name: GreenListMethod, Aliases: []string{"kgw", "green_list"},
		Summary: "Adds a bias to the scores of the green tokens, a pseudo-random part of the vocabulary that depends on the tokens before; removed tokens stay removed.",
		Formula: "l_i + bias for i among the first floor(ratio V) of a permutation seeded by key and context",
		Source:  "Kirchenbauer, Geiping, Wen, Katz, Miers, Goldstein 2023, A watermark for large language models, algorithms 2 and 3",
		Settings: []Setting{
			{Name: "ratio", Aliases: []string{"gamma", "greenlist_ratio"}, Default: 0.25, Min: 0, Max: 1, MinOpen: true, MaxOpen: true,
				Meaning: "which part of the vocabulary is green, rounded down to whole tokens"},
			{Name: "bias", Aliases: []string{"delta"}, Default: 2.0, Min: 0, Max: math.Inf(1),
				Meaning: "what is added to the scores of green tokens; 0 changes nothing"},
			key(15485863, "hashing_key"),
			{Name: "scheme", Aliases: []string{"seeding_scheme"}, Default: LeftHash, Choices: []string{LeftHash, SelfHash},
				Meaning: "lefthash seeds by the token before; selfhash by each candidate and the tokens before it, and looks at the likeliest candidates only"},
			{Name: "context_width", Default: int64(1), Min: 1, Max: MostContext, Unit: "tokens",
				Meaning: "how many tokens the seed is chosen from, the candidate included for selfhash; lefthash uses the last one but marks nothing before so many exist"},
			{Name: "candidates", Default: int64(40), Min: 1, Max: 1024, Unit: "tokens",
				Meaning: "how many of the likeliest tokens selfhash tests"},
		},
	}
}

func synthIDMethod() Method {
	return Method{
		Name: SynthIDMethod, Aliases: []string{"synthid"},
		Summary: "Reweighs the distribution once for every key by pseudo-random bits of the n-gram that each token would complete, which equals a tournament between draws; removed tokens stay removed, and a context met before gives no mark.",
		Formula: "for each key: p_i ← p_i (1 + g_i - Σ g p), g_i in {0, 1}",
		Source:  "Dathathri et al. 2024, Scalable watermarking for identifying large language model outputs",
		Settings: []Setting{
			{Name: "ngram_len", Aliases: []string{"ngram"}, Default: int64(5), Min: 2, Max: MostContext + 1, Unit: "tokens",
				Meaning: "length of the n-grams that are hashed; the context is one token shorter"},
			{Name: "keys", Default: publishedKeys,
				Meaning: "whole numbers, one for each depth; the default is the published example and no secret"},
			{Name: "table_size", Aliases: []string{"sampling_table_size"}, Default: int64(65536), Min: 2, Max: 1 << 24, Unit: "bits",
				Meaning: "how many bits the table has that hashes look up"},
			{Name: "table_seed", Aliases: []string{"sampling_table_seed"}, Default: int64(0), Min: 0, Max: math.MaxUint32,
				Meaning: "the seed of that table"},
			{Name: "context_history", Aliases: []string{"context_history_size"}, Default: int64(1024), Min: 0, Max: 1 << 16, Unit: "steps",
				Meaning: "a context equal to one of so many steps before gives no mark; 0 marks every step"},
			{Name: "scope", Default: ScopeOutput, Choices: []string{ScopeOutput, ScopeAll},
				Meaning: "output takes contexts from generated tokens only, with zeros before the first, as transformers does; all from the prompt as well"},
		},
	}
}

func gumbelMethod() Method {
	return Method{
		Name: GumbelMethod, Aliases: []string{"gumbel_watermark", "aaronson"},
		Summary: "Draws the token with the largest u_i^(1/p_i), where u_i are pseudo-random numbers that depend on the tokens before: without the key, a draw like any other.",
		Formula: "argmax u_i^(1/p_i), u_i = hash(key, context, i)",
		Source:  "Aaronson 2022, lecture on watermarking of GPT outputs; Fernandez et al. 2023, Three bricks to consolidate watermarks for large language models, section 3",
		Settings: []Setting{
			key(15485863),
			{Name: "context_width", Default: int64(4), Min: 1, Max: MostContext, Unit: "tokens",
				Meaning: "how many tokens before the numbers depend on; more survive fewer edits, fewer repeat more often"},
			{Name: "repeats", Default: RepeatsDraw, Choices: []string{RepeatsDraw, RepeatsKeep},
				Meaning: "draw makes an unmarked draw where the context was met before in the text, so that several texts differ and one does not run in circles; keep marks there too"},
		},
	}
}

func keyedMethod() Method {
	return Method{
		Name: KeyedMethod, Aliases: []string{"keyed", "kuditipudi"},
		Summary: "Draws the token with the largest u_i^(1/p_i), where u_i come from a secret list of numbers that is walked through from a random place: distortion-free up to the length of the list.",
		Formula: "argmax u_i^(1/p_i), u_i = hash(key, (start + step) mod length, i)",
		Source:  "Kuditipudi, Thickstun, Hashimoto, Liang 2023, Robust distortion-free watermarks for language models, exponential minimum sampling",
		Settings: []Setting{
			key(15485863),
			{Name: "length", Default: int64(256), Min: 1, Max: 1 << 16, Unit: "steps",
				Meaning: "length of the list; a text longer than it meets the same numbers again"},
			{Name: "offset", Default: int64(-1), Min: -1, Max: 1<<16 - 1, Unit: "steps",
				Meaning: "where in the list a text starts; -1 draws a place for every text"},
			{Name: "block", Default: int64(0), Min: 0, Max: 1 << 16, Unit: "tokens", Detector: true,
				Meaning: "length of the piece of text that is looked for in the list; 0 is the whole text, shorter pieces survive cuts and insertions elsewhere"},
			{Name: "permutations", Default: int64(999), Min: 19, Max: 1 << 20, Detector: true,
				Meaning: "how many other lists the text is compared with; no p-value is below 1/(permutations+1)"},
			{Name: "seed", Default: int64(0), Min: 0, Max: math.Inf(1), Detector: true,
				Meaning: "the seed of those lists"},
		},
	}
}

// MostContext is the largest number of tokens that a seed depends on.
const MostContext = 32

// Find returns the method with a name or alias. An unknown name is a usage error
// with the nearest known one.
func Find(name string) (Method, error) {
	var known []string
	for _, m := range Methods() {
		if m.Name == name || slices.Contains(m.Aliases, name) {
			return m, nil
		}
		known = append(append(known, m.Name), m.Aliases...)
	}
	return Method{}, fault.Unknown("watermark", "method", name, known)
}

// values are the checked settings of a method, by their standard names.
type values map[string]any

func (v values) float(name string) float64 { return v[name].(float64) }
func (v values) int(name string) int64     { return v[name].(int64) }
func (v values) text(name string) string   { return v[name].(string) }

// resolve checks given settings and fills in the defaults.
func (m Method) resolve(given map[string]any) (values, error) {
	out := values{}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names) // the first error does not depend on the order of a map
	for _, name := range names {
		s, ok := m.setting(name)
		if !ok {
			var known []string
			for _, s := range m.Settings {
				known = append(known, s.Name)
			}
			e := fault.Unknown("watermark", "setting", name, known)
			e.Subject = m.Name
			return nil, e
		}
		if _, twice := out[s.Name]; twice {
			return nil, fault.New(fault.Usage, "watermark", m.Name, "%s is given twice, also as %q", s.Name, name)
		}
		v, err := s.check(given[name])
		if err != nil {
			err.Op, err.Subject = "watermark", m.Name
			return nil, err
		}
		out[s.Name] = v
	}
	for _, s := range m.Settings {
		if _, ok := out[s.Name]; !ok {
			out[s.Name] = s.Default
		}
	}
	return out, nil
}

func (m Method) setting(name string) (Setting, bool) {
	for _, s := range m.Settings {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s, true
		}
	}
	return Setting{}, false
}

// check returns a value in the type of the setting.
func (s Setting) check(v any) (any, *fault.Error) {
	x, number := s.number(v)
	switch s.Default.(type) {
	case string:
		text, ok := v.(string)
		if !ok {
			return nil, s.wrong(v, "is not text")
		}
		if len(s.Choices) > 0 && !slices.Contains(s.Choices, text) {
			return nil, fault.Unknown("", s.Name, text, s.Choices)
		}
		return text, nil
	case int64:
		n, ok := whole(v)
		if !ok {
			return nil, s.wrong(v, "is not a whole number")
		}
		if x = float64(n); x >= s.Min && x <= s.Max {
			return n, nil
		}
	default:
		if !number || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, s.wrong(v, "is not a finite number")
		}
	}
	if x < s.Min || x > s.Max || s.MinOpen && x == s.Min || s.MaxOpen && x == s.Max {
		return nil, s.wrong(v, fmt.Sprintf("is outside %v to %v", s.Min, s.Max))
	}
	return x, nil
}

// whole returns a whole number, without a detour by float64 where it was none.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		return i, err == nil
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<63
	}
	return 0, false
}

func (s Setting) number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case string:
		x, err := strconv.ParseFloat(n, 64)
		return x, err == nil
	}
	return 0, false
}

func (s Setting) wrong(v any, problem string) *fault.Error {
	shown := fmt.Sprint(v)
	if _, text := v.(string); text || len(shown) > 40 {
		shown = fault.Quote(shown, 40)
	}
	return fault.New(fault.Usage, "", "", "%s = %s %s", s.Name, shown, problem)
}
