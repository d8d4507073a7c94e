// Package trace holds the plain records of a run: what was drawn at each step,
// from which distribution, and what every stage did.
//
// Records are values without behaviour beyond their JSON form; who makes them
// is core/generate, who stores or draws them is elsewhere. Probabilities are in
// [0, 1], entropies, surprisals and divergences in bits. "Model" is the model
// distribution, "sampling" what was drawn from, everywhere.
package trace

import (
	"encoding/json"
	"math"

	"lab/core/dist"
)

// Real is a real number whose JSON form is null when it is infinite or NaN,
// since JSON has no such numbers. A null KL is an infinite one.
type Real float64

// MarshalJSON implements json.Marshaler.
func (r Real) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(r), 0) || math.IsNaN(float64(r)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(r))
}

// UnmarshalJSON reads null as NaN: which of the three it was is not told, and it was
// no number. A value that is absent stays as it is.
func (r *Real) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*r = Real(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(r))
}

// Stage is what one stage did at one step.
type Stage struct {
	Stage             string `json:"stage"`
	Plugin            string `json:"plugin"`
	SupportBefore     int    `json:"support_before"`
	SupportAfter      int    `json:"support_after"`
	KeptMass          Real   `json:"kept_mass"`
	EntropyBeforeBits Real   `json:"entropy_before_bits"`
	EntropyAfterBits  Real   `json:"entropy_after_bits"`
	KLBits            Real   `json:"kl_bits"` // KL(after‖before)
	TV                Real   `json:"tv"`
	Truncation        bool   `json:"truncation"`
	ChosenRankBefore  int    `json:"chosen_rank_before"`
	ChosenRankAfter   int    `json:"chosen_rank_after"`
	ChosenProbBefore  Real   `json:"chosen_prob_before"`
	ChosenProbAfter   Real   `json:"chosen_prob_after"`
}

// NewStage returns the record of a change.
func NewStage(stage, plugin string, c dist.Change) Stage {
	return Stage{
		Stage: stage, Plugin: plugin,
		SupportBefore: c.SupportBefore, SupportAfter: c.SupportAfter, KeptMass: Real(c.KeptMass),
		EntropyBeforeBits: Real(c.EntropyBefore), EntropyAfterBits: Real(c.EntropyAfter),
		KLBits: Real(c.KL), TV: Real(c.TV), Truncation: c.Truncation,
		ChosenRankBefore: c.RankBefore, ChosenRankAfter: c.RankAfter,
		ChosenProbBefore: Real(c.ProbBefore), ChosenProbAfter: Real(c.ProbAfter),
	}
}

// Side is one distribution at one step, seen from the chosen token.
type Side struct {
	Prob          Real `json:"prob"`
	SurprisalBits Real `json:"surprisal_bits"` // -log2 Prob
	Rank          int  `json:"rank"`           // from 1
	EntropyBits   Real `json:"entropy_bits"`
	Support       int  `json:"support"`
}

// NewSide returns the record of a distribution with the given entropy and
// support, in which the chosen token has probability p and the given rank.
func NewSide(p float64, rank int, entropy float64, support int) Side {
	return Side{Prob: Real(p), SurprisalBits: Real(-math.Log2(p)), Rank: rank, EntropyBits: Real(entropy), Support: support}
}

// Step is one generated token.
type Step struct {
	Step     int     `json:"step"`
	Token    int32   `json:"token"`
	Piece    []byte  `json:"piece"` // its bytes, base64 in JSON; may be part of a character
	Model    *Side   `json:"model,omitempty"`
	Sampling *Side   `json:"sampling,omitempty"`
	Stages   []Stage `json:"stages,omitempty"`
}

// Stop says why a sample ended.
type Stop struct {
	// Reason is "stop" (a stop string), "end_of_text", "max_tokens",
	// "context_full" or "interrupted".
	Reason string `json:"reason"`
	String string `json:"string,omitempty"` // the stop string that matched
	Offset int    `json:"offset,omitempty"` // where it began, in bytes of the completion
}

// The reasons a sample ends.
const (
	StopString  = "stop"
	EndOfText   = "end_of_text"
	MaxTokens   = "max_tokens"
	ContextFull = "context_full"
	Interrupted = "interrupted"
)

// Sample is one completion of one prompt.
type Sample struct {
	Sample uint64  `json:"sample"`
	Text   string  `json:"text"`          // the completion as UTF-8; invalid bytes become U+FFFD
	Raw    []byte  `json:"raw,omitempty"` // the exact bytes, when Text is not them
	Tokens []int32 `json:"tokens"`        // of the completion, the one that ended it included
	Stop   Stop    `json:"stop"`
	Steps  []Step  `json:"steps,omitempty"`
}
