package truncate

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// XTC excludes the top choices (p-e-w 2024). The zero value is ready; with a
// finder it remembers which tokens the protected texts mean.
type XTC struct{ Finder *token.Finder }

// The choices of its setting "mode".
const (
	xtcCoin     = "coin"
	xtcExpected = "expected"
)

// Declare returns the declaration.
func (XTC) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "xtc", Aliases: []string{"exclude_top_choices"}, Kind: sampler.Reshape,
		Summary: "With some probability, when two or more tokens reach a threshold, removes all of them but the least likely (of tied ones the highest id stays): what was unlikely becomes likely, and entropy may rise.",
		Formula: "with probability q: among {p_i >= t}, if there are two or more, remove all but the last in rank",
		Source:  "p-e-w 2024, Exclude Top Choices, text-generation-webui pull request 6335",
		Params: param.Specs{
			{
				Name: "probability", Aliases: []string{"xtc_probability", "q"}, Type: param.Float, Default: 0.5, Min: 0, Max: 1,
				Meaning: "how often the stage acts; 0 never",
			},
			{
				Name: "threshold", Aliases: []string{"xtc_threshold"}, Type: param.Float, Default: 0.1, Min: 0, Max: 1,
				Meaning: "the probability that makes a top choice; above 0.5 there cannot be two, and nothing happens",
			},
			{
				Name: "mode", Type: param.Text, Default: xtcCoin, Choices: []string{xtcCoin, xtcExpected},
				Meaning: "coin acts or not by a random number; expected leaves the mixture of both outcomes, which is the distribution of what coin leads to",
			},
			{
				Name: "protect", Type: param.Tokens, Default: "",
				Meaning: "tokens that are never removed, such as the end of text or a line break: ids, or texts, which stand for every token of these bytes",
			},
			{
				Name: "min_keep", Aliases: []string{"min_tokens_to_keep"}, Type: param.Int, Default: int64(1), Min: 0, Max: math.Inf(1), Unit: "tokens",
				Meaning: "do nothing when fewer tokens would be left; 0 is the same as 1",
			},
		},
		Needs: sampler.Needs{Uniforms: 1},
	}
}

// Apply throws the coin and removes the top choices, or mixes both outcomes. A
// row with an unlisted tail is left as it is when the stage does nothing, and
// refused otherwise: the tail would get another mass.
func (x XTC) Apply(row *sampler.Row, set param.Values) error {
	q, t, expected := set.Float("probability"), set.Float("threshold"), set.Text("mode") == xtcExpected
	s := row.Scores
	if q == 0 || t > 0.5 || !expected && !(row.Uniforms[0] < q) {
		return nil
	}
	d := shapeOf(s)
	f := max(ceil32(d.floorOf(t, s.Unlisted)), lowest)
	chosen := vec.Find(make([]int32, 0, vec.Count(s.Values, f)+slack), s.Values, f)
	support := vec.Support(s.Values)
	if s.Unlisted > 0 && (len(chosen) >= 2 || len(chosen) == support && s.Unlisted >= t) {
		return fault.New(fault.Data, "xtc", "", "%d of the %d listed tokens reach %g, and of an unlisted mass of %.4g it is not known what becomes", len(chosen), support, t, s.Unlisted).
			Fix("truncate to listed tokens first, with top_k or top_p, or use a backend that lists every token")
	}
	if len(chosen) < 2 {
		return nil
	}
	protected, err := x.Finder.IDs(row, "xtc", set, "protect")
	if err != nil {
		return err
	}
	last := chosen[0]
	for _, at := range chosen {
		if s.Values[at] <= s.Values[last] {
			last = at
		}
	}
	stays := make(map[int32]bool, len(protected))
	for _, id := range protected {
		stays[id] = true
	}
	remove := make([]int32, 0, len(chosen))
	for _, at := range chosen {
		if at != last && !stays[s.ID(int(at))] {
			remove = append(remove, at)
		}
	}
	if left := int64(support - len(remove)); len(remove) == 0 || left < max(1, set.Int("min_keep")) {
		return nil
	}
	if expected && q < 1 {
		mixed(s, remove, d, q)
		return nil
	}
	s.Remove(remove)
	return nil
}

// mixed leaves q times the row without the removed tokens plus 1-q times the
// row.
func mixed(s *dist.Scores, places []int32, d shape, q float64) {
	remove := make([]bool, len(s.Values))
	for _, at := range places {
		remove[at] = true
	}
	// The kept mass may be too small for a number; its logarithm is not.
	first, sum := math.Inf(-1), 0.0
	for i, v := range s.Values {
		if !remove[i] {
			first = max(first, float64(v))
		}
	}
	for i, v := range s.Values {
		if !remove[i] && v >= lowest {
			sum += vec.Exp(float64(v) - first)
		}
	}
	lnKept := first + math.Log(sum) - d.top - math.Log(d.total)
	without := math.Log(1 - q)
	stay := sumOfLogs(math.Log(q)-lnKept, without)
	for i, v := range s.Values {
		if !(v >= lowest) {
			continue
		}
		by := stay
		if remove[i] {
			by = without
		}
		s.Values[i] = float32(max(-math.MaxFloat32, min(math.MaxFloat32, float64(v)+by)))
	}
}

// sumOfLogs returns ln(e^a + e^b).
func sumOfLogs(a, b float64) float64 {
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}
