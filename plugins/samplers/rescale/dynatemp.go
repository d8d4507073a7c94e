package rescale

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// DynamicTemperature chooses the temperature by the entropy (kalomaze 2023).
type DynamicTemperature struct{}

// Declare returns the declaration.
func (DynamicTemperature) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "dynatemp", Aliases: []string{"dynamic_temperature", "temp_ext"}, Kind: sampler.Reshape,
		Summary: "Divides every score by a temperature between low and high that grows with the entropy: a sure model stays sharp, an unsure one becomes flatter. Removed tokens count for nothing, and a single token is left alone.",
		Formula: "l_i / T, T = low + (high - low) · (H / ln n)^exponent over the n tokens of the support; low, high = temperature ∓ range",
		Source:  "kalomaze 2023, dynamic temperature, koboldcpp pull request 516; llama.cpp pull request 4972",
		Params: param.Specs{
			{
				Name: "temperature", Aliases: []string{"t", "temp"}, Type: param.Float, Default: 1.0, Min: 0, Max: math.Inf(1),
				Meaning: "centre of the temperatures, together with range; to be left out where low and high are given",
			},
			{
				Name: "range", Aliases: []string{"dynatemp_range"}, Type: param.Float, Default: 0.0, Min: 0, Max: math.Inf(1),
				Meaning: "how far low and high lie from the centre; low is at least 0",
			},
			{
				Name: "exponent", Aliases: []string{"dynatemp_exponent"}, Type: param.Float, Default: 1.0, Min: 0, Max: math.Inf(1),
				Meaning: "of the share of the largest entropy; 0 takes high always",
			},
			{
				Name: "low", Aliases: []string{"min_temp", "dynatemp_low"}, Type: param.Float, Default: -1.0, Min: -1, Max: math.Inf(1),
				Meaning: "temperature at entropy 0, in place of temperature - range; -1 is not given",
			},
			{
				Name: "high", Aliases: []string{"max_temp", "dynatemp_high"}, Type: param.Float, Default: -1.0, Min: -1, Max: math.Inf(1),
				Meaning: "temperature at the largest entropy, in place of temperature + range; -1 is not given",
			},
		},
	}
}

// Apply chooses the temperature and rescales by it.
func (DynamicTemperature) Apply(row *sampler.Row, set param.Values) error {
	low, high, err := temperatures(set)
	if err != nil {
		return err
	}
	s := row.Scores
	if low == 1 && high == 1 {
		return nil
	}
	if s.Unlisted > 0 {
		return unlisted(s, "dynatemp")
	}
	n := vec.Support(s.Values)
	if n == 1 {
		return nil
	}
	top := float64(vec.Max(s.Values))
	total, lean := vec.Lean(s.Values, s.IDs, top)
	share := min(1, max(0, (math.Log(total)-lean/total)/math.Log(float64(n))))
	divide(s, low+(high-low)*math.Pow(share, set.Float("exponent")))
	return nil
}

// temperatures returns the limits that the settings give in either way. Both
// ways at once are a usage error.
func temperatures(set param.Values) (low, high float64, err error) {
	t, r := set.Float("temperature"), set.Float("range")
	low, high = max(0, t-r), min(t+r, math.MaxFloat64)
	gl, gh := set.Float("low"), set.Float("high")
	if (gl == -1) != (gh == -1) || gl != -1 && gl < 0 || gh != -1 && gh < gl {
		return 0, 0, fault.New(fault.Usage, "dynatemp", "", "low = %v and high = %v are no limits", gl, gh).
			Fix("give both with 0 <= low <= high, or neither")
	}
	if gl == -1 {
		return low, high, nil
	}
	if t != 1 || r != 0 {
		return 0, 0, fault.New(fault.Usage, "dynatemp", "", "temperature = %v and range = %v say one thing, low = %v and high = %v another", t, r, gl, gh).
			Fix("give either temperature and range, or low and high")
	}
	return gl, gh, nil
}

func unlisted(s *dist.Scores, op string) error {
	return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, and what it becomes is not known", s.Unlisted).
		Fix("truncate to listed tokens first, or use a backend that lists every token")
}
