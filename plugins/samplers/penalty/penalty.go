// Package penalty holds the samplers that make tokens less likely, or
// impossible, because of what the context already holds: repetition, presence
// and frequency penalties, DRY, bans of repeated n-grams, and the rules of
// length.
//
// Every rule is the project's own superset; how other systems differ is in
// package compat. Biases and masks that a user lists are in package mask.
// Scores move in float64 and are rounded to float32 once; a finite score stays
// finite, and a removed token stays removed. Only the tokens that a rule names
// are touched, so a penalty costs the same at any size of vocabulary. Start with
// [Penalties]; [All] lists the family.
package penalty

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// All returns the samplers of the family in the usual order of a chain.
func All() []sampler.Sampler {
	f := &token.Finder{}
	return []sampler.Sampler{
		Penalties{}, Repetition{}, Frequency{}, Presence{}, Dry{},
		NoRepeatNgram{}, EncoderRepetition{}, EncoderNoRepeatNgram{},
		MinLength{find: f}, MinNewTokens{find: f}, DecayLength{find: f},
		Hamming{find: f},
	}
}

// The settings that choose a part of the context.
const (
	scopeAll    = "all"
	scopeOutput = "output"
)

func lastN() param.Spec {
	return param.Spec{
		Name: "last_n", Aliases: []string{"penalty_last_n", "repeat_last_n", "rep_pen_range"}, Type: param.Int, Default: int64(64),
		Min: -1, Max: math.Inf(1), Unit: "tokens",
		Meaning: "how many of the newest tokens count; 0 switches the stage off, -1 or more than there are takes all",
	}
}

func scope() param.Spec {
	return param.Spec{
		Name: "scope", Type: param.Text, Default: scopeAll, Choices: []string{scopeAll, scopeOutput},
		Meaning: "all counts the prompt and what was generated, output only the latter",
	}
}

// window returns the tokens that count, oldest first.
func window(row *sampler.Row, set param.Values) []int32 {
	tokens := row.History
	if set.Text("scope") == scopeOutput {
		tokens = tokens[row.Prompt:]
	}
	return newest(tokens, set.Int("last_n"))
}

// newest returns the last n tokens, all of them for n < 0 and when there are
// fewer.
func newest(tokens []int32, n int64) []int32 {
	if n < 0 || n >= int64(len(tokens)) {
		return tokens
	}
	return tokens[len(tokens)-int(n):]
}

// few is the length up to which keys are sorted in memory of the stack.
const few = 256

// sorted sorts keys, in linear time when there are many: by 11 bits at a time,
// leaving out those in which all keys agree. spare is memory of at least the
// same length.
func sorted(keys, spare []uint64) []uint64 {
	if len(keys) <= few {
		slices.Sort(keys)
		return keys
	}
	or, and := keys[0], keys[0]
	for _, k := range keys {
		or, and = or|k, and&k
	}
	spare = spare[:len(keys)]
	for shift := 0; shift < 64; shift += 11 {
		if (or&^and)>>shift&2047 == 0 {
			continue
		}
		var start [2049]int32
		for _, k := range keys {
			start[k>>shift&2047+1]++
		}
		for b := range 2048 {
			start[b+1] += start[b]
		}
		for _, k := range keys {
			b := k >> shift & 2047
			spare[start[b]] = k
			start[b]++
		}
		keys, spare = spare, keys
	}
	return keys
}

// store rounds a score to float32. A number beyond its range becomes the
// largest or lowest finite one.
func store(x float64) float32 {
	return float32(min(max(x, -math.MaxFloat32), math.MaxFloat32))
}

// at returns the place of a token in the row, or -1 when it is not in the
// support.
func at(s *dist.Scores, id int32) int {
	if i := s.Index(id); i >= 0 && dist.Finite(s.Values[i]) {
		return i
	}
	return -1
}
