package compat

import (
	"math"

	"lab/core/plugin/param"
)

// Settings of the systems written in C++ (llama.cpp, koboldcpp, ExLlamaV2), which
// accept almost any number and work in float32.

func float(set param.Values, name string) float32 { return float32(set.Float(name)) }

// whole returns a number of tokens, none beyond int32.
func whole(set param.Values, name string) int { return int(min(set.Int(name), math.MaxInt32)) }

// anyFloat is a number without bounds.
func anyFloat(name string, def float64, meaning string, aliases ...string) param.Spec {
	return param.Spec{Name: name, Aliases: aliases, Type: param.Float, Default: def,
		Min: math.Inf(-1), Max: math.Inf(1), Meaning: meaning}
}

// only is a setting of ours that a system lacks: it keeps one value, so that
// another one is refused instead of ignored.
func only(name string, value any, why string, aliases ...string) param.Spec {
	s := param.Spec{Name: name, Aliases: aliases, Default: value, Meaning: param.Format(value) + " alone: " + why}
	switch v := value.(type) {
	case string:
		s.Type, s.Choices = param.Text, []string{v}
	case float64:
		s.Type, s.Min, s.Max = param.Float, v, v
	case int64:
		s.Type, s.Min, s.Max = param.Int, float64(v), float64(v)
	case bool:
		s.Type = param.Bool
	}
	return s
}

func topKSpec(def int64) param.Spec {
	return param.Spec{Name: "top_k", Aliases: []string{"k"}, Type: param.Int, Default: def,
		Min: math.Inf(-1), Max: math.Inf(1), Unit: "tokens", Meaning: "how many tokens to keep; 0 and below keeps all"}
}

// exactly says that k tokens are kept however many are tied.
func exactly() param.Spec { return only("ties", "first", "exactly k tokens are kept") }

func minKeep(def int64) param.Spec {
	return param.Spec{Name: "min_keep", Aliases: []string{"min_tokens_to_keep"}, Type: param.Int, Default: def,
		Min: 0, Max: math.Inf(1), Unit: "tokens", Meaning: "keep at least this many tokens"}
}

// oneKept is min_keep where the system has none.
func oneKept() param.Spec {
	return param.Spec{Name: "min_keep", Aliases: []string{"min_tokens_to_keep"}, Type: param.Int, Default: int64(1),
		Min: 0, Max: 1, Unit: "tokens", Meaning: "one token stays in any case; there is no such setting"}
}

func windowSpec(def int64, least float64, meaning string) param.Spec {
	return param.Spec{Name: "last_n", Aliases: []string{"penalty_last_n", "repeat_last_n", "rep_pen_range", "dry_penalty_last_n", "dry_range"},
		Type: param.Int, Default: def, Min: least, Max: math.Inf(1), Unit: "tokens", Meaning: meaning}
}

func dryParams(window int64, meaning string) param.Specs {
	return param.Specs{
		anyFloat("multiplier", 0, "penalty of a repetition of the allowed length; 0 is off", "dry_multiplier"),
		anyFloat("base", 1.75, "what each further token of the repetition multiplies the penalty by", "dry_base"),
		windowSpec(window, math.Inf(-1), meaning),
	}
}

func dynatempParams(t float64) param.Specs {
	return param.Specs{
		anyFloat("temperature", t, "centre of the range of temperatures", "t", "temp"),
		anyFloat("range", 0, "the temperature lies between temperature - range, at least 0, and temperature + range; 0 and below: plain temperature", "dynatemp_range"),
		anyFloat("exponent", 1, "how the share of the largest possible entropy becomes a place in the range", "dynatemp_exponent"),
	}
}

// centred are the other two temperatures where a system knows centre and range
// only.
func centred() param.Specs {
	return param.Specs{
		only("low", -1.0, "give the centre and the range", "min_temp", "dynatemp_low"),
		only("high", -1.0, "give the centre and the range", "max_temp", "dynatemp_high"),
	}
}

func xtcParams(threshold float64) param.Specs {
	return param.Specs{
		anyFloat("probability", 0, "chance that the step acts; 0 and below is off", "xtc_probability", "q"),
		anyFloat("threshold", threshold, "least probability of a top choice; above 0.5 is off", "xtc_threshold"),
		only("mode", "coin", "a coin decides"),
	}
}

// curveSpec is the setting "curve" of a system that has only the square.
func curveSpec(why string) param.Spec { return only("curve", 1.0, why, "smoothing_curve") }

func mirostatParams() param.Specs {
	// A bound of our own, so that the state stays finite.
	bounded := func(name string, def float64, meaning string, aliases ...string) param.Spec {
		s := anyFloat(name, def, meaning, aliases...)
		s.Min, s.Max = -1e6, 1e6
		return s
	}
	return param.Specs{
		bounded("tau", 5, "the surprise per token, in bits, to steer to; mu starts at twice of it", "mirostat_tau", "target"),
		bounded("eta", 0.1, "which part of the last deviation mu is moved by", "mirostat_eta", "learning_rate"),
		only("surprise", "renormalised", "the probability of the drawn token among those kept"),
		only("floor", -50.0, "mu may fall as it will"),
		only("out_of_reach", "follow", "mu may fall as it will"),
		only("ceiling", 0.0, "mu may rise as it will"),
		seedSpec(),
	}
}
