package compat

import (
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func koboldHistory() []Rule {
	penalties := nativePenalty{
		repeat: "rep_pen, rep_pen_range, rep_pen_slope", presence: "presence_penalty",
		differs: "the older half of the window gets the factor 1 + (repeat-1)*slope, a token found in the newer half the full one; no frequency penalty; a negative window crashes it and is refused",
		window:  windowSpec(320, 0, "newest tokens looked at; 0 is off"),
		more: param.Specs{
			anyFloat("slope", 1, "share of the factor above 1 that the older half of the window gets; 1 treats both alike", "rep_pen_slope"),
		},
		apply: koboldPenalties,
	}
	return append(penalties.rules(), Rule{
		Sampler: "dry", Term: "dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers",
		Differs: "a breaker that would continue a repetition is penalised like any token; a window of 0 or below is the whole context; a multiplier or base of 0 and below is off",
		Params:  dryParams(320, "newest tokens looked at; 0 and below: the whole context"),
		Needs:   sampler.Needs{History: -1},
		Apply: func(row *sampler.Row, set param.Values) error {
			d := drySettings(row, set)
			if d.multiplier <= 0 || d.base <= 0 {
				return nil
			}
			if set.Int("last_n") <= 0 {
				d.history = row.History
			}
			return d.apply(row, false)
		},
	})
}

func koboldPenalties(row *sampler.Row, set param.Values, repeat, _, presence float32) error {
	far := repeat
	if far > 1 {
		far = 1 + float32((repeat-1)*float(set, "slope"))
	}
	window := newest(row.History, set.Int("last_n"))
	factor := map[int32]float32{}
	for i, id := range window {
		if i*2 >= len(window) {
			factor[id] = repeat
		} else {
			factor[id] = far
		}
	}
	for id, by := range factor {
		if i := row.Scores.Index(id); i >= 0 {
			row.Scores.Values[i] = penalise(row.Scores.Values[i], by) - presence
		}
	}
	return nil
}
