package compat

import (
	"strings"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// nativePenalty is how one of the systems written in C++ penalises the tokens of
// the context. Its rule is that of the three penalties together; a stage that
// has one of them leaves the others off.
type nativePenalty struct {
	repeat, frequency, presence string // what the system calls them; empty: it has none
	differs                     string
	window                      param.Spec
	more                        param.Specs

	apply func(row *sampler.Row, set param.Values, repeat, frequency, presence float32) error
}

func (n nativePenalty) rules() []Rule {
	const (
		repeat    = "what positive scores of seen tokens are divided by and others multiplied with; 1 is off"
		frequency = "subtracted for each time a token was seen; 0 is off"
		presence  = "subtracted once from a token that was seen; 0 is off"
	)
	terms := []string{n.repeat, n.frequency, n.presence}
	if n.frequency == "" {
		terms = []string{n.repeat, n.presence}
	}
	often := anyFloat("frequency", 0, frequency, "frequency_penalty", "penalty_freq")
	if n.frequency == "" {
		often = only("frequency", 0.0, "there is no frequency penalty", often.Aliases...)
	}
	out := []Rule{
		n.rule("penalties", strings.Join(terms, ", "), func(set param.Values) (r, f, p float32) {
			return float(set, "repeat"), float(set, "frequency"), float(set, "presence")
		}, anyFloat("repeat", 1, repeat, "repetition_penalty", "repeat_penalty", "penalty_repeat", "rep_pen"), often,
			anyFloat("presence", 0, presence, "presence_penalty", "penalty_present")),
		n.rule("repetition_penalty", n.repeat, func(set param.Values) (r, f, p float32) {
			return float(set, "repetition_penalty"), 0, 0
		}, anyFloat("repetition_penalty", 1, repeat, "penalty", "repeat", "repeat_penalty", "rep_pen")),
		n.rule("presence_penalty", n.presence, func(set param.Values) (r, f, p float32) {
			return 1, 0, float(set, "presence_penalty")
		}, anyFloat("presence_penalty", 0, presence, "penalty", "presence")),
	}
	if n.frequency != "" {
		out = append(out, n.rule("frequency_penalty", n.frequency, func(set param.Values) (r, f, p float32) {
			return 1, float(set, "frequency_penalty"), 0
		}, anyFloat("frequency_penalty", 0, frequency, "penalty", "frequency")))
	}
	return out
}

func (n nativePenalty) rule(name, term string, read func(param.Values) (r, f, p float32), specs ...param.Spec) Rule {
	specs = append(specs, n.window, only("scope", "all", "prompt and output are one history"))
	return Rule{
		Sampler: name, Term: term, Differs: n.differs, Params: append(param.Specs(specs), n.more...),
		Needs: sampler.Needs{History: -1},
		Apply: func(row *sampler.Row, set param.Values) error {
			if err := listed(row, name); err != nil {
				return err
			}
			r, f, p := read(set)
			if r == 1 && f == 0 && p == 0 {
				return nil
			}
			if err := n.apply(row, set, r, f, p); err != nil {
				return err
			}
			return sound(row, name)
		},
	}
}

// newest returns the newest n tokens, all for a number beyond the history.
func newest(history []int32, n int64) []int32 {
	if n >= int64(len(history)) {
		return history
	}
	return history[int64(len(history))-max(n, 0):]
}

// penalise divides a positive score and multiplies any other.
func penalise(v, by float32) float32 {
	if v <= 0 {
		return float32(v * by)
	}
	return float32(v / by)
}

// sound refuses a row that a rule in place has broken.
func sound(row *sampler.Row, op string) error {
	if err := row.Scores.Check(); err != nil {
		return broken(row, op, "leaves a row that is no distribution ("+err.Error()+")")
	}
	return nil
}
