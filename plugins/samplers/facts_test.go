package samplers

import (
	"fmt"
	"math/rand/v2"
)

// fact is what the laws must know of a sampler and its declaration does not say.
// Every sampler has one; a law that does not hold for it is excused here, with
// the reason.
type fact struct {
	off   []any  // settings, name and value in turn, that change nothing to the bit
	noOff string // why there are none

	// moves says why adding a constant to every score changes the result; empty:
	// it changes nothing.
	moves string

	// byID says why of two tokens with equal scores the one of higher id may stay
	// alone; empty: it never does.
	byID string

	fresh bool // the context is all prompt, since few others can be continued

	draws []any // settings of a selector at which its draws are counted

	settings func(g *rand.Rand, n int) map[string]any // replaces settings drawn from the declaration
}

// set is a list of settings, not nil when it is empty.
func set(s ...any) []any { return append([]any{}, s...) }

// ids returns a list of token ids, perhaps an empty one.
func ids(g *rand.Rand, n int) string {
	list := ""
	for range g.IntN(4) {
		list += fmt.Sprint(g.IntN(n), " ")
	}
	return list
}

func promptIDs(g *rand.Rand, n int) map[string]any { return map[string]any{"prompt": ids(g, n)} }

const (
	listed   = "it acts on the tokens that its settings list"
	history  = "it acts on the tokens of the context"
	endOnly  = "it acts on the tokens that end a text"
	sign     = "a positive score is divided and a negative one multiplied (ID-31)"
	selects  = "a selector has nothing to switch off: leave it out"
	language = "it acts on the texts of tokens"
	compares = "it acts on what another pass says of each token"
)

// oneOf gives one of several values.
func oneOf(name string, values ...any) func(*rand.Rand, int) map[string]any {
	return func(g *rand.Rand, _ int) map[string]any { return map[string]any{name: values[g.IntN(len(values))]} }
}

var facts = map[string]fact{
	// mask
	"repair":                {off: set()},
	"logit_bias":            {off: set("bias", ""), byID: listed},
	"bad_words":             {off: set("bad_words", ""), byID: listed},
	"suppress_tokens":       {off: set("suppress_tokens", ""), byID: listed},
	"allowed_tokens":        {off: set("allowed_tokens", ""), byID: listed},
	"begin_suppress_tokens": {off: set("begin_suppress_tokens", ""), byID: listed},
	"forced_token":          {off: set("token", ""), byID: listed},
	"forced_bos":            {off: set("token", ""), byID: listed},
	"forced_eos":            {off: set("max_length", 0), byID: endOnly},
	"ignore_eos":            {noOff: "its only setting is a list; leave it out", byID: endOnly},

	// constrain: any text is allowed, so that most questions have an answer
	"grammar": {off: set("grammar", ""), byID: language, settings: oneOf("grammar", "root ::= .*", `root ::= [a-p]* | "x" root`)},
	"regex":   {off: set("regex", ""), byID: language, settings: oneOf("regex", "(?s).*", "[a-m]+", "(a|b|c|d|e|f|g|h|i|w[0-9]+)*z?")},
	"json_schema": {off: set("schema", ""), byID: language, fresh: true,
		settings: oneOf("schema", "{}", "{}", `{"type":["null","integer","boolean"]}`, `{"enum":["a",null,true]}`)},
	"infill": {noOff: "it has no settings; leave it out", byID: language},

	// penalty
	"penalties":                        {off: set("repeat", 1, "frequency", 0, "presence", 0), moves: sign},
	"repetition_penalty":               {off: set("repetition_penalty", 1), moves: sign},
	"frequency_penalty":                {off: set("frequency_penalty", 0)},
	"presence_penalty":                 {off: set("presence_penalty", 0)},
	"dry":                              {off: set("multiplier", 0)},
	"no_repeat_ngram":                  {off: set("n", 0), byID: history},
	"encoder_repetition_penalty":       {off: set("encoder_repetition_penalty", 1), moves: sign, byID: history, settings: promptIDs},
	"encoder_no_repeat_ngram":          {off: set("n", 0), byID: history, settings: promptIDs},
	"min_length":                       {off: set("min_length", 0), byID: endOnly},
	"min_new_tokens":                   {off: set("min_new_tokens", 0), byID: endOnly},
	"exponential_decay_length_penalty": {off: set("factor", 1), moves: "it adds a multiple of the score's magnitude"},
	"hamming_diversity":                {off: set("diversity", 0)},

	// rescale
	"temperature": {off: set("temperature", 1)},
	"dynatemp": {off: set("temperature", 1, "range", 0, "low", -1, "high", -1), settings: func(g *rand.Rand, _ int) map[string]any {
		if low := g.Float64(); g.IntN(2) == 0 { // both limits or neither
			return map[string]any{"low": low, "high": low + g.Float64()}
		}
		return map[string]any{"low": -1, "high": -1}
	}},
	"quadratic":           {off: set("factor", 0)},
	"logit_normalization": {noOff: "it has no settings; leave it out"},

	// truncate
	"top_k":       {off: set("top_k", 0)},
	"top_p":       {off: set("top_p", 1)},
	"min_p":       {off: set("min_p", 0)},
	"top_a":       {off: set("top_a", 0)},
	"typical":     {off: set("typical", 1)},
	"epsilon":     {off: set("epsilon", 0)},
	"eta":         {off: set("epsilon", 0)},
	"tfs":         {off: set("tfs", 1)},
	"top_n_sigma": {off: set("top_n_sigma", 0)},
	"top_h":       {off: set("top_h", 1, "cap", 1<<20)},
	"xtc":         {off: set("probability", 0), settings: func(*rand.Rand, int) map[string]any { return map[string]any{"protect": ""} }},
	"p_less":      {noOff: "it has no parameter; leave it out"},
	"min_k":       {noOff: "it always cuts at the largest drop; leave it out"},
	"ees":         {noOff: "it has no parameter; leave it out"},
	"conformal_top_p": {off: set("thresholds", "0:1"), settings: func(g *rand.Rand, _ int) map[string]any {
		return map[string]any{"thresholds": fmt.Sprintf("0:%.3f %.2f:%.3f", g.Float64(), 0.1+g.Float64()*4, g.Float64())}
	}},
	"p_less_norm": {noOff: "it has no parameter; leave it out"},

	// feedback and selection
	"mirostat_v1": {noOff: selects},
	"mirostat_v2": {noOff: selects},
	"adaptive_p":  {off: set("target", -1)},
	"skew":        {off: set("skew", 0), draws: set("skew", 0.4)},
	"sample":      {off: set()},
	"gumbel_max":  {off: set()},
	"arithmetic":  {off: set()},
	"greedy":      {noOff: selects},

	// guide
	"cfg":           {off: set("scale", 1), byID: compares},
	"context_aware": {off: set("alpha", 0), byID: compares},
	"contrastive":   {off: set("alpha", 0, "beta", 0), byID: compares},
	"dola":          {noOff: "contrasting layers is all it does; leave it out", byID: compares},

	// watermark
	"watermark_green_list": {off: set("bias", 0)},
	"watermark_synthid": {noOff: "a mark of no key is none; leave it out", settings: func(g *rand.Rand, _ int) map[string]any {
		return map[string]any{"keys": fmt.Sprint(1+g.IntN(999), 1+g.IntN(999), 1+g.IntN(999)), "table_size": int64(2 + g.IntN(5000))}
	}},
	"watermark_gumbel": {off: set()},
	"watermark_keyed":  {off: set(), draws: set("length", 1<<16)},
}
