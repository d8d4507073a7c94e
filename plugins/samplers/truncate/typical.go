package truncate

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Typical keeps the tokens whose surprisal is closest to the entropy (Meister
// et al. 2022).
type Typical struct{}

// Declare returns the declaration.
func (Typical) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "typical", Aliases: []string{"typical_p", "typ_p", "locally_typical"}, Kind: sampler.Reshape,
		Summary: "Keeps the shortest list of tokens, ordered by how far their surprisal is from the entropy, whose mass reaches p; the token that crosses p stays, tied tokens enter in order of id, and the likeliest token may be among those removed.",
		Formula: "order by |-ln p_i - H|; keep i when the p_j before it sum to less than typical",
		Source:  "Meister, Pimentel, Wiher, Cotterell 2022, Locally typical sampling",
		Params: param.Specs{
			{
				Name: "typical", Aliases: []string{"p", "typical_p", "typ_p", "mass"}, Type: param.Float, Default: 0.95, Min: 0, Max: 1,
				Meaning: "the mass to reach; 0 keeps the most typical token only, 1 keeps all; it counts as reached within 1e-9 relative",
			},
			leastTypical(),
		},
	}
}

// leastTypical is min_keep in the order of the rule: the likeliest token may be
// none of those that are kept.
func leastTypical() param.Spec {
	spec := minKeep()
	spec.Meaning = "keep at least this many of the most typical tokens; 0 is the same as 1, as a row is never emptied"
	return spec
}

// usualDeviation is how far, in nats, the surprisal of most of the mass is from
// the entropy.
const usualDeviation = 12

// Apply keeps the typical set. The entropy and all masses are sums in float64,
// and a removed token adds nothing to either.
func (Typical) Apply(row *sampler.Row, set param.Values) error {
	p, least := set.Float("typical"), set.Int("min_keep")
	if p == 1 {
		return nil
	}
	s := row.Scores
	if err := listedOnly(s, "typical"); err != nil {
		return err
	}
	support := vec.Support(s.Values)
	d := shapeOf(s)
	need := p * d.total * reached
	b := cheapest(deviations(s, d, d.lightest(len(s.Values), need)), need)
	if int64(b.n) < least {
		b = cheapest(counted(deviations(s, d, lowest)), float64(min(least, int64(support))))
	}
	if b.n < support {
		s.KeepPlaces(within(s, d, b))
	}
	return nil
}

// offset returns what a token's distance from the top lacks of the entropy: the
// deviation of its surprisal is |top - score + offset|. Only differences of
// scores enter, so a shift of all of them changes nothing.
func (d shape) offset() float64 { return math.Log(d.total) - d.entropy }

// reaching returns a score below which every deviation exceeds cost. It is a
// bound to search with, and leaves more than rounding.
func (d shape) reaching(cost float64) float32 {
	return below(d.top + d.offset() - cost - 1e-9*(1+math.Abs(d.top)))
}

// lightest returns a score below which no token of a row of n is in a typical
// set of the mass need. Tokens so light that all of the row could be left out,
// see [spareFloor], are not needed if every heavier one is more typical: if the
// likeliest is.
func (d shape) lightest(n int, need float64) float32 {
	floor := spareFloor(n, d.top, d.total, need)
	if math.Abs(d.offset()) >= d.top-float64(floor)+d.offset() {
		return lowest
	}
	return floor
}

// deviations is the source of the tokens with a score of at least floor, each
// with its weight and the cheaper the closer its surprisal is to the entropy.
func deviations(s *dist.Scores, d shape, floor float32) source {
	n := min(blockSize, len(s.Values)) + slack
	found := make([]float32, 0, n)
	offset := d.offset()
	fill := func(b int, most float64, cost, weight []float64) int {
		part := s.Values[b*blockSize : min((b+1)*blockSize, len(s.Values))]
		found = vec.Pick(found[:0], part, max(floor, d.reaching(most)))
		cost = cost[:len(found)]
		for i, v := range found {
			cost[i] = math.Abs(d.top - float64(v) + offset)
		}
		vec.Exps(weight[:len(found)], found, d.top)
		return len(found)
	}
	return source{blocks: (len(s.Values) + blockSize - 1) / blockSize, room: n, least: 0, usual: usualDeviation, fill: fill}
}

// counted is a source whose tokens weigh 1.
func counted(src source) source {
	fill := src.fill
	src.fill = func(b int, most float64, cost, weight []float64) int {
		n := fill(b, most, cost, weight)
		for i := range n {
			weight[i] = 1
		}
		return n
	}
	return src
}

// within returns the places of the tokens inside a border of deviations,
// ascending.
func within(s *dist.Scores, d shape, b border) []int32 {
	offset := d.offset()
	places := vec.Find(make([]int32, 0, b.n+b.n/4+2*slack), s.Values, d.reaching(b.cost))
	ties, n := b.ties, 0
	for _, at := range places {
		c := math.Abs(d.top - float64(s.Values[at]) + offset)
		if c > b.cost || c == b.cost && ties == 0 {
			continue
		}
		if c == b.cost {
			ties--
		}
		places[n] = at
		n++
	}
	return places[:n]
}
