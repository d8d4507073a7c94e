package dist

import "math"

// SurprisalBits returns -log2 of the probability that the softmax of a row gives
// a token, bit for bit what [Distribution.SurprisalBits] says, without making the
// distribution: for texts of which nothing but sums is wanted. It is +Inf for a
// removed token and NaN for one in an unlisted tail. scratch has room for the
// listed scores; nil makes it. A malformed row is a data error.
func SurprisalBits(s *Scores, token int32, scratch []float64) (float64, error) {
	if err := s.Check(); err != nil {
		return 0, err
	}
	if cap(scratch) < len(s.Values) {
		scratch = make([]float64, len(s.Values))
	}
	m := weigh(s, scratch[:len(s.Values)])
	if err := checkTail(s, m); err != nil {
		return 0, err
	}
	i := s.Index(token)
	switch {
	case i >= 0 && !removed(s.Values[i]):
		return -(float64(s.Values[i]) - m.top - m.lnTotal(s.Unlisted)) / math.Ln2, nil
	case i < 0 && s.Unlisted > 0 && token >= 0 && int(token) < s.Vocab:
		return math.NaN(), nil
	}
	return math.Inf(1), nil
}
