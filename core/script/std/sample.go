package std

import (
	"fmt"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/trace"
)

// Sample is one completion as a script holds it.
type Sample struct {
	*trace.Sample
	chain string
	cost  *trace.Cost // nil: not measured
}

// Class implements script.Object.
func (*Sample) Class() script.Class {
	return script.Class{Name: "sample", Doc: "One completion of a prompt.", Members: []script.Member{
		getter("text", "string", "The completion without the prompt, up to a stop string.", func(s *Sample) any { return s.Text }),
		getter("tokens", "list of int", "Its tokens, the one that ended it included.", func(s *Sample) any { return s.Tokens }),
		getter("sample", "int", "Its index.", func(s *Sample) any { return s.Sample.Sample }),
		getter("stop", "string", `Why it ended: "stop", "end_of_text", "max_tokens" or "context_full".`, func(s *Sample) any { return s.Stop.Reason }),
		getter("stop_string", "string", "The stop string that matched, or empty.", func(s *Sample) any { return s.Stop.String }),
		getter("chain", "string", "The chain it was drawn with.", func(s *Sample) any { return s.chain }),
		getter("cost", "map", "What it took: its share of prefill_tokens, decode_tokens, cached_tokens (of the prompt, not paid for), prefill_seconds, decode_seconds, flops and bytes_moved; and cache_bytes, the most that the model held, and decode_batch, the sequences of its decode calls on average. Measured, so it differs from run to run; undefined where it was not.",
			func(s *Sample) any { return costMap(s.cost) }),
		recorded("steps", "list of step", "What happened at each token.", func(s *Sample) any {
			out := make([]*step, len(s.Steps))
			for i := range s.Steps {
				out[i] = &step{&s.Steps[i]}
			}
			return out
		}),
		recorded("model_bits", "float", "-log2 of the probability of its tokens under the model.", func(s *Sample) any {
			return sum(s.Steps, func(t *trace.Step) float64 { return float64(t.Model.SurprisalBits) })
		}),
		recorded("sampling_bits", "float", "-log2 of the probability of its tokens under the sampling distributions they were drawn from.", func(s *Sample) any {
			return sum(s.Steps, func(t *trace.Step) float64 { return float64(t.Sampling.SurprisalBits) })
		}),
	}}
}

// String implements fmt.Stringer.
func (s *Sample) String() string {
	return fmt.Sprintf("<sample %d: %d tokens, %s>", s.Sample.Sample, len(s.Tokens), s.Stop.Reason)
}

// recorded declares a value that exists only when steps were recorded.
func recorded(name, returns, doc string, get func(*Sample) any) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: returns, Get: func(c *script.Call) (any, error) {
		s := script.Self[*Sample](c)
		if len(s.Steps) != len(s.Tokens) {
			return nil, fault.New(fault.Script, "sample", name, "its steps were not recorded").Fix("generate with {ledger: true}")
		}
		return get(s), nil
	}}
}

func sum(steps []trace.Step, f func(*trace.Step) float64) float64 {
	total := 0.0
	for i := range steps {
		total += f(&steps[i])
	}
	return total
}

// step is one generated token.
type step struct{ *trace.Step }

// Class implements script.Object.
func (*step) Class() script.Class {
	members := []script.Member{
		getter("token", "int", "The token drawn.", func(s *step) any { return s.Token }),
		getter("text", "string", "Its text; U+FFFD stands for bytes that are no UTF-8 on their own.", func(s *step) any { return plainText(s.Piece) }),
		getter("stages", "list of stage", "What every stage did.", func(s *step) any {
			out := make([]*stage, len(s.Stages))
			for i := range s.Stages {
				out[i] = &stage{s.Stages[i]}
			}
			return out
		}),
	}
	members = append(members, sideMembers("model", "the model distribution", func(s *step) *trace.Side { return s.Model })...)
	members = append(members, sideMembers("sampling", "the sampling distribution", func(s *step) *trace.Side { return s.Sampling })...)
	return script.Class{Name: "step", Doc: "One generated token.", Members: members}
}

// sideMembers declares the numbers of one of the two distributions of a step.
func sideMembers(prefix, what string, side func(*step) *trace.Side) []script.Member {
	return []script.Member{
		getter(prefix+"_prob", "float", "Probability of the token under "+what+".", func(s *step) any { return float64(side(s).Prob) }),
		getter(prefix+"_rank", "int", "Its rank under "+what+".", func(s *step) any { return side(s).Rank }),
		getter(prefix+"_surprisal_bits", "float", "Its surprisal under "+what+".", func(s *step) any { return float64(side(s).SurprisalBits) }),
		getter(prefix+"_entropy_bits", "float", "Entropy of "+what+".", func(s *step) any { return float64(side(s).EntropyBits) }),
		getter(prefix+"_support", "int", "Tokens in "+what+".", func(s *step) any { return side(s).Support }),
	}
}

// stage is what one stage of a chain did.
type stage struct{ trace.Stage }

// Class implements script.Object.
func (*stage) Class() script.Class {
	real := func(name, doc string, f func(*stage) trace.Real) script.Member {
		return getter(name, "float", doc, func(s *stage) any { return float64(f(s)) })
	}
	return script.Class{Name: "stage", Doc: "What one stage of a chain did: a line of the ledger.", Members: []script.Member{
		getter("stage", "string", "Its name.", func(s *stage) any { return s.Stage.Stage }),
		getter("plugin", "string", "The plugin that ran it.", func(s *stage) any { return s.Plugin }),
		getter("support_before", "int", "Tokens before.", func(s *stage) any { return s.SupportBefore }),
		getter("support_after", "int", "Tokens after.", func(s *stage) any { return s.SupportAfter }),
		getter("truncation", "bool", "Whether the survivors' scores are unchanged.", func(s *stage) any { return s.Truncation }),
		getter("chosen_rank_before", "int", "Rank of the drawn token before.", func(s *stage) any { return s.ChosenRankBefore }),
		getter("chosen_rank_after", "int", "Rank of the drawn token after.", func(s *stage) any { return s.ChosenRankAfter }),
		real("kept_mass", "Probability before of the tokens still there after.", func(s *stage) trace.Real { return s.KeptMass }),
		real("entropy_before_bits", "Entropy before.", func(s *stage) trace.Real { return s.EntropyBeforeBits }),
		real("entropy_after_bits", "Entropy after.", func(s *stage) trace.Real { return s.EntropyAfterBits }),
		real("kl_bits", "KL(after‖before).", func(s *stage) trace.Real { return s.KLBits }),
		real("tv", "Total variation distance between after and before.", func(s *stage) trace.Real { return s.TV }),
		real("chosen_prob_before", "Probability of the drawn token before.", func(s *stage) trace.Real { return s.ChosenProbBefore }),
		real("chosen_prob_after", "Probability of the drawn token after.", func(s *stage) trace.Real { return s.ChosenProbAfter }),
	}}
}

func costMap(c *trace.Cost) any {
	if c == nil {
		return nil
	}
	return map[string]any{"prefill_tokens": c.PrefillTokens, "decode_tokens": c.DecodeTokens, "cached_tokens": c.CachedTokens, "prefill_seconds": c.PrefillSeconds,
		"decode_seconds": c.DecodeSeconds, "flops": c.FLOPs, "bytes_moved": c.BytesMoved, "cache_bytes": c.CacheBytes, "decode_batch": c.Batch}
}
