package truncate

import (
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// TailFree cuts where the sorted probabilities stop to bend (Phénix and Egan
// 2019).
type TailFree struct{}

// Declare returns the declaration.
func (TailFree) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "tfs", Aliases: []string{"tail_free", "tfs_z"}, Kind: sampler.Reshape,
		Summary: "Keeps the tokens before the share z of the curvature of the sorted probabilities is passed, in the centred reading; the first always stays, the last of the whole vocabulary never where there is curvature; removed tokens count as probability 0, and tied tokens are ranked by id.",
		Formula: "c_j = |p_j - 2 p_(j+1) + p_(j+2)| / Σ c, p sorted; keep rank j+1 while c_1 + … + c_j <= z",
		Source:  "Phénix, Egan 2019, Tail free sampling; centred as in text-generation-webui",
		Params: param.Specs{
			{
				Name: "tfs", Aliases: []string{"z", "tfs_z"}, Type: param.Float, Default: 0.95, Min: 0, Max: math.Inf(1),
				Meaning: "the share of the curvature to keep; 1 and above keeps all",
			},
			minKeep(),
		},
	}
}

// Apply cuts the row. A row of fewer than three tokens, or without curvature, is
// left as it is.
func (TailFree) Apply(row *sampler.Row, set param.Values) error {
	z, least := set.Float("tfs"), set.Int("min_keep")
	s := row.Scores
	if z >= 1 {
		return nil
	}
	if err := listedOnly(s, "tfs"); err != nil {
		return err
	}
	p := falling(s)
	support := len(p)
	// Removed tokens lie behind the last one with probability 0; more than two of
	// them bend nothing.
	p = append(p, make([]float64, min(2, s.Vocab-support))...)
	n := len(p)
	if n < 3 {
		return nil
	}
	sum := 0.0
	for j := range n - 2 {
		sum += math.Abs(p[j] - 2*p[j+1] + p[j+2])
	}
	if sum == 0 {
		return nil
	}
	kept, running := 1, 0.0
	for j := range n - 2 {
		running += math.Abs(p[j] - 2*p[j+1] + p[j+2])
		if running > z*sum*(1+1e-9) {
			break
		}
		kept++
	}
	if kept = max(kept, int(min(least, int64(support)))); kept < support {
		cutTo(s, kept, false)
	}
	return nil
}

// falling returns the probabilities of the support in falling order. The
// curvature of the tail counts, so the whole row is put in order: by its bits,
// in time linear in their number.
func falling(s *dist.Scores) []float64 {
	found := vec.Pick(make([]float32, 0, len(s.Values)+slack), s.Values, lowest)
	if len(found) < 2048 {
		slices.SortFunc(found, func(a, b float32) int {
			switch {
			case a > b:
				return -1
			case a < b:
				return 1
			}
			return 0
		})
	} else {
		byBits(found)
	}
	p := make([]float64, len(found))
	vec.Exps(p, found, float64(found[0]))
	total := vec.Sum(s.Values, s.IDs, float64(found[0]))
	for i := range p {
		p[i] /= total
	}
	return p
}

// byBits sorts scores in falling order by three passes over 11 bits each.
func byBits(values []float32) {
	const bits, size = 11, 1 << 11
	keys, other := make([]uint32, len(values)), make([]uint32, len(values))
	for i, v := range values {
		b := math.Float32bits(v)
		if b>>31 != 0 {
			keys[i] = b // negative: the larger the bits, the lower the score
		} else {
			keys[i] = ^b & (1<<31 - 1)
		}
	}
	for shift := 0; shift < 33; shift += bits {
		var at [size + 1]int
		for _, k := range keys {
			at[k>>shift&(size-1)+1]++
		}
		for b := range size {
			at[b+1] += at[b]
		}
		for _, k := range keys {
			b := k >> shift & (size - 1)
			other[at[b]] = k
			at[b]++
		}
		keys, other = other, keys
	}
	for i, k := range keys {
		if k>>31 != 0 {
			values[i] = math.Float32frombits(k)
		} else {
			values[i] = math.Float32frombits(^k & (1<<31 - 1))
		}
	}
}
