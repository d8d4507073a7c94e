package dist

import (
	"math"

	"lab/core/dist/vec"
)

// KeepFrom removes every token whose score is below floor. When none is, the
// row stays as it is, to the bit and in its form; otherwise a dense row becomes
// sparse. floor must be at most the largest score, so that a token is left;
// -Inf keeps a dense row whole.
func (s *Scores) KeepFrom(floor float32) {
	if n := vec.Count(s.Values, floor); n < len(s.Values) {
		s.keep(floor, math.MaxInt, n)
	}
}

// KeepPlaces removes every listed token but those at the given places of
// Values, which ascend. A row whose every token is kept stays as it is;
// otherwise a dense row becomes sparse and places becomes its memory.
func (s *Scores) KeepPlaces(places []int32) {
	if len(places) == len(s.Values) {
		return
	}
	for i, at := range places {
		s.Values[i] = s.Values[at]
		if s.IDs != nil {
			s.IDs[i] = s.IDs[at]
		}
	}
	s.Values = s.Values[:len(places)]
	if s.IDs == nil {
		s.IDs = places
		return
	}
	s.IDs = s.IDs[:len(places)]
}

// Remove removes the tokens at the given places of Values, which ascend. A dense
// row of which less than an eighth goes stays dense, with a score of -Inf there;
// otherwise it becomes sparse.
func (s *Scores) Remove(places []int32) {
	if s.IDs == nil && 8*len(places) < len(s.Values) {
		for _, at := range places {
			s.Values[at] = float32(math.Inf(-1))
		}
		return
	}
	kept := make([]int32, 0, len(s.Values)-len(places))
	for i := range s.Values {
		if len(places) > 0 && int(places[0]) == i {
			places = places[1:]
			continue
		}
		kept = append(kept, int32(i))
	}
	s.KeepPlaces(kept)
}

// room is what a search for places may write beyond what it finds.
const room = 16

// keep is KeepBest for n survivors or a few more.
func (s *Scores) keep(floor float32, ties, n int) {
	kept := 0
	if s.IDs == nil {
		// In a dense row, places are tokens.
		ids := vec.Find(make([]int32, 0, n+room), s.Values, floor)
		for _, id := range ids {
			v := s.Values[id]
			if v == floor {
				if ties == 0 {
					continue
				}
				ties--
			}
			s.Values[kept], ids[kept] = v, id
			kept++
		}
		s.Values, s.IDs = s.Values[:kept], ids[:kept]
		return
	}
	for i, v := range s.Values {
		if !(v >= floor) {
			continue
		}
		if v == floor {
			if ties == 0 {
				continue
			}
			ties--
		}
		s.Values[kept], s.IDs[kept] = v, s.IDs[i]
		kept++
	}
	s.Values, s.IDs = s.Values[:kept], s.IDs[:kept]
}
