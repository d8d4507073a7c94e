package compat

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// webUI returns the rules of text-generation-webui (May 2026,
// modules/sampler_hijack.py). Methods that are not its own run on the classes of
// transformers.
func webUI() []Rule {
	return slices.Concat(webuiShared(), webuiRescale(), webuiTruncate(), webuiHistory(), []Rule{
		{Sampler: "cfg", Term: "guidance_scale, negative_prompt", Differs: hfGuidanceDiffers, Apply: hfGuide},
		{Sampler: "mirostat_v2", Term: "mirostat_mode 2, mirostat_tau, mirostat_eta"},
		{Sampler: "adaptive_p", Term: "adaptive_target, adaptive_decay"},
		{Sampler: "greedy", Term: "do_sample off"},
		{Sampler: "sample", Term: "do_sample", Differs: multinomialDiffers},
	})
}

// webuiShared holds the methods that run on the classes of transformers. Its
// interface leaves a step out at the value that means off, where the class
// refuses it.
func webuiShared() []Rule {
	off := map[string]param.Spec{
		"top_k": {Name: "top_k", Aliases: []string{"k"}, Type: param.Int, Default: int64(0), Min: 0, Max: math.Inf(1),
			Unit: "tokens", Meaning: "how many tokens to keep, more where some tie with the last; 0 keeps all"},
		"top_p":   unit("top_p", 1, false, false, "mass of the nucleus; 0 keeps one token, 1 keeps all", "p"),
		"typical": unit("typical", 1, true, false, "mass to keep; 1 keeps all", "p", "typical_p", "typ_p", "mass"),
		"epsilon": unit("epsilon", 0, false, true, "least probability of a token; 0 keeps all", "epsilon_cutoff", "eta_cutoff"),
		"eta":     unit("epsilon", 0, false, true, "bound of the least probability of a token; 0 keeps all", "epsilon_cutoff", "eta_cutoff"),
	}
	rules := append(hfShared(), hfTruncate()[:1]...)
	for i, r := range rules {
		spec, ok := off[r.Sampler]
		if !ok {
			continue
		}
		r.Params = slices.Clone(r.Params)
		r.Params[0] = spec
		if base := r.Apply; r.Sampler == "top_p" || r.Sampler == "typical" {
			r.Apply = func(row *sampler.Row, set param.Values) error {
				if set.Float(spec.Name) == 1 {
					return nil
				}
				return base(row, set)
			}
		}
		switch r.Sampler {
		case "top_k":
			r.Differs = "keeps every token tied with the k-th"
		case "typical":
			r.Differs = "keeps every token whose deviation from the entropy equals the last one's, in float32"
		case "epsilon", "eta":
			r.Differs = "when nothing passes, every token tied with the likeliest stays; its interface takes the number in units of 0.0001, here it is plain"
		}
		rules[i] = r
	}
	return rules
}

func webuiRescale() []Rule {
	return []Rule{
		{
			Sampler: "dynatemp", Term: "dynamic_temperature (dynatemp_low, dynatemp_high, dynatemp_exponent)",
			Differs: "a single candidate is divided by the highest temperature instead of being left alone; float32",
			Apply:   torchDynatemp(func(x []float32, low, high, exponent float64) { divide(x, webuiDynatemp(x, low, high, exponent)) }),
		},
		{
			Sampler: "quadratic", Term: "smoothing_factor, smoothing_curve",
			Differs: "a factor of 0 makes every score equal to the largest instead of being off (its interface leaves the step out then)",
			Params: param.Specs{
				anyFloat("factor", 0, "how strongly scores below the largest are pulled down; 0 makes all equal", "smoothing_factor"),
				anyFloat("curve", 1, "share of the cube; 1 is the square alone", "smoothing_curve"),
			},
			Apply: torchChange("quadratic", func(x []float32, _ *sampler.Row, set param.Values) {
				f, c := set.Float("factor"), set.Float("curve")
				k, s := float32((3-c)/2*f), float32((c-1)/2*f)
				top := slices.Max(x)
				for i, v := range x {
					if !dist.Finite(v) {
						continue
					}
					d := v - top
					x[i] = -float32(k*float32(d*d)) + float32(s*float32(d*d*d)) + top
				}
			}),
		},
	}
}

// webuiDynatemp returns the temperature that the entropy chooses between two.
func webuiDynatemp(x []float32, lo, hi, exponent float64) float32 {
	const least = 1e-10
	p := torchSoftmax(x)
	valid := 0
	for i, v := range p {
		if v > 0 {
			p[i] = v * log32(v)
		}
		if x[i] > float32(math.Inf(-1)) {
			valid++
		}
	}
	h := max(-torchSum(p), least)
	most := math.Log(float64(valid))
	if most <= 0 {
		most = least
	}
	share := pow32(h/float32(most), float32(exponent))
	return float32(lo) + float32(float32(hi-lo)*share)
}

// pow32 is a power rounded to float32.
func pow32(x, y float32) float32 { return float32(math.Pow(float64(x), float64(y))) }

func webuiTruncate() []Rule {
	return []Rule{
		{
			Sampler: "top_n_sigma", Term: "top_n_sigma",
			Differs: "the deviation is that of a sample (n-1), removed tokens counted as scores of 0, and 0 keeps the likeliest tokens instead of being off",
			Params: param.Specs{{Name: "top_n_sigma", Aliases: []string{"n", "nsigma", "n_sigma"}, Type: param.Float, Default: 2.0, Min: 0, Max: math.Inf(1),
				Meaning: "how many deviations below the largest score a token may be"}, lacks("min_keep", WebUI)},
			Apply: torchKeep("top_n_sigma", func(x []float32, _ *sampler.Row, set param.Values) []bool {
				filled := slices.Clone(x)
				for i, v := range filled {
					if !dist.Finite(v) {
						filled[i] = 0
					}
				}
				return keepFrom(x, slices.Max(x)-float32(float(set, "top_n_sigma")*torchStd(filled)))
			}),
		},
		{
			Sampler: "tfs", Term: "tfs",
			Differs: "the least likely token goes in any case, the one of the highest id when all are equal; float32",
			Params:  param.Specs{unit("tfs", 1, false, false, "share of the curvature to keep; the last token goes at 1, too", "z", "tfs_z"), minKeep(1)},
			Apply: torchKeep("tfs", func(x []float32, row *sampler.Row, set param.Values) []bool {
				return keepFirst(torchTailFree(x, row, set), descending(x), set.Int("min_keep"))
			}),
		},
		{
			Sampler: "top_a", Term: "top_a",
			Differs: "float32 probabilities; a above 1 is not allowed",
			Params:  param.Specs{unit("top_a", 0, false, false, "least probability, as a multiple of the square of the largest; 0 keeps all", "a"), minKeep(1)},
			Apply: torchKeep("top_a", func(x []float32, row *sampler.Row, set param.Values) []bool {
				return keepFirst(torchTopA(x, row, set), descending(x), set.Int("min_keep"))
			}),
		},
		{
			Sampler: "xtc", Term: "xtc_probability, xtc_threshold",
			Differs: "leaves the row alone when a protected token or one that ends a text would be removed (it protects the line break, which is to be named here)",
			Params:  param.Specs{lacks("mode", WebUI), lacks("min_keep", WebUI)},
			Needs:   sampler.Needs{Uniforms: 1},
			Apply:   webuiXTC,
		},
	}
}

// webuiXTC gives up when it would remove a token that is to stay.
func webuiXTC(row *sampler.Row, set param.Values) error {
	spared := map[int32]bool{}
	for _, id := range row.EndOfText {
		spared[id] = true
	}
	items, err := (*token.Finder)(nil).IDs(row, "xtc", set, "protect")
	if err != nil {
		return err
	}
	for _, id := range items {
		spared[id] = true
	}
	return torchKeep("xtc", func(x []float32, row *sampler.Row, set param.Values) []bool {
		if row.Uniforms[0] >= set.Float("probability") {
			return nil
		}
		keep := excludeTop(torchSoftmax(x), descending(x), float(set, "threshold"))
		for id, stays := range keep {
			if !stays && spared[int32(id)] {
				return nil
			}
		}
		return keep
	})(row, set)
}

// webuiPenalty is a window whose ends are those of a Python slice.
func webuiPenalty() torchPenalty {
	return torchPenalty{
		repeat: "repetition_penalty", frequency: "frequency_penalty", presence: "presence_penalty",
		differs: "float32; a window of 0 is the whole context, and one of -n leaves out the n oldest tokens",
		window: param.Spec{Name: "last_n", Aliases: []string{"penalty_last_n", "repeat_last_n", "rep_pen_range", "repetition_penalty_range"}, Type: param.Int,
			Default: int64(1024), Min: math.Inf(-1), Max: math.Inf(1), Unit: "tokens", Meaning: "how many of the newest tokens count; 0 is all, -n all but the n oldest"},
		scope: "all", bound: math.Inf(1),
		look: func(row *sampler.Row, n int64) ([]int32, int) {
			if n > 0 {
				return newest(row.History, n), 0
			}
			return row.History[min(-max(n, math.MinInt32), int64(len(row.History))):], 0
		},
		subtract: func(v float32, n int, frequency, presence float32) float32 {
			return v - (presence + float32(float32(n)*frequency))
		},
	}
}

func webuiHistory() []Rule {
	return append(webuiPenalty().rules(), []Rule{
		{Sampler: "no_repeat_ngram", Term: "no_repeat_ngram_size"},
		{Sampler: "encoder_repetition_penalty", Term: "encoder_repetition_penalty"},
		{Sampler: "bad_words", Term: "custom_token_bans"},
		{Sampler: "ignore_eos", Term: "ban_eos_token"},
		{
			Sampler: "dry", Term: "dry_multiplier, dry_base, dry_allowed_length, dry_sequence_breakers",
			Differs: "a repetition counts for at most 50 tokens, a window of 0 or below is the whole context, and an empty context is an error, as it crashes there",
			Params:  dryParams(0, "newest tokens looked at; 0 and below is all"),
			Needs:   sampler.Needs{History: -1},
			Apply:   torchDryRule(webuiDry),
		},
	}...)
}
