package golden

import (
	"context"
	"fmt"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/plugin/sampler"
)

// Tolerances of the schema: what float32 sums in another order may differ by.
const (
	probRel  = 2e-5
	probAbs  = 2e-6
	logitTol = 2e-6 // relative and absolute
)

// bigScore is the magnitude above which our temperature subtracts the maximum
// first, which changes scores but no probability.
const bigScore = 65536

func (a *asking) nearProb(got, want float64) bool {
	return math.Abs(got-want) <= max(probRel, a.Tolerance.ProbRel)*math.Abs(want)+probAbs
}

func nearLogit(got, want float64) bool {
	return math.Abs(got-want) <= logitTol*math.Abs(want)+logitTol || float32(got) == float32(want)
}

func (a *asking) tagged(tag string) bool { return slices.Contains(a.Tags, tag) }

// compare holds a row that came out against an answer. in is the row that went
// in.
func (a *asking) compare(in, out dist.Scores, want *answer) (Verdict, string) {
	d, err := dist.NewSampling(&out)
	if err != nil {
		return Differs, err.Error()
	}
	if len(want.NKept) == 1 {
		return a.compareLarge(in, d, want)
	}
	var kept []int32
	d.Each(func(id int32, _ float64) bool { kept = append(kept, id); return true })
	verdict, why := a.compareKept(in, kept, want.Kept)
	if verdict != Holds {
		return verdict, why
	}
	for i, id := range kept {
		if len(want.Probs) > 0 && !a.nearProb(d.P(id), float64(want.Probs[i])) {
			return Differs, fmt.Sprintf("token %d has probability %.9g, want %.9g", id, d.P(id), float64(want.Probs[i]))
		}
	}
	return a.compareLogits(out, kept, want.Logits)
}

// compareKept compares kept tokens. Where the file says that ties or rounding at
// the threshold decide, other tokens of the same scores are within ties.
func (a *asking) compareKept(in dist.Scores, got, want []int32) (Verdict, string) {
	if slices.Equal(got, want) {
		return Holds, ""
	}
	differ := fmt.Sprintf("kept %s, want %s", shortIDs(got), shortIDs(want))
	if b := a.Borderline; b != nil && len(got) != len(want) && len(got) >= b.Min && len(got) <= b.Max {
		return WithinTies, differ + ", within the borderline"
	}
	if (a.tagged("ties") || a.Borderline != nil) && sameScores(in, got, want) {
		return WithinTies, differ + ", of the same scores"
	}
	return Differs, differ
}

// sameScores reports whether two sets of tokens have the same input scores and
// differ in tied tokens only.
func sameScores(in dist.Scores, a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	of := func(ids []int32) []float32 {
		out := make([]float32, len(ids))
		for i, id := range ids {
			if id < 0 || int(id) >= len(in.Values) {
				return nil
			}
			out[i] = in.Values[id]
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(of(a), of(b))
}

func shortIDs(ids []int32) string {
	if len(ids) > 12 {
		return fmt.Sprintf("%d tokens (%v…)", len(ids), ids[:6])
	}
	return fmt.Sprint(ids)
}

// compareLogits compares scores. The zero of a row means nothing to the
// distribution: where a system leaves another one than ours, scores are compared
// with respect to their largest.
func (a *asking) compareLogits(out dist.Scores, kept []int32, want []number) (Verdict, string) {
	if len(want) == 0 {
		return Holds, ""
	}
	top, gotTop := math.Inf(-1), math.Inf(-1)
	same, big := true, false
	for i, id := range kept {
		g, w := float64(out.Values[out.Index(id)]), float64(want[i])
		top, gotTop = max(top, w), max(gotTop, g)
		same = same && nearLogit(g, w)
		big = big || math.Abs(w) > bigScore
	}
	if same {
		return Holds, ""
	}
	for i, id := range kept {
		g, w := float64(out.Values[out.Index(id)]), float64(want[i])
		if !nearLogit(g, max(w-top+gotTop, -math.MaxFloat32)) && !nearLogit(g-gotTop, w-top) {
			return Differs, fmt.Sprintf("token %d has score %.9g, want %.9g (largest %.9g, want %.9g)", id, g, w, gotTop, top)
		}
	}
	return Holds, ""
}

// compareLarge compares the digest of a row of many tokens.
func (a *asking) compareLarge(in dist.Scores, d dist.Sampling, want *answer) (Verdict, string) {
	kept, sum, low := 0, int64(0), math.Inf(1)
	d.Each(func(id int32, _ float64) bool {
		kept++
		sum += int64(id)
		low = min(low, float64(in.Values[id]))
		return true
	})
	if kept != want.NKept[0] {
		why := fmt.Sprintf("kept %d tokens, want %d", kept, want.NKept[0])
		if b := a.Borderline; b != nil && kept >= b.Min && kept <= b.Max {
			return WithinTies, why + ", within the borderline"
		}
		return Differs, why
	}
	atLow, inLow := 0, 0
	d.Each(func(id int32, _ float64) bool {
		if float64(in.Values[id]) == low {
			atLow++
		}
		return true
	})
	for _, v := range in.Values {
		if float64(v) == low {
			inLow++
		}
	}
	// The file has the limits as decimals of float32 numbers.
	if float32(low) != float32(want.MinLogit) || atLow != want.NAtMin || inLow != want.NInputMin {
		return Differs, fmt.Sprintf("smallest kept score %.9g (%d of %d), want %.9g (%d of %d)", low, atLow, inLow,
			float64(want.MinLogit), want.NAtMin, want.NInputMin)
	}
	h, err := d.EntropyBits()
	if err != nil {
		return Differs, err.Error()
	}
	if h *= math.Ln2; !(math.Abs(h-want.Entropy) <= max(probRel, a.Tolerance.ProbRel)*want.Entropy+probAbs) {
		return Differs, fmt.Sprintf("entropy %.9g nats, want %.9g", h, want.Entropy)
	}
	cut := want.NAtMin != want.NInputMin
	for _, p := range want.Probes {
		id := int32(p[0])
		if got := d.P(id); !a.nearProb(got, float64(p[1])) && !(cut && (got == 0 || p[1] == 0)) {
			return Differs, fmt.Sprintf("token %d has probability %.9g, want %.9g", id, got, float64(p[1]))
		}
	}
	if sum != want.SumIDs {
		why := fmt.Sprintf("the kept ids sum to %d, want %d", sum, want.SumIDs)
		if cut && (a.system != Reference || a.tagged("ties")) {
			return WithinTies, why + ", of the same scores"
		}
		return Differs, why
	}
	return Holds, ""
}

// steps asks about a context that grows: the tokens a grammar allows after each
// accepted one, or the distribution that a watermark makes.
func (a *asking) steps(ctx context.Context, q *question, row dist.Scores, want *answer) (Verdict, string) {
	var states [][]byte
	var grown []int32
	for i, s := range want.Steps {
		it := a.item(q, row.Clone())
		switch {
		case s.Probs != nil:
			if s.Step < 0 || s.Step >= len(q.tokens) {
				return NotCovered, fmt.Sprintf("step %d is outside its history", s.Step)
			}
			it.History = q.tokens[:s.Step+1]
			it.Prompt = min(1, len(it.History))
		default:
			if s.Accepted != nil {
				grown = append(grown, *s.Accepted)
			}
			it.History, it.Prompt = grown, 0
		}
		it.Step, it.States = i, states
		if err := a.run(ctx, q, it); err != nil {
			return Differs, fmt.Sprintf("step %d: it is refused: %v", i, err)
		}
		states = it.States
		if v, why := a.compareStep(it, s); v != Holds {
			return v, fmt.Sprintf("step %d: %s", i, why)
		}
	}
	return Holds, ""
}

func (a *asking) compareStep(it *sampler.Item, s step) (Verdict, string) {
	d, err := dist.NewSampling(&it.Scores)
	if err != nil {
		return Differs, err.Error()
	}
	if s.Probs == nil {
		var allowed []int32
		d.Each(func(id int32, _ float64) bool { allowed = append(allowed, id); return true })
		if !slices.Equal(allowed, s.Allowed) {
			return Differs, fmt.Sprintf("allowed %s, want %s", shortIDs(allowed), shortIDs(s.Allowed))
		}
		return Holds, ""
	}
	for id, p := range s.Probs {
		if got := d.P(int32(id)); !a.nearProb(got, float64(p)) {
			return Differs, fmt.Sprintf("token %d has probability %.9g, want %.9g", id, got, float64(p))
		}
	}
	return Holds, ""
}

// draws asks for several draws in a row from the same scores, with what the
// stages keep from one to the next.
func (a *asking) draws(ctx context.Context, q *question, row dist.Scores, want *answer) (Verdict, string) {
	var states [][]byte
	ties := a.tagged("tie-order-unspecified")
	verdict, why := Holds, ""
	for i := range q.steps {
		it := a.item(q, row.Clone())
		it.Step, it.States = i, states
		if err := a.run(ctx, q, it); err != nil {
			return Differs, fmt.Sprintf("draw %d: it is refused: %v", i, err)
		}
		states = it.States
		d, err := dist.NewSampling(&it.Scores)
		if err != nil {
			return Differs, err.Error()
		}
		if i < len(want.NKept) && d.Support() != want.NKept[i] {
			return Differs, fmt.Sprintf("draw %d: kept %d tokens, want %d", i, d.Support(), want.NKept[i])
		}
		if i < len(want.PSelected) && !a.nearProb(d.P(it.Chosen), float64(want.PSelected[i])) {
			return Differs, fmt.Sprintf("draw %d: the token drawn has probability %.9g, want %.9g", i, d.P(it.Chosen), float64(want.PSelected[i]))
		}
		if i < len(want.Tokens) && it.Chosen != want.Tokens[i] {
			why = fmt.Sprintf("draw %d: token %d, want %d", i, it.Chosen, want.Tokens[i])
			if !ties {
				return Differs, why
			}
			verdict = WithinTies
		}
		if i == 0 && len(want.FirstLogits) > 0 {
			for id, w := range want.FirstLogits {
				if at := it.Scores.Index(int32(id)); at < 0 || !nearLogit(float64(it.Scores.Values[at]), float64(w)) {
					return Differs, fmt.Sprintf("draw 0: token %d has not the score %.9g", id, float64(w))
				}
			}
		}
	}
	return verdict, why
}
