package yield

import (
	"encoding/json"
	"fmt"
	"math"

	"lab/core/store"
)

// counters are what the sessions of a run counted, as rates, or why there are none.
type counters struct {
	why            string // they cannot be used
	promptSeconds  float64
	ownSeconds     float64
	flop           float64 // a token
	tokens         float64 // evaluated for an attempt, of a run with one setting that searches
	attemptSeconds float64 // and the seconds and FLOP of one
	attemptFLOP    float64
	note           string
}

// usage is what a session's line says of its model calls: core/plugin/model.Usage.
type usage struct {
	PrefillTokens  float64 `json:"prefill_tokens"`
	DecodeTokens   float64 `json:"decode_tokens"`
	PrefillSeconds float64 `json:"prefill_seconds"`
	DecodeSeconds  float64 `json:"decode_seconds"`
	FLOPs          float64 `json:"flops"`
}

// countersOf sums what the sessions counted. Sampling has rates, which are those of
// every setting since cells advance together. What a search evaluated and threw away is
// in the sums alone, so it is known where the run has no other setting.
func countersOf(run *store.Stored, groups []*group) counters {
	var u usage
	finished, samples, searches := 0, 0, 0
	for _, s := range run.Sessions {
		finished += s.Finished
		var one usage
		if len(s.Usage) > 0 && json.Unmarshal(s.Usage, &one) == nil {
			u.PrefillTokens += one.PrefillTokens
			u.DecodeTokens += one.DecodeTokens
			u.PrefillSeconds += one.PrefillSeconds
			u.DecodeSeconds += one.DecodeSeconds
			u.FLOPs += one.FLOPs
		}
	}
	for _, g := range groups {
		samples += len(g.works)
		if g.search != "" {
			searches++
		}
	}
	tokens := u.PrefillTokens + u.DecodeTokens
	for _, v := range []float64{u.PrefillTokens, u.DecodeTokens, u.PrefillSeconds, u.DecodeSeconds, u.FLOPs} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return counters{why: "the sessions of the run hold a count that is none"}
		}
	}
	switch {
	case tokens == 0:
		return counters{why: "the sessions of the run counted no model calls"}
	case finished < samples:
		return counters{why: fmt.Sprintf("the sessions of the run account for %d of %d samples", finished, samples)}
	case searches > 0 && len(groups) > 1:
		return counters{why: "the run has several settings, and what a search threw away is counted for all of them together; give each search a run of its own"}
	}
	c := counters{flop: u.FLOPs / tokens, promptSeconds: u.PrefillSeconds / u.PrefillTokens, ownSeconds: u.DecodeSeconds / u.DecodeTokens}
	if u.PrefillTokens == 0 {
		c.promptSeconds = c.ownSeconds
	}
	if u.DecodeTokens == 0 {
		c.ownSeconds = c.promptSeconds
	}
	if searches > 0 {
		n := float64(samples)
		c.tokens, c.attemptSeconds, c.attemptFLOP = tokens/n, (u.PrefillSeconds+u.DecodeSeconds)/n, u.FLOPs/n
		c.note = fmt.Sprintf("counted by the sessions of the run, over %d attempts", samples)
		return c
	}
	c.note = "rates counted by the sessions of the run, times tokens"
	return c
}
