package constrain

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Infill decides whether a gap is filled, and otherwise keeps the few texts that
// stand out (llama.cpp).
type Infill struct{}

// The thresholds of the rule, which has no settings.
const (
	endFactor  = 3.0 // the end weighs this much for each candidate
	firstFloor = 0.2
)

// Declare returns the declaration.
func (Infill) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "infill", Kind: sampler.Reshape,
		Summary: "Ends the text when the end is likely enough; else adds up the probabilities of tokens whose texts begin one another, on the likelier one, and keeps those that hold 0.2, then 1/(n+1) of what is left, and the end tokens.",
		Formula: "end when 3 · p_end · n > p_text; else merge prefixes, keep p_i ≥ 0.2, then p_i ≥ 1/(n_kept + 1)",
		Source:  "llama.cpp, pull request 9896",
		Needs:   sampler.Needs{TokenTexts: true},
	}
}

type candidate struct {
	place int
	id    int32
	p     float64 // with what was merged into it
	own   float64 // without
	end   bool
	text  []byte
}

// Apply keeps the end tokens, or the texts that stand out. A model without a
// token that ends a text never ends.
func (Infill) Apply(row *sampler.Row, _ param.Values) error {
	s := row.Scores
	if s.Unlisted > 0 {
		return fault.New(fault.Data, "infill", "", "a mass of %.4g is unlisted, on which the choice depends", s.Unlisted).
			Fix("truncate to listed tokens first, with top_k or top_p")
	}
	d, err := dist.NewSampling(s)
	if err != nil {
		return err
	}
	list := make([]candidate, 0, d.Support())
	ends, texts := 0.0, 0.0
	for i, v := range s.Values {
		if !dist.Finite(v) {
			continue
		}
		c := candidate{place: i, id: s.ID(i), p: d.P(s.ID(i)), own: d.P(s.ID(i)), text: row.Texts(s.ID(i)), end: slices.Contains(row.EndOfText, s.ID(i))}
		if c.end {
			ends += c.p
		} else {
			texts += c.p
		}
		list = append(list, c)
	}
	if endFactor*ends*float64(len(list)) > texts {
		return keepCandidates(s, slices.DeleteFunc(list, func(c candidate) bool { return !c.end }))
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.p, a.p) })
	merge(list)
	kept, open := standing(list, func(c candidate) bool { return c.p >= firstFloor })
	if open == 0 {
		return onlyEnd(row)
	}
	sum := 0.0
	for _, c := range kept {
		sum += c.p
	}
	kept, open = standing(kept, func(c candidate) bool { return c.p/sum >= 1/(float64(open)+1) })
	if open == 0 && len(kept) == 0 {
		return onlyEnd(row)
	}
	return keepCandidates(s, kept)
}

// merge adds the probability of a token to the likelier one of two whose texts
// begin one another. The list falls in probability, and pairs are met in its
// order; texts in alphabetical order say which pairs there are.
func merge(list []candidate) {
	byText := make([]int, len(list))
	for i := range byText {
		byText[i] = i
	}
	slices.SortFunc(byText, func(i, j int) int { return cmp.Or(bytes.Compare(list[i].text, list[j].text), cmp.Compare(i, j)) })
	var with []int
	for i := range list {
		prefix := list[i].text
		if list[i].p == 0 || len(prefix) == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(byText, prefix, func(j int, text []byte) int { return bytes.Compare(list[j].text, text) })
		with = with[:0]
		for ; at < len(byText) && bytes.HasPrefix(list[byText[at]].text, prefix); at++ {
			if j := byText[at]; j != i && list[j].p > 0 {
				with = append(with, j)
			}
		}
		slices.Sort(with)
		for _, j := range with {
			a, b := &list[i], &list[j]
			if a.p == 0 {
				break // it was merged into a likelier one
			}
			if b.p > a.p {
				a, b = b, a
			}
			a.p += b.p
			b.p = 0
		}
	}
}

// standing returns the candidates that pass, and the end tokens, and how many
// are no end.
func standing(list []candidate, pass func(candidate) bool) (kept []candidate, open int) {
	for _, c := range list {
		if !c.end && !pass(c) {
			continue
		}
		if !c.end {
			open++
		}
		kept = append(kept, c)
	}
	return kept, open
}

func onlyEnd(row *sampler.Row) error {
	for _, id := range row.EndOfText {
		if row.Scores.Has(id) {
			return keepIDs(row.Scores, []int32{id})
		}
	}
	return fault.New(fault.Data, "infill", "", "no text stands out, and no token that ends a text is left").
		Fix("leave the end of text in, or use a model that has one")
}

// keepCandidates keeps the candidates of a list, each with the probability that
// was merged into it.
func keepCandidates(s *dist.Scores, list []candidate) error {
	ids := make([]int32, len(list))
	for i, c := range list {
		ids[i] = c.id
		if c.p > c.own && c.own > 0 {
			s.Values[c.place] = float32(float64(s.Values[c.place]) + math.Log(c.p/c.own))
		}
	}
	slices.Sort(ids)
	return keepIDs(s, ids)
}
