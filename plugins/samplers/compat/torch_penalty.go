package compat

import (
	"math"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// torchPenalty is how one of the torch systems penalises tokens of the context.
type torchPenalty struct {
	repeat, frequency, presence string // what the system calls them; empty: it has none
	differs                     string
	window                      param.Spec
	scope                       string  // "output" when frequency and presence count generated tokens only
	bound                       float64 // of frequency and presence

	// look returns the tokens in the window, and how many of them are prompt.
	look func(row *sampler.Row, n int64) (tokens []int32, prompt int)

	// subtract lowers a score for n occurrences.
	subtract func(v float32, n int, frequency, presence float32) float32
}

// rules returns the rule of the three penalties together and of each alone.
func (p torchPenalty) rules() []Rule {
	repeat := param.Spec{Name: "repeat", Aliases: []string{"repetition_penalty", "repeat_penalty", "penalty_repeat", "rep_pen"},
		Type: param.Float, Default: 1.0, Min: 0, MinOpen: true, Max: math.Inf(1),
		Meaning: "what scores of seen tokens are divided by, and negative ones multiplied with, once per token; 1 changes nothing"}
	number := func(name, meaning string, aliases ...string) param.Spec {
		return param.Spec{Name: name, Aliases: aliases, Type: param.Float, Default: 0.0, Min: -p.bound, Max: p.bound, Unit: "nats", Meaning: meaning}
	}
	frequency := number("frequency", "subtracted for every time a token was seen", "frequency_penalty", "penalty_freq")
	presence := number("presence", "subtracted once from a token that was seen", "presence_penalty", "penalty_present")
	all := p.repeat
	if p.frequency != "" {
		all += ", " + p.frequency + ", " + p.presence
	}
	rules := []Rule{
		p.rule("penalties", all, repeat, frequency, presence),
		p.rule("repetition_penalty", p.repeat, alone(repeat, "repetition_penalty", "penalty", "repeat", "repeat_penalty", "rep_pen")),
	}
	if p.frequency != "" {
		rules = append(rules,
			p.rule("frequency_penalty", p.frequency, alone(frequency, "frequency_penalty", "penalty", "frequency")),
			p.rule("presence_penalty", p.presence, alone(presence, "presence_penalty", "penalty", "presence")))
	}
	return rules
}

// alone is a setting under the name that it has in a sampler of its own.
func alone(s param.Spec, name string, aliases ...string) param.Spec {
	s.Name, s.Aliases = name, aliases
	return s
}

func (p torchPenalty) rule(name, term string, own ...param.Spec) Rule {
	counted := param.Spec{Name: "scope", Type: param.Text, Default: p.scope, Choices: []string{p.scope},
		Meaning: "what frequency and presence count: " + p.scope + ", and nothing else there"}
	return Rule{
		Sampler: name, Term: term, Differs: p.differs,
		Params: append(param.Specs(own), p.window, counted),
		Needs:  sampler.Needs{History: -1},
		Apply: torchChange(name, func(x []float32, row *sampler.Row, set param.Values) {
			repeat, frequency, presence := float32(1), float32(0), float32(0)
			switch name {
			case "penalties":
				repeat, frequency, presence = float(set, "repeat"), float(set, "frequency"), float(set, "presence")
			case "repetition_penalty":
				repeat = float(set, name)
			case "frequency_penalty":
				frequency = float(set, name)
			case "presence_penalty":
				presence = float(set, name)
			}
			p.apply(x, row, set.Int("last_n"), repeat, frequency, presence)
		}),
	}
}

func (p torchPenalty) apply(x []float32, row *sampler.Row, window int64, repeat, frequency, presence float32) {
	tokens, prompt := p.look(row, window)
	if repeat != 1 {
		for id, n := range occurrences(tokens, len(x)) {
			if n > 0 && x[id] < 0 {
				x[id] *= repeat
			} else if n > 0 {
				x[id] /= repeat
			}
		}
	}
	if frequency == 0 && presence == 0 {
		return
	}
	if p.scope == "output" {
		tokens = tokens[prompt:]
	}
	for id, n := range occurrences(tokens, len(x)) {
		if n > 0 {
			x[id] = p.subtract(x[id], n, frequency, presence)
		}
	}
}

// occurrences returns how often each token of a vocabulary occurs.
func occurrences(tokens []int32, vocab int) []int {
	n := make([]int, vocab)
	for _, id := range tokens {
		if id >= 0 && int(id) < vocab {
			n[id]++
		}
	}
	return n
}

// wholeContext is the window of a system that has none: a number of 0 or more is
// taken all the same.
func wholeContext() param.Spec {
	return param.Spec{Name: "last_n", Aliases: []string{"penalty_last_n", "repeat_last_n", "rep_pen_range"}, Type: param.Int, Default: int64(-1),
		Min: -1, Max: math.Inf(1), Unit: "tokens", Meaning: "how many of the newest tokens count; the system itself takes all, -1"}
}

func lookAtNewest(row *sampler.Row, n int64) (tokens []int32, prompt int) {
	if n < 0 {
		return row.History, row.Prompt
	}
	tokens = newest(row.History, n)
	return tokens, max(0, row.Prompt-(len(row.History)-len(tokens)))
}

// vllmPenalty is vLLM's, which aphrodite's was copied from.
func vllmPenalty() torchPenalty {
	return torchPenalty{
		repeat: "repetition_penalty", frequency: "frequency_penalty", presence: "presence_penalty",
		differs: "float32; frequency and presence count generated tokens only and lie in [-2, 2]; for repetition the whole context counts",
		window:  wholeContext(), scope: "output", bound: 2, look: lookAtNewest,
		subtract: func(v float32, n int, frequency, presence float32) float32 {
			v -= float32(frequency * float32(n))
			return v - presence
		},
	}
}
