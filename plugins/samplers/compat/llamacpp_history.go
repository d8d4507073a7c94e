package compat

import (
	"math"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// llamaHistory holds the steps that look at the context.
func llamaHistory() []Rule {
	penalties := nativePenalty{
		repeat: "--repeat-penalty", frequency: "--frequency-penalty", presence: "--presence-penalty",
		differs: "float32; a negative window is off, as 0 is; any repeat factor is taken, 0 and negative ones included",
		window:  windowSpec(64, math.Inf(-1), "newest tokens looked at; 0 and below is off"),
		apply:   llamaPenalties,
	}
	return append(penalties.rules(), Rule{
		Sampler: "dry", Term: "dry (--dry-multiplier, --dry-base, --dry-allowed-length, --dry-penalty-last-n, --dry-sequence-breaker)",
		Differs: "penalties are float32; a base below 1 or a window of 0 or below is off, a negative multiplier rewards repetition, and an allowed length of 0 penalises whatever followed any token",
		Params:  dryParams(64, "newest tokens looked at; 0 and below is off"),
		Needs:   sampler.Needs{History: -1},
		Apply: func(row *sampler.Row, set param.Values) error {
			d := drySettings(row, set)
			if d.multiplier == 0 || d.base < 1 {
				return nil
			}
			return d.apply(row, true)
		},
	})
}

func llamaPenalties(row *sampler.Row, set param.Values, repeat, frequency, presence float32) error {
	count := map[int32]int{}
	for _, id := range newest(row.History, set.Int("last_n")) {
		count[id]++
	}
	for id, n := range count {
		if i := row.Scores.Index(id); i >= 0 {
			v := penalise(row.Scores.Values[i], repeat)
			row.Scores.Values[i] = v - float32(float32(float32(n)*frequency)+presence)
		}
	}
	return nil
}
