package dist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A workspace that follows a chain says of every stage what a fresh one says of
// its two rows, whatever came before, also where stages leave a row as it was.
func TestChainsAreTheirStages(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var ws Workspace // one for all chains
	for n := range 200 {
		rows := []*Scores{random(r, 1+r.IntN(3000), 3, 3*(n%3))}
		if n%5 == 0 {
			rows[0] = sparse(rows[0])
		}
		if err := ws.Start(rows[0]); err != nil {
			t.Fatal(err)
		}
		var changes []Change
		for range 1 + r.IntN(6) {
			last := rows[len(rows)-1]
			next := last.Clone()
			switch r.IntN(4) {
			case 0:
				for i := range next.Values {
					next.Values[i] *= 0.7
				}
			case 1:
				top, _ := topScore(next.Values)
				next.KeepFrom(top - 4)
			case 2:
				next = *sparse(last)
			}
			c, err := ws.Next(&next)
			if err != nil {
				t.Fatal(err)
			}
			if kept := ws.Last(); kept.Vocab != next.Vocab || kept.Dense() != next.Dense() || !slices.Equal(kept.IDs, next.IDs) || !slices.Equal(kept.Values, next.Values) {
				t.Fatalf("the last row is %v, want %v", kept, next)
			}
			rows, changes = append(rows, &next), append(changes, c)
		}
		token := rows[0].ID(r.IntN(rows[0].Len()))
		ws.Choose(token, changes)
		for i, got := range changes {
			want, err := Compare(rows[i], rows[i+1], new(Workspace))
			if err != nil {
				t.Fatal(err)
			}
			want.Choose(rows[i], rows[i+1], token)
			if got != want {
				t.Fatalf("stage %d of %d: %+v, want %+v", i, len(changes), got, want)
			}
		}
	}
}

func TestRankAtTheEdges(t *testing.T) {
	zero := math.Copysign(0, -1)
	s := row(zero, 0, math.MaxFloat32, math.SmallestNonzeroFloat32, zero, -math.MaxFloat32, math.MaxFloat32)
	for id, want := range []int{4, 5, 1, 3, 6, 7, 2} {
		if got := s.Rank(int32(id)); got != want {
			t.Errorf("token %d with score %v has rank %d, want %d", id, s.Values[id], got, want)
		}
	}
}
