package vec

import "math"

// Side is one of the two rows that a [Comparer] holds against each other. The
// probability of a token is Share times its weight, and its logarithm is its
// score minus Top minus Ln.
type Side struct {
	Values  []float32
	IDs     []int32   // ascending; nil: Values[i] is token i
	Weights []float64 // by place, as [Weigh] leaves them
	Top     float64   // the largest score
	Share   float64   // what a weight of 1 has of the mass
	Ln      float64   // natural logarithm of 1/Share
}

// Difference is what lies between a row before a stage and the row after it.
// Weights are those before the stage.
type Difference struct {
	Kept        float64 // weight of the tokens with a score after the stage
	Dropped     float64 // weight of those without one
	DroppedLean float64 // sum over the latter of weight * (score - top)
	L1          float64 // sum over the tokens with a score after of |probability after - before|
	KL          float64 // sum of q (ln q - ln p), after q and before p, in nats; +Inf when Entered

	Entered bool // a token has a score after the stage and had none before
	Moved   bool // a token has a score after the stage and had another one before, to the bit, or none
}

// Comparer computes differences. It owns scratch memory of some 24 KiB. The zero
// value is ready; not safe for concurrent use.
type Comparer struct {
	before, after slate
}

// Compare returns what lies between two rows over one vocabulary, of which each
// lists its tokens in a form of its own. Sums run in the order of this package,
// so that forms change no bit, and a stage that drops nothing keeps a weight of
// exactly the sum before.
func (c *Comparer) Compare(before, after *Side) Difference {
	return c.compare(best, before, after)
}

// The sums of a difference: kept, dropped, droppedLean, l1 and kl.
type deltas [5]sums

const (
	kept = iota
	dropped
	droppedLean
	l1
	kl
)

// terms are the numbers that all tokens share.
type terms [5]float64

const (
	topBefore = iota
	shareBefore
	topAfter
	shareAfter
	shift // ln of after minus ln of before
)

// flags says what a pass met.
type flags struct{ entered, moved bool }

// fold adds the sums of a block to the difference and clears them.
func (d *Difference) fold(s *deltas) {
	d.Kept += s[kept].fold()
	d.Dropped += s[dropped].fold()
	d.DroppedLean += s[droppedLean].fold()
	d.L1 += s[l1].fold()
	d.KL += s[kl].fold()
}

// add is the definition of a pass: what one token adds to its lane. A token that
// is not in a row has a score of -Inf and a weight of 0 there.
func (s *deltas) add(lane int, t *terms, before float32, beforeWeight float64, after float32, afterWeight float64) (f flags) {
	was, left := before >= -math.MaxFloat32, after >= -math.MaxFloat32
	y := float64(before) - t[topBefore]
	if !left {
		if was {
			s[dropped][lane] += beforeWeight
			s[droppedLean][lane] = math.FMA(beforeWeight, y, s[droppedLean][lane])
		}
		return f
	}
	// The conversions keep a compiler from rounding twice in one step.
	q, p := float64(t[shareAfter]*afterWeight), float64(t[shareBefore]*beforeWeight)
	s[l1][lane] += math.Abs(q - p)
	if !was {
		return flags{entered: true, moved: true}
	}
	s[kept][lane] += beforeWeight
	x := float64(after) - t[topAfter]
	s[kl][lane] = math.FMA(q, x-y-t[shift], s[kl][lane])
	f.moved = math.Float32bits(before) != math.Float32bits(after)
	return f
}

func portableCompare(s *deltas, t *terms, before []float32, beforeWeights []float64, after []float32, afterWeights []float64) (f flags) {
	for i, v := range after {
		f.join(s.add(i%lanes, t, before[i], beforeWeights[i], v, afterWeights[i]))
	}
	return f
}

func (f *flags) join(g flags) {
	f.entered = f.entered || g.entered
	f.moved = f.moved || g.moved
}

func (c *Comparer) compare(l level, before, after *Side) (d Difference) {
	t := terms{before.Top, before.Share, after.Top, after.Share, after.Ln - before.Ln}
	var s deltas
	var f flags
	if before.IDs != nil && after.IDs != nil {
		f = c.compareLists(l, &d, &s, &t, before, after)
	} else {
		tokens := len(before.Values)
		if before.IDs != nil {
			tokens = len(after.Values)
		}
		var b, a cursor
		for at := 0; at < tokens; at += block {
			n := min(block, tokens-at)
			f.join(c.block(l, &s, &t, before, after, b.next(before.IDs, at), a.next(after.IDs, at), at, n))
			d.fold(&s)
		}
	}
	if d.Entered, d.Moved = f.entered, f.moved; d.Entered {
		d.KL = math.Inf(1)
	}
	return d
}

// few is how many tokens of a block are faster compared one by one than in a
// slate.
const few = 160

// compareLists goes from one block with tokens to the next.
func (c *Comparer) compareLists(l level, d *Difference, s *deltas, t *terms, before, after *Side) (f flags) {
	var b, a cursor
	for b.at < len(before.IDs) || a.at < len(after.IDs) {
		first := int32(math.MaxInt32)
		if b.at < len(before.IDs) {
			first = before.IDs[b.at]
		}
		if a.at < len(after.IDs) {
			first = min(first, after.IDs[a.at])
		}
		at := int(first) &^ (block - 1)
		x, y := b.next(before.IDs, at), a.next(after.IDs, at)
		if x.to-x.from+y.to-y.from <= few {
			f.join(s.merge(t, before, after, x, y))
		} else {
			f.join(c.block(l, s, t, before, after, x, y, at, block))
		}
		d.fold(s)
	}
	return f
}

// places is part of a list.
type places struct{ from, to int }

// cursor walks a list of tokens block by block.
type cursor struct{ at int }

// next returns the places of the tokens of the block that begins at token first;
// those before it have been passed.
func (c *cursor) next(ids []int32, first int) places {
	from := c.at
	for c.at < len(ids) && int(ids[c.at]) < first+block {
		c.at++
	}
	return places{from, c.at}
}

// merge compares the tokens of a block one by one.
func (s *deltas) merge(t *terms, before, after *Side, b, a places) (f flags) {
	gone := float32(math.Inf(-1))
	for b.from < b.to || a.from < a.to {
		switch {
		case a.from == a.to || b.from < b.to && before.IDs[b.from] < after.IDs[a.from]:
			f.join(s.add(int(before.IDs[b.from]%lanes), t, before.Values[b.from], before.Weights[b.from], gone, 0))
			b.from++
		case b.from == b.to || after.IDs[a.from] < before.IDs[b.from]:
			f.join(s.add(int(after.IDs[a.from]%lanes), t, gone, 0, after.Values[a.from], after.Weights[a.from]))
			a.from++
		default:
			f.join(s.add(int(before.IDs[b.from]%lanes), t, before.Values[b.from], before.Weights[b.from],
				after.Values[a.from], after.Weights[a.from]))
			b.from++
			a.from++
		}
	}
	return f
}

// block compares n tokens from token at on, which starts a block: dense rows
// where they are, lists as a slate.
func (c *Comparer) block(l level, s *deltas, t *terms, before, after *Side, b, a places, at, n int) flags {
	v, w := c.before.show(before, b, at, n)
	x, y := c.after.show(after, a, at, n)
	f := compareGroups(l, s, t, v, w, x, y)
	if whole := n &^ (lanes - 1); whole < n {
		f.join(portableCompare(s, t, v[whole:], w[whole:], x[whole:], y[whole:]))
	}
	c.before.clear(before, b)
	c.after.clear(after, a)
	return f
}

// slate is a block of a dense row. Between uses it holds removed tokens alone.
type slate struct {
	values  []float32
	weights []float64
}

// show returns n tokens of a row from token at on, with their weights.
func (s *slate) show(r *Side, p places, at, n int) ([]float32, []float64) {
	if r.IDs == nil {
		return r.Values[at : at+n], r.Weights[at : at+n]
	}
	if s.values == nil {
		s.values, s.weights = make([]float32, block), make([]float64, block)
		for i := range s.values {
			s.values[i] = float32(math.Inf(-1))
		}
	}
	values, weights := (*[block]float32)(s.values), (*[block]float64)(s.weights)
	from, w := r.Values[p.from:p.to], r.Weights[p.from:p.to]
	for i, id := range r.IDs[p.from:p.to] {
		values[id%block], weights[id%block] = from[i], w[i]
	}
	return s.values[:n], s.weights[:n]
}

func (s *slate) clear(r *Side, p places) {
	if r.IDs == nil || p.from == p.to {
		return
	}
	values, weights := (*[block]float32)(s.values), (*[block]float64)(s.weights)
	for _, id := range r.IDs[p.from:p.to] {
		values[id%block], weights[id%block] = float32(math.Inf(-1)), 0
	}
}
