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

// floatEntropy is the relative tolerance of entropies of float32 probabilities
// that nobody renormalised.
const floatEntropy = 2e-3

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
	if !slices.Equal(kept, want.Kept) {
		return a.compareTied(in, d, kept, want)
	}
	for i, id := range kept {
		if len(want.Probs) > 0 && !a.nearProb(d.P(id), float64(want.Probs[i])) {
			return Differs, fmt.Sprintf("token %d has probability %.9g, want %.9g", id, d.P(id), float64(want.Probs[i]))
		}
	}
	return a.compareLogits(out, kept, want.Logits)
}

// compareTied judges other kept tokens than wanted. Where the file says that
// ties or rounding at the threshold decide, other tokens of the same scores and
// probabilities are within ties, and so is a count within the borderline whose
// tokens are those wanted, with some more or some less.
func (a *asking) compareTied(in dist.Scores, d dist.Sampling, kept []int32, want *answer) (Verdict, string) {
	differ := fmt.Sprintf("kept %s, want %s", shortIDs(kept), shortIDs(want.Kept))
	got, wanted := scoresOf(in, kept), scoresOf(in, want.Kept)
	if b := a.Borderline; b != nil && len(kept) != len(want.Kept) && len(kept) >= b.Min && len(kept) <= b.Max {
		if !within(got, wanted) && !within(wanted, got) {
			return Differs, differ + ", though the count is within the borderline"
		}
		return WithinTies, differ + ", within the borderline"
	}
	if !a.tagged("ties") && a.Borderline == nil || got == nil || !slices.Equal(got, wanted) {
		return Differs, differ
	}
	probs := make([]float64, len(kept))
	list := make([]float64, len(want.Probs))
	for i, id := range kept {
		probs[i] = d.P(id)
	}
	for i, p := range want.Probs {
		list[i] = float64(p)
	}
	slices.Sort(probs)
	slices.Sort(list)
	for i, p := range list {
		if !a.nearProb(probs[i], p) {
			return Differs, fmt.Sprintf("%s, and a probability of %.9g where %.9g is wanted", differ, probs[i], p)
		}
	}
	return WithinTies, differ + ", of the same scores"
}

// scoresOf returns the scores of tokens in ascending order, nil when a token is
// not of the row.
func scoresOf(row dist.Scores, ids []int32) []float32 {
	out := make([]float32, len(ids))
	for i, id := range ids {
		at := row.Index(id)
		if at < 0 {
			return nil
		}
		out[i] = row.Values[at]
	}
	slices.Sort(out)
	return out
}

// within reports whether a sorted list holds all of another, as often.
func within(less, more []float32) bool {
	at := 0
	for _, v := range less {
		for at < len(more) && more[at] < v {
			at++
		}
		if at == len(more) || more[at] != v {
			return false
		}
		at++
	}
	return true
}

func shortIDs(ids []int32) string {
	if len(ids) > 12 {
		return fmt.Sprintf("%d tokens (%v…)", len(ids), ids[:6])
	}
	return fmt.Sprint(ids)
}

// compareLogits compares scores. The zero of a row means nothing to the
// distribution, and the catalogue's rule is free to choose it: a tiny
// temperature subtracts the maximum first, one token alone is left as it is.
// Without a system's rule, scores may therefore also agree with respect to their
// largest, but for the method that is about nothing else.
func (a *asking) compareLogits(out dist.Scores, kept []int32, want []number) (Verdict, string) {
	if len(want) == 0 {
		return Holds, ""
	}
	top, gotTop, bad := math.Inf(-1), math.Inf(-1), -1
	score := func(i int) (got, wanted float64) {
		return float64(out.Values[out.Index(kept[i])]), float64(want[i])
	}
	for i := range kept {
		g, w := score(i)
		top, gotTop = max(top, w), max(gotTop, g)
		if bad < 0 && !nearLogit(g, w) {
			bad = i
		}
	}
	if bad >= 0 && a.system == Reference && a.Method != "logit_normalization" {
		bad = -1
		for i := range kept {
			g, w := score(i)
			if !nearLogit(g, max(w-top+gotTop, -math.MaxFloat32)) && !nearLogit(g-gotTop, w-top) {
				bad = i
				break
			}
		}
	}
	if bad < 0 {
		return Holds, ""
	}
	g, w := score(bad)
	return Differs, fmt.Sprintf("token %d has score %.9g, want %.9g (largest %.9g, want %.9g)", kept[bad], g, w, gotTop, top)
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
	rel := max(probRel, a.Tolerance.ProbRel)
	if a.system == "exllamav2" {
		// Of a system that leaves float32 probabilities the entropy is that of
		// numbers whose sum is off by up to a part in a thousand.
		rel = max(rel, floatEntropy)
	}
	if h *= math.Ln2; !(math.Abs(h-want.Entropy) <= rel*want.Entropy+probAbs) {
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
			it.History, it.Prompt = q.tokens[:s.Step+1], 1 // the first token is what the text began with
		default:
			if s.Accepted != nil {
				grown = append(grown, *s.Accepted)
			}
			it.History, it.Prompt = grown, 0
		}
		it.Step, it.States = i, states
		if err := a.run(ctx, q, it); err != nil {
			v, why := a.refused(q, want, err)
			return v, fmt.Sprintf("step %d: %s", i, why)
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
	if len(s.Probs) != it.Scores.Vocab {
		return Differs, fmt.Sprintf("the answer has %d probabilities for a vocabulary of %d", len(s.Probs), it.Scores.Vocab)
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
	listed := 0 // tokens that come in removed, which some systems keep in their list
	for _, v := range row.Values {
		if !dist.Finite(v) {
			listed++
		}
	}
	verdict, why := Holds, ""
	for i := range q.steps {
		it := a.item(q, row.Clone())
		it.Step, it.States = i, states
		if err := a.run(ctx, q, it); err != nil {
			v, why := a.refused(q, want, err)
			return v, fmt.Sprintf("draw %d: %s", i, why)
		}
		states = it.States
		d, err := dist.NewSampling(&it.Scores)
		if err != nil {
			return Differs, err.Error()
		}
		if i < len(want.NKept) && d.Support() != want.NKept[i] && d.Support()+listed != want.NKept[i] {
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
