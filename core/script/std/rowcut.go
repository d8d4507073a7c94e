package std

import (
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/script"
)

var (
	minKeepParam = script.Param{Name: "min_keep", Type: script.Int(), Default: int64(1), Range: script.AtLeast(1), Unit: "tokens",
		Meaning: "so many of the likeliest stay in any case"}
	tokensParam = script.Param{Name: "tokens", Type: script.List(script.Int()), Meaning: "token ids, in any order"}
)

// cutting is a method that returns a row with fewer tokens.
func cutting(name, doc string, params, options []script.Param, f func(*row, *script.Call) (*row, error)) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: "row", Params: params, Options: options,
		Func: func(c *script.Call) (any, error) { return f(script.Self[*row](c), c) }}
}

func cuttingMembers() []script.Member {
	floor := func(meaning string) []script.Param {
		return []script.Param{{Name: "floor", Type: script.Float(), Meaning: meaning}}
	}
	return []script.Member{
		cutting("keep", "Keeps the tokens that a list names or a function says yes to, and removes the others. A function is called for every token, which takes about a microsecond each; the methods below take far less.",
			[]script.Param{{Name: "which", Type: script.Either(script.List(script.Int()), script.Callback("token", "score", "p")),
				Meaning: "token ids, those gone already passed over; or func(token, score, p) that returns true or false"}}, nil, (*row).keep),
		cutting("remove", "Removes the tokens of a list.", []script.Param{tokensParam}, nil, (*row).remove),
		cutting("keep_top", "Keeps the n likeliest tokens, ties by ascending id.",
			[]script.Param{{Name: "n", Type: script.Int(), Range: script.AtLeast(1), Unit: "tokens", Meaning: "how many; all when there are fewer"}}, nil,
			func(r *row, c *script.Call) (*row, error) { return r.keepTop("keep_top", int(min(c.Int("n"), 1<<31))) }),
		cutting("keep_mass", "Keeps the shortest list of likeliest tokens whose probabilities sum to mass, within 1e-9 relative.",
			[]script.Param{{Name: "mass", Type: script.Float(), Range: script.Between(0, 1), Meaning: "0 keeps the likeliest token, 1 keeps all"}},
			[]script.Param{minKeepParam}, (*row).keepMass),
		cutting("keep_p", "Keeps the tokens whose probability is at least floor.", floor("a probability; 0 keeps all, above the largest min_keep tokens stay"),
			[]script.Param{minKeepParam}, func(r *row, c *script.Call) (*row, error) {
				if err := r.reckon(); err != nil {
					return nil, err
				}
				return r.keepFrom("keep_p", c, func(at int) float64 { return r.probs[at] })
			}),
		cutting("keep_scores", "Keeps the tokens whose score is at least floor.", floor("a score; above the largest min_keep tokens stay"),
			[]script.Param{minKeepParam}, func(r *row, c *script.Call) (*row, error) {
				return r.keepFrom("keep_scores", c, func(at int) float64 { return float64(r.s.Values[at]) })
			}),
	}
}

// only returns the row of the listed tokens at the given places, which ascend.
// The row itself comes back when that is all of them.
func (r *row) only(places []int32) (*row, error) {
	if len(places) == r.s.Len() && r.s.Unlisted == 0 {
		return r, nil
	}
	s := dist.Scores{Vocab: r.s.Vocab, IDs: make([]int32, len(places)), Values: make([]float32, len(places))}
	left := false
	for i, at := range places {
		s.IDs[i], s.Values[i] = r.s.ID(int(at)), r.s.Values[at]
		left = left || dist.Finite(s.Values[i])
	}
	if !left {
		return nil, fault.New(fault.Script, "row", "", "no token is left of %d", len(r.ranked())).Fix("a sampler keeps at least one")
	}
	return r.from(s), nil
}

func (r *row) keep(c *script.Call) (*row, error) {
	f, ok := c.Any("which").(*script.Func)
	if !ok {
		listed, err := r.places(c.List("which"))
		if err != nil {
			return nil, err
		}
		return r.only(listed)
	}
	if err := r.whole("keep"); err != nil {
		return nil, err
	}
	if err := r.reckon(); err != nil {
		return nil, err
	}
	var places []int32
	for i, v := range r.s.Values {
		if !dist.Finite(v) {
			continue
		}
		yes, err := f.CallFor(c.Context(), script.Bool(), r.s.ID(i), float64(v), r.probs[i])
		if err != nil {
			return nil, err
		}
		if yes.(bool) {
			places = append(places, int32(i))
		}
	}
	if len(places) == len(r.ranked()) {
		return r, nil
	}
	return r.only(places)
}

// places returns the places of tokens that a script lists, ascending and each
// once. Tokens that are gone have none.
func (r *row) places(tokens []any) ([]int32, error) {
	var out []int32
	for _, t := range tokens {
		id := t.(int64)
		if id < 0 || id >= int64(r.s.Vocab) {
			return nil, outside(id, r.s.Vocab)
		}
		if at := r.s.Index(int32(id)); at >= 0 {
			out = append(out, int32(at))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (r *row) remove(c *script.Call) (*row, error) {
	gone, err := r.places(c.List("tokens"))
	if err != nil || len(gone) == 0 {
		return r, err
	}
	if err := r.whole("remove"); err != nil {
		return nil, err
	}
	kept := make([]int32, 0, r.s.Len())
	for i := range r.s.Values {
		if len(gone) > 0 && gone[0] == int32(i) {
			gone = gone[1:]
			continue
		}
		kept = append(kept, int32(i))
	}
	return r.only(kept)
}

// keepTop keeps the n likeliest tokens. With an unlisted tail that is exact when
// as many are listed.
func (r *row) keepTop(what string, n int) (*row, error) {
	order := r.ranked()
	if n > len(order) {
		if err := r.whole(what); err != nil {
			return nil, err
		}
	}
	if n >= len(order) && r.s.Unlisted == 0 {
		return r, nil
	}
	places := slices.Clone(order[:n])
	slices.Sort(places)
	return r.only(places)
}

// reached is the relative slack of a mass: without one rounding decides whether
// eight equal tokens at 0.5 are four or five.
const reached = 1 - 1e-9

func (r *row) keepMass(c *script.Call) (*row, error) {
	mass, least := c.Float("mass"), int(min(c.Int("min_keep"), 1<<31))
	if mass == 1 {
		return r, r.whole("keep_mass")
	}
	if err := r.reckon(); err != nil {
		return nil, err
	}
	n, sum := 0, 0.0
	for n < len(r.ranked()) && (n == 0 || !(sum >= mass*reached)) {
		sum += r.probs[r.ranks[n]]
		n++
	}
	if !(sum >= mass*reached) {
		if err := r.whole("keep_mass"); err != nil {
			return nil, err
		}
	}
	return r.keepTop("keep_mass", max(n, least))
}

// keepFrom keeps what reaches the floor, and min_keep tokens at least. Listed
// tokens are likelier than unlisted ones: when one of them fails, so does the
// whole tail.
func (r *row) keepFrom(what string, c *script.Call, of func(at int) float64) (*row, error) {
	floor, least := c.Float("floor"), int(min(c.Int("min_keep"), 1<<31))
	var places []int32
	support := 0
	for i, v := range r.s.Values {
		if !dist.Finite(v) {
			continue
		}
		support++
		if of(i) >= floor {
			places = append(places, int32(i))
		}
	}
	switch {
	case max(len(places), least) >= support:
		return r, r.whole(what)
	case len(places) < least:
		return r.keepTop(what, least)
	}
	return r.only(places)
}
