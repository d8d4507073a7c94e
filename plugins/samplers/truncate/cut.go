package truncate

import (
	"cmp"
	"math"
	"slices"
)

// border is where a list of tokens is cut: those of a cost below it stay, and
// of those equal to it the first ties. n is how many stay in all.
type border struct {
	cost    float64
	ties, n int
}

// blockSize is how many tokens a source gives at most at a time.
const blockSize = 1024

// source is a list of tokens in ascending order of id, cut into blocks. fill
// writes the costs and the weights of the tokens of block b, and returns how
// many there are; it is called more than once for a block, and may leave out
// tokens that cost more than most. Costs are finite. least is at most the least
// of them, and usual not below most of those that matter.
type source struct {
	blocks       int
	room         int // of cost and weight: at least the tokens of a block
	least, usual float64
	fill         func(b int, most float64, cost, weight []float64) int
}

// bins is how many counters a pass uses, few the number of tokens that are
// sorted instead.
const (
	bins = 512
	few  = 40
)

// histogram is the weight and the number of tokens by their cost.
type histogram struct {
	weight [bins]float64
	count  [bins]int32
}

// scale maps costs to bins, in their order.
type scale struct{ least, factor float64 }

// newScale returns the scale whose bins are of one width and end at most; what
// costs more goes into the last one. Equal limits are one bin.
func newScale(least, most float64) scale {
	if !(most-least >= tiny) {
		return scale{least, 0}
	}
	return scale{least, bins / (most - least)}
}

// bin returns the bin of a cost that is at least least.
func (s scale) bin(cost float64) uint {
	// A product beyond the range of integers becomes, as one without a sign, a
	// large number on every machine.
	return min(uint(int64((cost-s.least)*s.factor)), bins-1)
}

// above returns a cost that those of a bin do not exceed.
func (s scale) above(bin uint) float64 {
	if bin == bins-1 || s.factor == 0 {
		return math.Inf(1)
	}
	return s.least + float64(bin+2)/s.factor // one bin more than rounding could add
}

func (h *histogram) add(s scale, cost, weight []float64) {
	weight = weight[:len(cost)]
	for i, c := range cost {
		b := s.bin(c)
		h.weight[b] += weight[i]
		h.count[b]++
	}
}

// cross walks up from the lowest cost and returns the bin in which sum reaches
// need, with the weight and number of tokens before it. When rounding keeps the
// sum a hair below need it is the last bin that has a token.
func (h *histogram) cross(sum, need float64) (bin uint, before float64, below int) {
	last := -1
	for b := range bins {
		if h.count[b] == 0 {
			continue
		}
		if last >= 0 {
			sum += h.weight[last]
			below += int(h.count[last])
		}
		last = b
		if sum+h.weight[b] >= need {
			break
		}
	}
	return uint(last), sum, below
}

// cheapest returns where to cut so that the shortest list of tokens of lowest
// cost with a weight of at least need stays, ties in order of id; all of them
// when their weights do not reach it. The source is not empty.
//
// The weight is gathered by cost, and only the bin in which the running sum
// crosses need is looked at again, until so few tokens are in it that they are
// sorted: as exact as a full sort, in linear time.
func cheapest(src source, need float64) border {
	cost, weight := make([]float64, src.room), make([]float64, src.room)
	if src.blocks == 1 {
		n := src.fill(0, math.Inf(1), cost, weight)
		return pick(cost[:n], weight[:n], 0, 0, need)
	}
	var h histogram
	s := newScale(src.least, src.usual)
	for b := range src.blocks {
		n := src.fill(b, math.Inf(1), cost, weight)
		h.add(s, cost[:n], weight[:n])
	}
	bin, sum, below := h.cross(0, need)
	inCost, inWeight := make([]float64, 0, h.count[bin]), make([]float64, 0, h.count[bin])
	for b := range src.blocks {
		n := src.fill(b, s.above(bin), cost, weight)
		for i, c := range cost[:n] {
			if s.bin(c) == bin {
				inCost, inWeight = append(inCost, c), append(inWeight, weight[i])
			}
		}
	}
	return pick(inCost, inWeight, sum, below, need)
}

// pick is cheapest for a list in memory, which it reorders, after below tokens
// of lower cost and the weight sum.
func pick(cost, weight []float64, sum float64, below int, need float64) border {
	for len(cost) > few {
		least, most := limits(cost)
		if !(most-least >= tiny) {
			break
		}
		var h histogram
		s := newScale(least, most)
		h.add(s, cost, weight)
		bin, before, n := h.cross(sum, need)
		sum, below = before, below+n
		n = 0
		for i, c := range cost {
			if s.bin(c) == bin {
				cost[n], weight[n] = c, weight[i]
				n++
			}
		}
		cost, weight = cost[:n], weight[:n]
	}
	order(cost, weight)
	at := 0
	for sum += weight[0]; sum < need && at+1 < len(cost); sum += weight[at] {
		at++
	}
	first := at
	for first > 0 && cost[first-1] == cost[at] {
		first--
	}
	return border{cost: cost[at], ties: at - first + 1, n: below + at + 1}
}

// limits returns the least and the largest cost.
func limits(cost []float64) (least, most float64) {
	least, most = cost[0], cost[0]
	for _, c := range cost {
		if c < least {
			least = c
		}
		if c > most {
			most = c
		}
	}
	return least, most
}

// tiny is the least difference of costs by which a list is split further: the
// number of bins divided by it is finite.
const tiny = 1e-300

// order sorts by cost and leaves ties in their order. Nearly always the list is
// short, or all equal.
func order(cost, weight []float64) {
	if len(cost) > few {
		at := make([]int, len(cost))
		for i := range at {
			at[i] = i
		}
		slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(cost[a], cost[b]) })
		c, w := slices.Clone(cost), slices.Clone(weight)
		for i, from := range at {
			cost[i], weight[i] = c[from], w[from]
		}
		return
	}
	for i, c := range cost {
		w, j := weight[i], i
		for ; j > 0 && cost[j-1] > c; j-- {
			cost[j], weight[j] = cost[j-1], weight[j-1]
		}
		cost[j], weight[j] = c, w
	}
}

// cut is where a row is cut: tokens above floor stay, and of those equal to it
// the ties of lowest id.
type cut struct {
	floor   float32
	ties, n int // n is how many tokens stay in all
}

// byScore turns a border of costs that are negated scores into a cut.
func (b border) byScore() cut { return cut{floor: float32(-b.cost), ties: b.ties, n: b.n} }

// removesNothing reports whether every finite score stays. Mostly the first
// scores tell.
func (c cut) removesNothing(values []float32) bool {
	tied := 0
	for _, v := range values {
		if v >= lowest && v < c.floor {
			return false
		}
		if v == c.floor {
			tied++
		}
	}
	return tied == c.ties
}
