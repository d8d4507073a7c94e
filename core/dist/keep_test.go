package dist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rows returns a row with removed tokens and ties, dense and as its sparse twin.
func rows(r *rand.Rand, n int) []*Scores {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.IntN(9) - 4)
		if r.IntN(4) == 0 {
			values[i] = float32(math.Inf(-1))
		}
	}
	values[r.IntN(n)] = 4
	dense := NewDense(values)
	twin := dense.Clone()
	twin.Keep(func(i int) bool { return Finite(twin.Values[i]) }, nil)
	return []*Scores{&dense, &twin}
}

// left returns the scores of the support by token.
func left(s *Scores) map[int32]float32 {
	out := map[int32]float32{}
	for i, v := range s.Values {
		if Finite(v) {
			out[s.ID(i)] = v
		}
	}
	return out
}

func sameTokens(a, b map[int32]float32) bool {
	if len(a) != len(b) {
		return false
	}
	for id, v := range a {
		if w, ok := b[id]; !ok || math.Float32bits(v) != math.Float32bits(w) {
			return false
		}
	}
	return true
}

// Every way to keep tokens equals the one that asks for each of them.
func TestWaysToKeepTokensAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for range 300 {
		n := 1 + r.IntN([]int{20, 300, 4000}[r.IntN(3)])
		for _, s := range rows(r, n) {
			floor, ties := float32(r.IntN(9)-4), r.IntN(5)
			above, tied := 0, 0
			want := s.Clone()
			want.Keep(func(i int) bool { return s.Values[i] >= floor }, nil)
			best := s.Clone()
			best.Keep(func(i int) bool {
				v := s.Values[i]
				if v == floor {
					tied++
				}
				if v > floor {
					above++
				}
				return v > floor || v == floor && tied <= ties
			}, nil)

			got := s.Clone()
			got.KeepFrom(floor)
			if err := got.Check(); err != nil || !sameTokens(left(&got), left(&want)) {
				t.Fatalf("KeepFrom(%v) of %v: %v, %v", floor, s, got, err)
			}
			var places []int32
			for i, v := range s.Values {
				if v >= floor {
					places = append(places, int32(i))
				}
			}
			got = s.Clone()
			got.KeepPlaces(slices.Clone(places))
			if err := got.Check(); err != nil || !sameTokens(left(&got), left(&want)) {
				t.Fatalf("KeepPlaces(%v) of %v: %v, %v", places, s, got, err)
			}
			if above+min(ties, tied) > 0 {
				got = s.Clone()
				got.KeepBest(floor, ties, above+min(ties, tied))
				if err := got.Check(); err != nil || !sameTokens(left(&got), left(&best)) {
					t.Fatalf("KeepBest(%v, %d) of %v: %v, %v", floor, ties, s, got, err)
				}
			}
			got = s.Clone()
			got.Remove(places)
			want = s.Clone()
			want.Keep(func(i int) bool { return !(s.Values[i] >= floor) }, nil)
			if !sameTokens(left(&got), left(&want)) {
				t.Fatalf("Remove(%v) of %v: %v", places, s, got)
			}
			if got.Dense() != (s.Dense() && 8*len(places) < n) && len(places) > 0 {
				t.Fatalf("without %d of %d tokens the row is dense: %v", len(places), n, got.Dense())
			}
		}
	}
}

func TestKeepingAllLeavesTheRowAsItIs(t *testing.T) {
	s := NewDense([]float32{3, -1, 0, 2})
	all := []int32{0, 1, 2, 3}
	for _, r := range []struct {
		name string
		keep func(c *Scores)
	}{
		{"a floor at the least", func(c *Scores) { c.KeepFrom(-1) }},
		{"a floor of -Inf", func(c *Scores) { c.KeepFrom(float32(math.Inf(-1))) }},
		{"every place", func(c *Scores) { c.KeepPlaces(all) }},
		{"nothing to remove", func(c *Scores) { c.Remove(nil) }},
	} {
		t.Run(r.name, func(t *testing.T) {
			c := s.Clone()
			if r.keep(&c); !c.Dense() || !slices.Equal(c.Values, s.Values) {
				t.Errorf("left %v", c)
			}
		})
	}
}

// Revives against a plain look-up, for all pairs of forms.
func TestRevivesFindsTheFirstTokenThatCameBack(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 64))
	found := 0
	for range 400 {
		n := 1 + r.IntN(60)
		for _, before := range rows(r, n) {
			for _, after := range append(rows(r, n), before, subset(r, before)) {
				was, want := left(before), int32(-1)
				for i, v := range after.Values {
					if _, ok := was[after.ID(i)]; Finite(v) && !ok {
						want = after.ID(i)
						break
					}
				}
				if want >= 0 {
					found++
				}
				if got := after.Revives(before); got != want {
					t.Fatalf("%v after %v revives %d, want %d", after, before, got, want)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d pairs revive a token", found)
	}
}

// subset returns the row without some of its tokens.
func subset(r *rand.Rand, s *Scores) *Scores {
	c := s.Clone()
	c.Keep(func(i int) bool { return s.Values[i] == 4 || r.IntN(2) == 0 }, nil)
	return &c
}
