package store

import (
	"lab/core/trace"
)

// The rows of the tables. Column names carry units: bits are to base 2, tokens and
// steps count from 0, ranks and places in the chain from 1. The doc tags are what
// docs/runs.md says of a column.

// sampleRow is a row of samples.parquet.
type sampleRow struct {
	Cell         int32   `parquet:"cell" doc:"the cell, a row of cells.parquet"`
	Sample       int32   `parquet:"sample" doc:"index of the sample in its cell"`
	PromptTokens int32   `parquet:"prompt_tokens" doc:"tokens of the prompt"`
	Tokens       []int32 `parquet:"tokens,list" doc:"token ids of the completion, the one that ended it included"`
	Text         string  `parquet:"text" doc:"the completion as UTF-8; invalid bytes became U+FFFD"`
	Raw          []byte  `parquet:"raw,optional" doc:"the exact bytes, where the text is not them"`
	StopReason   string  `parquet:"stop_reason,dict" doc:"stop, end_of_text, max_tokens, context_full; empty for a failure"`
	StopString   string  `parquet:"stop_string" doc:"the stop string that matched"`
	StopOffset   int64   `parquet:"stop_offset_bytes" doc:"where it began, in bytes of the completion"`
	Failure      string  `parquet:"failure" doc:"why there is no sample; empty when there is one"`
}

// stepRow is a row of steps.parquet.
type stepRow struct {
	Cell   int32  `parquet:"cell" doc:"the cell"`
	Sample int32  `parquet:"sample" doc:"index of the sample"`
	Step   int32  `parquet:"step" doc:"index of the generated token"`
	Token  int32  `parquet:"token" doc:"its id"`
	Piece  []byte `parquet:"piece" doc:"its bytes; they may be part of a character"`

	ModelProb      *float64 `parquet:"model_prob,optional" doc:"its probability under the model distribution"`
	ModelSurprisal *float64 `parquet:"model_surprisal_bits,optional" doc:"-log2 of that"`
	ModelRank      *int64   `parquet:"model_rank,optional" doc:"its rank there, from 1"`
	ModelEntropy   *float64 `parquet:"model_entropy_bits,optional" doc:"entropy of the model distribution"`
	ModelSupport   *int64   `parquet:"model_support,optional" doc:"tokens with a probability above 0 there"`

	SamplingProb      *float64 `parquet:"sampling_prob,optional" doc:"its probability under the distribution drawn from; null where a search chose it"`
	SamplingSurprisal *float64 `parquet:"sampling_surprisal_bits,optional" doc:"-log2 of that"`
	SamplingRank      *int64   `parquet:"sampling_rank,optional" doc:"its rank there, from 1"`
	SamplingEntropy   *float64 `parquet:"sampling_entropy_bits,optional" doc:"entropy of the distribution drawn from"`
	SamplingSupport   *int64   `parquet:"sampling_support,optional" doc:"tokens with a probability above 0 there"`
}

// stageRow is a row of stages.parquet.
type stageRow struct {
	Cell          int32   `parquet:"cell" doc:"the cell"`
	Sample        int32   `parquet:"sample" doc:"index of the sample"`
	Step          int32   `parquet:"step" doc:"index of the generated token"`
	Place         int32   `parquet:"place" doc:"place of the stage in the chain, from 1"`
	Stage         string  `parquet:"stage,dict" doc:"name of the sampler"`
	Plugin        string  `parquet:"plugin,dict" doc:"plugin that offers it"`
	Truncation    bool    `parquet:"truncation" doc:"it removed tokens and renormalised, nothing else"`
	SupportBefore int64   `parquet:"support_before" doc:"tokens with a probability above 0 before it"`
	SupportAfter  int64   `parquet:"support_after" doc:"and after it"`
	KeptMass      float64 `parquet:"kept_mass" doc:"probability before it of the tokens that are left after it"`
	EntropyBefore float64 `parquet:"entropy_before_bits" doc:"entropy before it"`
	EntropyAfter  float64 `parquet:"entropy_after_bits" doc:"entropy after it"`
	KL            float64 `parquet:"kl_bits" doc:"KL(after‖before); infinite where it gave probability to what had none"`
	TV            float64 `parquet:"tv" doc:"total variation between before and after"`
	RankBefore    int64   `parquet:"chosen_rank_before" doc:"rank of the chosen token before it, from 1"`
	RankAfter     int64   `parquet:"chosen_rank_after" doc:"and after it"`
	ProbBefore    float64 `parquet:"chosen_prob_before" doc:"probability of the chosen token before it"`
	ProbAfter     float64 `parquet:"chosen_prob_after" doc:"and after it"`
}

// costRow is a row of costs.parquet, of every sample whose cost was measured.
type costRow struct {
	Cell           int32   `parquet:"cell" doc:"the cell"`
	Sample         int32   `parquet:"sample" doc:"index of the sample"`
	PrefillTokens  float64 `parquet:"prefill_tokens" doc:"its share of the tokens evaluated in calls of several"`
	DecodeTokens   float64 `parquet:"decode_tokens" doc:"and in calls of one"`
	CachedTokens   float64 `parquet:"cached_tokens" doc:"tokens of the prompt that it did not pay for"`
	PrefillSeconds float64 `parquet:"prefill_seconds" doc:"its share of the seconds of prefill, as the backend counts them"`
	DecodeSeconds  float64 `parquet:"decode_seconds" doc:"and of decode"`
	FLOPs          float64 `parquet:"flops" doc:"its share of the operations, 2 per multiply-add"`
	BytesMoved     float64 `parquet:"bytes_moved" doc:"its share of weights and cache read, and of cache written"`
	CacheBytes     int64   `parquet:"cache_bytes" doc:"the most KV cache that the model held after a call of it, of all sequences: no share"`
	Batch          float64 `parquet:"decode_batch" doc:"sequences that its decode calls extended, on average"`
}

func newCostRow(r *Record) costRow {
	c := r.Cost
	return costRow{Cell: int32(r.Cell), Sample: int32(r.Sample), PrefillTokens: c.PrefillTokens, DecodeTokens: c.DecodeTokens, CachedTokens: c.CachedTokens,
		PrefillSeconds: c.PrefillSeconds, DecodeSeconds: c.DecodeSeconds, FLOPs: c.FLOPs, BytesMoved: c.BytesMoved, CacheBytes: c.CacheBytes, Batch: c.Batch}
}

func (w *costRow) cost() *trace.Cost {
	return &trace.Cost{PrefillTokens: w.PrefillTokens, DecodeTokens: w.DecodeTokens, CachedTokens: w.CachedTokens, PrefillSeconds: w.PrefillSeconds,
		DecodeSeconds: w.DecodeSeconds, FLOPs: w.FLOPs, BytesMoved: w.BytesMoved, CacheBytes: w.CacheBytes, Batch: w.Batch}
}

func newSampleRow(r *Record) sampleRow {
	w := sampleRow{Cell: int32(r.Cell), Sample: int32(r.Sample), PromptTokens: int32(r.PromptTokens), Failure: r.Failure}
	if s := &r.Trace; r.Failure == "" {
		w.Tokens, w.Text, w.StopReason, w.StopString, w.StopOffset = s.Tokens, s.Text, s.Stop.Reason, s.Stop.String, int64(s.Stop.Offset)
		if len(s.Raw) > 0 {
			w.Raw = s.Raw
		}
	}
	return w
}

func (w *sampleRow) record() Record {
	r := Record{Cell: int(w.Cell), Sample: int(w.Sample), PromptTokens: int(w.PromptTokens), Failure: w.Failure}
	if w.Failure == "" {
		r.Trace = trace.Sample{Sample: uint64(w.Sample), Text: w.Text, Raw: w.Raw, Tokens: w.Tokens,
			Stop: trace.Stop{Reason: w.StopReason, String: w.StopString, Offset: int(w.StopOffset)}}
		if r.Trace.Tokens == nil {
			r.Trace.Tokens = []int32{}
		}
	}
	return r
}

func newStepRow(r *Record, i int) stepRow {
	s := &r.Trace.Steps[i]
	w := stepRow{Cell: int32(r.Cell), Sample: int32(r.Sample), Step: int32(i), Token: s.Token, Piece: s.Piece}
	var counts *[4]int64 // one piece of memory for all of a row, of which there are many
	if s.Model != nil || s.Sampling != nil {
		counts = new([4]int64)
	}
	if m := s.Model; m != nil {
		counts[0], counts[1] = int64(m.Rank), int64(m.Support)
		w.ModelProb, w.ModelSurprisal, w.ModelEntropy = (*float64)(&m.Prob), (*float64)(&m.SurprisalBits), (*float64)(&m.EntropyBits)
		w.ModelRank, w.ModelSupport = &counts[0], &counts[1]
	}
	if q := s.Sampling; q != nil {
		counts[2], counts[3] = int64(q.Rank), int64(q.Support)
		w.SamplingProb, w.SamplingSurprisal, w.SamplingEntropy = (*float64)(&q.Prob), (*float64)(&q.SurprisalBits), (*float64)(&q.EntropyBits)
		w.SamplingRank, w.SamplingSupport = &counts[2], &counts[3]
	}
	return w
}

func (w *stepRow) step() trace.Step {
	s := trace.Step{Step: int(w.Step), Token: w.Token, Piece: w.Piece}
	if w.ModelProb != nil && w.ModelSurprisal != nil && w.ModelRank != nil && w.ModelEntropy != nil && w.ModelSupport != nil {
		s.Model = &trace.Side{Prob: trace.Real(*w.ModelProb), SurprisalBits: trace.Real(*w.ModelSurprisal), Rank: int(*w.ModelRank),
			EntropyBits: trace.Real(*w.ModelEntropy), Support: int(*w.ModelSupport)}
	}
	if w.SamplingProb != nil && w.SamplingSurprisal != nil && w.SamplingRank != nil && w.SamplingEntropy != nil && w.SamplingSupport != nil {
		s.Sampling = &trace.Side{Prob: trace.Real(*w.SamplingProb), SurprisalBits: trace.Real(*w.SamplingSurprisal), Rank: int(*w.SamplingRank),
			EntropyBits: trace.Real(*w.SamplingEntropy), Support: int(*w.SamplingSupport)}
	}
	return s
}

func newStageRow(r *Record, step, i int) stageRow {
	g := &r.Trace.Steps[step].Stages[i]
	return stageRow{Cell: int32(r.Cell), Sample: int32(r.Sample), Step: int32(step), Place: int32(i + 1), Stage: g.Stage, Plugin: g.Plugin,
		Truncation: g.Truncation, SupportBefore: int64(g.SupportBefore), SupportAfter: int64(g.SupportAfter), KeptMass: float64(g.KeptMass),
		EntropyBefore: float64(g.EntropyBeforeBits), EntropyAfter: float64(g.EntropyAfterBits), KL: float64(g.KLBits), TV: float64(g.TV),
		RankBefore: int64(g.ChosenRankBefore), RankAfter: int64(g.ChosenRankAfter), ProbBefore: float64(g.ChosenProbBefore), ProbAfter: float64(g.ChosenProbAfter)}
}

func (w *stageRow) stage() trace.Stage {
	return trace.Stage{Stage: w.Stage, Plugin: w.Plugin, Truncation: w.Truncation, SupportBefore: int(w.SupportBefore), SupportAfter: int(w.SupportAfter),
		KeptMass: trace.Real(w.KeptMass), EntropyBeforeBits: trace.Real(w.EntropyBefore), EntropyAfterBits: trace.Real(w.EntropyAfter),
		KLBits: trace.Real(w.KL), TV: trace.Real(w.TV), ChosenRankBefore: int(w.RankBefore), ChosenRankAfter: int(w.RankAfter),
		ChosenProbBefore: trace.Real(w.ProbBefore), ChosenProbAfter: trace.Real(w.ProbAfter)}
}
