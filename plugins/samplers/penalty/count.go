package penalty

import (
	"math"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// Penalties lowers the scores of tokens in a window of the context by three
// rules in their fixed order: repetition (Keskar et al. 2019), then frequency
// and presence.
type Penalties struct{}

// Repetition is the repetition penalty alone.
type Repetition struct{}

// Frequency is the frequency penalty alone.
type Frequency struct{}

// Presence is the presence penalty alone.
type Presence struct{}

const (
	ctrl   = "Keskar, McCann, Varshney, Xiong, Socher 2019, CTRL, section 4.1, with the sign rule of transformers issue 2302"
	counts = "the frequency and presence penalties of the usual completion interfaces"
)

func repeatSpec(name string, aliases ...string) param.Spec {
	return param.Spec{
		Name: name, Aliases: aliases, Type: param.Float, Default: 1.0, Min: 0, MinOpen: true, Max: math.Inf(1),
		Meaning: "what a positive score of a seen token is divided by and any other multiplied by, once per token; 1 changes nothing, below 1 makes seen tokens likelier",
	}
}

func frequencySpec(name string, aliases ...string) param.Spec {
	return param.Spec{
		Name: name, Aliases: aliases, Type: param.Float, Default: 0.0, Min: math.Inf(-1), Max: math.Inf(1), Unit: "nats",
		Meaning: "what is subtracted for every time a token was seen; 0 changes nothing, below 0 makes seen tokens likelier",
	}
}

func presenceSpec(name string, aliases ...string) param.Spec {
	return param.Spec{
		Name: name, Aliases: aliases, Type: param.Float, Default: 0.0, Min: math.Inf(-1), Max: math.Inf(1), Unit: "nats",
		Meaning: "what is subtracted once when a token was seen; 0 changes nothing, below 0 makes seen tokens likelier",
	}
}

// Declare returns the declaration.
func (Penalties) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "penalties", Kind: sampler.Reshape,
		Summary: "Lowers the scores of tokens that the newest part of the context holds: first the repetition penalty, once per token, then the frequency penalty for every time and the presence penalty once.",
		Formula: "l_i ← (l_i / r if l_i > 0, else l_i · r) - f · count_i - a, for every i with count_i > 0",
		Source:  ctrl + "; " + counts,
		Params: param.Specs{
			repeatSpec("repeat", "repetition_penalty", "repeat_penalty", "penalty_repeat", "rep_pen"),
			frequencySpec("frequency", "frequency_penalty", "penalty_freq"),
			presenceSpec("presence", "presence_penalty", "penalty_present"),
			lastN(), scope(),
		},
		Needs: sampler.Needs{History: -1},
	}
}

// Declare returns the declaration.
func (Repetition) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "repetition_penalty", Aliases: []string{"repeat_penalty", "rep_pen"}, Kind: sampler.Reshape,
		Summary: "Divides the positive scores of seen tokens by the penalty and multiplies their other scores by it, once per token, so that no seen token gains on an unseen one when it exceeds 1.",
		Formula: "l_i ← l_i / r if l_i > 0, else l_i · r, for every i seen",
		Source:  ctrl,
		Params:  param.Specs{repeatSpec("repetition_penalty", "penalty", "repeat", "repeat_penalty", "rep_pen"), lastN(), scope()},
		Needs:   sampler.Needs{History: -1},
	}
}

// Declare returns the declaration.
func (Frequency) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "frequency_penalty", Aliases: []string{"penalty_freq"}, Kind: sampler.Reshape,
		Summary: "Subtracts the penalty from the score of a seen token for every time it was seen.",
		Formula: "l_i ← l_i - f · count_i",
		Source:  counts,
		Params:  param.Specs{frequencySpec("frequency_penalty", "penalty", "frequency"), lastN(), scope()},
		Needs:   sampler.Needs{History: -1},
	}
}

// Declare returns the declaration.
func (Presence) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "presence_penalty", Aliases: []string{"penalty_present"}, Kind: sampler.Reshape,
		Summary: "Subtracts the penalty once from the score of every seen token.",
		Formula: "l_i ← l_i - a, for every i with count_i > 0",
		Source:  counts,
		Params:  param.Specs{presenceSpec("presence_penalty", "penalty", "presence"), lastN(), scope()},
		Needs:   sampler.Needs{History: -1},
	}
}

// Apply lowers the scores of the tokens in the window. A repetition penalty of 1
// with the others 0 leaves the row as it is, to the bit.
func (Penalties) Apply(row *sampler.Row, set param.Values) error {
	r := rule{repeat: set.Float("repeat"), frequency: set.Float("frequency"), presence: set.Float("presence")}
	return r.apply(row, window(row, set), "penalties")
}

// Apply lowers the scores of the tokens in the window; 1 leaves the row as it
// is, to the bit.
func (Repetition) Apply(row *sampler.Row, set param.Values) error {
	return rule{repeat: set.Float("repetition_penalty")}.apply(row, window(row, set), "repetition_penalty")
}

// Apply lowers the scores of the tokens in the window; 0 leaves the row as it
// is, to the bit.
func (Frequency) Apply(row *sampler.Row, set param.Values) error {
	return rule{repeat: 1, frequency: set.Float("frequency_penalty")}.apply(row, window(row, set), "frequency_penalty")
}

// Apply lowers the scores of the tokens in the window; 0 leaves the row as it
// is, to the bit.
func (Presence) Apply(row *sampler.Row, set param.Values) error {
	return rule{repeat: 1, presence: set.Float("presence_penalty")}.apply(row, window(row, set), "presence_penalty")
}

// rule is what happens to a seen token.
type rule struct{ repeat, frequency, presence float64 }

// off reports whether the rule changes no score.
func (r rule) off() bool { return r.repeat == 1 && r.frequency == 0 && r.presence == 0 }

// score returns the score of a token that was seen count times. It divides
// rather than multiplies by the inverse, so that it rounds as others do.
func (r rule) score(v float32, count int) float32 {
	x := float64(v)
	if x > 0 {
		x /= r.repeat
	} else {
		x *= r.repeat
	}
	// Bounded, so that no infinity meets its opposite.
	return store(bounded(x) - bounded(float64(count)*r.frequency) - r.presence)
}

func bounded(x float64) float64 { return min(max(x, -math.MaxFloat64), math.MaxFloat64) }

// apply changes the score of every distinct token of the window. A row with an
// unlisted tail is refused unless nothing is to be done: a seen token may be in
// the tail.
func (r rule) apply(row *sampler.Row, window []int32, op string) error {
	if r.off() || len(window) == 0 {
		return nil
	}
	if err := token.Whole(row.Scores, op); err != nil {
		return err
	}
	var keys, spare [few]uint64
	k, s := keys[:0], spare[:]
	if len(window) > few {
		both := make([]uint64, 2*len(window))
		k, s = both[:0:len(window)], both[len(window):]
	}
	for _, id := range window {
		k = append(k, uint64(uint32(id)))
	}
	r.runs(row.Scores, sorted(k, s))
	return nil
}

// runs changes the score of every distinct key once.
func (r rule) runs(s *dist.Scores, keys []uint64) {
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j] == keys[i] {
			j++
		}
		if n := at(s, int32(uint32(keys[i]))); n >= 0 {
			s.Values[n] = r.score(s.Values[n], j-i)
		}
		i = j
	}
}
