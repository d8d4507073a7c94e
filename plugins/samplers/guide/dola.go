package guide

import (
	"math"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// MostLayers is how many early layers the sampler dola is given.
const MostLayers = 8

// DoLa contrasts the last layer with an early one.
type DoLa struct{}

// Declare returns the declaration.
func (DoLa) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name:    "dola",
		Aliases: []string{"decoding_by_contrasting_layers"},
		Kind:    sampler.Reshape,
		Summary: "Scores plausible tokens by how much likelier the last layer makes them than an early one: of the further passes, early exits of the same model, the one whose distribution differs most, the first on ties; removed tokens stay removed.",
		Formula: "ln p_N - ln p_M where p_N >= alpha max p_N, else -inf; M = argmax JSD(p_N, p_M)",
		Source:  "Chuang, Xie, Luo, Kim, Glass, He 2023, DoLa: decoding by contrasting layers improves factuality in large language models",
		Params: param.Specs{
			{Name: "layers", Type: param.Int, Default: int64(MostLayers), Min: 1, Max: MostLayers, Unit: "passes",
				Meaning: "how many of the further passes are candidates, from the first on; a host with fewer layers to offer repeats one"},
			plausible(),
		},
		Needs: sampler.Needs{Passes: MostLayers},
	}
}

// Apply chooses the layer, cuts and replaces the scores. The divergence is taken
// over the tokens of the row, after what was removed is left out of every layer.
func (DoLa) Apply(row *sampler.Row, set param.Values) error {
	const op = "dola"
	s := row.Scores
	if err := whole(op, s); err != nil {
		return err
	}
	own := make([]float64, len(s.Values))
	normalise(own, s)
	other, most, layer := make([]float64, len(s.Values)), -1.0, 0
	for k := range int(set.Int("layers")) {
		p, err := newPass(op, row, k)
		if err != nil {
			return err
		}
		for i, v := range s.Values {
			other[i] = math.Inf(-1)
			if dist.Finite(v) {
				other[i], err = p.weighted(op, s.ID(i), 1)
			}
			if err != nil {
				return err
			}
		}
		if js := divergence(own, other); js > most {
			most, layer = js, k
		}
	}
	if alpha := set.Float("alpha"); alpha > 0 {
		s.KeepFrom(plausibleFloor(vec.Max(s.Values), alpha))
	}
	p, err := newPass(op, row, layer)
	if err != nil {
		return err
	}
	return combine(op, s, p, 1, -1)
}

// normalise sets p to the probabilities of a row.
func normalise(p []float64, s *dist.Scores) {
	vec.Exps(p, s.Values, float64(vec.Max(s.Values)))
	total := vec.Add(p, s.IDs)
	for i := range p {
		p[i] /= total
	}
}

// divergence returns the Jensen-Shannon divergence in nats of probabilities p and
// of the distribution with natural-log weights l, which become probabilities. Where
// no token has a weight it is the largest there is, ln 2: nothing is shared.
func divergence(p, l []float64) float64 {
	top := math.Inf(-1)
	for _, x := range l {
		top = max(top, x)
	}
	if math.IsInf(top, -1) {
		return math.Ln2
	}
	total := 0.0
	for i, x := range l {
		l[i] = vec.Exp(x - top)
		total += l[i]
	}
	half := 0.0
	term := func(x, m float64) float64 {
		if x == 0 {
			return 0
		}
		return x * math.Log(x/m)
	}
	for i, x := range p {
		q := l[i] / total
		m := (x + q) / 2
		half += term(x, m) + term(q, m)
	}
	return half / 2
}
