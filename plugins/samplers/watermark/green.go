package watermark

import (
	"cmp"
	"slices"
	"sync"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
)

// GreenList raises the scores of a pseudo-random part of the vocabulary.
type GreenList struct {
	lists  cache[greenKey, *watermark.Green]
	orders sync.Pool // of *[]int32
}

type greenKey struct {
	vocab, width int
	ratio        float64
	key          int64
	scheme       string
}

// NewGreenList returns the sampler.
func NewGreenList() *GreenList { return &GreenList{} }

// Declare returns the declaration.
func (*GreenList) Declare() sampler.Declaration {
	return declare(watermark.GreenListMethod, sampler.Reshape, sampler.Needs{History: watermark.MostContext})
}

// Apply adds the bias to the scores of green tokens. A bias of 0 leaves the row as
// it is, to the bit, and so does a history shorter than context_width. With the
// scheme selfhash the candidates tested are the likeliest ones, ties by lowest
// id. A row with an unlisted tail is refused.
func (g *GreenList) Apply(row *sampler.Row, set param.Values) error {
	const op = watermark.GreenListMethod
	s, bias := row.Scores, set.Float("bias")
	if bias == 0 {
		return nil
	}
	if err := listed(op, s); err != nil {
		return err
	}
	k := greenKey{s.Vocab, int(set.Int("context_width")), set.Float("ratio"), set.Int("key"), set.Text("scheme")}
	lists, err := g.lists.get(k, func() (*watermark.Green, error) {
		return watermark.NewGreen(k.vocab, k.ratio, k.key, k.scheme, k.width)
	})
	if err != nil {
		return err
	}
	context, ok := lists.Context(row.History)
	if !ok {
		return nil
	}
	if k.scheme == watermark.SelfHash {
		for _, place := range best(s, int(set.Int("candidates"))) {
			if lists.Has(context, s.ID(place)) {
				if err := raise(op, s, place, bias); err != nil {
					return err
				}
			}
		}
		return nil
	}
	order, _ := g.orders.Get().(*[]int32)
	if order == nil || cap(*order) < s.Vocab {
		fresh := make([]int32, s.Vocab)
		order = &fresh
	}
	defer g.orders.Put(order)
	for _, token := range lists.List(context, (*order)[:s.Vocab]) {
		if place := s.Index(token); place >= 0 {
			if err := raise(op, s, place, bias); err != nil {
				return err
			}
		}
	}
	return nil
}

// best returns the places of the n largest finite scores, ties by lowest place, in
// no order that matters.
func best(s *dist.Scores, n int) []int {
	list := make([]int, 0, min(n, len(s.Values)))
	before := func(a, b int) int {
		if c := cmp.Compare(s.Values[b], s.Values[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
	for i, v := range s.Values {
		if !dist.Finite(v) {
			continue
		}
		if len(list) == n {
			if v <= s.Values[list[n-1]] {
				continue
			}
			list = list[:n-1]
		}
		at, _ := slices.BinarySearchFunc(list, i, before)
		list = slices.Insert(list, at, i)
	}
	return list
}
