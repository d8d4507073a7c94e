package samplers

import (
	"fmt"
	"math/rand/v2"

	"lab/core/plugin/conform"
)

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

// facts are what the laws must know of the samplers of this plugin.
var facts = map[string]conform.Facts{
	// mask
	"repair":                {Off: set()},
	"logit_bias":            {Off: set("bias", ""), ByID: listed},
	"bad_words":             {Off: set("bad_words", ""), ByID: listed},
	"suppress_tokens":       {Off: set("suppress_tokens", ""), ByID: listed},
	"allowed_tokens":        {Off: set("allowed_tokens", ""), ByID: listed},
	"begin_suppress_tokens": {Off: set("begin_suppress_tokens", ""), ByID: listed},
	"forced_token":          {Off: set("token", ""), ByID: listed},
	"forced_bos":            {Off: set("token", ""), ByID: listed},
	"forced_eos":            {Off: set("max_length", 0), ByID: endOnly},
	"ignore_eos":            {NoOff: "its only setting is a list; leave it out", ByID: endOnly},

	// constrain: any text is allowed, so that most questions have an answer
	"grammar": {Off: set("grammar", ""), ByID: language, Settings: oneOf("grammar", "root ::= .*", `root ::= [a-p]* | "x" root`)},
	"regex":   {Off: set("regex", ""), ByID: language, Settings: oneOf("regex", "(?s).*", "[a-m]+", "(a|b|c|d|e|f|g|h|i|w[0-9]+)*z?")},
	"json_schema": {Off: set("schema", ""), ByID: language, Fresh: true,
		Settings: oneOf("schema", "{}", "{}", `{"type":["null","integer","boolean"]}`, `{"enum":["a",null,true]}`)},
	"infill": {NoOff: "it has no settings; leave it out", ByID: language},

	// penalty
	"penalties":                        {Off: set("repeat", 1, "frequency", 0, "presence", 0), Moves: sign},
	"repetition_penalty":               {Off: set("repetition_penalty", 1), Moves: sign},
	"frequency_penalty":                {Off: set("frequency_penalty", 0)},
	"presence_penalty":                 {Off: set("presence_penalty", 0)},
	"dry":                              {Off: set("multiplier", 0)},
	"no_repeat_ngram":                  {Off: set("n", 0), ByID: history},
	"encoder_repetition_penalty":       {Off: set("encoder_repetition_penalty", 1), Moves: sign, ByID: history, Settings: promptIDs},
	"encoder_no_repeat_ngram":          {Off: set("n", 0), ByID: history, Settings: promptIDs},
	"min_length":                       {Off: set("min_length", 0), ByID: endOnly},
	"min_new_tokens":                   {Off: set("min_new_tokens", 0), ByID: endOnly},
	"exponential_decay_length_penalty": {Off: set("factor", 1), Moves: "it adds a multiple of the score's magnitude"},
	"hamming_diversity":                {Off: set("diversity", 0)},

	// rescale
	"temperature": {Off: set("temperature", 1)},
	"dynatemp": {Off: set("temperature", 1, "range", 0, "low", -1, "high", -1), Settings: func(g *rand.Rand, _ int) map[string]any {
		if low := g.Float64(); g.IntN(2) == 0 { // both limits or neither
			return map[string]any{"low": low, "high": low + g.Float64()}
		}
		return map[string]any{"low": -1, "high": -1}
	}},
	"quadratic":           {Off: set("factor", 0)},
	"logit_normalization": {NoOff: "it has no settings; leave it out"},

	// truncate
	"top_k":       {Off: set("top_k", 0)},
	"top_p":       {Off: set("top_p", 1)},
	"min_p":       {Off: set("min_p", 0)},
	"top_a":       {Off: set("top_a", 0)},
	"typical":     {Off: set("typical", 1)},
	"epsilon":     {Off: set("epsilon", 0)},
	"eta":         {Off: set("epsilon", 0)},
	"tfs":         {Off: set("tfs", 1)},
	"top_n_sigma": {Off: set("top_n_sigma", 0)},
	"top_h":       {Off: set("top_h", 1, "cap", 1<<20)},
	"xtc":         {Off: set("probability", 0), Head: true, Settings: func(*rand.Rand, int) map[string]any { return map[string]any{"protect": ""} }},
	"p_less":      {NoOff: "it has no parameter; leave it out"},
	"min_k":       {NoOff: "it always cuts at the largest drop; leave it out"},
	"ees":         {NoOff: "it has no parameter; leave it out"},
	"conformal_top_p": {Off: set("thresholds", "0:1"), Settings: func(g *rand.Rand, _ int) map[string]any {
		return map[string]any{"thresholds": fmt.Sprintf("0:%.3f %.2f:%.3f", g.Float64(), 0.1+g.Float64()*4, g.Float64())}
	}},
	"p_less_norm": {NoOff: "it has no parameter; leave it out"},

	// feedback and selection
	"mirostat_v1": {NoOff: selects},
	"mirostat_v2": {NoOff: selects},
	"adaptive_p":  {Off: set("target", -1)},
	"skew":        {Off: set("skew", 0), Draws: set("skew", 0.4)},
	"sample":      {Off: set()},
	"gumbel_max":  {Off: set()},
	"arithmetic":  {Off: set()},
	"greedy":      {NoOff: selects},

	// guide
	"cfg":           {Off: set("scale", 1), ByID: compares},
	"context_aware": {Off: set("alpha", 0), ByID: compares},
	"contrastive":   {Off: set("alpha", 0, "beta", 0), ByID: compares},
	"dola":          {NoOff: "contrasting layers is all it does; leave it out", ByID: compares},

	// watermark
	"watermark_green_list": {Off: set("bias", 0)},
	"watermark_synthid": {NoOff: "a mark of no key is none; leave it out", Settings: func(g *rand.Rand, _ int) map[string]any {
		return map[string]any{"keys": fmt.Sprint(1+g.IntN(999), 1+g.IntN(999), 1+g.IntN(999)), "table_size": int64(2 + g.IntN(5000))}
	}},
	"watermark_gumbel": {Off: set()},
	"watermark_keyed":  {Off: set(), Draws: set("length", 1<<16)},
}
