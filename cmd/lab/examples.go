package main

// The distribution that every example begins with: a next token after "The
// weather today is". The tokens are the whole vocabulary of the examples, and
// their places in the list are their ids.
var exampleTokens = []string{" nice", " sunny", " cold", " warm", " bad", " rainy", " fine", " windy", " the", " cloudy", " hot", ".", " a", "</s>"}

const exampleEnd = 13

// jsonTokens are the vocabulary of the one example whose text is no sentence.
var jsonTokens = []string{"{", " The", "Here", "Sure", " {", "null", "[", "\"", " null", "{}", "true", "12", "-", "</s>"}

func weatherRow() []float64 {
	return []float64{0.24, 0.2, 0.12, 0.1, 0.08, 0.065, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.005}
}

// endingRow is where a text may end, after "The weather today is nice".
func endingRow() []float64 {
	return []float64{0.02, 0.02, 0.01, 0.02, 0.01, 0.01, 0.03, 0.02, 0.12, 0.02, 0.02, 0.3, 0.12, 0.28}
}

// example is one application of one sampler to the example distribution, with
// what else it is told. Token ids are places in exampleTokens.
type example struct {
	family int      // place in families
	stage  string   // in the text form of a chain
	tokens []string // nil: exampleTokens
	ending bool     // the row is endingRow
	broken []int32  // tokens whose score is NaN

	context   []int32 // the tokens before
	prompt    int     // how many of them are prompt
	step      int     // how many tokens were generated
	uniforms  []float64
	passes    [][]float64 // probabilities of further passes
	passNames []string    // what each of them is
}

// families are the groups in which the reference lists samplers.
var families = []struct{ name, about string }{
	{"Masks and bias", "Remove, allow, force or favour tokens that a user lists, and repair broken scores."},
	{"Constraints", "Keep what a grammar, a schema or an expression allows."},
	{"Penalties", "Look at the context and lower, raise or remove what it holds."},
	{"Temperature", "Move scores by their size alone; no token is removed."},
	{"Truncation", "Remove what is unlikely, or sometimes what is likely, and renormalise the rest."},
	{"Guidance", "Compare with the scores of further passes of a model."},
	{"Watermarks", "Leave a mark that a detector finds."},
	{"Selection", "Choose the token; one of them ends every chain."},
	{"Selection with feedback", "Choose the token, and steer by what was chosen before."},
}

const (
	inMasks = iota
	inConstraints
	inPenalties
	inTemperatures
	inTruncation
	inGuidance
	inWatermarks
	inSelection
	inFeedback
)

// examples has one entry for every built-in sampler; a test says which are
// missing.
var examples = map[string]example{
	"repair":                {family: inMasks, stage: "repair:nan=2", broken: []int32{3}},
	"logit_bias":            {family: inMasks, stage: `logit_bias:"10=2 0=-1 1=-inf"`},
	"bad_words":             {family: inMasks, stage: `bad_words:"'.' 7+0"`, context: []int32{2, 7}},
	"suppress_tokens":       {family: inMasks, stage: `suppress_tokens:"' nice' 13"`},
	"allowed_tokens":        {family: inMasks, stage: `allowed_tokens:"1 2 3 5 7"`},
	"begin_suppress_tokens": {family: inMasks, stage: `begin_suppress_tokens:"'.' 13"`, ending: true},
	"forced_token":          {family: inMasks, stage: `forced_token:"' sunny'"`},
	"forced_bos":            {family: inMasks, stage: `forced_bos:"' the'"`, context: []int32{exampleEnd}, prompt: 1},
	"forced_eos":            {family: inMasks, stage: "forced_eos:max_length=4", ending: true, context: []int32{8, 9, 0}},
	"ignore_eos":            {family: inMasks, stage: "ignore_eos", ending: true},

	"grammar":     {family: inConstraints, stage: `grammar:'root ::= " " ("sunny" | "windy") [!.]'`},
	"regex":       {family: inConstraints, stage: `regex:" (rain|sun|wind|cloud)y"`},
	"json_schema": {family: inConstraints, stage: `json_schema:'{"type":["object","null"]}'`, tokens: jsonTokens},
	"infill":      {family: inConstraints, stage: "infill", ending: true},

	"penalties":          {family: inPenalties, stage: "penalties:repeat=1.2,frequency=0.4,presence=0.3", context: []int32{0, 1, 0, 3, 0}},
	"repetition_penalty": {family: inPenalties, stage: "repetition_penalty:1.5", context: []int32{0, 1, 0, 3, 0}},
	"frequency_penalty":  {family: inPenalties, stage: "frequency_penalty:0.6", context: []int32{0, 1, 0, 3, 0}},
	"presence_penalty":   {family: inPenalties, stage: "presence_penalty:0.8", context: []int32{0, 1, 0, 3, 0}},
	"dry":                {family: inPenalties, stage: "dry:1.5", context: []int32{4, 2, 7, 0, 3, 4, 2, 7}},
	"no_repeat_ngram":    {family: inPenalties, stage: "no_repeat_ngram:3", context: []int32{2, 7, 0, 2, 7, 1, 2, 7}},
	"encoder_repetition_penalty": {family: inPenalties, stage: "encoder_repetition_penalty:1.3",
		context: []int32{2, 7}, prompt: 2},
	"encoder_no_repeat_ngram": {family: inPenalties, stage: "encoder_no_repeat_ngram:2", context: []int32{2, 1, 2}, prompt: 2},
	"min_length":              {family: inPenalties, stage: "min_length:8", ending: true, context: []int32{8, 9, 0}},
	"min_new_tokens":          {family: inPenalties, stage: "min_new_tokens:5", ending: true, step: 3},
	"exponential_decay_length_penalty": {family: inPenalties, stage: "exponential_decay_length_penalty:start=10,factor=1.05",
		ending: true, step: 16},
	"hamming_diversity": {family: inPenalties, stage: `hamming_diversity:diversity=0.8,tokens="0=2 1=1"`},

	"temperature":         {family: inTemperatures, stage: "temperature:0.5"},
	"dynatemp":            {family: inTemperatures, stage: "dynatemp:low=0.5,high=2"},
	"quadratic":           {family: inTemperatures, stage: "quadratic:0.4"},
	"logit_normalization": {family: inTemperatures, stage: "logit_normalization"},

	"top_k":           {family: inTruncation, stage: "top_k:4"},
	"top_p":           {family: inTruncation, stage: "top_p:0.8"},
	"min_p":           {family: inTruncation, stage: "min_p:0.2"},
	"top_a":           {family: inTruncation, stage: "top_a:0.5"},
	"typical":         {family: inTruncation, stage: "typical:0.5"},
	"epsilon":         {family: inTruncation, stage: "epsilon:0.03"},
	"eta":             {family: inTruncation, stage: "eta:0.05"},
	"tfs":             {family: inTruncation, stage: "tfs:0.8"},
	"top_n_sigma":     {family: inTruncation, stage: "top_n_sigma:1"},
	"top_h":           {family: inTruncation, stage: "top_h:0.6"},
	"xtc":             {family: inTruncation, stage: "xtc:probability=0.5,threshold=0.09", uniforms: []float64{0.3}},
	"p_less":          {family: inTruncation, stage: "p_less"},
	"p_less_norm":     {family: inTruncation, stage: "p_less_norm"},
	"min_k":           {family: inTruncation, stage: "min_k"},
	"ees":             {family: inTruncation, stage: "ees"},
	"conformal_top_p": {family: inTruncation, stage: `conformal_top_p:"0:0.5 2:0.7 4:0.95"`},

	"cfg":           {family: inGuidance, stage: "cfg:2", passes: [][]float64{guideRow()}, passNames: []string{"the pass without the condition"}},
	"context_aware": {family: inGuidance, stage: "context_aware:1", passes: [][]float64{guideRow()}, passNames: []string{"the pass without the context"}},
	"contrastive":   {family: inGuidance, stage: "contrastive:0.2", passes: [][]float64{guideRow()}, passNames: []string{"the amateur's pass"}},
	"dola": {family: inGuidance, stage: "dola:layers=2", passes: [][]float64{earlyRow(), guideRow()},
		passNames: []string{"an early layer", "a later layer"}},

	"watermark_green_list": {family: inWatermarks, stage: "watermark_green_list:ratio=0.5", context: []int32{8, 7}},
	"watermark_synthid":    {family: inWatermarks, stage: "watermark_synthid", context: []int32{2, 7, 0, 1, 3}},
	"watermark_gumbel":     {family: inWatermarks, stage: "watermark_gumbel", context: []int32{2, 7, 0, 1, 3}, uniforms: []float64{0.5}},
	"watermark_keyed":      {family: inWatermarks, stage: "watermark_keyed", uniforms: []float64{0.5}},

	"sample":     {family: inSelection, stage: "sample", uniforms: []float64{0.5}},
	"greedy":     {family: inSelection, stage: "greedy"},
	"gumbel_max": {family: inSelection, stage: "gumbel_max", uniforms: []float64{0.5}},
	"arithmetic": {family: inSelection, stage: "arithmetic:8", uniforms: []float64{0.7}},

	"mirostat_v1": {family: inFeedback, stage: "mirostat_v1:tau=1.5", uniforms: []float64{0.5}},
	"mirostat_v2": {family: inFeedback, stage: "mirostat_v2:tau=2", uniforms: []float64{0.5}},
	"adaptive_p":  {family: inFeedback, stage: "adaptive_p:0.1", uniforms: []float64{0.5}},
	"skew":        {family: inFeedback, stage: "skew:0.6", uniforms: []float64{0.5}},
}

// guideRow is what another pass says: less of fair weather.
func guideRow() []float64 {
	return []float64{0.3, 0.08, 0.1, 0.08, 0.12, 0.06, 0.07, 0.03, 0.06, 0.03, 0.02, 0.02, 0.02, 0.01}
}

// earlyRow is what an early layer says: hardly anything yet.
func earlyRow() []float64 {
	return []float64{0.11, 0.09, 0.08, 0.08, 0.07, 0.06, 0.07, 0.06, 0.11, 0.06, 0.06, 0.06, 0.06, 0.03}
}
