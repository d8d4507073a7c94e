package compat

import (
	"cmp"
	"math"
	"slices"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// exLlamaV2 returns ExLlamaV2's rules (0.3.2, the scalar path of its C++
// extension). Its steps work on float32 probabilities of the whole vocabulary
// and shorten that array; here each step begins with a softmax of its own.
func exLlamaV2() []Rule {
	return slices.Concat(exllamaHistory(), exllamaRescale(), exllamaTruncate(), []Rule{
		{Sampler: "greedy", Term: "top_k = 1"},
		{
			Sampler: "sample", Term: "random",
			Differs: "it scales its random number by 0.9998 against rounding, so that the last of the mass is never drawn; here the whole mass is",
		},
		{
			Sampler: "mirostat_v2", Term: "mirostat, mirostat_tau, mirostat_eta",
			Differs: "float32, and a mu of exactly 0 counts as not started; followed here is our own rule, which is otherwise the same",
		},
		{
			Sampler: "skew", Term: "skew",
			Differs: "it drops tokens below 1e-8 and scales its random number by 0.9998; followed here is our own rule, which is otherwise the same",
		},
	})
}

// pool is ExLlamaV2's array: probabilities and, beside them, the tokens.
type pool struct {
	p   []float32
	id  []int32
	top int // place of the first of the largest scores
}

// poolOf returns the array of a row. A dense row is in the order of ids, masked
// tokens at probability 0; a sparse one is in the order in which a truncation by
// heap leaves it, likeliest first, ties by descending id.
func poolOf(row *sampler.Row, op string) (*pool, error) {
	if err := listed(row, op); err != nil {
		return nil, err
	}
	s := row.Scores
	order := make([]int32, len(s.Values))
	for i := range order {
		order[i] = int32(i)
	}
	if !s.Dense() {
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.Values[b], s.Values[a]), cmp.Compare(b, a))
		})
	}
	x := &pool{p: make([]float32, len(order)), id: make([]int32, len(order))}
	for i, at := range order {
		x.id[i] = s.ID(int(at))
		x.p[i] = s.Values[at]
		if x.p[i] > x.p[x.top] {
			x.top = i
		}
	}
	most, sum := x.p[x.top], float32(0)
	for i, v := range x.p {
		x.p[i] = expf(v - most)
		sum += x.p[i]
	}
	inverse := 1 / sum
	for i := range x.p {
		x.p[i] *= inverse
	}
	return x, nil
}

func (x *pool) swap(i, j int) {
	x.p[i], x.p[j] = x.p[j], x.p[i]
	x.id[i], x.id[j] = x.id[j], x.id[i]
}

// onPool is a rule over the array: apply returns how many of its first entries
// stay.
func onPool(op string, off func(set param.Values) bool, apply func(x *pool, set param.Values) int) func(*sampler.Row, param.Values) error {
	return func(row *sampler.Row, set param.Values) error {
		if row.Scores.Len() < 2 || off(set) {
			return nil
		}
		x, err := poolOf(row, op)
		if err != nil {
			return err
		}
		n := apply(x, set)
		if n > len(x.p) {
			return broken(row, op, "writes past the end of its array when every token passes, as every one does")
		}
		kept := x.id[:n]
		slices.Sort(kept)
		s, next := row.Scores, 0
		s.Keep(func(i int) bool {
			if next == n || kept[next] != s.ID(i) {
				return false
			}
			next++
			return true
		}, make([]int32, 0, n))
		return sound(row, op)
	}
}

// outside says that a threshold is off: not between 0 and 1.
func outside(name string) func(param.Values) bool {
	return func(set param.Values) bool {
		v := float(set, name)
		return !(v > 0 && v < 1)
	}
}

func exllamaTruncate() []Rule {
	return []Rule{
		{
			Sampler: "top_k", Term: "top_k",
			Differs: "up to 500 a heap keeps the tokens, of tied ones those met first; above that a quicksort does, after which tokens below 1e-8 are in no order",
			Params:  param.Specs{topKSpec(50), exactly(), oneKept()},
			Apply: func(row *sampler.Row, set param.Values) error {
				k := set.Int("top_k")
				off := func(param.Values) bool { return k <= 0 || k >= int64(row.Scores.Len()) }
				return onPool("top_k", off, func(x *pool, _ param.Values) int { return x.first(int(k)) })(row, set)
			},
		},
		{
			Sampler: "top_p", Term: "top_p",
			Differs: "keeps the largest set with a mass of at most p, so the crossing token goes, by a walk over a heap in the order of ids that can keep a token and drop a likelier one; tokens below 1e-6 go in any case; 0 and below and 1 and above are off",
			Params:  param.Specs{anyFloat("top_p", 0.8, "mass that the tokens kept must not exceed; off unless between 0 and 1", "p"), oneKept()},
			Apply: onPool("top_p", outside("top_p"), func(x *pool, set param.Values) int {
				return x.mass(float(set, "top_p"))
			}),
		},
		{
			Sampler: "top_a", Term: "top_a",
			Differs: "its exchanges in place can keep a token below the threshold, and write past the end of the array when every token passes, which is refused here",
			Params:  param.Specs{anyFloat("top_a", 0, "least probability, as a multiple of the square of the largest; 0 and below is off", "a"), oneKept()},
			Apply: onPool("top_a", func(set param.Values) bool { return float(set, "top_a") <= 0 },
				func(x *pool, set param.Values) int {
					top := slices.Max(x.p)
					return x.from(float32(float32(float(set, "top_a")*top) * top))
				}),
		},
		{
			Sampler: "min_p", Term: "min_p",
			Differs: "a of 1 and above is off, as 0 and below is; its exchanges in place can keep a token below the threshold, and write past the end of the array when every token passes, which is refused here",
			Params:  param.Specs{anyFloat("min_p", 0, "least share of the largest probability; off unless between 0 and 1", "p"), oneKept()},
			Apply: onPool("min_p", outside("min_p"), func(x *pool, set param.Values) int {
				return x.from(slices.Max(x.p) * float(set, "min_p"))
			}),
		},
		{
			Sampler: "tfs", Term: "tfs",
			Differs: "float32; tokens below 1e-8 go in any case, and 0 and below is off as 1 and above is; without any curvature all but the last stay",
			Params:  param.Specs{anyFloat("tfs", 0, "share of the curvature to keep; off unless between 0 and 1", "z", "tfs_z"), oneKept()},
			Apply: onPool("tfs", outside("tfs"), func(x *pool, set param.Values) int {
				return x.tailFree(float(set, "tfs"))
			}),
		},
		{
			Sampler: "typical", Term: "typical",
			Differs: "orders by the distance of p + ln p from its mean instead of ln p, a slip, and drops the crossing token; tokens below 1e-8 go in any case; off unless between 0 and 1",
			Params:  param.Specs{anyFloat("typical", 0, "mass to stay below; off unless between 0 and 1", "p", "typical_p", "typ_p", "mass"), oneKept()},
			Apply: onPool("typical", outside("typical"), func(x *pool, set param.Values) int {
				return x.typical(float(set, "typical"))
			}),
		},
	}
}

// first brings the k likeliest to the front.
func (x *pool) first(k int) int {
	const byHeap = 500
	switch {
	case k == 1:
		x.swap(0, x.top)
	case k <= byHeap:
		h := leastFirst{}
		for i := range k {
			h.push(entry{x.p[i], x.id[i]})
		}
		for i := k; i < len(x.p); i++ {
			if x.p[i] > h[0].p {
				h.pop()
				h.push(entry{x.p[i], x.id[i]})
			}
		}
		x.fill(h)
	default:
		x.sort(k)
	}
	return k
}

// mass keeps tokens in a heap while their running sum is at most p.
func (x *pool) mass(p float32) int {
	h, sum := leastFirst{}, float32(0)
	for i, v := range x.p {
		if float64(v) < float64(float32(1e-6)) || sum > p && v < h[0].p {
			continue
		}
		h.push(entry{v, x.id[i]})
		sum += v
		for sum > p && len(h) > 1 {
			sum -= h.pop().p
		}
	}
	n := len(h)
	x.fill(h)
	return n
}

// fill empties a heap into the front of the array, likeliest first.
func (x *pool) fill(h leastFirst) {
	for i := len(h) - 1; i >= 0; i-- {
		e := h.pop()
		x.p[i], x.id[i] = e.p, e.id
	}
}

// from brings the tokens with at least a probability to the front by exchanges,
// and returns what it takes to be their number: one more than there are entries
// when every one passes, and one that fails among them when the last exchange
// meets a passing neighbour.
func (x *pool) from(floor float32) int {
	i, j := 0, len(x.p)-1
	for j >= i {
		for j >= i && x.p[i] >= floor {
			i++
		}
		if x.p[j] >= floor {
			if i < len(x.p) {
				x.swap(i, j)
			}
			i++
		}
		j--
	}
	return i
}

// tailFree keeps one more than the normalised second differences up to z.
func (x *pool) tailFree(z float32) int {
	if len(x.p) < 3 {
		return len(x.p)
	}
	n := x.sort(len(x.p))
	second := make([]float32, max(n-2, 0))
	total := float32(0)
	for i := range second {
		d := float32(-x.p[i]+float32(2*x.p[i+1])) - x.p[i+2]
		second[i] = float32(math.Abs(float64(d)))
		total += second[i]
	}
	inverse, sum, k := 1/total, float32(0), 0
	for k < len(second) {
		if sum += float32(second[k] * inverse); sum > z {
			break
		}
		k++
	}
	return k + 1
}

// typical brings the tokens nearest to the mean of p + ln p to the front, while
// their running sum is below p.
func (x *pool) typical(p float32) int {
	n := x.positive()
	away := make([]float32, n)
	mean := float32(0)
	for i, v := range x.p[:n] {
		away[i] = v + logf(v+1e-10)
		mean += float32(v * away[i])
	}
	order := make([]int32, n)
	for i := range order {
		away[i] = float32(math.Abs(float64(away[i] - mean)))
		order[i] = int32(i)
	}
	(&quick{key: away, tag: order, last: n}).sort(0, n-1, 0)
	ids, sum, k := make([]int32, 0, n), float32(0), 0
	for _, at := range order {
		ids = append(ids, x.id[at])
		if sum += x.p[at]; sum >= p {
			break
		}
		k++
	}
	copy(x.id, ids)
	return max(k, 1)
}
